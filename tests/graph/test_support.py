"""Pruning removes no possible value, and searches find states or say that there are none."""

import itertools

import numpy as np
import pytest

from orbitmc._numba import tiers
from orbitmc._numba.compile_log import time_limit
from orbitmc.errors import ContradictionError, LimitError
from orbitmc.graph import feasibility
from orbitmc.graph.builder import Builder
from orbitmc.graph.feasibility import MOST_BACKTRACKS, _search_state, possible_states, walk_to_state
from orbitmc.graph.log_weights import log_weight
from orbitmc.graph.relevance import components
from orbitmc.graph.support import possible_values
from tests.oracle import brute_force
from tests.oracle.random_models import random_graph

SEED = np.random.SeedSequence(3)


def test_possible_values_are_kept():
    for seed in range(60):
        graph = random_graph(seed, variables=(3, 6), zeros=0.5)
        domains = possible_values(graph)
        for variable, marginal in enumerate(brute_force.marginals(graph)):
            assert (domains.of(variable) | (marginal == 0)).all()


def test_values_without_support_are_pruned():
    builder = Builder([3, 3])
    builder.add_factor([0, 1], np.where(np.eye(3) > 0, 0.0, -np.inf))
    builder.add_factor([1], [0.0, -np.inf, 0.0])
    domains = possible_values(builder.build())
    assert domains.of(0).tolist() == [True, False, True]


def test_clauses_prune_by_unit_propagation():
    builder = Builder([2, 2, 2])
    builder.add_clause([0], [1], np.inf)
    builder.add_clause([0, 1], [0, 1], np.inf)
    builder.add_clause([1, 2], [0, 0], np.inf)
    domains = possible_values(builder.build())
    assert [domains.of(v).tolist() for v in range(3)] == [
        [False, True],
        [False, True],
        [True, False],
    ]


def test_forbidden_clauses_rule_out_their_literals():
    builder = Builder([2, 3])
    builder.add_clauses([[0, 1]], [[1, 2]], builder.add_table([0.0, -np.inf]))
    domains = possible_values(builder.build())
    assert domains.of(0).tolist() == [True, False]
    assert domains.of(1).tolist() == [True, True, False]


def test_states_found_are_possible_and_dispersed():
    for seed in range(20):
        graph = random_graph(seed, variables=(4, 7), zeros=0.4)
        states = possible_states(graph, 32, SEED)
        assert np.isfinite(log_weight(graph, states)).all()
        if (brute_force.distribution(graph) > 0).sum() > 20:
            assert len(np.unique(states, axis=1).T) > 1


def test_a_puzzle_that_needs_backtracking_is_solved():
    size = 7
    builder = Builder(np.full(size, size))
    different = np.where(np.eye(size) > 0, -np.inf, 0.0)
    for first in range(size):
        for second in range(first):
            apart = first - second
            columns = np.subtract.outer(np.arange(size), np.arange(size))
            attack = np.where(np.abs(columns) == apart, -np.inf, different)
            builder.add_factor([first, second], attack)
    queens = possible_states(builder.build(), 16, SEED)
    for board in queens.T.astype(int):
        assert (
            len(set(board))
            == len(set(board + range(size)))
            == len(set(board - range(size)))
            == size
        )


def test_unsatisfiable_constraints_are_proved():
    builder = Builder([2, 2, 2])
    for first, second in ((0, 1), (1, 2), (0, 2)):
        builder.add_factor([first, second], np.where(np.eye(2) > 0, -np.inf, 0.0))
    graph = builder.build()
    possible_values(graph)
    with pytest.raises(ContradictionError, match="no state satisfies"):
        possible_states(graph, 1, SEED)


def test_components_are_numbered_from_the_first_variable():
    builder = Builder([2] * 5)
    builder.add_factor([0, 2], np.zeros(4))
    builder.add_clause([1, 4], [0, 0], 1.0)
    found = components(builder.build())
    assert found[0] == found[2]
    assert found[1] == found[4]
    assert len(set(found.tolist())) == 3


def random_clauses(variables, clauses, seed):
    """Random hard clauses of three variables each."""
    rng = np.random.default_rng(seed)
    scopes = [rng.choice(variables, 3, replace=False) for _ in range(clauses)]
    builder = Builder(np.full(variables, 2))
    wanted = rng.integers(0, 2, (clauses, 3))
    builder.add_clauses(scopes, wanted, builder.add_table([-np.inf, 0.0]))
    return builder.build()


def test_walking_finds_states_where_a_search_loses_its_way():
    graph = random_clauses(400, 1500, seed=2)
    pruned, rng = possible_values(graph), np.random.default_rng(1)
    assert _search_state(graph, pruned, rng, MOST_BACKTRACKS, False) is None
    states = possible_states(graph, 3, SEED)
    assert np.isfinite(log_weight(graph, states)).all()
    assert len(np.unique(states, axis=1).T) == 3


def test_a_walk_that_looks_at_the_clock_ends_where_it_would_have_ended(monkeypatch):
    graph = random_clauses(400, 1500, seed=2)
    pruned = possible_values(graph)
    whole = walk_to_state(graph, pruned, np.random.default_rng(5))
    looks = []
    monkeypatch.setattr(feasibility, "FLIPS_AT_ONCE", 7)
    monkeypatch.setattr(
        feasibility, "timed", lambda steps: (looks.append(1) or step for step in steps)
    )
    parts = walk_to_state(graph, pruned, np.random.default_rng(5))
    assert np.array_equal(whole, parts)
    assert len(looks) > 10


def test_a_search_for_a_start_ends_when_its_time_is_over():
    graph = random_clauses(60, 180, seed=1)
    possible_states(graph, 2, SEED)
    with time_limit(0.0), pytest.raises(LimitError, match="no time"):
        possible_states(graph, 2, SEED)
    with time_limit(0.0), pytest.raises(LimitError, match="no time"):
        walk_to_state(graph, possible_values(graph), np.random.default_rng(1))


def test_a_solver_is_asked_a_few_conflicts_at_a_time(monkeypatch):
    pytest.importorskip("pysat", reason="the extra sat is not installed")
    monkeypatch.setattr(feasibility, "CONFLICTS_AT_ONCE", 1)
    for graph, possible in ((random_clauses(60, 240, seed=3), True), (pigeonholes(6), False)):
        pruned, rng = possible_values(graph), np.random.default_rng(1)
        clauses = feasibility.encode(graph, pruned)
        with time_limit(0.0), pytest.raises(LimitError, match="no time"):
            feasibility.solve(clauses, pruned, rng)
        if possible:
            assert np.isfinite(
                brute_force.log_weight(graph, feasibility.solve(clauses, pruned, rng))
            )
        else:
            with pytest.raises(ContradictionError, match="no state"):
                feasibility.solve(clauses, pruned, rng)


def test_zeros_of_tables_that_no_factor_has_do_not_count():
    builder = Builder([2, 2])
    builder.add_table([-np.inf, 0.0, 0.0, -np.inf])
    builder.add_factor([0, 1], np.zeros((2, 2)))
    assert not builder.build().has_zeros()
    builder.add_factor([1], [0.0, -np.inf])
    graph = builder.build()
    assert graph.has_zeros()
    assert feasibility.hard_factors(graph).tolist() == [False, True]


def test_walking_mends_tables_and_variables_of_many_values():
    for seed in range(20):
        graph = random_graph([seed, 6], variables=(4, 7), cardinalities=(2, 3, 4), zeros=0.4)
        found = walk_to_state(graph, possible_values(graph), np.random.default_rng(seed))
        assert found is not None
        assert np.isfinite(brute_force.log_weight(graph, found))


def test_too_many_clauses_end_in_words_not_in_a_hang():
    with pytest.raises(ContradictionError, match="hard constraints"):
        possible_states(random_clauses(60, 360, seed=1), 1, SEED)


def test_a_factor_of_no_variables_that_is_zero_leaves_no_state():
    builder = Builder([2, 2])
    builder.add_factor([0, 1], np.zeros((2, 2)))
    builder.add_factor([], np.array(-np.inf))
    with pytest.raises(ContradictionError, match="hard constraints"):
        possible_values(builder.build())


def pigeonholes(pigeons):
    """So many pigeons in one hole less, no two in the same: nobody can say quickly why not."""
    pairs = itertools.combinations(range(pigeons), 2)
    builder = Builder([pigeons - 1] * pigeons)
    table = builder.add_table(np.where(np.eye(pigeons - 1, dtype=bool), -np.inf, 0.0))
    builder.add_factors(np.array(list(pairs)), table)
    return builder.build()


def test_a_search_that_loses_its_way_is_not_interpreted(monkeypatch):
    """A thousand backtracks take seconds in the interpreter, however small the model is."""
    limits, find = [], feasibility._find

    def listen(*given):
        limits.append(given[-2])
        return find(*given)

    monkeypatch.setattr(feasibility, "_find", listen)
    easy = Builder([2, 2])
    easy.add_clause([0, 1], [0, 1], np.inf)
    feasibility.possible_states(easy.build(), 1, np.random.SeedSequence(0))
    assert limits == [feasibility.FIRST_BACKTRACKS]
    with pytest.raises(ContradictionError):
        feasibility.possible_states(pigeonholes(7), 1, np.random.SeedSequence(0))
    assert limits[1:3] == [feasibility.FIRST_BACKTRACKS, feasibility.FEW_BACKTRACKS]
    hard = pigeonholes(7)
    assert np.isinf(find._work(hard, limits[2], None))
    seconds = tiers.STEP * find._work(hard, limits[1], None)
    assert seconds < tiers.LOADING


def looked_at(monkeypatch, size):
    """How many variables a search looks at until it knows what to decide next, in all."""
    builder = Builder([3] * size)
    table = builder.add_table(np.where(np.eye(3, dtype=bool), -np.inf, 0.0))
    builder.add_factors(np.stack([np.arange(size - 1), np.arange(1, size)], axis=1), table)
    graph, find, following, looks = builder.build(), feasibility._find, feasibility._next_place, []

    def listen(order, domains, smallest_first, first):
        place = following(order, domains, smallest_first, first)
        looks.append((len(order) if place < 0 else place + 1) - first)
        return place

    with monkeypatch.context() as patched:
        patched.setattr(feasibility, "_next_place", listen)
        patched.setattr(feasibility, "_find", find.py_func)
        state = feasibility.possible_states(graph, 1, np.random.SeedSequence(size))
    assert log_weight(graph, state)[0] > -np.inf
    return sum(looks)


def test_a_search_that_undoes_nothing_looks_at_each_variable_about_once(monkeypatch):
    small, large = looked_at(monkeypatch, 50), looked_at(monkeypatch, 200)
    assert large < 3 * 200
    assert large < 6 * small
