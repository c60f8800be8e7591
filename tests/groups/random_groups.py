"""Random permutations and groups, and strategies that make them."""

import numpy as np
from hypothesis import strategies as st

from orbitmc.groups.permutation_groups import permutation_group
from orbitmc.groups.permutations import from_images
from tests.groups.slow_groups import VALUES


def random_permutation(rng, degree, *, moved=None, values=None):
    """Permute `moved` points, chosen at random; with `values`, permute their values too."""
    points = rng.choice(degree, degree if moved is None else moved, replace=False)
    maps = None if values is None else [rng.permutation(values) for _ in points]
    return from_images(degree, points, rng.permutation(points), maps)


def random_group(rng, degree, *, moved=None, values=None, generators=2):
    chosen = [
        random_permutation(rng, degree, moved=moved, values=values) for _ in range(generators)
    ]
    return permutation_group(degree, chosen)


@st.composite
def permutations(draw, count=1, *, maps_values=None, most=7):
    """Permutations of the same points, all with or all without value maps."""
    degree = draw(st.integers(1, most))
    mapped = draw(st.booleans()) if maps_values is None else maps_values
    found = []
    for _ in range(count):
        images = draw(st.permutations(range(degree)))
        maps = [draw(st.permutations(range(VALUES))) for _ in range(degree)] if mapped else None
        found.append(from_images(degree, range(degree), images, maps))
    return found


def states_of(degree, lanes=4):
    """Values of a small pack."""
    row = st.lists(st.integers(0, VALUES - 1), min_size=lanes, max_size=lanes)
    pack = st.lists(row, min_size=degree, max_size=degree)
    return pack.map(lambda rows: np.array(rows, dtype=np.uint8))
