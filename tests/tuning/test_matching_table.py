"""Hard exclusions that are a matching are found, and others are not taken for one."""

from itertools import combinations

import numpy as np
import pytest

import orbitmc as om
from orbitmc.graph.builder import Builder
from orbitmc.inference import answer as answer_module
from orbitmc.inference import plan as plan_module
from orbitmc.inference.settings import Settings
from orbitmc.tuning.structure import matching_table
from tests.kernels.test_matching import matching_model, model_of


def lines_of(table):
    """The sets of variables in rows, and in columns; those of one are no lines."""
    sides = ([line[line >= 0].tolist() for line in side] for side in (table, table.T))
    return {frozenset(frozenset(line) for line in side if len(line) > 1) for side in sides}


@pytest.mark.parametrize("missing", [0.0, 0.2, 0.4])
@pytest.mark.parametrize("perfect", [False, True])
def test_matchings_are_found_however_their_variables_are_numbered(missing, perfect):
    """Where pairs are missing, lines of two may be told apart from others in several ways."""
    found = 0
    for seed in range(30):
        rng = np.random.default_rng([seed, int(10 * missing), perfect])
        rows, columns = rng.integers(2, 7, size=2)
        known = {"missing": missing, "perfect": perfect, "extra": 0}
        graph, table = matching_model(rng, int(rows), int(columns), **known)
        seen = matching_table(graph)
        if seen is None:
            continue
        found += 1
        assert set().union(*map(set, lines_of(seen))) == set().union(*map(set, lines_of(table)))
        if not missing:
            assert lines_of(seen) == lines_of(table)
    assert found == 30 if not missing else found > 20


def exclusions(pairs, variables):
    builder = Builder([2] * variables)
    for one, other in pairs:
        builder.add_clause([one, other], [0, 0], np.inf)
    return builder.build()


def of_square(table):
    return [pair for line in (*table, *table.T) for pair in combinations(line.tolist(), 2)]


def test_almost_a_matching_is_none():
    square = np.arange(9).reshape(3, 3)
    pairs = of_square(square)
    assert matching_table(exclusions(pairs, 9)) is not None
    for number in range(len(pairs)):
        assert matching_table(exclusions(pairs[:number] + pairs[number + 1 :], 9)) is None
    for extra in ((0, 4), (2, 3), (5, 7)):
        assert matching_table(exclusions([*pairs, extra], 9)) is None


def test_soft_or_other_factors_make_no_matching():
    pairs = of_square(np.arange(9).reshape(3, 3))
    builder = Builder([2] * 9)
    for one, other in pairs:
        builder.add_clause([one, other], [0, 0], 20.0)
    assert matching_table(builder.build()) is None
    builder = Builder([2] * 9)
    for one, other in pairs:
        builder.add_clause([one, other], [1, 0], np.inf)
    assert matching_table(builder.build()) is None
    builder = Builder([3] * 9)
    for one, other in pairs:
        table = np.zeros((3, 3))
        table[1, 1] = -np.inf
        builder.add_factor([one, other], table)
    assert matching_table(builder.build()) is None


def test_one_of_several_is_no_matching():
    lines = [(0, 1, 2), (3, 4, 5, 6)]
    pairs = [pair for line in lines for pair in combinations(line, 2)]
    assert matching_table(exclusions(pairs, 7)) is None


def test_three_directions_are_no_matching():
    cube = np.arange(8).reshape(2, 2, 2)
    pairs = [
        pair
        for axis in range(3)
        for line in np.moveaxis(cube, axis, 2).reshape(-1, 2)
        for pair in combinations(line.tolist(), 2)
    ]
    assert matching_table(exclusions(pairs, 8)) is None


@pytest.mark.parametrize("perfect", [False, True])
@pytest.mark.parametrize("atoms", [0, 2])
def test_auto_draws_rows_of_matchings(perfect, atoms, monkeypatch):
    """Off by 6.5 errors in less than 1e-8 of all seeds, if chains mix."""
    rng = np.random.default_rng([5, perfect, atoms])
    graph, _ = matching_model(rng, 4, 4, perfect=perfect, extra=0, atoms=atoms)
    model = model_of(graph if not atoms else _joined(graph, rng, atoms))
    exact = om.marginals(model, method="exact")
    monkeypatch.setattr(plan_module, "plan_marginals", lambda *asked: (None, "too wide"))
    monkeypatch.setattr(plan_module, "plan_elimination", lambda *asked: (None, "too wide"))
    monkeypatch.setattr(answer_module, "find_elimination", lambda *asked: None)
    answer = om.marginals(model, samples=600, seed=2)
    assert "rows of a matching take free columns" in answer.about.reason
    assert answer.about.moves["families"] == ["matchings"]
    assert answer.converged
    for name in model.names:
        error = answer[name].standard_error[1]
        assert abs(answer[name].probability[1] - exact[name].probability[1]) <= 6.5 * error
    again = om.marginals(model, method="lmh", moves=answer.about.moves, samples=600, seed=2)
    assert again.columns.probability.tolist() == answer.columns.probability.tolist()


def _joined(graph, rng, atoms):
    """The graph with a factor between each other atom and a pair of the matching."""
    builder = Builder(graph.cardinality)
    for factor in range(graph.factors):
        scope = graph.scope_of(factor).tolist()
        if factor < graph.first_clause:
            builder.add_factor(scope, graph.table_values(factor))
        else:
            low, high = graph.table_values(factor)
            builder.add_clause(scope, graph.satisfying_of(factor).tolist(), high - low)
    for atom in range(atoms):
        builder.add_factor([atom, graph.variables - 1 - atom], rng.normal(size=(2, 2)))
    return builder.build()


def test_lmh_draws_rows_without_a_race():
    graph, _ = matching_model(np.random.default_rng(8), 3, 4, extra=0)
    plan = plan_module.plan_model(model_of(graph), Settings(method="lmh", samples=10))
    assert plan.settings.moves["families"] == ["matchings"]
    given = Settings(method="lmh", samples=10, moves={"families": [], "period": 1})
    assert plan_module.plan_model(model_of(graph), given).settings.moves == given.moves


def test_frozen_without_it():
    """The mistake that it mends: Gibbs alone never leaves a perfect matching."""
    graph, _ = matching_model(np.random.default_rng(6), 4, 4, perfect=True, extra=0)
    model = model_of(graph)
    plain = om.marginals(
        model, method="lmh", moves={"families": [], "period": 1}, samples=50, seed=1
    )
    assert not plain.converged


def test_pairs_that_exclude_each_other_by_chance_are_no_matching():
    path = [(0, 1), (1, 2)]
    assert matching_table(exclusions([*path, (3, 4)], 5)) is None
    assert matching_table(exclusions([*path, (2, 3)], 4)) is not None
