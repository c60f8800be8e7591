"""Ways to cross a graph from one end to the other, for elimination in stages."""

import itertools
from collections.abc import Iterator

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from orbitmc.machine.arrays import Numbers

LANDMARKS = 4  # variables that distances are counted from

RUNS = (1, 2, 4, 8, 16, 32)  # variables in a row that make a stage


def sweeps(variables: int, edges: Numbers) -> Iterator[Numbers]:
    """Stages per variable: as numbered, and by distances from far-apart variables.

    On a grid, the sum and the difference of the distances from two corners of one side are rows
    and columns, which no local rule finds.
    """
    for run in RUNS:
        yield np.arange(variables) // run
    distances = _distances(variables, edges)
    yield from distances
    for first, second in itertools.combinations(distances, 2):
        yield first + second
        yield first - second


def _distances(variables: int, edges: Numbers) -> list[Numbers]:
    """Steps from a few variables, each as far as possible from those before."""
    links = csr_array((np.ones(len(edges)), edges.T), (variables, variables))

    def steps_from(start: int) -> Numbers:
        steps = dijkstra(links, directed=False, unweighted=True, indices=start)
        return np.asarray(np.minimum(steps, variables), dtype=np.int64)

    found = [steps_from(int(steps_from(0).argmax()))]
    while len(found) < LANDMARKS:
        nearest = np.minimum.reduce(found)
        found.append(steps_from(int(nearest.argmax())))
    return found
