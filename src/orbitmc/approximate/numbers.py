"""Numbers that differ only by rounding are made equal, and equal rows of numbers are found."""

import numpy as np
from numpy.typing import NDArray

from orbitmc.arrays import Floats

GAP = 1e-9
"""Neighbours in sorted order belong together when they are closer than this, relatively."""


def snapped(numbers: Floats, *, grid: float = 0.0) -> Floats:
    """Replace nearly equal numbers by the least of them, and all by the nearest grid point.

    Sorting and looking for gaps never tears equal sums apart, as rounding alone would do; minus
    infinity stays what it is.
    """
    distinct, which = np.unique(numbers, return_inverse=True)
    with np.errstate(invalid="ignore"):
        apart = np.diff(distinct) > GAP * (1.0 + np.abs(distinct[1:]))
    first = np.concatenate([np.ones(min(1, len(distinct)), np.bool_), apart])
    least = distinct[first]
    if grid:
        least = grid * np.round(least / grid)
    snapped_numbers: Floats = least[np.cumsum(first) - 1][which].reshape(np.shape(numbers))
    return snapped_numbers


def row_classes(rows: NDArray[np.int64] | Floats) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where each distinct row first stands, in lexicographic order, and which of them each is.

    One column after the other is sorted, which is much faster than comparing whole rows.
    """
    which = np.zeros(len(rows), dtype=np.int64)
    first = np.zeros(min(1, len(rows)), dtype=np.int64)
    for column in rows.T:
        values, code = np.unique(column, return_inverse=True)
        _, first, which = np.unique(
            which * len(values) + code.reshape(-1), return_index=True, return_inverse=True
        )
        which = which.reshape(-1)
    return first, which
