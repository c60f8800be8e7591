"""Numbers that differ only by rounding get one class.

Two equal sums may differ in their last bits, and rounding them to so many digits would tear some
of them apart at a rounding boundary. Sorting and looking for gaps does not.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

GAP = 1e-9
"""Neighbours in sorted order belong together when they are closer than this, relatively."""


def float_classes(numbers: ArrayLike) -> NDArray[np.int64]:
    """Number the classes of equal floats in ascending order; minus infinity is a class too."""
    values = np.asarray(numbers, dtype=np.float64)
    distinct, which = np.unique(values, return_inverse=True)
    return _classes_of_sorted(distinct)[which.reshape(values.shape)]


def _classes_of_sorted(distinct: NDArray[np.float64]) -> NDArray[np.int64]:
    with np.errstate(invalid="ignore"):
        apart = np.diff(distinct) > GAP * (1.0 + np.abs(distinct[1:]))
    return np.concatenate([np.zeros(min(len(distinct), 1), np.int64), np.cumsum(apart)])


def row_classes(rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Distinct rows of integers in lexicographic order, and which of them each row is."""
    if not len(rows):
        return rows, np.zeros(0, dtype=np.int64)
    order = np.lexsort(rows.T[::-1]) if rows.shape[1] else np.arange(len(rows))
    new = np.ones(len(rows), dtype=bool)
    new[1:] = (rows[order][1:] != rows[order][:-1]).any(axis=1)
    which = np.empty(len(rows), dtype=np.int64)
    which[order] = np.cumsum(new) - 1
    return rows[order][new], which
