"""Colour refinement: vertices that no amount of looking around can tell apart share a cell.

Cells are unions of orbits, sometimes larger ones. As proposals they are always safe.
"""

import numpy as np

from orbitmc.machine.arrays import Numbers
from orbitmc.symmetry.detection.encoding.colored_graph import ColoredGraph
from orbitmc.symmetry.detection.search.partition import memory
from orbitmc.symmetry.detection.search.refinement import refine_colors


def equitable_cells(graph: ColoredGraph, colors: Numbers | None = None) -> Numbers:
    """Number the cells of the coarsest equitable partition that refines the colours.

    Takes time proportional to arcs times the logarithm of vertices (Hopcroft's rule).
    """
    given = graph.color if colors is None else colors
    return numbered(refine_colors(graph, given, memory(graph.vertices)).cell)


def numbered(classes: Numbers) -> Numbers:
    """Number classes from 0 in the order in which they first appear."""
    _, first, which = np.unique(classes, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[which.reshape(-1)]
