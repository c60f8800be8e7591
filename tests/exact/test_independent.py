"""Independent draws follow the distribution of the graph, whatever the plan.

Each model gives a score: the mean of a random function of the state, beside its true mean. The
squared scores of all models together follow the chi-squared distribution if the draws are right.
"""

import itertools

import numpy as np
import pytest
from scipy.stats import chi2

from orbitmc.errors import ContradictionError
from orbitmc.exact.draws import independent_states, state_bytes
from orbitmc.exact.plan import plan_holding, predict
from orbitmc.exact.problem import prepare
from orbitmc.graph.builder import Builder
from orbitmc.models._ising import ising_grid
from tests.exact.random_graphs import force_large, random_graph
from tests.oracle.enumeration import log_weights_of_all

COUNT, MODELS, FALSE_ALARM = 400, 300, 1e-7


def possible_graphs(count):
    seeds, found = itertools.count(), []
    while len(found) < count:
        seed = next(seeds)
        graph = random_graph(seed, variables=5)
        if np.isfinite(log_weights_of_all(graph)).any():
            found.append((seed, graph))
    return found


def score(graph, states, seed):
    """How many standard errors a random function's mean is off; its range is small."""
    logs = log_weights_of_all(graph)
    truth = np.exp(logs - logs.max())
    truth /= truth.sum()
    numbers = np.ravel_multi_index(tuple(states.astype(int)), tuple(graph.cardinality))
    assert (truth[numbers] > 0).all()
    feature = np.random.default_rng(seed).uniform(-1, 1, size=len(truth))
    mean = truth @ feature
    spread = np.sqrt(truth @ (feature - mean) ** 2 / states.shape[1])
    return (feature[numbers].mean() - mean) / spread if spread > 1e-9 else None


def total(scores):
    known = [one for one in scores if one is not None]
    return sum(one**2 for one in known), chi2.isf(FALSE_ALARM, len(known)) * 1.1


def test_draws_follow_the_distribution_on_random_graphs():
    scores = [
        score(graph, independent_states(predict(graph), COUNT, seed=seed), seed)
        for seed, graph in possible_graphs(MODELS)
    ]
    found, most = total(scores)
    assert len(scores) == MODELS
    assert found < most


def test_draws_from_another_distribution_would_be_noticed():
    """The same score for draws whose last variable is drawn from its marginal alone."""
    graph, scores = ising_grid(2, 3, 0.6, 0.2).graph, []
    for seed in range(100):
        states = independent_states(predict(graph), COUNT, seed=seed)
        states[-1] = np.random.default_rng(seed).permutation(states[-1])
        scores.append(score(graph, states, seed))
    found, most = total(scores)
    assert found > most


@pytest.mark.parametrize(("cutset", "memory"), [((), 1), ((3, 7), 2**30), ((3, 7), 1)])
def test_plans_that_hold_variables_or_compute_messages_twice_draw_the_same_distribution(
    cutset, memory, monkeypatch
):
    force_large(monkeypatch)
    graph = ising_grid(3, 4, 0.5, 0.2).graph
    plan = plan_holding(prepare(graph), cutset, memory=memory, seconds=1)
    assert memory > 1 or len(plan.steps.regions) > 1
    scores = [score(graph, independent_states(plan, COUNT, seed=seed), seed) for seed in range(30)]
    found, most = total(scores)
    assert found < most


def test_few_draws_from_large_tables_are_drawn_state_by_state():
    graph = ising_grid(3, 3, 0.4, 0.1).graph
    plan = predict(graph)
    assert plan.largest > 2 * 7
    scores = [score(graph, independent_states(plan, 7, seed=seed), seed) for seed in range(300)]
    found, most = total(scores)
    assert found < most


def test_the_same_seed_gives_the_same_draws():
    plan = predict(ising_grid(3, 3, 0.4).graph)
    first, same, other = (independent_states(plan, 50, seed=seed) for seed in (1, 1, 2))
    assert (first == same).all()
    assert (first != other).any()


def test_variables_of_many_values_are_drawn():
    builder = Builder([300, 2])
    builder.add_factor([0], np.where(np.arange(300) == 299, 0.0, -np.inf))
    plan = predict(builder.build())
    drawn = independent_states(plan, 10, seed=1)
    assert (drawn[0] == 299).all()
    assert state_bytes(plan, 10) >= drawn.nbytes


def test_a_contradiction_is_refused():
    builder = Builder([2, 2])
    builder.add_factor([0, 1], np.array([[0.0, -np.inf], [-np.inf, 0.0]]))
    builder.add_factor([0, 1], np.array([[-np.inf, 0.0], [0.0, -np.inf]]))
    with pytest.raises(ContradictionError):
        independent_states(predict(builder.build()), 1, seed=0)
