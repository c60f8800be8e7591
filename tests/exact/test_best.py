"""The best states by elimination are those that listing all states finds, in the same order."""

import itertools

import numpy as np
import pytest

from orbitmc.errors import ContradictionError
from orbitmc.exact import map as neighbourhoods
from orbitmc.exact import order
from orbitmc.exact.map import MaxElimination, best_states, solve_map, upper_bound
from orbitmc.exact.plan import plan_holding, predict
from orbitmc.exact.problem import prepare
from orbitmc.graph import log_weights as sums
from orbitmc.graph.builder import Builder
from orbitmc.models._ising import ising_grid
from tests.exact.random_graphs import random_graph
from tests.oracle.brute_force import log_weight, states


def by_listing(graph):
    """Possible states with their log-weights, heaviest first."""
    every = [(log_weight(graph, state), state) for state in states(graph)]
    return sorted((one for one in every if one[0] > -np.inf), key=lambda one: -one[0])


def found_by(graph, plan, count):
    states_found = solve_map(plan, count)
    assert len({tuple(state) for state in states_found}) == len(states_found)
    return [log_weight(graph, state) for state in states_found]


@pytest.mark.parametrize("block", range(8))
def test_the_best_states_are_those_of_an_exhaustive_search(block):
    compared = 0
    for seed in range(45 * block, 45 * (block + 1)):
        graph = random_graph(seed, variables=6)
        expected = by_listing(graph)
        if not expected:
            with pytest.raises(ContradictionError):
                solve_map(predict(graph), 1)
            continue
        count = (1, 7, 10_000)[seed % 3]
        found = found_by(graph, predict(graph), count)
        np.testing.assert_allclose(found, [weight for weight, _ in expected[:count]], atol=1e-9)
        compared += 1
    assert compared > 30


@pytest.mark.parametrize("seed", range(12))
def test_holding_variables_makes_no_difference(seed):
    graph = random_graph(seed, variables=6)
    expected = by_listing(graph)
    problem = prepare(graph)
    held = tuple(range(min(2, len(problem.sizes))))
    plan = plan_holding(problem, held, memory=2**30, seconds=1)
    found = found_by(graph, plan, 5)
    np.testing.assert_allclose(found, [weight for weight, _ in expected[:5]], atol=1e-9)


def test_ties_are_all_found_and_always_in_the_same_order():
    graph = ising_grid(3, 3, 0.5).graph  # flipping all spins changes nothing
    first, again = ([tuple(s) for s in solve_map(predict(graph), 40)] for _ in range(2))
    assert first == again
    assert len(set(first)) == 40
    weights = [log_weight(graph, state) for state in first]
    np.testing.assert_allclose(weights, [w for w, _ in by_listing(graph)[:40]], atol=1e-12)
    assert {first[0], first[1]} == {(0,) * 9, (1,) * 9}


def test_all_states_come_once_when_all_weigh_the_same():
    builder = Builder([2, 3, 2])
    builder.add_factor([0, 1], np.zeros((2, 3)))
    builder.add_factor([1, 2], np.zeros((3, 2)))
    found = solve_map(predict(builder.build()), 100)
    assert sorted(map(tuple, found)) == sorted(itertools.product(range(2), range(3), range(2)))


def test_a_long_chain_has_the_weight_of_its_best_state():
    """Weights far beyond doubles, where sums of exponentials would overflow."""
    builder = Builder([2] * 400)
    rng = np.random.default_rng(1)
    for place in range(399):
        builder.add_factor([place, place + 1], 50 * rng.normal(size=(2, 2)))
    graph = builder.build()
    problem = prepare(graph)
    elimination = MaxElimination(problem, predict(graph).tree)
    weight, _ = next(best_states(elimination))
    state = solve_map(predict(graph), 1)[0]
    forward = np.zeros(2)
    for place in range(399):
        forward = (forward[:, None] + graph.table_values(place)).max(axis=0)
    assert sums.exact_log_weight(graph, state) == pytest.approx(forward.max(), rel=1e-12)
    assert weight + problem.constant == pytest.approx(forward.max(), rel=1e-12)


@pytest.mark.parametrize("most", [1, 4, 2**16])
def test_no_state_exceeds_the_bound(most):
    tight = 0
    for seed in range(60):
        graph = random_graph(seed, variables=6)
        expected = by_listing(graph)
        if not expected:
            continue
        bound = upper_bound(prepare(graph), most)
        assert bound >= expected[0][0] - 1e-9
        tight += bound <= expected[0][0] + 1e-9
    assert tight > (0 if most == 1 else 5)
    assert most < 2**16 or tight == sum(bool(by_listing(random_graph(s))) for s in range(60))


def test_a_bound_that_is_cut_short_still_bounds():
    looser = 0
    for seed in range(60):
        graph = random_graph(seed)
        expected = by_listing(graph)
        if not expected:
            continue
        whole = upper_bound(prepare(graph))
        for steps in range(4):
            turns = iter(range(100))
            cut = upper_bound(prepare(graph), is_over=lambda t=turns, n=steps: next(t) >= n)
            assert cut >= expected[0][0] - 1e-9
            looser += cut > whole + 1e-6
    assert looser > 20


def test_a_bound_from_single_tables_is_too_loose_to_prove_anything():
    """What the bound is good for: together, tables know that they cannot all be at their best."""
    graph = ising_grid(3, 3, 0.5, 1.0 - 2.0 * (np.arange(9).reshape(3, 3) % 2)).graph
    best = by_listing(graph)[0][0]
    problem = prepare(graph)
    assert upper_bound(problem, 2**16) == pytest.approx(best)
    assert problem.constant > best + 0.5


@pytest.mark.parametrize("seed", range(30))
def test_the_weight_of_a_state_is_that_of_plain_addition(seed):
    graph = random_graph(seed)
    rng = np.random.default_rng(seed)
    for _ in range(10):
        state = rng.integers(0, graph.cardinality)
        assert sums.exact_log_weight(graph, state) == pytest.approx(log_weight(graph, state))


@pytest.mark.parametrize("hopeless", [False, True])
@pytest.mark.parametrize("seed", range(25))
def test_exact_steps_never_make_a_state_worse_and_keep_it_possible(seed, hopeless, monkeypatch):
    """Tables of a dozen entries in all, so that most variables are held in every step.

    Where no order is good enough to begin with, some are held before an order is looked for.
    """
    monkeypatch.setattr(order, "MOST_LOG_ENTRIES", 2 if hopeless else 60)
    order.REMEMBERED_ORDERS.clear()
    graph = random_graph(seed, variables=6)
    expected = by_listing(graph)
    if not expected:
        pytest.skip("no state is possible")
    steps = neighbourhoods.Neighbourhoods(prepare(graph), seed, most_cost=12.0)
    weight, state = expected[-1]
    changes = 0
    for _ in range(100):
        before, state = state, steps.improve(np.array(state))
        assert log_weight(graph, state) >= weight - 1e-9
        weight = log_weight(graph, state)
        changes += list(before) != list(state)
    assert changes > 0 or weight == pytest.approx(expected[0][0])
    order.REMEMBERED_ORDERS.clear()


@pytest.mark.parametrize("seed", range(25))
def test_a_step_that_holds_nothing_is_exact(seed):
    graph = random_graph(seed, variables=6)
    expected = by_listing(graph)
    if not expected:
        pytest.skip("no state is possible")
    steps = neighbourhoods.Neighbourhoods(prepare(graph), seed)
    found = steps.improve(np.array(expected[-1][1]))
    assert log_weight(graph, found) == pytest.approx(expected[0][0], abs=1e-9)
