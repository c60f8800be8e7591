"""Models whose best jumps are known."""

from itertools import combinations

import numpy as np

import orbitmc as om
from orbitmc.graph.builder import Builder
from orbitmc.graph.model import Model
from orbitmc.models._ising import grid_edges


def ordered_grid(side=8):
    """Nearly all spins up or nearly all down, and a weak field that knows no reason to prefer."""
    fields = np.random.default_rng(side).normal(0.0, 0.02, (side, side))
    return om.ising_grid(side, side, 0.6, fields)


def weak_grid(side=8):
    fields = np.random.default_rng(side).normal(0.0, 0.5, (side, side))
    return om.ising_grid(side, side, 0.05, fields)


def one_hot_pages(pages=3, labels=4, *, exclusion=6.0, hard=False, clauses=False):
    """Labels of pages, of which a page has mostly one."""
    rng = np.random.default_rng(pages)
    builder = Builder(np.full(pages * labels, 2))
    for atom in range(pages * labels):
        builder.add_factor([atom], [0.0, exclusion / 2 + rng.normal(0.0, 0.3)])
    for page in range(pages):
        for one, other in combinations(range(page * labels, (page + 1) * labels), 2):
            if clauses:
                builder.add_clause([one, other], [0, 0], np.inf if hard else exclusion)
            else:
                builder.add_factor([one, other], [0.0, 0.0, 0.0, -np.inf if hard else -exclusion])
    return named(builder)


def assignment(size=4):
    """Everybody of one kind wants one of the other, and hardly two."""
    rng = np.random.default_rng(size)
    builder = Builder(np.full(size * size, 2))
    pairs = np.arange(size * size).reshape(size, size)
    for pair in range(size * size):
        builder.add_factor([pair], [0.0, 6.0 + rng.normal(0.0, 0.2)])
    for line in (*pairs, *pairs.T):
        for one, other in combinations(line.tolist(), 2):
            builder.add_factor([one, other], [0.0, 0.0, 0.0, -12.0])
    return named(builder)


def two_far_modes(variables=12, moved=8):
    """A mode at all 0, and one where the first variables are 1; a deep valley in between."""
    builder = Builder(np.full(variables, 2))
    states = np.indices((2,) * variables).reshape(variables, -1)
    far = np.zeros(variables, dtype=np.int64)
    far[:moved] = 1
    steps = np.minimum(states.sum(axis=0), (states != far[:, None]).sum(axis=0))
    builder.add_factor(range(variables), (-4.0 * steps).reshape((2,) * variables))
    return named(builder)


def lattice_gas(side=10):
    """Sites that exclude their neighbours: two ways to fill every second one of them."""
    rng = np.random.default_rng(side)
    builder = Builder(np.full(side * side, 2))
    for site in range(side * side):
        builder.add_factor([site], [0.0, 2.5 + rng.normal(0.0, 0.1)])
    builder.add_factors(grid_edges(side, side), builder.add_table([0.0, 0.0, 0.0, -np.inf]))
    return named(builder)


def cubic_torus(side):
    """Pairs of neighbours in a cube whose opposite faces are joined."""
    cube = np.arange(side**3).reshape(side, side, side)
    ends = [np.stack([cube, np.roll(cube, 1, axis)], axis=-1) for axis in range(3)]
    return np.concatenate(ends).reshape(-1, 2)


def cubic_gas(side=4):
    """The same in three dimensions: no square lattice, but moved by one it is nearly the same."""
    fields = np.random.default_rng(side).normal(2.0, 0.1, side**3)
    builder = Builder(np.full(side**3, 2))
    for site, field in enumerate(fields):
        builder.add_factor([site], [0.0, field])
    builder.add_factors(cubic_torus(side), builder.add_table([0.0, 0.0, 0.0, -np.inf]))
    return named(builder)


def named(builder):
    graph = builder.build()
    names = tuple(f"v{number}" for number in range(graph.variables))
    return Model(graph, names, tuple(tuple(map(str, range(k))) for k in graph.cardinality))
