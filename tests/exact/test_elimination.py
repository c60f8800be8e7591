import math
import tracemalloc

import numpy as np
import pytest

from orbitmc.errors import ContradictionError, LimitError
from orbitmc.exact.contraction import marginals
from orbitmc.exact.plan import plan_holding, predict
from orbitmc.exact.problem import prepare
from orbitmc.graph.builder import Builder
from orbitmc.models._chimera import chimera, random_chimera
from orbitmc.models._ising import ising_grid, potts_grid
from tests.exact.random_graphs import force_large, random_graph
from tests.oracle.enumeration import enumerate_states


def log(weights):
    """Logarithms of weights that may be 0."""
    with np.errstate(divide="ignore"):
        return np.log(weights)


def assert_same(found, expected, tolerance=1e-10):
    assert found.log_z == pytest.approx(expected.log_z, abs=tolerance)
    for one, other in zip(found.marginals, expected.marginals, strict=True):
        np.testing.assert_allclose(one, other, atol=tolerance)


@pytest.mark.parametrize("seed", range(40))
def test_elimination_agrees_with_the_sum_over_states(seed):
    graph = random_graph(seed, variables=9 if seed % 2 else 7, most_values=2 + seed % 3)
    try:
        expected = enumerate_states(graph)
    except ContradictionError:
        with pytest.raises(ContradictionError):
            marginals(graph)
        return
    found = marginals(graph)
    assert_same(found, expected)
    for marginal in found.marginals:
        assert marginal.sum() == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_the_answer_does_not_depend_on_the_memory_it_may_take(seed, monkeypatch):
    """Little memory makes messages be computed twice; nothing else changes."""
    force_large(monkeypatch)
    model = random_chimera(3, 2, beta=0.7, field=0.5, shore=3, seed=seed)
    ample, tight = (predict(model.graph, memory=memory) for memory in (2**30, 1))
    assert len(tight.steps.regions) > len(ample.steps.regions) == 1
    assert tight.bytes < ample.bytes
    assert_same(
        marginals(model.graph, plan=tight, memory=2**30),
        marginals(model.graph, plan=ample, memory=2**30),
        tolerance=1e-12,
    )


@pytest.mark.parametrize("seed", range(12))
def test_holding_variables_in_turn_changes_nothing(seed):
    graph = random_graph(seed, variables=7)
    try:
        expected = enumerate_states(graph)
        problem = prepare(graph)
    except ContradictionError:
        return
    cutset = tuple(range(min(2 + seed % 2, len(problem.sizes))))
    plan = plan_holding(problem, cutset, memory=2**30, seconds=1)
    assert_same(marginals(graph, plan=plan), expected)


def test_variables_are_held_only_when_memory_is_short():
    graph = ising_grid(15, 15, 0.3, 0.1).graph
    ample = predict(graph)
    memory = int(0.8 * predict(graph, memory=1).bytes)  # less than messages made twice need
    tight = predict(graph, memory=memory)
    assert ample.cutset == ()
    assert len(tight.cutset) > 0
    assert tight.bytes <= memory < ample.bytes
    assert_same(marginals(graph, plan=tight), marginals(graph, plan=ample), tolerance=1e-11)


def test_contradictions_are_found_while_variables_are_held():
    builder = Builder([2, 2, 2])
    differ = builder.add_table(log(1.0 - np.eye(2)))
    builder.add_factors([[0, 1], [1, 2], [0, 2]], differ)
    graph = builder.build()
    plan = plan_holding(prepare(graph), (0, 1), memory=2**30, seconds=1)
    with pytest.raises(ContradictionError, match="no state is possible"):
        marginals(graph, plan=plan)


def test_impossible_values_have_probability_zero():
    builder = Builder([3, 3])
    builder.add_factor([0], np.log([1.0, 2.0, 1.0]))
    builder.add_factor([0, 1], log([[1, 0, 0], [0, 1, 0], [0, 0, 0]]))
    answer = marginals(builder.build())
    np.testing.assert_allclose(answer.marginals[0], [1 / 3, 2 / 3, 0], atol=1e-15)
    assert answer.marginals[1][2] == 0
    assert answer.log_z == pytest.approx(math.log(3))


def test_a_decided_chain_needs_no_tables():
    """Each variable must equal the one before it, and the first is known."""
    builder = Builder([3] * 50)
    same = builder.add_table(log(np.eye(3)))
    builder.add_factors([[v, v + 1] for v in range(49)], same)
    builder.add_factor([0], log([0.0, 0.25, 0.0]))
    graph = builder.build()
    assert predict(graph).entries == 0
    answer = marginals(graph)
    assert all(marginal.tolist() == [0, 1, 0] for marginal in answer.marginals)
    assert answer.log_z == pytest.approx(math.log(0.25))


def test_contradictions_that_no_single_factor_shows_are_found():
    """Three binary variables that must all differ."""
    builder = Builder([2, 2, 2])
    differ = builder.add_table(log(1.0 - np.eye(2)))
    builder.add_factors([[0, 1], [1, 2], [0, 2]], differ)
    with pytest.raises(ContradictionError, match="no state is possible"):
        marginals(builder.build())


def test_a_constant_of_zero_weight_is_a_contradiction():
    builder = Builder([2])
    builder.add_factor([], -np.inf)
    with pytest.raises(ContradictionError, match="no state is possible"):
        marginals(builder.build())


@pytest.mark.parametrize("length", [7, 30, 400])
def test_a_long_clause_stays_linear(length):
    """A clause of free coins fails with probability 2^-length before weighting."""
    builder = Builder([2] * length)
    builder.add_clause(range(length), [1] * length, 1.5)
    graph = builder.build()
    assert predict(graph).width <= 3
    answer = marginals(graph)
    all_fail = 0.5**length
    weight = all_fail + (1 - all_fail) * math.exp(1.5)
    assert answer.log_z == pytest.approx(length * math.log(2) + math.log(weight), abs=1e-9)
    up = 0.5 * math.exp(1.5) / weight
    np.testing.assert_allclose([m[1] for m in answer.marginals], up, rtol=1e-12)


@pytest.mark.parametrize("length", [7, 9])
def test_a_long_hard_clause_among_ternary_variables(length):
    rng = np.random.default_rng(length)
    builder = Builder([3] * length)
    builder.add_clause(range(length), rng.integers(3, size=length).tolist(), np.inf)
    builder.add_clause(range(length), rng.integers(3, size=length).tolist(), -0.7)
    for variable in range(length):
        builder.add_factor([variable], rng.normal(size=3))
    graph = builder.build()
    assert_same(marginals(graph), enumerate_states(graph))


def test_weights_far_beyond_the_range_of_floats():
    """Fields of ±2000 on a chain: any product of weights under- or overflows."""
    builder = Builder([2] * 40)
    agree = builder.add_table([900.0, -900.0, -900.0, 900.0])
    builder.add_factors([[v, v + 1] for v in range(39)], agree)
    builder.add_factor([0], [2000.0, -2000.0])
    builder.add_factor([39], [-2000.0, 2000.0 + math.log(3)])
    answer = marginals(builder.build())
    # all down, all up, or one break anywhere: 1 : 3 : 3 * 39 * exp(2 * (2000 - 900))
    assert answer.log_z == pytest.approx(4000 + 37 * 900 + math.log(3 * 39), rel=1e-12)
    up = [marginal[1] for marginal in answer.marginals]
    np.testing.assert_allclose(up, np.arange(40) / 39, atol=1e-9)


def test_a_graph_without_factors_is_uniform():
    answer = marginals(Builder([2, 5, 1]).build())
    assert answer.log_z == pytest.approx(math.log(10))
    np.testing.assert_allclose(answer.marginals[1], [0.2] * 5)
    assert answer.marginals[2].tolist() == [1.0]


def test_a_graph_without_variables_is_its_constant():
    builder = Builder([])
    builder.constant = 2.5
    assert marginals(builder.build()).log_z == 2.5


def test_the_critical_torus_has_onsagers_kaufmans_free_energy():
    """Kaufman's closed form of Z on an n by n torus, with no field."""
    n, coupling = 8, 0.4406868
    answer = marginals(ising_grid(n, n, coupling, periodic=True).graph)
    assert answer.log_z == pytest.approx(_kaufman(n, coupling), abs=1e-8)
    np.testing.assert_allclose(answer.marginals, 0.5, atol=1e-9)


def _kaufman(n, coupling):
    """Natural logarithm of the partition function of the Ising torus (Kaufman 1949)."""
    c, s = math.cosh(2 * coupling), math.sinh(2 * coupling)
    angles = np.pi * np.arange(2 * n) / n
    gammas = np.arccosh(c * c / s - np.cos(angles))
    gammas[0] = 2 * coupling + math.log(math.tanh(coupling))
    odd, even = gammas[1::2], gammas[0::2]
    z = (
        np.prod(2 * np.cosh(n * odd / 2))
        + np.prod(2 * np.sinh(n * odd / 2))
        + np.prod(2 * np.cosh(n * even / 2))
        + np.prod(2 * np.sinh(n * even / 2))
    )
    return math.log(0.5 * z) + n * n / 2 * math.log(2 * s)


def test_potts_marginals_of_a_symmetric_model_are_uniform():
    answer = marginals(potts_grid(4, 4, 5, 0.9).graph)
    np.testing.assert_allclose(answer.marginals, 0.2, atol=1e-12)


def test_too_much_memory_is_refused_with_the_figure():
    graph = ising_grid(16, 16, 0.3).graph
    plan = predict(graph)
    with pytest.raises(LimitError, match=r"would need [\d.e-]+ GiB, the limit is 0.000977 GiB"):
        marginals(graph, plan=plan, memory=2**20)


@pytest.mark.parametrize("memory", [2**30, 2**24])
def test_the_predicted_memory_is_what_is_taken(memory):
    graph = chimera(4, 4, 0.2, 0.1).graph
    plan = predict(graph, memory=memory)
    tracemalloc.start()
    try:
        marginals(graph, plan=plan, memory=2**30)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert plan.bytes / 1.5 < peak < plan.bytes * 1.5
