"""Flips of many variables, and exchanges of labels."""

import numpy as np
import pytest

from orbitmc.conditionals.prepared import prepare_unrounded
from orbitmc.errors import InputError
from orbitmc.graph.builder import Builder
from orbitmc.kernels._flips import Flips, flips
from orbitmc.kernels._relabelling import relabelling
from orbitmc.kernels.protocol import steps
from orbitmc.kernels.testing.exact import one_step, outcomes
from tests.kernels.test_transition_matrices import EXACT, residuals
from tests.oracle import brute_force
from tests.oracle.random_models import random_graph, random_ising


def test_the_flip_of_all_reaches_the_opposite_state_by_its_ratio():
    graph = random_ising(1, variables=5, degree=2, equal=False)
    kernel = flips(prepare_unrounded(graph))
    assert isinstance(kernel, Flips)
    assert len(kernel.outside) == 0
    for state in brute_force.states(graph):
        opposite = tuple(1 - value for value in state)
        gain = brute_force.log_weight(graph, opposite) - brute_force.log_weight(graph, state)
        found = outcomes(one_step(prepare_unrounded(graph), kernel), state)
        assert found.get(opposite, 0.0) == pytest.approx(min(1.0, np.exp(gain)), abs=EXACT)


def test_factors_that_do_not_tell_labels_apart_are_not_looked_at():
    builder = Builder([3, 3, 3])
    alike = builder.add_table(np.where(np.eye(3), 0.7, 0.0))
    builder.add_factors([[0, 1], [1, 2]], alike)
    builder.add_factor([0], [0.1, 0.5, 0.1])
    builder.add_clause([1, 2], [2, 2], 0.4)
    graph = builder.build()
    assert len(relabelling(graph, [[0, 1, 2]], [(0, 2)]).factor) == 1  # the clause
    assert len(relabelling(graph, [[0, 1, 2]], [(0, 1)]).factor) == 1  # the field
    assert len(relabelling(graph, [[0]], [(0, 2)]).factor) == 1  # the pair it leaves
    for sets, labels in ([[[0, 1, 2]], [(0, 2)]], [[[0], [1, 2]], [(0, 2), (2, 1)]]):
        kernel = relabelling(graph, sets, labels)
        assert max(residuals(graph, one_step(prepare_unrounded(graph), kernel))) <= EXACT


def test_choosing_the_set_by_the_state_is_wrong():
    graph = random_graph(9, variables=(4, 5), cardinalities=(2,), clauses=False)
    prepared = prepare_unrounded(graph)
    kernels = [flips(prepared, [members]) for members in ([0, 1], [1, 2, 3])]

    def run(values, rng):
        kernel = kernels[int(values[1, 0])]
        counts = np.zeros(4, dtype=np.int64)
        steps(prepared, kernel, kernel.memory(prepared, 1), values, counts, rng, 1)

    assert residuals(graph, run)[0] > 1e-5


def test_unsuitable_sets_are_refused():
    builder = Builder([2, 2, 3])
    builder.add_factor([0, 2], np.zeros((2, 3)))
    graph = builder.build()
    prepared = prepare_unrounded(graph)
    for sets in ([], [[]], [[0, 0]], [[2]], [[3]], [[-1]], [[0.5]]):
        with pytest.raises(InputError):
            flips(prepared, sets)
    for labels in ([], [(0, 0)], [(0, 2)], [(0, 1), (0, 1)]):
        with pytest.raises(InputError):
            relabelling(graph, [[1, 2]], labels)
