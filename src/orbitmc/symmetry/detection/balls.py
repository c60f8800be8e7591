"""Tell vertices apart by what lies within some distance of them.

Refinement sees nothing but trees: in a regular graph all vertices look alike. Counting arcs to new
and to known vertices, layer by layer, sees cycles, which settles graphs without symmetry at once.
"""

import numpy as np
from numpy.typing import NDArray

from orbitmc._numba.jit import shared
from orbitmc._numba.tiers import of_first, tiered
from orbitmc._simd.bits import mixed
from orbitmc._util.arrays import Numbers, Words, row_classes
from orbitmc.symmetry.detection.encoding.colored_graph import ColoredGraph


def ball_cells(graph: ColoredGraph, cells: Numbers, *, reach: int) -> Numbers:
    """Split cells of several points by balls of at most `reach` arcs; not equitable any more.

    Cycles begin to show when a ball is as large as the square root of the graph. It is enough
    that some vertices show them: refinement does the rest.
    """
    _, which, counts = np.unique(cells, return_inverse=True, return_counts=True)
    centers = np.flatnonzero(counts[which[: graph.points]] > 1)
    ball, seen = np.zeros((2, graph.vertices), dtype=np.uint64)
    distance, found = np.zeros((2, graph.vertices), dtype=np.int32)
    _fill_balls(graph, cells, centers, reach, ball, seen, distance, found)
    return row_classes(np.column_stack([cells, ball.view(np.int64)]))[1]


@tiered(of_first)
def _fill_balls(
    graph: ColoredGraph,
    cells: Numbers,
    centers: Numbers,
    reach: int,
    ball: Words,
    seen: Words,
    distance: NDArray[np.int32],
    found: NDArray[np.int32],
) -> None:
    for vertex in range(len(cells)):
        seen[vertex] = mixed(cells[vertex])
    for center in centers:
        found[0], distance[center] = center, 1
        first, last, layer, work = 0, 1, 1, 0
        while first < last:
            for k in range(first, last):
                work += graph.start[found[k] + 1] - graph.start[found[k]]
            if work > reach:
                break
            total, end = _look_on(graph, first, last, layer, seen, distance, found)
            ball[center] = mixed(ball[center] ^ total) + np.uint64(end - last)
            first, last, layer = last, end, layer + 1
        for k in range(last):
            distance[found[k]] = 0


@shared
def _look_on(
    graph: ColoredGraph,
    first: int,
    last: int,
    layer: int,
    seen: Words,
    distance: NDArray[np.int32],
    found: NDArray[np.int32],
) -> tuple[np.uint64, int]:
    """Follow the arcs of one layer: gives a fingerprint of them, and where the next layer ends."""
    total, end = np.uint64(0), last
    for k in range(first, last):
        for arc in range(graph.start[found[k]], graph.start[found[k] + 1]):
            vertex = graph.neighbor[arc]
            if distance[vertex] == 0:
                distance[vertex] = layer + 1
                found[end] = vertex
                end += 1
            # arcs lead one layer back, along the layer, or one layer on; odd factors lose nothing
            step = 3 * np.int64(graph.label[arc]) + distance[vertex] - layer + 1
            total += seen[vertex] * np.uint64(2 * step + 1)
    return total, end
