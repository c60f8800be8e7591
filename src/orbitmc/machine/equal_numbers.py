"""Numbers that differ only by rounding get one class, and so do equal rows of numbers.

Two equal sums may differ in their last bits, and rounding them to so many digits would tear some
of them apart at a rounding boundary. Sorting and looking for gaps does not.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orbitmc.machine.arrays import Floats

GAP = 1e-9
"""Neighbours in sorted order belong together when they are closer than this, relatively."""


def float_classes(numbers: ArrayLike) -> NDArray[np.int64]:
    """Number the classes of equal floats in ascending order; minus infinity is a class too."""
    values = np.asarray(numbers, dtype=np.float64)
    distinct, which = np.unique(values, return_inverse=True)
    return _classes_of_sorted(distinct)[which.reshape(values.shape)]


def snapped(numbers: Floats) -> Floats:
    """Replace nearly equal numbers by the least of them."""
    distinct, which = np.unique(numbers, return_inverse=True)
    classes = _classes_of_sorted(distinct)
    least = distinct[np.unique(classes, return_index=True)[1]]
    snapped_numbers: Floats = least[classes[which]].reshape(np.shape(numbers))
    return snapped_numbers


def _classes_of_sorted(distinct: Floats) -> NDArray[np.int64]:
    with np.errstate(invalid="ignore"):
        apart = np.diff(distinct) > GAP * (1.0 + np.abs(distinct[1:]))
    return np.concatenate([np.zeros(min(len(distinct), 1), np.int64), np.cumsum(apart)])


def row_classes(rows: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where each distinct row first stands, in lexicographic order, and which of them each is."""
    if not len(rows):
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    keys = _joined_columns(rows) if rows.dtype == np.int64 else list(rows.T)
    order = np.lexsort(keys[::-1]) if keys else np.arange(len(rows))
    new = np.zeros(len(rows), dtype=bool)
    new[0] = True
    for key in keys:
        ordered = key[order]
        new[1:] |= ordered[1:] != ordered[:-1]
    which = np.empty(len(rows), dtype=np.int64)
    which[order] = np.cumsum(new) - 1
    return order[new], which


def _joined_columns(rows: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Fewer columns that order the rows alike: neighbours are joined while they fit."""
    least, most = rows.min(axis=0).tolist(), rows.max(axis=0).tolist()
    joined: list[NDArray[np.int64]] = []
    room = 0
    for column, low, high in zip(rows.T, least, most, strict=True):
        size = high - low + 1
        if size < room:
            joined[-1] = joined[-1] * size + (column - low)
        else:
            joined.append(column - low if size < 2**63 else column)
            room = 2**63
        room //= size
    return joined


def number_classes(classes: NDArray[Any]) -> NDArray[np.int64]:
    """Number classes from 0 in the order in which they first appear."""
    _, first, which = np.unique(classes, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[which.reshape(-1)]


def ranks(classes: NDArray[Any]) -> NDArray[np.int64]:
    """The place of each member in its class, from 0: how often the class occurred before."""
    order = np.argsort(classes, kind="stable")
    begins = np.searchsorted(classes[order], classes[order])
    rank = np.empty(len(classes), dtype=np.int64)
    rank[order] = np.arange(len(classes)) - begins
    return rank


def distinct_rows(rows: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The distinct rows in lexicographic order, and which of them each row is."""
    first, which = row_classes(rows)
    return rows[first], which
