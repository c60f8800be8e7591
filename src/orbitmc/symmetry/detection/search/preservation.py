"""Whether a permutation of points is an automorphism of a coloured graph: exactly, arc by arc."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc._numba.jit import shared
from orbitmc._numba.tiers import of_first, tiered
from orbitmc._simd.bits import mixed
from orbitmc._util.arrays import Index, Numbers, Words
from orbitmc.symmetry.detection.encoding.colored_graph import ColoredGraph


class Checker(NamedTuple):
    """A fingerprint per factor vertex, to find where it would go, and marks to compare arcs."""

    fingerprint: Words
    seen: Numbers
    stamp: Numbers
    label: NDArray[np.int32]


def checker(graph: ColoredGraph) -> Checker:
    fingerprint = np.zeros(graph.vertices, dtype=np.uint64)
    _fill_fingerprints(graph, fingerprint)
    return Checker(
        fingerprint=fingerprint,
        seen=np.zeros(graph.vertices, dtype=np.int64),
        stamp=np.zeros(1, dtype=np.int64),
        label=np.zeros(graph.vertices, dtype=np.int32),
    )


@shared
def arc_print(vertex: Index, label: int) -> np.uint64:
    """Fingerprint of one arc, to be added up."""
    return np.uint64(mixed(mixed(vertex) ^ np.uint64(label)))


@tiered(of_first)
def _fill_fingerprints(graph: ColoredGraph, fingerprint: Words) -> None:
    for factor in range(graph.points, len(graph.color)):
        total = mixed(graph.color[factor])
        for arc in range(graph.start[factor], graph.start[factor + 1]):
            total += arc_print(graph.neighbor[arc], graph.label[arc])
        fingerprint[factor] = total


@shared
def _moved_print(graph: ColoredGraph, factor: int, image: Numbers) -> np.uint64:
    total: np.uint64 = mixed(graph.color[factor])
    for arc in range(graph.start[factor], graph.start[factor + 1]):
        total += arc_print(image[graph.neighbor[arc]], graph.label[arc])
    return total


@shared
def _arcs_follow(
    graph: ColoredGraph, checker: Checker, image: Numbers, vertex: int, target: int
) -> bool:
    """Whether the arcs of `vertex` to points become exactly those of `target`."""
    checker.stamp[0] += 1
    balance = 0
    for arc in range(graph.start[vertex], graph.start[vertex + 1]):
        if graph.neighbor[arc] < graph.points:
            moved = image[graph.neighbor[arc]]
            checker.seen[moved], checker.label[moved] = checker.stamp[0], graph.label[arc]
            balance += 1
    for arc in range(graph.start[target], graph.start[target + 1]):
        neighbor = graph.neighbor[arc]
        if neighbor < graph.points:
            if checker.seen[neighbor] != checker.stamp[0]:
                return False
            if checker.label[neighbor] != graph.label[arc]:
                return False
            balance -= 1
    return balance == 0


@shared
def _factor_follows(graph: ColoredGraph, checker: Checker, image: Numbers, factor: int) -> bool:
    """Whether some factor of the same colour has exactly the moved arcs of this one."""
    wanted = _moved_print(graph, factor, image)
    somewhere = image[graph.neighbor[graph.start[factor]]]
    for arc in range(graph.start[somewhere], graph.start[somewhere + 1]):
        target = graph.neighbor[arc]
        if (
            target >= graph.points
            and checker.fingerprint[target] == wanted
            and graph.color[target] == graph.color[factor]
            and _arcs_follow(graph, checker, image, factor, target)
        ):
            return True
    return False


@tiered(of_first)
def preserves(
    graph: ColoredGraph, checker: Checker, image: Numbers, moved: Numbers, count: int
) -> bool:
    """Whether an automorphism moves the first `count` points of `moved` to their images.

    Two factors are never alike in all arcs, so that different ones have different images, and
    finding an image for each is enough.
    """
    for k in range(count):
        vertex = moved[k]
        if graph.color[vertex] != graph.color[image[vertex]]:
            return False
        if not _arcs_follow(graph, checker, image, vertex, image[vertex]):
            return False
    checker.stamp[0] += 1
    begin = checker.stamp[0]
    for k in range(count):
        vertex = moved[k]
        for arc in range(graph.start[vertex], graph.start[vertex + 1]):
            factor = graph.neighbor[arc]
            if factor >= graph.points and checker.seen[factor] < begin:
                checker.seen[factor] = begin
                if not _factor_follows(graph, checker, image, factor):
                    return False
    return True
