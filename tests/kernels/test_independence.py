"""Draws from a directed network: exact matrices, the right network, and what must fail."""

import numpy as np
import pytest

import orbitmc as om
from orbitmc._util.arrays import indices
from orbitmc.conditionals.prepared import prepare, prepare_unrounded
from orbitmc.exact.contraction import marginals as eliminate
from orbitmc.graph.ancestral import ancestral_acceptance, forward_draws, network_of
from orbitmc.graph.builder import Builder
from orbitmc.kernels._independence import descent, independence
from orbitmc.kernels.testing.exact import one_step, transition_matrix
from orbitmc.sampling.pack import start_pack, walk
from orbitmc.tuning import race
from tests.oracle import brute_force
from tests.oracle.random_models import random_graph

EXACT = 1e-12


def bayesian(seed, *, variables=4, zeros=0.0, observed=0):
    """Random tables of each variable given up to two before; the last ones are observed."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 4, variables)
    builder = Builder(sizes)
    for variable in rng.permutation(variables).tolist():
        parents = [p for p in range(variable) if rng.random() < 0.6][-2:]
        shape = [*sizes[parents], sizes[variable]]
        weights = rng.gamma(1.0, size=shape) * (rng.random(shape) >= zeros)
        weights[..., 0] += 1e-3
        chances = weights / weights.sum(axis=-1, keepdims=True)
        order = rng.permutation(len(shape))
        with np.errstate(divide="ignore"):
            table = np.log(chances).transpose(order)
        builder.add_factor(np.array([*parents, variable])[order].tolist(), table)
    names = [f"v{k}" for k in range(variables)]
    model = om.Model(builder.build(), tuple(names), tuple(tuple("abc"[:k]) for k in sizes))
    return model.given(dict.fromkeys(names[variables - observed :], 0))


def residuals(graph, kernel):
    chances = brute_force.distribution(graph)
    matrix = transition_matrix(graph, one_step(prepare_unrounded(graph), kernel))
    flow = chances[:, None] * matrix
    assert np.abs(matrix.sum(axis=1) - 1).max() <= EXACT
    return np.abs(chances @ matrix - chances).max(), np.abs(flow - flow.T).max(), matrix


@pytest.mark.parametrize("observed", [0, 1, 2])
@pytest.mark.parametrize("zeros", [0.0, 0.4])
def test_draws_from_a_network_keep_the_distribution(observed, zeros):
    for seed in range(8):
        graph = bayesian([seed, observed], zeros=zeros, observed=observed).graph
        kernel = independence(prepare_unrounded(graph))
        stationary, balance, matrix = residuals(graph, kernel)
        assert stationary <= EXACT, seed
        assert balance <= EXACT, seed
        if not observed:  # independent draws: every row is the distribution itself
            chances = brute_force.distribution(graph)
            assert np.abs(matrix[chances > 0] - chances).max() <= EXACT


@pytest.mark.parametrize("seed", range(6))
def test_networks_found_in_models_that_are_none_are_safe(seed):
    """A chain of pairs whose tables happen to sum to the same, and factors that do not."""
    rng = np.random.default_rng(seed)
    builder = Builder([2, 2, 2])
    for variable in range(3):
        builder.add_factor([variable], rng.normal(size=2))
    for one in range(2):
        builder.add_factor([one, one + 1], [0.4, -0.4, -0.4, 0.4])
    graph = builder.build()
    stationary, balance, _ = residuals(graph, independence(prepare_unrounded(graph)))
    assert max(stationary, balance) <= EXACT


def test_leaving_out_what_is_left_over_is_wrong():
    graph = bayesian(4, variables=5, observed=2).graph
    kernel = independence(prepare_unrounded(graph))
    assert len(kernel.rest)
    stationary, _, _ = residuals(graph, kernel._replace(rest=indices([])))
    assert stationary > 1e-3


def test_evidence_is_left_over_and_the_rest_is_drawn():
    model = om.read("examples/sprinkler.bif")
    assert len(network_of(model.graph).rest) == 0
    seen = model.given({"grass": "wet"})
    assert len(network_of(seen.graph).rest) == 1


@pytest.mark.parametrize(
    "graph",
    [
        random_graph(3, variables=(6, 7), cardinalities=(2,)),
        om.ising_grid(12, 12, 0.3, 0.1).graph,
    ],
)
def test_other_models_are_no_networks(graph):
    assert network_of(graph) is None
    with pytest.raises(om.InputError, match="no directed network"):
        independence(prepare(graph))


def test_compiled_draws_follow_the_network():
    """A chain without evidence: 64 x 400 independent states; five errors of 0.0031 each."""
    graph = bayesian(7, variables=5).graph
    prepared = prepare(graph)
    kernel = independence(prepared)
    pack = start_pack(prepared, kernel, seed=1, number=0, lanes=64)
    counts = np.zeros(graph.variables)
    for _ in range(400):
        walk(prepared, kernel, pack, 1)
        counts += (pack.values == 0).sum(axis=1)
    exact = np.array([one[0] for one in eliminate(graph).marginals])
    assert np.abs(counts / 25_600 - exact).max() < 0.0175  # 5.6 errors: below 1e-7 for five
    assert pack.outcomes[0] == pack.outcomes[2] == 25_600


def test_the_guessed_acceptance_is_that_of_the_kernel():
    """5.6 errors of at most a half over the root of 25,600 dependent states, tenfold for that."""
    graph = bayesian(11, variables=6, observed=2).graph
    prepared = prepare(graph)
    kernel = independence(prepared)
    pack = start_pack(prepared, kernel, seed=1, number=0, lanes=64)
    walk(prepared, kernel, pack, 400)
    found = ancestral_acceptance(network_of(graph), 4096, np.random.default_rng(1))
    assert found == pytest.approx(pack.outcomes[2] / pack.outcomes[0], abs=0.06)


def test_forward_draws_have_no_zeros():
    graph = bayesian(5, zeros=0.5).graph
    values = forward_draws(network_of(graph), 200, np.random.default_rng(0))
    chances = brute_force.distribution(graph).reshape(graph.cardinality)
    assert (chances[tuple(values)] > 0).all()


def test_what_no_evidence_descends_from_is_drawn_given_all_others():
    below = set()
    for seed in range(12):
        model = bayesian([seed, 3], variables=5, zeros=0.3 * (seed % 2))
        model = model.given({"v2": 0})
        network = network_of(model.graph)
        prepared = prepare_unrounded(model.graph)
        kernel = descent(prepared, network)
        below.add(len(kernel.order))
        stationary, balance, _ = residuals(model.graph, kernel)
        assert stationary <= EXACT, seed
        assert balance <= EXACT, seed
        assert (np.flatnonzero(kernel.draws_well(model.graph)) == np.sort(kernel.order)).all()
    assert len(below) > 1


def test_what_evidence_descends_from_must_not_be_drawn_so():
    model = bayesian([1, 3], variables=4).given({"v3": 0})
    kernel = descent(prepare_unrounded(model.graph), network_of(model.graph))
    wrong = kernel._replace(order=network_of(model.graph).order)
    assert len(kernel.order) < len(wrong.order)
    assert residuals(model.graph, wrong)[0] > 1e-3


@pytest.mark.parametrize("accepted", [0.0, 0.09])
def test_evidence_in_a_part_leaves_the_rest_to_draws(accepted, monkeypatch):
    """A tree: exact marginals are known; more than half of it lies above no evidence."""
    monkeypatch.setattr(race, "forward_acceptance", lambda *asked: accepted)
    rng = np.random.default_rng(5)
    builder = Builder(np.full(60, 2))
    for variable in range(60):
        parents = [] if variable == 0 else [int(rng.integers(max(0, variable - 4), variable))]
        chance = rng.choice([0.2, 0.8], size=2 ** len(parents))
        table = np.log(np.stack([1.0 - chance, chance], axis=-1))
        builder.add_factor([*parents, variable], table.reshape([2] * (len(parents) + 1)))
    names = tuple(f"v{k}" for k in range(60))
    model = om.Model(builder.build(), names, (("no", "yes"),) * 60)
    evidence = {f"v{k}": str(rng.choice(["no", "yes"])) for k in range(8, 28, 2)}
    exact = om.marginals(model, evidence, method="exact")
    found = om.marginals(model, evidence, method="lmh", samples=400, seed=1)
    assert "no observed one descends from" in found.about.reason
    assert found.about.outcomes["descents"] > 0
    assert ("proposals" in found.about.outcomes) == (accepted > 0)
    for name in names[28:]:
        off = abs(found[name].probability[1] - exact[name].probability[1])
        assert off <= 6.5 * found[name].standard_error[1] + 1e-9
    assert found.converged
