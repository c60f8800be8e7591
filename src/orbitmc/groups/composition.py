"""What permutations do: to states, to each other, and when repeated."""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orbitmc.errors import InputError
from orbitmc.groups.permutation import Permutation, normal
from orbitmc.machine.arrays import counted, lengths, starts


def act(element: Permutation, values: ArrayLike) -> NDArray[Any]:
    """Carry values to their new places: an array [point] or [point, lane]; gives a new one."""
    before = np.asarray(values)
    if before.ndim == 0 or len(before) != element.degree:
        raise InputError(
            f"a permutation of {element.degree} points cannot act on values of shape {before.shape}"
        )
    after = before.copy()
    carried = before[element.point]
    if element.maps_values:
        begins = element.map_start[:-1].astype(np.int64)
        carried = element.value_map[begins.reshape((-1,) + (1,) * (before.ndim - 1)) + carried]
    after[element.image] = carried
    return after


def inverse(element: Permutation) -> Permutation:
    """The permutation that undoes this one."""
    order = np.argsort(element.image)
    point, image = element.image[order], element.point[order]
    if not element.maps_values:
        return normal(element.degree, point, image)
    begins = element.map_start[:-1].astype(np.int64)
    sizes = lengths(element.map_start)
    undone = np.empty_like(element.value_map)
    undone[np.repeat(begins, sizes) + element.value_map] = counted(sizes)
    turned = np.repeat(begins[order], sizes[order]) + counted(sizes[order])
    return normal(element.degree, point, image, starts(sizes[order]), undone[turned])


def order(element: Permutation) -> int:
    """How often a permutation must be repeated until it changes nothing."""
    return math.lcm(*(len(cycle) for cycle in cycles_of(local_row(element))))


def local_row(element: Permutation) -> NDArray[np.int64]:
    """The permutation of its own moved points, or of their (point, value) pairs in order."""
    place = np.searchsorted(element.point, element.image)
    if not element.maps_values:
        return place.astype(np.int64)
    begins = element.map_start[:-1].astype(np.int64)
    return np.repeat(begins[place], lengths(element.map_start)) + element.value_map


def cycles_of(row: NDArray[Any]) -> list[list[int]]:
    """The cycles of a permutation given by the images of all its points, without fixed points."""
    images, seen = row.tolist(), bytearray(len(row))
    found = []
    for first in range(len(images)):
        cycle, point = [], first
        while not seen[point]:
            seen[point] = 1
            cycle.append(point)
            point = images[point]
        if len(cycle) > 1:
            found.append(cycle)
    return found
