"""Tell vertices apart by what lies within some distance of them.

Refinement sees nothing but trees: in a regular graph all vertices look alike. Counting arcs to new
and to known vertices, layer by layer, sees cycles, which settles graphs without symmetry at once.
"""

import numpy as np

from orbitmc.compiled import compiled
from orbitmc.symmetry.colored_graph import ColoredGraph, Ints
from orbitmc.symmetry.float_classes import row_classes
from orbitmc.symmetry.partition import mixed

REACH = 1500
"""Arcs to look at around each vertex; cycles through it show within the square root of a graph."""


def ball_cells(graph: ColoredGraph, cells: Ints) -> Ints:
    """Split cells of several points by the balls around them; the result is not equitable."""
    _, which, counts = np.unique(cells, return_inverse=True, return_counts=True)
    centers = np.flatnonzero(counts[which[: graph.points]] > 1)
    ball = np.zeros(graph.vertices, dtype=np.uint64)
    memory = np.zeros((2, graph.vertices), dtype=np.int64)
    _fill_balls(graph, cells, centers, ball, memory)
    return row_classes(np.column_stack([cells, ball.view(np.int64)]))[1]


@compiled
def _fill_balls(graph, cells, centers, ball, memory):
    distance, found = memory
    for center in centers:
        found[0], distance[center] = center, 1
        first, last, layer, work = 0, 1, 1, 0
        while first < last:
            ahead = 0
            for k in range(first, last):
                ahead += graph.start[found[k] + 1] - graph.start[found[k]]
            work += ahead
            if work > REACH:
                break
            total, end = np.uint64(0), last
            for k in range(first, last):
                for arc in range(graph.start[found[k]], graph.start[found[k] + 1]):
                    vertex = graph.neighbor[arc]
                    # arcs lead one layer back, along the layer, or one layer on
                    seen = distance[vertex] - layer if distance[vertex] else 1
                    if distance[vertex] == 0:
                        distance[vertex] = layer + 1
                        found[end] = vertex
                        end += 1
                    total += mixed(
                        mixed(cells[vertex]) + np.uint64(4 * np.int64(graph.label[arc]) + seen + 1)
                    )
            ball[center] = mixed(ball[center] ^ total) + np.uint64(end - last)
            first, last, layer = last, end, layer + 1
        for k in range(last):
            distance[found[k]] = 0
