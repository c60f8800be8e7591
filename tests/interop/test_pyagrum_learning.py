"""Tables learned by expectation maximisation, beside pyAgrum's: the same optimum, the same."""

import warnings

import numpy as np
import pandas as pd
import pytest

import orbitmc as om
from orbitmc.exact.families import families_of
from tests.inference.test_learn import random_network
from tests.interop.libraries import library

gum = library("pyagrum")

ROWS, STEPS, TRIES = 1500, 60, 8


def even_network(seed):
    """A random network in which every case is met often enough to be learned without a prior."""
    model = random_network(seed, 5)
    factors = []
    for family in families_of(model.graph):
        table = np.exp(model.graph.table_values(family.factor))
        scope = [model.names[v] for v in family.scope]
        factors.append((scope, 0.5 * table + 0.5 / table.shape[family.axis]))
    return om.model(model.domains(), factors)


def in_pyagrum(model):
    """The network without its tables."""
    net = gum.BayesNet()
    for name, values in model.domains().items():
        net.add(gum.LabelizedVariable(name, name, list(values)))
    for child, family in enumerate(families_of(model.graph)):
        for parent in family.scope:
            if parent != child:
                net.addArc(model.names[parent], model.names[child])
    return net


def rows_from(model, seed, holes):
    """Rows drawn from the model, with holes."""
    drawn = om.draws(model, samples=ROWS, packs=1, lanes=32, seed=seed, method="exact")
    states = drawn.values.reshape(-1, len(drawn.names))[:ROWS]
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            name: np.where(
                rng.random(ROWS) < holes, None, np.array(domain, dtype=object)[states[:, k]]
            )
            for k, (name, domain) in enumerate(
                zip(drawn.names, drawn.domains().values(), strict=True)
            )
        }
    )


def learned_by_pyagrum(model, frame, prior):
    """Its network, learned from the same rows.

    Its steps end where an expected log-likelihood falls, which that of all rows need not do; then
    it is begun again from where it ended.
    """
    net = in_pyagrum(model)
    for _ in range(TRIES):
        learner = gum.BNLearner(frame.fillna("?"), net, ["?"])
        if prior:
            learner.useBDeuPrior(prior)
        else:
            learner.useNoPrior()
        if not frame.isna().to_numpy().any():
            return learner.learnParameters(net)
        learner.useEM(1e-9, 0.0)
        learner.EMdisableEpsilon()
        learner.EMdisableMinEpsilonRate()
        learner.EMsetMaxIter(STEPS)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that it ended early
            net = learner.learnParameters(net)
        if learner.EMnbrIterations() == STEPS:
            return net
    pytest.fail("pyAgrum has not converged")


def table_of(net, name, parents, domains):
    """The table of a variable, by names."""
    tensor = net.cpt(name)
    table = np.zeros([len(domains[other]) for other in (*parents, name)])
    at = gum.Instantiation(tensor)
    for place in np.ndindex(*table.shape):
        for other, k in zip((*parents, name), place, strict=True):
            at.chgVal(other, k)
        table[place] = tensor.get(at)
    return table


def furthest(learned, net, model):
    """The largest difference between two networks' tables."""
    return max(
        np.abs(table - table_of(net, name, learned.parents[name], model.domains())).max()
        for name, table in learned.tables.items()
    )


@pytest.mark.parametrize("prior", [0.0, 1.0])
@pytest.mark.parametrize("seed", [0, 1, 3])
def test_expectation_maximisation_ends_where_that_of_pyagrum_ends(seed, prior):
    model = even_network(seed)
    frame = rows_from(model, seed, 0.2)
    ours = om.learn(model, frame, prior=prior, tolerance=1e-15, iterations=20_000)
    theirs = learned_by_pyagrum(model, frame, prior)
    assert furthest(ours, theirs, model) < 1e-6
    if prior:  # another prior would be seen
        other = om.learn(model, frame, prior=3.0, tolerance=1e-15, iterations=20_000)
        assert furthest(other, theirs, model) > 1e-5


@pytest.mark.parametrize("seed", range(5))
def test_complete_rows_give_the_tables_of_pyagrum(seed):
    model = random_network(seed)
    frame = rows_from(model, seed, 0.0)
    ours = om.learn(model, frame, prior=2.0)
    theirs = learned_by_pyagrum(model, frame, 2.0)
    assert furthest(ours, theirs, model) < 1e-12
