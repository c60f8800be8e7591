"""What permutations do: to states, to each other, and when repeated."""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orbitmc.errors import InputError
from orbitmc.groups.permutation import Permutation, counted, identity, normal
from orbitmc.machine.arrays import lengths, starts


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


def compose(first: Permutation, *others: Permutation) -> Permutation:
    """The permutation that acts like the last one, then the one before it, and so on."""
    result = first
    for other in others:
        result = _product(result, other)
    return result


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


def power(element: Permutation, exponent: int) -> Permutation:
    """The permutation repeated; negative exponents repeat its inverse."""
    if exponent < 0:
        return power(inverse(element), -exponent)
    result = identity(element.degree)
    while exponent:
        if exponent & 1:
            result = compose(result, element)
        element, exponent = compose(element, element), exponent >> 1
    return result


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


def _product(left: Permutation, right: Permutation) -> Permutation:
    """Do `right`, then `left`."""
    if left.degree != right.degree:
        raise InputError(f"cannot compose permutations of {left.degree} and {right.degree} points")
    if left.is_identity or right.is_identity:
        return right if left.is_identity else left
    if left.maps_values != right.maps_values:
        raise InputError("cannot compose permutations with and without value maps: use with_values")
    point = np.union1d(left.point, right.point)
    between = _images(right, point)
    image = _images(left, between)
    if not left.maps_values:
        return normal(left.degree, point, image)
    sizes = np.maximum(_sizes(left, point), _sizes(right, point))
    value = _mapped(right, np.repeat(point, sizes), counted(sizes))
    value = _mapped(left, np.repeat(between, sizes), value)
    return normal(left.degree, point, image, starts(sizes), value)


def _places(element: Permutation, points: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Where points are among the moved ones, and whether they are."""
    place = np.minimum(np.searchsorted(element.point, points), len(element.point) - 1)
    return place, element.point[place] == points


def _images(element: Permutation, points: NDArray[Any]) -> NDArray[Any]:
    place, moved = _places(element, points)
    return np.where(moved, element.image[place], points)


def _sizes(element: Permutation, points: NDArray[Any]) -> NDArray[np.int64]:
    place, moved = _places(element, points)
    return np.where(moved, lengths(element.map_start)[place], 0)


def _mapped(
    element: Permutation, points: NDArray[Any], values: NDArray[np.int64]
) -> NDArray[np.int64]:
    place, moved = _places(element, points)
    entry = np.where(moved, element.map_start[place].astype(np.int64) + values, 0)
    return np.where(moved, element.value_map[entry], values)
