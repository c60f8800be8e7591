"""Guess an automorphism from two partitions: what differs is matched by what it is joined to.

After a few vertices were individualised, the points that stand in other cells on the left than
on the right must be moved, and the others can perhaps stay. A moved point is recognised by its
neighbours: fixed ones, ones whose image is known already, or at least the cell of the others.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc._numba.jit import shared
from orbitmc._numba.tiers import of_first, tier
from orbitmc._simd.bits import hash_integer
from orbitmc._util.arrays import Index, Numbers, Words
from orbitmc.symmetry.encoding import ColoredGraph
from orbitmc.symmetry.refinement import Partition

# Whether a permutation of points is an automorphism of a coloured graph: exactly, arc by arc.


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
    return np.uint64(hash_integer(hash_integer(vertex) ^ np.uint64(label)))


@tier(of_first)
def _fill_fingerprints(graph: ColoredGraph, fingerprint: Words) -> None:
    for factor in range(graph.points, len(graph.color)):
        total = hash_integer(graph.color[factor])
        for arc in range(graph.start[factor], graph.start[factor + 1]):
            total += arc_print(graph.neighbor[arc], graph.label[arc])
        fingerprint[factor] = total


@shared
def _print_of_image(graph: ColoredGraph, factor: int, image: Numbers) -> np.uint64:
    total: np.uint64 = hash_integer(graph.color[factor])
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
    wanted = _print_of_image(graph, factor, image)
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


@tier(of_first)
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


CELLS = 1 << 40  # added to the numbers of cells, which are not numbers of vertices
MOST_LOOKS = 3
"""How often points that still look alike are looked at again, with the new names of the others."""

LONGEST_ROW = 64  # factors with more arguments are known by their cell only, to keep guesses cheap


class Guess(NamedTuple):
    """A permutation of points: `image`, and the points in `moved` that it may move.

    Between guesses every point is its own image, and none is listed.
    """

    image: Numbers
    moved: Numbers
    is_listed: NDArray[np.bool_]
    left_key: Words
    right_key: Words
    fresh: Words
    left_order: Numbers
    right_order: Numbers


@shared
def _name(
    left: Partition, right: Partition, images: Partition, key: Words, vertex: int
) -> np.uint64:
    """What a neighbour is called, the same way from both sides."""
    cell = left.cell[vertex]
    if right.cell[vertex] == cell:
        return np.uint64(vertex)
    if left.size[cell] > 1:
        return np.uint64(key[vertex])
    return np.uint64(images.element[cell])


@shared
def _signature(
    graph: ColoredGraph,
    left: Partition,
    right: Partition,
    images: Partition,
    key: Words,
    vertex: int,
) -> np.uint64:
    """A fingerprint of what a vertex is joined to, directly and through factors."""
    total = key[vertex]
    for arc in range(graph.start[vertex], graph.start[vertex + 1]):
        neighbor = graph.neighbor[arc]
        if neighbor < graph.points:
            total += arc_print(_name(left, right, images, key, neighbor), graph.label[arc])
        else:
            inside = np.uint64(left.cell[neighbor])
            first, last = graph.start[neighbor], graph.start[neighbor + 1]
            if last - first <= LONGEST_ROW:
                inside = hash_integer(graph.color[neighbor])
                for inner in range(first, last):
                    name = _name(left, right, images, key, graph.neighbor[inner])
                    inside += arc_print(name, graph.label[inner])
            total += hash_integer(inside ^ np.uint64(graph.label[arc]))
    return np.uint64(hash_integer(total))


@shared
def _sort_by(order: Numbers, key: Words, count: int) -> None:
    """Fill `order` with the numbers below `count`, sorted by key (heap sort)."""
    for k in range(count):
        order[k] = k
    for step in range(count // 2 + count - 1):
        root, length = count // 2 - 1 - step, count
        if root < 0:
            root, length = 0, count // 2 + count - 1 - step
            order[0], order[length] = order[length], order[0]
        while 2 * root + 1 < length:
            child = 2 * root + 1
            if child + 1 < length and key[order[child]] < key[order[child + 1]]:
                child += 1
            if key[order[root]] >= key[order[child]]:
                break
            order[root], order[child] = order[child], order[root]
            root = child


@tier(of_first)
def _refresh_keys(
    graph: ColoredGraph,
    left: Partition,
    right: Partition,
    images: Partition,
    guess: Guess,
    count: int,
    key: Words,
    order: Numbers,
) -> bool:
    """Renew the keys of the listed points by one look around, and sort them; tells of ties."""
    for k in range(count):
        guess.fresh[k] = _signature(graph, left, right, images, key, guess.moved[k])
    for k in range(count):
        key[guess.moved[k]] = guess.fresh[k]
    _sort_by(order, guess.fresh, count)
    ties = 0
    for k in range(1, count):
        ties += guess.fresh[order[k]] == guess.fresh[order[k - 1]]
    return ties > 0


@shared
def _collect(
    graph: ColoredGraph, left: Partition, right: Partition, mark: int, guess: Guess, count: int
) -> int:
    """List the points of born cells that stand elsewhere in the other partition."""
    for number in range(mark, left.splits[0]):
        cell = left.born[number]
        if left.element[cell] < graph.points:
            for place in range(cell, cell + left.size[cell]):
                vertex = left.element[place]
                if right.cell[vertex] != cell and not guess.is_listed[vertex]:
                    guess.is_listed[vertex] = True
                    guess.moved[count] = vertex
                    count += 1
    return count


@tier(of_first)
def match_differences(
    graph: ColoredGraph, left: Partition, right: Partition, mark: int, guess: Guess
) -> int:
    """Write the guess to `guess.image`; gives how many points it moves, 0 if it is hopeless."""
    count = _collect(graph, right, left, mark, guess, 0)
    count = _collect(graph, left, right, mark, guess, count)
    for k in range(count):
        vertex = guess.moved[k]
        guess.is_listed[vertex] = False
        guess.left_key[vertex] = hash_integer(left.cell[vertex] + CELLS)
        guess.right_key[vertex] = hash_integer(right.cell[vertex] + CELLS)
    ties, looks = True, 0
    while ties and looks < MOST_LOOKS:
        looks += 1
        ties = _refresh_keys(
            graph, left, right, right, guess, count, guess.left_key, guess.left_order
        )
        _refresh_keys(graph, right, left, right, guess, count, guess.right_key, guess.right_order)
    return _match(guess, count)


@shared
def _match(guess: Guess, count: int) -> int:
    """Send each point to the one with the same key; 0 if some has none."""
    for k in range(count):
        source, target = guess.moved[guess.left_order[k]], guess.moved[guess.right_order[k]]
        if guess.left_key[source] != guess.right_key[target]:
            return 0
    for k in range(count):
        source, target = guess.moved[guess.left_order[k]], guess.moved[guess.right_order[k]]
        guess.image[source] = target
    return count


def empty_guess(points: int) -> Guess:
    left_key, right_key, fresh = np.zeros((3, points), dtype=np.uint64)
    moved, left_order, right_order = np.zeros((3, points), dtype=np.int64)
    return Guess(
        image=np.arange(points),
        moved=moved,
        is_listed=np.zeros(points, dtype=bool),
        left_key=left_key,
        right_key=right_key,
        fresh=fresh,
        left_order=left_order,
        right_order=right_order,
    )
