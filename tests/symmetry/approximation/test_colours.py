"""Colour passing: from all variables alike to the coarsest stable partition."""

import itertools

import numpy as np
import pytest

from orbitmc.errors import InputError
from orbitmc.graph.builder import Builder
from orbitmc.models._ising import ising, ising_grid
from orbitmc.symmetry.color_passing import cells
from tests.symmetry.approximation.models import named, noisy_grid, random_model


def slow_cells(edges, colours, rounds):
    """Colours of a plain graph by sorting the colours of neighbours, over and over."""
    neighbours = [[] for _ in colours]
    for one, two in edges:
        neighbours[one].append(two)
        neighbours[two].append(one)
    for _ in range(rounds):
        seen = [
            (colours[v], tuple(sorted(colours[u] for u in near)))
            for v, near in enumerate(neighbours)
        ]
        numbers = {pattern: number for number, pattern in enumerate(dict.fromkeys(seen))}
        colours = [numbers[pattern] for pattern in seen]
    return colours


@pytest.mark.parametrize("seed", range(15))
@pytest.mark.parametrize("rounds", [0, 1, 2, 3, None])
def test_cells_equal_the_slow_twin(seed, rounds):
    rng = np.random.default_rng(seed)
    edges = [pair for pair in itertools.combinations(range(14), 2) if rng.random() < 0.15]
    kinds = rng.integers(0, 2, 14)
    model = ising(0.5 * kinds, edges, 0.3)
    if rounds == 0:
        expected = [0] * 14
    else:
        # fields are heard in the first round, when all variables still look alike
        first = slow_cells(edges, [0] * 14, 1)
        start = [2 * colour + int(kind) for colour, kind in zip(first, kinds, strict=True)]
        expected = slow_cells(edges, start, 14 if rounds is None else rounds - 1)
    assert cells(model, rounds=rounds).tolist() == _renumbered(expected)


def _renumbered(colours):
    numbers = {colour: number for number, colour in enumerate(dict.fromkeys(colours))}
    return [numbers[colour] for colour in colours]


def test_more_rounds_only_refine():
    model = random_model(3, variables=(8, 9), cardinalities=(2, 3))
    found = [cells(model, rounds=rounds) for rounds in range(5)]
    for coarse, fine in itertools.pairwise(found):
        assert len(set(zip(coarse, fine, strict=True))) == fine.max() + 1


def test_cells_of_a_grid_are_its_reflections():
    found = cells(ising_grid(4, 4, 0.3)).reshape(4, 4)
    np.testing.assert_array_equal(found, found[::-1])
    np.testing.assert_array_equal(found, found.T)
    assert found.max() == 2


def test_the_roles_in_a_factor_matter():
    builder = Builder([3, 3, 3])
    builder.add_factor([0, 1], np.arange(9.0).reshape(3, 3) ** 2)
    builder.add_clause([0, 1, 2], [1, 1, 2], 1.0)
    assert cells(named(builder.build())).tolist() == [0, 1, 2]
    symmetric = Builder([3, 3, 3])
    symmetric.add_factor([0, 1], np.eye(3))
    symmetric.add_clause([0, 1, 2], [1, 1, 2], np.inf)
    assert cells(named(symmetric.build())).tolist() == [0, 0, 1]


def test_a_negative_number_of_rounds_is_refused():
    with pytest.raises(InputError, match="0 or more times"):
        cells(noisy_grid(), rounds=-1)
