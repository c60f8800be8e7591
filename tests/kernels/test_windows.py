"""Turned windows keep the distribution, whatever the lattice has to do with the model."""

import numpy as np
import pytest

from orbitmc.errors import InputError
from orbitmc.graph.prepared import prepare_unrounded
from orbitmc.kernels.jumps import windows as module
from orbitmc.kernels.jumps.windows import TURNS, windows
from orbitmc.kernels.testing.matrices import one_step
from orbitmc.models.ising_models import ising_grid
from tests.kernels.test_transition_matrices import EXACT, residuals
from tests.oracle.random_models import random_ising


@pytest.fixture(scope="module")
def grid():
    rng = np.random.default_rng(4)
    return ising_grid(2, 3, rng.normal(size=7), rng.normal(size=(2, 3))).graph


@pytest.mark.parametrize("size", [2, (1, 2), (1, 3), (2, 1), (2, 3)])
def test_windows_of_a_grid_keep_the_distribution(grid, size):
    kernel = windows(grid, np.arange(6).reshape(2, 3), size=size)
    assert max(residuals(grid, one_step(prepare_unrounded(grid), kernel))) <= EXACT


def test_windows_of_sites_with_two_variables_keep_the_distribution():
    graph = random_ising(3, variables=8, degree=2, equal=False)
    sites = np.arange(8).reshape(2, 2, 2)
    kernel = windows(graph, sites, size=2, turns=["diagonal"])
    assert max(residuals(graph, one_step(prepare_unrounded(graph), kernel))) <= EXACT


@pytest.mark.parametrize("turn", TURNS)
def test_each_turn_does_what_numpy_does(turn):
    graph = random_ising(3, variables=9, degree=1, equal=True)
    kernel = windows(graph, np.arange(9).reshape(3, 3), size=3, turns=[turn])
    memory = kernel.memory(prepare_unrounded(graph), 9)
    values = np.eye(9, dtype=np.uint8)  # lane k has its 1 at site k
    size = module._propose(kernel, memory, values, kernel.turns[0], 0, 0)
    expected = np.arange(9).reshape(3, 3)
    expected = {
        "left-right": np.fliplr,
        "up-down": np.flipud,
        "half turn": lambda a: np.rot90(a, 2),
        "diagonal": np.transpose,
        "antidiagonal": lambda a: np.rot90(a, 2).T,
    }[turn](expected).ravel()
    assert size == np.sum(expected != np.arange(9))
    for place in range(size):
        target = memory.target[place]
        assert memory.proposed[place].argmax() == expected[target]


def test_a_quarter_turn_without_its_inverse_is_wrong(grid, monkeypatch):
    kernel = windows(grid, np.arange(6).reshape(2, 3), size=2)
    monkeypatch.setattr(module, "_image", lambda kernel, turn, row, column: (column, 1 - row))
    assert residuals(grid, one_step(prepare_unrounded(grid), kernel))[0] > 1e-5


def test_unsuitable_lattices_are_refused(grid):
    sites = np.arange(6).reshape(2, 3)
    for wrong, size, turns in (
        (sites, 3, None),
        (sites, 1, None),
        (sites, (1, 2), ["up-down"]),
        (sites, (2, 3), ["diagonal"]),
        (sites, 2, []),
        (sites + 1, 2, None),
        (sites * 0, 2, None),
        (np.arange(6), 2, None),
    ):
        with pytest.raises(InputError):
            windows(grid, wrong, size=size, turns=turns)
