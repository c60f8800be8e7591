"""Factor graphs as coloured graphs: automorphisms of one are symmetries of the other.

Vertices have colours, arcs have labels. The first vertices are *points*: what symmetries permute.
The others stand for factors of three or more variables and touch points only. Factors of one
variable are colours, factors of two are labelled arcs.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc._util.arrays import Numbers, row_classes, sealed


class ColoredGraph(NamedTuple):
    """Vertex `v` has arcs `start[v]:start[v + 1]` to `neighbor`, each with a label.

    Every arc has its reverse, whose label may differ. There are no loops and no parallel arcs.
    """

    points: int
    color: Numbers
    start: Numbers
    neighbor: NDArray[np.int32]
    label: NDArray[np.int32]

    @property
    def vertices(self) -> int:
        return len(self.color)

    @property
    def arcs(self) -> int:
        return len(self.neighbor)


class Drawing:
    """Collects vertices and arcs; `finished` gives the coloured graph."""

    def __init__(self, point_colors: Numbers) -> None:
        self.points = self.vertices = len(point_colors)
        self._colors = [point_colors]
        self._next_color = int(point_colors.max(initial=-1)) + 1
        self._arcs: list[tuple[Numbers, Numbers, Numbers, Numbers]] = []

    def join(self, one: Numbers, other: Numbers, forth: Numbers, back: Numbers) -> None:
        """Draw arcs between points, with a label for each direction."""
        self._arcs.append((one, other, forth, back))

    def add_factors(self, colors: Numbers, members: Numbers, labels: Numbers) -> None:
        """Draw one vertex per row of `members`, joined to them by labelled arcs.

        Colours are compared among these vertices only: no other ones share them.
        """
        new = self.vertices + np.arange(len(members))
        self.vertices += len(members)
        self._colors.append(self._next_color + colors)
        self._next_color += int(colors.max(initial=-1)) + 1
        ends, all_labels = np.repeat(new, members.shape[1]), labels.reshape(-1)
        self._arcs.append((members.reshape(-1), ends, all_labels, all_labels))

    def finished(self) -> ColoredGraph:
        none = [np.zeros(0, dtype=np.int64)]
        one, other, forth, back = (
            np.concatenate(none + [arcs[k] for arcs in self._arcs]) for k in range(4)
        )
        tail, head = np.concatenate([one, other]), np.concatenate([other, one])
        label = np.concatenate([forth, back])
        order = np.argsort(tail * self.vertices + head, kind="stable")
        tail, head, label = _without_parallels(tail[order], head[order], label[order])
        start = np.zeros(self.vertices + 1, dtype=np.int64)
        np.cumsum(np.bincount(tail, minlength=self.vertices), out=start[1:])
        return ColoredGraph(
            points=self.points,
            color=sealed(np.concatenate(self._colors)),
            start=sealed(start),
            neighbor=sealed(head.astype(np.int32)),
            label=sealed(label.astype(np.int32)),
        )


def _without_parallels(
    tail: Numbers, head: Numbers, label: Numbers
) -> tuple[Numbers, Numbers, Numbers]:
    """Put a label for the set of labels in the place of parallel arcs, which stand together."""
    again = np.zeros(len(tail), dtype=bool)
    again[1:] = (tail[1:] == tail[:-1]) & (head[1:] == head[:-1])
    if not again.any():
        return tail, head, label
    number = np.cumsum(~again) - 1
    place = np.arange(len(tail)) - np.flatnonzero(~again)[number]
    sets = np.full((number[-1] + 1, place.max() + 1), -1, dtype=np.int64)
    sets[number, place] = label
    sets.sort(axis=1)
    return tail[~again], head[~again], row_classes(sets)[1]


def is_symmetric_label(graph: ColoredGraph) -> NDArray[np.bool_]:
    """For each label: whether all its arcs have the same label in both directions."""
    symmetric = np.ones(int(graph.label.max(initial=-1)) + 1, dtype=bool)
    reverse = np.lexsort((tails(graph), graph.neighbor))
    symmetric[graph.label[graph.label != graph.label[reverse]]] = False
    return symmetric


def tails(graph: ColoredGraph) -> Numbers:
    """The vertex that each arc leaves."""
    return np.repeat(np.arange(graph.vertices), np.diff(graph.start))
