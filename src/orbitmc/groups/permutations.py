"""Sparse permutations of points, which may also permute the values that points have.

One convention everywhere: `g` carries the value at point `i` to point `g[i]`, so
`(g.values)[g[i]] = values[i]`. With value maps the value changes on its way:
`(g.values)[g[i]] = map_i[values[i]]`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orbitmc._util.arrays import (
    MOST_VALUES,
    Bytes,
    Indices,
    count_within,
    indices,
    lengths,
    readonly,
    short_repr,
    starts,
)
from orbitmc.errors import InputError


@dataclass(frozen=True, eq=False)
class Permutation:
    """A permutation of `degree` points that moves `point[k]` to `image[k]` and keeps the rest.

    Points are sorted. With value maps, value `a` of `point[k]` becomes
    `value_map[map_start[k] + a]` at `image[k]`; a point may stay and only change its value.
    `map_start` is empty when values are kept.
    """

    degree: int
    point: Indices
    image: Indices
    map_start: Indices
    value_map: Bytes

    def __repr__(self) -> str:
        return short_repr(self)

    @property
    def maps_values(self) -> bool:
        return len(self.map_start) > 0

    @property
    def is_identity(self) -> bool:
        return len(self.point) == 0

    def __call__(self, point: int) -> int:
        """Where a point goes."""
        place = int(np.searchsorted(self.point, point))
        moved = place < len(self.point) and self.point[place] == point
        return int(self.image[place]) if moved else point

    def __eq__(self, other: object) -> bool:
        """Whether both do the same to every state."""
        return isinstance(other, Permutation) and self.key() == other.key()

    def __hash__(self) -> int:
        return hash(self.key())

    def key(self) -> tuple[int, bytes, bytes, bytes, bytes]:
        """What tells this permutation from others; maps that keep all values do not count."""
        points, images = self.point.tobytes(), self.image.tobytes()
        if not changes_values(self):
            return self.degree, points, images, b"", b""
        return self.degree, points, images, self.map_start.tobytes(), self.value_map.tobytes()


def from_images(
    degree: int,
    points: ArrayLike,
    images: ArrayLike,
    value_maps: Sequence[Sequence[int]] | None = None,
) -> Permutation:
    """Move `points[k]` to `images[k]`, its value through `value_maps[k]`."""
    moved, target = whole_numbers(points, degree), whole_numbers(images, degree)
    if len(moved) != len(target):
        raise InputError(f"{len(moved)} points have {len(target)} images")
    order = np.argsort(moved, kind="stable")
    moved, target = moved[order], target[order]
    check_bijection(moved, target)
    if value_maps is None:
        return normalise(degree, moved, target)
    if len(value_maps) != len(moved):
        raise InputError(f"{len(moved)} points have {len(value_maps)} value maps")
    maps = [_check_map(value_maps[k]) for k in order]
    begins = starts(np.array([len(value_map) for value_map in maps], dtype=np.int64))
    _check_domains(moved, target, lengths(begins))
    return normalise(
        degree, moved, target, begins, np.array([a for value_map in maps for a in value_map])
    )


def row_of(element: Permutation) -> Indices:
    """The images of all points."""
    row = np.arange(element.degree, dtype=np.uint32)
    row[element.point] = element.image
    return readonly(row)


def with_values(element: Permutation, cardinality: ArrayLike) -> Permutation:
    """The same permutation with explicit value maps; point `i` has `cardinality[i]` values."""
    sizes = np.broadcast_to(np.asarray(cardinality, dtype=np.int64), (element.degree,))
    sizes = sizes[element.point.astype(np.int64)]
    _check_domains(element.point, element.image, sizes)
    if not element.maps_values:
        begins, identity = starts(sizes), count_within(sizes)
        return normalise(element.degree, element.point, element.image, begins, identity)
    if not np.array_equal(sizes, lengths(element.map_start)):
        raise InputError("a value map is longer or shorter than the number of values of its point")
    return element


def changes_values(element: Permutation) -> bool:
    """Whether any value changes on its way."""
    identity = (
        count_within(lengths(element.map_start)) if element.maps_values else element.value_map
    )
    return not np.array_equal(element.value_map, identity)


def normalise(
    degree: int,
    point: NDArray[Any],
    image: NDArray[Any],
    map_start: NDArray[Any] | None = None,
    value_map: NDArray[Any] | None = None,
) -> Permutation:
    """Make a permutation of checked parts; points that nothing happens to are left out."""
    changed = point != image
    if map_start is None or value_map is None:
        point, image = indices(point[changed]), indices(image[changed])
        return Permutation(degree, point, image, indices([]), _bytes([]))
    sizes = lengths(map_start)
    owner = np.repeat(np.arange(len(point)), sizes)
    changed |= np.bincount(owner, value_map != count_within(sizes), len(point)) > 0
    begins = starts(sizes[changed]) if changed.any() else indices([])
    maps = _bytes(value_map[changed[owner]])
    return Permutation(degree, indices(point[changed]), indices(image[changed]), begins, maps)


def whole_numbers(points: ArrayLike, degree: int) -> NDArray[np.int64]:
    """Points as an array, if all of them are among the `degree` points there are."""
    numbers = np.asarray(points)
    if numbers.ndim != 1 or (numbers.size and not np.issubdtype(numbers.dtype, np.integer)):
        raise InputError(f"points must be a list of whole numbers, got {points!r}")
    for point in numbers[(numbers < 0) | (numbers >= degree)]:
        raise InputError(f"there is no point {point} among {degree}, counted from 0")
    return numbers.astype(np.int64)


def check_bijection(points: NDArray[Any], images: NDArray[Any]) -> None:
    """Make sure that sorted points go to themselves, in some order, each from one point."""
    twice = points[1:][points[1:] == points[:-1]]
    if len(twice):
        raise InputError(f"not a bijection: point {twice[0]} has two images")
    if not np.array_equal(np.sort(images), points):
        missing = np.setdiff1d(points, images)
        raise InputError(f"not a bijection: no point goes to {missing[0]}, which moves away")


def _check_map(value_map: Sequence[int]) -> list[int]:
    images = [int(value) for value in value_map]
    if sorted(images) != list(range(len(images))) or not 0 < len(images) <= MOST_VALUES:
        raise InputError(f"a value map lists each value from 0 on once, got {images}")
    return images


def _check_domains(points: NDArray[Any], images: NDArray[Any], sizes: NDArray[Any]) -> None:
    there = sizes[np.searchsorted(points, images)]
    for k in np.flatnonzero(there != sizes):
        raise InputError(
            f"point {points[k]} with {sizes[k]} values cannot go to point {images[k]}"
            f" with {there[k]} values"
        )


def _bytes(values: ArrayLike) -> Bytes:
    return readonly(np.array(values, dtype=np.uint8))


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
        return normalise(element.degree, point, image)
    begins = element.map_start[:-1].astype(np.int64)
    sizes = lengths(element.map_start)
    undone = np.empty_like(element.value_map)
    undone[np.repeat(begins, sizes) + element.value_map] = count_within(sizes)
    turned = np.repeat(begins[order], sizes[order]) + count_within(sizes[order])
    return normalise(element.degree, point, image, starts(sizes[order]), undone[turned])


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
    cycles = []
    for first in range(len(images)):
        cycle, point = [], first
        while not seen[point]:
            seen[point] = 1
            cycle.append(point)
            point = images[point]
        if len(cycle) > 1:
            cycles.append(cycle)
    return cycles
