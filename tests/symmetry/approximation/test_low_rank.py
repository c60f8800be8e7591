"""Low-rank links make twins of variables that play the same part."""

import numpy as np
import pytest

from orbitmc.errors import InputError, LimitError
from orbitmc.graph.builder import Builder
from orbitmc.models._ising import ising
from orbitmc.symmetry.approximations import low_rank
from tests.symmetry.approximation.models import (
    assert_same_variables,
    factors_of,
    named,
    noisy_grid,
    observed_grid,
    pairs_and_clauses,
)
from tests.symmetry.approximation.test_boolean_rank import communities


def linked(graph):
    """Which pairs of variables some factor joins."""
    found = np.zeros((graph.variables, graph.variables), dtype=bool)
    for factor in range(graph.factors):
        scope = graph.scope_of(factor)
        if len(scope) == 2:
            found[scope[0], scope[1]] = found[scope[1], scope[0]] = True
    return found


def test_blocks_of_a_noisy_graph_become_twins():
    group, links = communities(2, noise=0.03)
    model = ising(np.zeros(40), np.argwhere(np.triu(links)), 0.2)
    found = linked(low_rank(model, rank=3).graph)
    _, clean = communities(2)
    np.testing.assert_array_equal(found, clean)
    for one in range(40):
        for other in np.flatnonzero(group == group[one]):
            rest = np.setdiff1d(np.arange(40), [one, other])
            np.testing.assert_array_equal(found[one, rest], found[other, rest])


def test_each_kind_of_coupling_has_its_own_links():
    inside = [(a, b) for a in range(5) for b in range(a)]
    across = [(a, b) for a in range(5) for b in range(5, 9)]
    couplings = np.array([0.5] * len(inside) + [-0.3] * len(across))
    couplings += 1e-3 * np.random.default_rng(0).normal(size=len(couplings))
    model = ising(np.zeros(9), inside + across, couplings)
    graph = low_rank(model, rank=1, clusters=2).graph
    assert len(graph.table_start) - 1 == 2
    np.testing.assert_array_equal(linked(graph), linked(model.graph))
    mixed = low_rank(model, rank=1, clusters=1).graph
    assert len(mixed.table_start) - 1 == 1


def test_directed_couplings_keep_their_direction():
    table = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 2.0], [3.0, 0.0, 0.0]])
    builder = Builder([3] * 6)
    number = builder.add_table(table)
    builder.add_factors([(a, b) for a in range(3) for b in range(3, 6)], number)
    model = named(builder.build())
    enough = low_rank(model, rank=2)
    pairs = {row: entries for row, entries in factors_of(enough) if len(row) == 2}
    assert {frozenset(row) for row in pairs} == {
        frozenset((a, b)) for a in range(3) for b in range(3, 6)
    }
    assert len(set(pairs.values())) == 1


@pytest.mark.parametrize("make", [noisy_grid, observed_grid, pairs_and_clauses])
def test_variables_and_fields_stay(make):
    model = make()
    approximation = low_rank(model, rank=2)
    assert_same_variables(approximation, model)
    graph, before = approximation.graph, model.graph
    assert {(scope, table) for scope, table in factors_of(approximation) if len(scope) == 1} == {
        (scope, table) for scope, table in factors_of(low_rank(model, rank=0)) if len(scope) == 1
    }
    assert graph.first_clause <= graph.factors
    assert graph.factors - graph.first_clause == before.factors - before.first_clause


def test_rank_zero_removes_all_links():
    assert not linked(low_rank(noisy_grid(), rank=0).graph).any()


def test_malformed_settings_are_refused():
    with pytest.raises(InputError, match="0 or more"):
        low_rank(noisy_grid(), rank=-1)
    with pytest.raises(InputError, match="at least one cluster"):
        low_rank(noisy_grid(), clusters=0)


def test_too_many_variables_are_a_limit():
    with pytest.raises(LimitError, match="limit is 8 variables"):
        low_rank(noisy_grid(), rank=1, most_variables=8)
