"""Permutations with value maps as plain permutations of (point, value) pairs.

What follows (random elements, lists of elements) works on dense rows: `row[pair]` is the
pair that a pair is carried to. Only points that the group moves have pairs, and a group that
keeps values has one pair per point, so its rows are ordinary permutations.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc._numba.jit import shared
from orbitmc._util.arrays import Indices, counted, indices, lengths, sealed, starts
from orbitmc.errors import InputError
from orbitmc.groups.permutation import Permutation, changes_values, normal
from orbitmc.groups.permutation_groups import (
    PermutationGroup,
    check_number_of_values,
    moved_points,
)


class Pairs(NamedTuple):
    """Numbers for the values of moved points: those of `point[k]` are `start[k]:start[k + 1]`.

    `owner[pair]` is the `k` that a pair belongs to; `degree` counts all points, moved or not.
    """

    degree: int
    point: Indices
    start: Indices
    owner: Indices

    @property
    def keep_values(self) -> bool:
        return len(self.owner) == len(self.point)


@shared
def value_of(pairs: Pairs, row: Indices, k: int, value: np.uint32) -> np.uint32:
    """What a value of the moved point number `k` becomes on its way."""
    begin = pairs.start[k]
    if pairs.start[k + 1] - begin == 1:
        return value
    there = row[begin + value]
    carried: np.uint32 = there - pairs.start[pairs.owner[there]]
    return carried


def pairs_of(group: PermutationGroup) -> Pairs:
    """Number the pairs that a group moves."""
    points = moved_points(group)
    sizes = np.ones(len(points), dtype=np.int64)
    if group.maps_values:
        sizes = check_number_of_values(group)[points]
    return numbered(group.degree, points, sizes)


def numbered(degree: int, points: Indices, sizes: NDArray[Any]) -> Pairs:
    """Number the values of sorted points, each of which has `sizes[k]` of them."""
    owner = np.repeat(np.arange(len(points)), sizes)
    return Pairs(degree, indices(points), starts(sizes), indices(owner))


def rows_of(pairs: Pairs, group: PermutationGroup) -> Indices:
    """One dense row per generator."""
    rows = [row_in(pairs, element) for element in group.generators()]
    return sealed(np.array(rows, dtype=np.uint32).reshape(len(rows), len(pairs.owner)))


def row_in(pairs: Pairs, element: Permutation) -> Indices:
    """A permutation as a dense row; it may move only points that have pairs."""
    _check_fits(pairs, element)
    here = np.searchsorted(pairs.point, element.point)
    there = np.searchsorted(pairs.point, element.image)
    begin, sizes = pairs.start.astype(np.int64), lengths(pairs.start)[here]
    maps = element.maps_values and not pairs.keep_values
    value = element.value_map if maps else counted(sizes)
    row = np.arange(len(pairs.owner), dtype=np.uint32)
    row[np.repeat(begin[here], sizes) + counted(sizes)] = np.repeat(begin[there], sizes) + value
    return sealed(row)


def element_of(pairs: Pairs, row: NDArray[Any]) -> Permutation:
    """The permutation that a dense row stands for."""
    image = pairs.owner[row[pairs.start[:-1]]]
    sizes = lengths(pairs.start)
    for pair in np.flatnonzero(pairs.owner[row] != np.repeat(image, sizes)):
        point = pairs.point[pairs.owner[pair]]
        raise InputError(f"not a permutation of points: values of {point} go to different points")
    target = pairs.point[image]
    if pairs.keep_values:
        return normal(pairs.degree, pairs.point, target)
    value = row - pairs.start[pairs.owner[row]]
    return normal(pairs.degree, pairs.point, target, pairs.start, value)


def _check_fits(pairs: Pairs, element: Permutation) -> None:
    if element.degree != pairs.degree:
        raise InputError(f"expected a permutation of {pairs.degree} points, not {element.degree}")
    for point in np.setdiff1d(element.point, pairs.point):
        raise InputError(f"point {point} is moved, but not by the group")
    if pairs.keep_values and changes_values(element):
        raise InputError("the permutation changes values, but the group keeps them")
    if element.maps_values and not pairs.keep_values:
        here = np.searchsorted(pairs.point, element.point)
        if not np.array_equal(lengths(pairs.start)[here], lengths(element.map_start)):
            raise InputError("a value map is longer or shorter than those of the group")
