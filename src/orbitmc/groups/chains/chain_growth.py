"""The compiled parts of building a stabilizer chain.

Level `l` of a chain has a base point, the orbit of that point under the elements that fix all
earlier base points, and for each point of the orbit an element that carries it back to the base
point: row `place[l, point]` of `back` (-1: not in the orbit).
"""

import numpy as np
from numpy.typing import NDArray

from orbitmc.groups.elements.random_elements import ProductReplacement, product_replacement_step
from orbitmc.machine.arrays import Indices, Numbers
from orbitmc.machine.compiling import compiled, shared
from orbitmc.machine.lanes.random import Generator


@shared
def sift(
    base: Indices, place: NDArray[np.int32], back: Indices, element: Indices, first: int
) -> int:
    """Strip an element level by level; tells where it got stuck (past the last: nowhere)."""
    for level in range(first, len(base)):
        row = place[level, element[base[level]]]
        if row < 0:
            return level
        for point in range(len(element)):
            element[point] = back[row, element[point]]
    return len(base)


@shared
def moves(element: Indices) -> bool:
    """Whether an element is not the identity."""
    moved = 0
    for point in range(len(element)):
        moved += element[point] != point
    return moved > 0


@compiled
def sift_one(base: Indices, place: NDArray[np.int32], back: Indices, element: Indices) -> int:
    return sift(base, place, back, element, 0)


@compiled
def sift_random(
    base: Indices,
    place: NDArray[np.int32],
    back: Indices,
    element: Indices,
    replacement: ProductReplacement,
    rng: Generator,
    tries: int,
) -> int:
    """Sift random elements until one leaves a residue; gives where, or -1 after `tries`."""
    for _ in range(tries):
        product_replacement_step(replacement, rng)
        for point in range(len(element)):
            element[point] = replacement.forward[0, point]
        level = sift(base, place, back, element, 0)
        if level < len(base) or moves(element):
            return level
    return -1


@compiled
def sift_schreier(
    base: Indices,
    place: NDArray[np.int32],
    back: Indices,
    element: Indices,
    level: int,
    orbit: Indices,
    generators: Indices,
) -> int:
    """Sift all Schreier generators of a level; gives where one left a residue, or -1.

    They generate the stabilizer of the base point, so nothing left means that the levels below
    are complete.
    """
    for point in orbit:
        row = place[level, point]
        for number in range(len(generators)):
            there = place[level, generators[number, point]]
            for k in range(len(element)):
                element[back[row, k]] = back[there, generators[number, k]]
            stuck = sift(base, place, back, element, level + 1)
            if stuck < len(base) or moves(element):
                return stuck
    return -1


@compiled
def grow_orbit(
    place: NDArray[np.int32],
    level: int,
    orbit: Indices,
    size: int,
    generators: Indices,
    before: Numbers,
    by: Numbers,
) -> int:
    """Complete an orbit from its first `size` points; gives its new size.

    New point `k` of the orbit is reached by generator `by[k]` from the orbit's point `before[k]`;
    its place is only marked.
    """
    done = 0
    while done < size:
        for number in range(len(generators)):
            there = generators[number, orbit[done]]
            if place[level, there] < 0:
                place[level, there] = 0
                orbit[size] = there
                before[size] = done
                by[size] = number
                size += 1
        done += 1
    return size


@compiled
def fill_rows(
    place: NDArray[np.int32],
    level: int,
    orbit: Indices,
    old: int,
    size: int,
    inverses: Indices,
    before: Numbers,
    by: Numbers,
    back: Indices,
    used: int,
) -> None:
    """Store how new points of an orbit are carried back: first to the point they came from."""
    for k in range(old, size):
        row = used + k - old
        via = place[level, orbit[before[k]]]
        for point in range(back.shape[1]):
            back[row, point] = back[via, inverses[by[k], point]]
        place[level, orbit[k]] = row
