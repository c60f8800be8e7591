"""The matrix of secants is what changing one neighbour at a time makes of conditionals."""

import numpy as np
import pytest

from orbitmc.estimate.control_variates import (
    factor_sensitivities,
    is_affine,
    sensitivities,
    sensitivity_entries,
)
from orbitmc.estimate.tally import rows_of
from orbitmc.graph.builder import Builder
from tests.oracle import brute_force
from tests.oracle.random_models import random_graph, random_ising


def rows_in(chances):
    return chances[1:] if len(chances) == 2 else chances


def chances_of(graph, state, variable):
    """What the factors around a variable say of its values; None if they allow none."""
    around = np.zeros(int(graph.cardinality[variable]))
    for factor in range(graph.factors):
        scope = graph.scope_of(factor).tolist()
        if variable in scope:
            table = graph.full_table(factor)
            place = tuple(slice(None) if v == variable else state[v] for v in scope)
            around = around + table[place]
    if np.isneginf(around).all():
        return None
    weights = np.exp(around - around.max())
    return weights / weights.sum()


def changed(state, variable, value):
    return tuple(value if v == variable else x for v, x in enumerate(state))


def block(graph, states, own, other):
    """Mean changes of the rows of `own` with the rows of `other`, by brute force."""
    total = 0.0
    for state in states:
        present = chances_of(graph, state, own)
        np.testing.assert_allclose(present, brute_force.conditional(graph, state, own))
        chances = []
        for value in range(int(graph.cardinality[other])):
            found = chances_of(graph, changed(state, other, value), own)
            chances.append(rows_in(present if found is None else found))
        chances = np.array(chances).T
        if graph.cardinality[other] == 2:
            total = total + (chances[:, 1:] - chances[:, :1])
        else:
            total = total + chances - chances.mean(axis=1, keepdims=True)
    return total / len(states)


def by_brute_force(graph, states):
    start = np.concatenate([[0], np.cumsum(rows_of(graph.cardinality))])
    matrix = np.zeros((start[-1], start[-1]))
    for own in range(graph.variables):
        for other in range(graph.variables):
            if own != other:
                places = np.ix_(
                    range(start[own], start[own + 1]), range(start[other], start[other + 1])
                )
                matrix[places] = block(graph, states, own, other)
    return matrix


def possible_states(graph, seed, count=5):
    states, chances = brute_force.states(graph), brute_force.distribution(graph)
    rng = np.random.default_rng(seed)
    return [states[k] for k in rng.choice(len(states), size=count, p=chances)]


def graphs():
    for seed in range(12):
        yield random_graph(seed, variables=(2, 6), zeros=0.3 * (seed % 2))
    yield random_graph(5, variables=(4, 5), cardinalities=(1, 2, 4))
    yield random_ising(1, variables=7, degree=2, equal=False)


@pytest.mark.parametrize("graph", list(graphs()), ids=range(14))
def test_secants_are_those_of_brute_force(graph):
    states = possible_states(graph, 1)
    found = factor_sensitivities(graph, np.array(states, dtype=np.uint8).T.copy())
    np.testing.assert_allclose(found.toarray(), by_brute_force(graph, states), atol=1e-6)


@pytest.mark.parametrize("equal", [True, False])
def test_sums_over_neighbours_have_the_same_secants_sooner(equal):
    graph = random_ising(2, variables=8, degree=2, equal=equal)
    assert is_affine(graph)
    states = possible_states(graph, 1)
    found = sensitivities(graph, np.array(states, dtype=np.uint8).T.copy())
    np.testing.assert_allclose(found.toarray(), by_brute_force(graph, states), atol=1e-12)


def test_only_sums_over_neighbours_are_affine():
    for wrong in ([0.0, -np.inf, 0.0, 0.0], np.zeros(8)):
        builder = Builder(np.full(3, 2))
        builder.add_factor(range(int(np.log2(len(wrong)))), wrong)
        assert not is_affine(builder.build())
    assert not is_affine(Builder([2, 3]).build())


def test_a_clause_of_two_is_a_coupling_too():
    builder = Builder(np.full(3, 2))
    builder.add_clause([0, 1], [1, 0], 0.7)
    builder.add_factor([1, 2], [0.1, 0.5, -0.3, 0.2])
    graph, states = builder.build(), [(0, 1, 0), (1, 1, 1)]
    assert is_affine(graph)
    found = sensitivities(graph, np.array(states, dtype=np.uint8).T.copy())
    np.testing.assert_allclose(found.toarray(), by_brute_force(graph, states), atol=1e-12)


def test_states_matter_where_conditionals_are_not_linear():
    graph = random_graph(3, variables=(4, 5))
    every = brute_force.states(graph)
    one, two = (by_brute_force(graph, [state]) for state in (every[0], every[-1]))
    assert np.abs(one - two).max() > 0.01


def test_cutting_the_states_into_pieces_changes_nothing():
    graph = random_graph(4, variables=(4, 5))
    states = np.array(possible_states(graph, 2, count=32), dtype=np.uint8).T.copy()
    whole = factor_sensitivities(graph, states)
    pieces = factor_sensitivities(graph, states, at_once=1)
    np.testing.assert_allclose(pieces.toarray(), whole.toarray(), atol=1e-14)


def test_a_long_clause_is_known_to_be_costly_before_it_is_looked_at():
    builder = Builder(np.full(3000, 2))
    builder.add_clause(range(3000), [1] * 3000, 1.0)
    assert sensitivity_entries(builder.build()) == 3000 * 2999 * 4


def test_variables_without_neighbours_have_no_entries():
    builder = Builder([2, 3])
    builder.add_factor([0], [0.0, 1.0])
    found = sensitivities(builder.build(), np.zeros((2, 32), dtype=np.uint8))
    assert (found.shape, found.nnz) == ((4, 4), 0)
