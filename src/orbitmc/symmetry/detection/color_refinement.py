"""Colour refinement: vertices that no amount of looking around can tell apart share a cell.

Cells are unions of orbits, sometimes larger ones. As proposals they are always safe.
"""

import numpy as np

from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.machine.arrays import Numbers, Words, sealed
from orbitmc.machine.compiling import compiled
from orbitmc.machine.equal_numbers import row_classes
from orbitmc.machine.hashes import mixed
from orbitmc.symmetry.detection.encoding.colored_graph import ColoredGraph
from orbitmc.symmetry.detection.encoding.encoding import variable_graph
from orbitmc.symmetry.detection.encoding.energy_form import energy_form
from orbitmc.symmetry.detection.search.partition import memory
from orbitmc.symmetry.detection.search.refinement import refine_colors


def equitable_cells(graph: ColoredGraph, colors: Numbers | None = None) -> Numbers:
    """Number the cells of the coarsest equitable partition that refines the colours.

    Takes time proportional to arcs times the logarithm of vertices (Hopcroft's rule).
    """
    given = graph.color if colors is None else colors
    return numbered(refine_colors(graph, given, memory(graph.vertices)).cell)


def computation_trees(graph: ColoredGraph, colors: Numbers, rounds: int) -> Numbers:
    """Number vertices so that equal numbers mean equal computation trees of that depth.

    In a round, factors look at points first, then points look at everything. `colors` is what is
    seen of a vertex from a distance at the start; its own colour it always knows.
    """
    current = numbered(colors)
    is_point = np.arange(graph.vertices) < graph.points
    for _ in range(rounds):
        seen = np.where(is_point, current, _looked_around(graph, current))
        following = _looked_around(graph, seen)
        if np.array_equal(following, current):
            break
        current = following
    return current


def variable_cells(graph: FactorGraph, *, rounds: int | None = None) -> Numbers:
    """Number the variables of a model by what refinement can tell of them.

    Without `rounds`, refine until nothing changes. After 0 rounds only the number of values
    counts, after 1 the tables around a variable too, and so on.
    """
    form = energy_form(graph)
    drawn = variable_graph(form)
    if rounds is None:
        return sealed(numbered(equitable_cells(drawn)[: drawn.points]))
    start = drawn.color.copy()
    start[: drawn.points] = -form.cardinality
    return sealed(numbered(computation_trees(drawn, start, rounds)[: drawn.points]))


def numbered(classes: Numbers) -> Numbers:
    """Number classes from 0 in the order in which they first appear."""
    _, first, which = np.unique(classes, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[which.reshape(-1)]


def _looked_around(graph: ColoredGraph, current: Numbers) -> Numbers:
    seen = np.zeros(graph.vertices, dtype=np.uint64)
    _add_up(graph, current, seen)
    rows = np.column_stack([graph.color, seen.view(np.int64)])
    return numbered(row_classes(rows)[1])


@compiled
def _add_up(graph: ColoredGraph, current: Numbers, seen: Words) -> None:
    """Hash the multiset of (label, colour) around each vertex."""
    for vertex in range(len(seen)):
        for arc in range(graph.start[vertex], graph.start[vertex + 1]):
            around = mixed(mixed(current[graph.neighbor[arc]]) ^ np.uint64(graph.label[arc]))
            seen[vertex] += around
