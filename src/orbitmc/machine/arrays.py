"""The few array types of the package, and the read-only seal on them."""

from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

Indices = NDArray[np.uint32]  # unsigned, because compiled code indexes faster with them
Bytes = NDArray[np.uint8]
Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Numbers = NDArray[np.int64]
Words = NDArray[np.uint64]
Index = int | np.integer[Any]  # a number by itself: Python's, or one of an array
Width = tuple[int, ...]  # one entry for each 32 lanes, so that the compiler knows their number

Scalar = TypeVar("Scalar", bound=np.generic)


def sealed(array: NDArray[Scalar]) -> NDArray[Scalar]:
    """Give a contiguous, unwritable array: compiled code that writes to it does not compile."""
    array = np.ascontiguousarray(array)
    array.flags.writeable = False
    return array


def indices(values: ArrayLike) -> Indices:
    return sealed(np.array(values, dtype=np.uint32))


def floats(values: ArrayLike) -> Floats:
    return sealed(np.array(values, dtype=np.float64))


def starts(lengths: NDArray[Any]) -> Indices:
    """Where each of several consecutive pieces begins, and where the last one ends."""
    ends = np.zeros(len(lengths) + 1, dtype=np.uint64)
    np.cumsum(lengths, out=ends[1:])
    return indices(ends)


def lengths(begins: Indices) -> NDArray[np.int64]:
    """How long each piece is, given where they begin and where the last one ends."""
    return begins[1:].astype(np.int64) - begins[:-1].astype(np.int64)
