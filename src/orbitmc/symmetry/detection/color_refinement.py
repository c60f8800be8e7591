"""Colour refinement: vertices that no amount of looking around can tell apart share a cell.

Cells are unions of orbits, sometimes larger ones. As proposals they are always safe.
"""

from orbitmc.machine.arrays import Numbers
from orbitmc.machine.equal_numbers import numbered
from orbitmc.symmetry.detection.encoding.colored_graph import ColoredGraph
from orbitmc.symmetry.detection.search.partition import memory
from orbitmc.symmetry.detection.search.refinement import refine_colors


def equitable_cells(graph: ColoredGraph, colors: Numbers | None = None) -> Numbers:
    """Number the cells of the coarsest equitable partition that refines the colours.

    Takes time proportional to arcs times the logarithm of vertices (Hopcroft's rule).
    """
    given = graph.color if colors is None else colors
    return numbered(refine_colors(graph, given, memory(graph.vertices)).cell)
