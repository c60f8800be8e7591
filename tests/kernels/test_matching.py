"""Matchings: draws of rows keep the distribution, and connect all that zeros allow."""

from itertools import combinations

import numpy as np
import pytest

import orbitmc as om
from orbitmc.conditionals.prepared import prepare, prepare_unrounded
from orbitmc.errors import InputError
from orbitmc.graph.builder import Builder
from orbitmc.graph.model import Model
from orbitmc.kernels import _matching
from orbitmc.kernels._matching import match_table, matching
from orbitmc.kernels.testing.exact import one_step, outcomes
from tests.kernels.test_mistakes import WRONG
from tests.kernels.test_transition_matrices import EXACT, residuals


def matching_model(rng, rows, columns, *, perfect=False, missing=0.0, extra=2, atoms=0):
    """Rows and columns that are matched at most once, with random fields and other factors."""
    there = rng.random((rows, columns)) >= missing
    there[np.arange(min(rows, columns)), np.arange(min(rows, columns))] = True
    table = np.full((rows, columns), -1, dtype=np.int32)
    table[there] = rng.permutation(int(there.sum()))
    count = int(there.sum())
    builder = Builder([2] * (count + atoms))
    for variable in range(count):
        builder.add_factor([variable], rng.normal(0.0, 1.0, 2))
    for line in (*table, *table.T):
        members = line[line >= 0].tolist()
        for one, other in combinations(members, 2):
            if rng.random() < 0.5:
                builder.add_clause([one, other], [0, 0], np.inf)
            else:
                builder.add_factor([one, other], [0.3, 0.3, 0.3, -np.inf])
        if perfect and members:
            builder.add_clause(members, [1] * len(members), np.inf)
    for _ in range(extra):
        scope = rng.choice(count + atoms, min(3, count + atoms), replace=False)
        entries = rng.normal(size=(2,) * len(scope))
        if rng.random() < 0.4:
            entries[(1,) * len(scope)] = -np.inf
        builder.add_factor(scope, entries)
    return builder.build(), table


CASES = {
    "partial": {"rows": 3, "columns": 3, "extra": 0},
    "wide": {"rows": 2, "columns": 4},
    "other factors": {"rows": 3, "columns": 2, "extra": 3},
    "perfect": {"rows": 3, "columns": 3, "perfect": True},
    "pairs that never match": {"rows": 3, "columns": 3, "missing": 0.3},
    "other atoms": {"rows": 2, "columns": 2, "atoms": 2, "extra": 4},
    "one row": {"rows": 1, "columns": 4},
    "perfect, and other factors": {"rows": 3, "columns": 3, "perfect": True, "extra": 4},
    "perfect, of few pairs": {"rows": 3, "columns": 3, "perfect": True, "missing": 0.3},
}


def test_every_row_may_be_needed_and_some_columns_not():
    rng = np.random.default_rng(7)
    for perfect_rows in (1, 2):
        graph, table = matching_model(rng, 2, 3, extra=0)
        builder = Builder([2] * graph.variables)
        for factor in range(graph.factors):
            scope = graph.scope_of(factor).tolist()
            builder.add_factor(scope, graph.full_table(factor))
        for row in table[:perfect_rows]:
            builder.add_clause(row.tolist(), [1, 1, 1], np.inf)
        prepared = prepare_unrounded(builder.build())
        kernel = match_table(prepared.graph, table)
        assert kernel.row_needed.sum() == perfect_rows
        assert residuals(prepared.graph, one_step(prepared, kernel))[0] <= EXACT


@pytest.mark.parametrize("case", CASES)
def test_a_step_keeps_the_distribution(case):
    for seed in range(4):
        rng = np.random.default_rng([seed, *case.encode()])
        graph, table = matching_model(rng, **CASES[case])
        prepared = prepare_unrounded(graph)
        run = one_step(prepared, match_table(prepared.graph, table))
        assert residuals(graph, run)[0] <= EXACT, (case, seed)


def test_forgetting_what_an_exchange_gains_is_wrong(monkeypatch):
    graph, table = matching_model(np.random.default_rng(1), 3, 3, perfect=True)
    prepared = prepare_unrounded(graph)
    run = one_step(prepared, match_table(prepared.graph, table))
    assert residuals(graph, run)[0] <= EXACT
    monkeypatch.setattr(_matching, "_gain", lambda kernel, row, column: 0.0)
    assert residuals(graph, run)[0] > WRONG


def test_forgetting_how_often_columns_are_asked_for_is_wrong():
    graph, table = matching_model(np.random.default_rng(1), 3, 3, extra=0)
    prepared = prepare_unrounded(graph)
    kernel = match_table(prepared.graph, table)
    assert residuals(graph, one_step(prepared, kernel))[0] <= EXACT
    even = kernel._replace(log_chance=0 * kernel.log_chance)
    assert residuals(graph, one_step(prepared, even))[0] > WRONG


def test_forgetting_other_factors_is_wrong():
    graph, table = matching_model(np.random.default_rng(2), 3, 3, extra=4)
    prepared = prepare_unrounded(graph)
    kernel = match_table(prepared.graph, table)
    assert len(kernel.factor)
    without = kernel._replace(factor_start=kernel.factor_start * np.uint32(0))
    assert residuals(graph, one_step(prepared, kernel))[0] <= EXACT
    assert residuals(graph, one_step(prepared, without))[0] > WRONG


def model_of(graph):
    names = tuple(f"m{number}" for number in range(graph.variables))
    return Model(graph, names, (("no", "yes"),) * graph.variables)


@pytest.mark.parametrize("perfect", [False, True])
def test_marginals_of_larger_matchings_are_exact_within_their_errors(perfect):
    """Off by 6.5 errors in less than 1e-8 of all seeds, if chains mix."""
    graph, table = matching_model(np.random.default_rng(3), 4, 4, perfect=perfect, extra=0)
    model = model_of(graph)
    exact = om.marginals(model, method="exact")
    kernel = match_table(prepare(graph).graph, table)
    found = om.marginals(model, kernel=kernel, samples=400, seed=1)
    for name in model.names:
        error = found[name].standard_error[1]
        assert abs(found[name].probability[1] - exact[name].probability[1]) <= 6.5 * error + 1e-9
    assert found.converged
    assert max(found.columns.r_hat) < 1.05


def test_without_other_hard_factors_everything_is_freed():
    graph, table = matching_model(np.random.default_rng(4), 3, 3, extra=0)
    assert match_table(graph, table).frees(graph).all()
    graph, table = matching_model(np.random.default_rng(4), 3, 3, extra=0, perfect=True)
    kernel = match_table(graph, table)
    assert kernel.frees(graph).all()
    assert kernel.row_needed.all()
    assert kernel.column_needed.all()
    assert not len(kernel.factor)


def test_other_hard_factors_may_hold_what_a_matching_frees():
    rng = np.random.default_rng(6)
    graph, table = matching_model(rng, 3, 3, extra=0, perfect=True, missing=0.5)
    assert (table < 0).any()
    assert not match_table(graph, table).frees(graph).any()
    builder = Builder([2, 2, 2])
    builder.add_factor([0, 1], [0.0, 0.0, 0.0, -np.inf])
    builder.add_factor([0, 2], [0.0, -np.inf, -np.inf, 0.0])
    assert (
        not match_table(builder.build(), np.array([[0, 1]], np.int32)).frees(builder.build()).any()
    )


def test_a_state_that_is_no_matching_is_left_alone():
    graph, table = matching_model(np.random.default_rng(5), 2, 2, extra=0)
    prepared = prepare_unrounded(graph)
    kernel = match_table(prepared.graph, table)
    values = np.zeros(graph.variables, dtype=np.uint8)
    values[table[0]] = 1
    state = tuple(values.tolist())
    assert outcomes(one_step(prepared, kernel), state) == {state: 1.0}


@pytest.mark.parametrize(
    ("pairs", "words"),
    [
        ({("a", 1): 0, ("b", 1): 9}, "distinct variables from 0 to 3"),
        ({"a1": 0}, "a tuple of a row and a column"),
        ({("a", 1): 0, ("b", 1): 0}, "distinct variables from 0 to 3"),
    ],
)
def test_pairs_that_make_no_sense_are_refused(pairs, words):
    graph, _ = matching_model(np.random.default_rng(5), 2, 2, extra=0)
    with pytest.raises(InputError, match=words):
        matching(prepare(graph), pairs)


def test_more_than_two_values_are_refused():
    builder = Builder([3, 2])
    with pytest.raises(InputError, match="binary variables; variable 0"):
        matching(prepare(builder.build()), {("a", 1): 0, ("b", 1): 1})
