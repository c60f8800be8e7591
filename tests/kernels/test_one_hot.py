"""Block Gibbs on one-hot groups."""

import numpy as np
import pytest

from orbitmc.conditionals.prepared import prepare_unrounded
from orbitmc.errors import InputError
from orbitmc.graph.builder import Builder
from orbitmc.kernels import _one_hot as module
from orbitmc.kernels._one_hot import one_hot
from orbitmc.kernels.testing.exact import one_step, outcomes
from tests.kernels.catalogue import without_tables
from tests.kernels.test_transition_matrices import EXACT, residuals


def exactly_one(weights, *, others=0):
    """Hard clauses that leave exactly one of a few variables at 1."""
    size = len(weights)
    builder = Builder(np.full(size + others, 2))
    builder.add_clause(list(range(size)), [1] * size, np.inf)
    for one in range(size):
        for other in range(one):
            builder.add_clause([one, other], [0, 0], np.inf)
        builder.add_factor([one], [0.0, weights[one]])
    for other in range(others):
        builder.add_factor([other, size + other], [[0.0, 0.5], [-1.0, 0.3]])
    return builder.build()


@pytest.mark.parametrize("build", [one_hot, without_tables])
def test_a_hard_group_is_drawn_from_its_distribution_in_one_step(build):
    weights = np.array([0.3, -1.0, 0.8])
    graph = exactly_one(weights)
    kernel = build(prepare_unrounded(graph), [[0, 1, 2]])
    found = outcomes(one_step(prepare_unrounded(graph), kernel), (0, 1, 0))
    expected = np.exp(weights) / np.exp(weights).sum()
    assert set(found) == {(1, 0, 0), (0, 1, 0), (0, 0, 1)}
    for place in range(3):
        assert found[tuple(np.eye(3, dtype=int)[place])] == pytest.approx(
            expected[place], abs=EXACT
        )


@pytest.mark.parametrize("build", [one_hot, without_tables])
def test_part_of_a_hard_group_is_left_as_hard_as_it_is(build):
    graph = exactly_one([0.3, -1.0, 0.8], others=2)
    kernel = build(prepare_unrounded(graph), [[0, 1], [2]])
    assert max(residuals(graph, one_step(prepare_unrounded(graph), kernel))) <= EXACT


def test_drawing_states_with_two_ones_anew_is_wrong(monkeypatch):
    builder = Builder([2, 2])
    builder.add_factor([0, 1], [[0.1, 0.9], [-0.4, 0.5]])
    graph = builder.build()
    kernel = one_hot(prepare_unrounded(graph), [[0, 1]])
    assert residuals(graph, one_step(prepare_unrounded(graph), kernel))[0] <= EXACT
    usual = module._clear_group

    def forget(kernel, memory, values, first, size):
        usual(kernel, memory, values, first, size)
        memory.ones[:] = 0

    monkeypatch.setattr(module, "_clear_group", forget)
    assert residuals(graph, one_step(prepare_unrounded(graph), kernel))[0] > 1e-3


def test_unsuitable_groups_are_refused():
    builder = Builder([2, 2, 3])
    builder.add_factor([0, 2], np.zeros((2, 3)))
    graph = builder.build()
    prepared = prepare_unrounded(graph)
    for groups in ([], [[]], [[0, 0]], [[0], [0, 1]], [[0, 2]], [[3]]):
        with pytest.raises(InputError):
            one_hot(prepared, groups)
