"""Ways to cross a graph from one end to the other, for elimination in stages."""

import itertools
from collections.abc import Iterator

import numpy as np

from orbitmc.exact.orders.neighbours import Neighbours, neighbours_of
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
    neighbours = neighbours_of(variables, edges.tolist())
    somewhere = _steps_from(neighbours, 0)
    found = [_steps_from(neighbours, int(somewhere.argmax()))]
    while len(found) < LANDMARKS:
        nearest = np.minimum.reduce(found)
        found.append(_steps_from(neighbours, int(nearest.argmax())))
    return found


def _steps_from(neighbours: Neighbours, start: int) -> Numbers:
    far = len(neighbours)
    steps = np.full(far, far, dtype=np.int64)
    steps[start] = 0
    front = [start]
    while front:
        reached = {
            near for variable in front for near in neighbours[variable] if steps[near] == far
        }
        steps[list(reached)] = steps[front[0]] + 1
        front = list(reached)
    return steps
