"""Twins: points whose exchange alone changes nothing.

Being twins is an equivalence, and any permutation within a class is a symmetry. Twins are found
by comparing fingerprints of what points are joined to; then each class is confirmed exactly,
against its first member.
"""

import numpy as np

from orbitmc._numba.jit import shared
from orbitmc._numba.tiers import of_first, tier
from orbitmc._simd.bits import hash_integer
from orbitmc._util.arrays import Numbers, Words, number_classes, row_classes
from orbitmc.groups.permutation_groups import connected_components
from orbitmc.symmetry.encoding import ColoredGraph, tails
from orbitmc.symmetry.matching import Checker, arc_print, checker, preserves

SELF, OTHER = 1 << 41, 1 << 42  # stand for the two points of a pair, in place of their numbers
LONGEST_ROW_COMPARED = 64
"""Factors with more arguments are not searched for pairs; their twins may be missed."""


def twin_classes(graph: ColoredGraph, cells: Numbers) -> Numbers:
    """Number the points so that twins, and only they, have equal numbers.

    `cells` are of any partition that symmetries respect: twins share a cell. Two points that are
    both in a factor of very many are never called twins.
    """
    outlook = np.zeros(graph.points, dtype=np.uint64)
    _fill_outlooks(graph, checker(graph).fingerprint, outlook)
    apart = row_classes(np.column_stack([cells[: graph.points], outlook.view(np.int64)]))[1]
    first, second = _neighbors_alike(graph, cells, outlook)
    order = np.argsort(apart, kind="stable")
    same = apart[order][1:] == apart[order][:-1]
    first = np.concatenate([order[:-1][same], first])
    second = np.concatenate([order[1:][same], second])
    classes = number_classes(connected_components(graph.points, first, second))
    _confirm(graph, checker(graph), classes, np.arange(graph.points))
    return number_classes(classes)


def neighboring_swaps(classes: Numbers) -> tuple[Numbers, Numbers]:
    """Pairs whose exchanges generate all permutations within classes."""
    order = np.argsort(classes, kind="stable")
    same = classes[order][1:] == classes[order][:-1]
    return order[:-1][same], order[1:][same]


@shared
def _fingerprint_with_self(fingerprint: np.uint64, vertex: int, label: int) -> np.uint64:
    """What a factor looks like when one of its arguments is called SELF."""
    return np.uint64(hash_integer(fingerprint - arc_print(vertex, label) + arc_print(SELF, label)))


@tier(of_first)
def _fill_outlooks(graph: ColoredGraph, fingerprint: Words, outlook: Words) -> None:
    """Add up what every point is joined to, itself called SELF."""
    for point in range(graph.points):
        total = np.uint64(0)
        for arc in range(graph.start[point], graph.start[point + 1]):
            neighbor = graph.neighbor[arc]
            if neighbor < graph.points:
                total += arc_print(neighbor, graph.label[arc])
            else:
                total += _fingerprint_with_self(fingerprint[neighbor], point, graph.label[arc])
        outlook[point] = total


def _neighbors_alike(
    graph: ColoredGraph, cells: Numbers, outlook: np.ndarray
) -> tuple[Numbers, Numbers]:
    """Pairs that are joined, or share a factor, and look alike when exchanged."""
    pairs = [_joined_pairs(graph), _pairs_in_factors(graph)]
    first, second, ours, theirs, swapped = (
        np.concatenate([part[k] for part in pairs]) for k in range(5)
    )
    if not len(first):
        return first, second
    keys, which = np.unique(first * graph.points + second, return_inverse=True)
    shared_sum = np.zeros((3, len(keys)), dtype=np.uint64)
    for total, part in zip(shared_sum, (ours, theirs, swapped), strict=True):
        np.add.at(total, which, part)
    first, second = keys // graph.points, keys % graph.points
    alike = outlook[first] - shared_sum[0] == outlook[second] - shared_sum[1]
    alike &= (shared_sum[2] == 0) & (cells[first] == cells[second])
    return first[alike], second[alike]


def _joined_pairs(graph: ColoredGraph) -> tuple[np.ndarray, ...]:
    """Joined points: what the arc adds to both outlooks, and how exchanging would change it."""
    tail = tails(graph)
    forth = np.flatnonzero((tail < graph.neighbor) & (graph.neighbor < graph.points))
    first, second = tail[forth], graph.neighbor[forth].astype(np.int64)
    filled = np.zeros((3, len(forth)), dtype=np.uint64)
    _fill_joined(graph, forth, first, second, filled)
    return first, second, *filled


@tier(of_first)
def _fill_joined(
    graph: ColoredGraph, forth: Numbers, first: Numbers, second: Numbers, filled: Words
) -> None:
    for k in range(len(forth)):
        label = graph.label[forth[k]]
        back = graph.start[second[k]]
        last = graph.start[second[k] + 1]
        while back + 1 < last:  # arcs stand in ascending order of where they lead
            middle = (back + last) // 2
            if graph.neighbor[middle] <= first[k]:
                back = middle
            else:
                last = middle
        filled[0, k] = arc_print(second[k], label)
        filled[1, k] = arc_print(first[k], graph.label[back])
        filled[2, k] = hash_integer(label) - hash_integer(graph.label[back])


def _pairs_in_factors(graph: ColoredGraph) -> tuple[np.ndarray, ...]:
    """Pairs of arguments: what each factor adds to both outlooks, and how exchanging changes it."""
    sizes = np.diff(graph.start[graph.points :])
    sizes = np.where(sizes <= LONGEST_ROW_COMPARED, sizes * (sizes - 1) // 2, 0)
    total = int(sizes.sum())
    ends, filled = np.zeros((2, total), dtype=np.int64), np.zeros((3, total), dtype=np.uint64)
    _fill_pairs(graph, checker(graph).fingerprint, ends, filled)
    return *ends, *filled


@tier(of_first)
def _fill_pairs(graph: ColoredGraph, fingerprint: Words, ends: Numbers, filled: Words) -> None:
    count = 0
    for factor in range(graph.points, len(graph.color)):
        first, last = graph.start[factor], graph.start[factor + 1]
        if last - first > LONGEST_ROW_COMPARED:
            continue
        for a in range(first, last):
            for b in range(a + 1, last):
                u, v, p, q = graph.neighbor[a], graph.neighbor[b], graph.label[a], graph.label[b]
                ends[0, count], ends[1, count] = u, v
                whole = fingerprint[factor]
                filled[0, count] = _fingerprint_with_self(whole, u, p)
                filled[1, count] = _fingerprint_with_self(whole, v, q)
                rest = whole - arc_print(u, p) - arc_print(v, q)
                now = hash_integer(rest + arc_print(SELF, p) + arc_print(OTHER, q))
                then = hash_integer(rest + arc_print(SELF, q) + arc_print(OTHER, p))
                filled[2, count] = now - then
                count += 1


@tier(of_first)
def _confirm(graph: ColoredGraph, checker: Checker, classes: Numbers, image: Numbers) -> None:
    """Exchange every point with the first of its class; who fails gets a class of its own."""
    leader = np.full(len(classes), -1)
    moved = np.zeros(2, dtype=np.int64)
    for point in range(len(classes)):
        first = leader[classes[point]]
        if first < 0:
            leader[classes[point]] = point
            continue
        moved[0], moved[1] = first, point
        image[first], image[point] = point, first
        if not preserves(graph, checker, image, moved, 2):
            classes[point] = len(classes) + point
        image[first], image[point] = first, point
