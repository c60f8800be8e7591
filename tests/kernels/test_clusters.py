"""Cluster updates keep the distribution of spins with couplings of any sign, and fields."""

import numpy as np
import pytest

from orbitmc.conditionals.prepared import prepare_unrounded
from orbitmc.errors import InputError
from orbitmc.graph.builder import Builder
from orbitmc.kernels import _clusters as module
from orbitmc.kernels._clusters import clusters
from orbitmc.kernels.testing.exact import one_step
from orbitmc.models._ising import ising_grid
from tests.kernels.test_transition_matrices import EXACT, residuals
from tests.oracle.random_models import random_ising


@pytest.fixture(scope="module")
def grid():
    rng = np.random.default_rng(4)
    couplings = rng.normal(size=7)
    assert {-1.0, 1.0} <= set(np.sign(couplings))
    return ising_grid(2, 3, couplings, rng.normal(size=(2, 3))).graph


def test_a_grid_with_couplings_of_both_signs_and_fields(grid):
    kernel = clusters(prepare_unrounded(grid))
    assert max(residuals(grid, one_step(prepare_unrounded(grid), kernel))) <= EXACT


def test_random_models_with_factors_that_are_no_spin_factors():
    for seed in range(3):
        graph = random_ising(seed, variables=3, degree=1, equal=False)
        assert max(residuals(graph, one_step(prepare_unrounded(graph), kernel_of(graph)))) <= EXACT
    builder = Builder([2, 2, 2])
    builder.add_factor([0, 1], [[0.3, -0.2], [1.0, 0.4]])
    builder.add_factor([2, 1], [[0.3, 0.1], [0.0, -0.7]])
    builder.add_clause([0, 2], [1, 0], 0.8)
    builder.add_clause([1], [0], -0.6)
    graph = builder.build()
    assert max(residuals(graph, one_step(prepare_unrounded(graph), kernel_of(graph)))) <= EXACT


def kernel_of(graph):
    return clusters(prepare_unrounded(graph))


def test_forgetting_fields_is_wrong(monkeypatch):
    graph = ising_grid(1, 3, [0.5, -0.8], [[0.4, -0.3, 0.2]]).graph
    kernel = kernel_of(graph)
    assert residuals(graph, one_step(prepare_unrounded(graph), kernel))[0] <= EXACT
    monkeypatch.setattr(module, "flip_by_field", _fair)
    assert residuals(graph, one_step(prepare_unrounded(graph), kernel))[0] > 1e-3


def _fair(rng, odds, flipped, variable):
    flipped[variable, 0] = rng.choose([0.5, 0.5])


def test_bonds_on_unsatisfied_edges_are_wrong():
    graph = ising_grid(1, 3, [0.5, -0.8], [[0.4, -0.3, 0.2]]).graph
    kernel = kernel_of(graph)
    wrong = kernel._replace(equal=1 - kernel.equal)
    assert residuals(graph, one_step(prepare_unrounded(graph), wrong))[0] > 1e-3


def test_hard_and_large_factors_are_refused():
    for scope, table in (([0, 1], [[0.0, -np.inf], [0.0, 0.0]]), ([0, 1, 2], np.eye(8)[0])):
        builder = Builder([2, 2, 2])
        builder.add_factor(scope, table)
        with pytest.raises(InputError):
            kernel_of(builder.build())
