"""The few array types of the package, and the read-only seal on them."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

Indices = NDArray[np.uint32]  # unsigned, because compiled code indexes faster with them
Bytes = NDArray[np.uint8]
Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Numbers = NDArray[np.int64]
Words = NDArray[np.uint64]
Index = int | np.integer[Any]  # a number by itself: Python's, or one of an array
LANE_UNIT = 32  # lanes come in multiples of this
Width = tuple[int, ...]  # one entry for each unit, so that the compiler knows how many lanes

FEW, LONGEST = 3, 60  # items and letters that a line may show

Scalar = TypeVar("Scalar", bound=np.generic)


def readonly(array: NDArray[Scalar]) -> NDArray[Scalar]:
    """Give a contiguous, unwritable array: compiled code that writes to it does not compile."""
    array = np.ascontiguousarray(array)
    array.flags.writeable = False
    return array


def short_repr(value: Any) -> str:
    """A dataclass or a NamedTuple in a line: arrays by their shape, and what is long by its size.

    >>> from typing import NamedTuple
    >>> class Pair(NamedTuple):
    ...     name: str
    ...     numbers: Floats
    >>> short_repr(Pair("a", floats([1, 2, 3])))
    "Pair(name='a', numbers=float64[3])"
    """
    if is_dataclass(value):
        names = [field.name for field in fields(value) if field.repr]
    else:
        names = list(getattr(value, "_fields", ()))
    if not names:
        return type(value).__name__
    pairs = (f"{name}={_format_field(getattr(value, name))}" for name in names)
    return f"{type(value).__name__}({', '.join(pairs)})"


def _format_field(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype}[{', '.join(map(str, value.shape))}]"
    if is_dataclass(value) or hasattr(value, "_fields"):
        return type(value).__name__
    if isinstance(value, tuple | list | dict | set | frozenset) and len(value) > FEW:
        return f"{len(value)} items"
    words = repr(value)
    return words if len(words) <= LONGEST else type(value).__name__


def distinct(numbers: NDArray[Any]) -> Numbers:
    """Which natural numbers occur, in ascending order; small ones are marked, not sorted.

    >>> distinct(np.array([3, 1, 3]))
    array([1, 3])
    """
    if _is_sparse(numbers):
        return np.unique(numbers).astype(np.int64)
    occurs = np.zeros(int(numbers.max(initial=0)) + 1, dtype=np.bool_)
    occurs[numbers] = True
    return np.flatnonzero(occurs)


def _is_sparse(numbers: NDArray[Any]) -> bool:
    return int(numbers.max(initial=0)) >= 4 * numbers.size


def indices(values: ArrayLike) -> Indices:
    return readonly(np.array(values, dtype=np.uint32))


def floats(values: ArrayLike) -> Floats:
    return readonly(np.array(values, dtype=np.float64))


def arrays_in(holder: Any) -> Iterator[NDArray[Any]]:
    """All arrays in tuples, and in tuples within them."""
    if isinstance(holder, np.ndarray):
        yield holder
    elif isinstance(holder, tuple):
        for part in holder:
            yield from arrays_in(part)


MOST_VALUES = 256  # of a variable in a state: a value is one byte
CACHE_LINE = 64  # bytes


def zeros(shape: int | tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """Zeros that begin where a cache line does: loads of vectors that straddle two take twice."""
    kind = np.dtype(dtype)
    size = math.prod(shape if isinstance(shape, tuple) else (shape,)) * kind.itemsize
    room = np.zeros(size + CACHE_LINE, dtype=np.uint8)
    first = -room.__array_interface__["data"][0] % CACHE_LINE
    return room[first : first + size].view(kind).reshape(shape)


def starts(lengths: NDArray[Any]) -> Indices:
    """Where each of several consecutive pieces begins, and where the last one ends."""
    ends = np.zeros(len(lengths) + 1, dtype=np.uint64)
    np.cumsum(lengths, out=ends[1:])
    return indices(ends)


def count_within(lengths: NDArray[Any]) -> NDArray[np.int64]:
    """Count each of several pieces from 0: lengths 2 and 3 give 0, 1, 0, 1, 2."""
    ends = np.cumsum(lengths, dtype=np.int64)
    total = int(ends[-1]) if len(ends) else 0
    first: NDArray[np.int64] = np.repeat(ends - lengths, lengths)
    return np.arange(total) - first


def lengths(begins: Indices) -> NDArray[np.int64]:
    """How long each piece is, given where they begin and where the last one ends."""
    return begins[1:].astype(np.int64) - begins[:-1].astype(np.int64)


# Numbers that differ only by rounding get one class, and so do equal rows of numbers.
#
# Two equal sums may differ in their last bits, and rounding them to so many digits would tear some
# of them apart at a rounding boundary. Sorting and looking for gaps does not.

CLASS_GAP = 1e-9
"""Neighbours in sorted order belong together when they are closer than this, relatively."""


def float_classes(numbers: ArrayLike) -> NDArray[np.int64]:
    """Number the classes of equal floats in ascending order; minus infinity is a class too."""
    values = np.asarray(numbers, dtype=np.float64)
    order = np.argsort(values, axis=None)
    classes = np.empty(values.shape, dtype=np.int64)
    classes.reshape(-1)[order] = _classes_of_sorted(values.reshape(-1)[order])
    return classes


def snap(numbers: Floats) -> Floats:
    """Replace nearly equal numbers by the least of them."""
    distinct, which = np.unique(numbers, return_inverse=True)
    classes = _classes_of_sorted(distinct)
    least = distinct[np.unique(classes, return_index=True)[1]]
    snapped_numbers: Floats = least[classes[which]].reshape(np.shape(numbers))
    return snapped_numbers


def _classes_of_sorted(ordered: Floats) -> NDArray[np.int64]:
    classes = np.zeros(len(ordered), dtype=np.int64)
    with np.errstate(invalid="ignore"):
        apart = np.diff(ordered) > CLASS_GAP * (1.0 + np.abs(ordered[1:]))
    np.cumsum(apart, out=classes[1:])
    return classes


def row_classes(rows: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where each distinct row first stands, in lexicographic order, and which of them each is."""
    if not len(rows):
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    keys = _join_columns(rows) if rows.dtype == np.int64 else list(rows.T)
    order, new = _sort_by(keys) if keys else (np.arange(len(rows)), np.arange(len(rows)) == 0)
    which = np.empty(len(rows), dtype=np.int64)
    which[order] = np.cumsum(new) - 1
    return np.minimum.reduceat(order, np.flatnonzero(new)), which


def _sort_by(keys: Sequence[NDArray[Any]]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """An order by several keys, and where others than before begin in it.

    All are sorted by the first key; by the others only those in which that is equal.
    """
    order = np.argsort(keys[0])
    new = _begins(keys[0][order])
    if len(keys) > 1:
        tied = np.flatnonzero(~new | ~np.append(new[1:], True))
        some = order[tied]
        inner = np.lexsort([*(key[some] for key in keys[:0:-1]), np.cumsum(new)[tied]])
        order[tied] = some[inner]
        for key in keys[1:]:
            new[tied] |= _begins(key[some[inner]])
    return order, new


def _begins(ordered: NDArray[Any]) -> NDArray[np.bool_]:
    """Where another number than before begins."""
    new = np.ones(len(ordered), dtype=np.bool_)
    new[1:] = ordered[1:] != ordered[:-1]
    return new


def _join_columns(rows: NDArray[np.int64]) -> list[NDArray[np.int64]]:
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
    """Number classes from 0 in the order in which they first appear.

    >>> number_classes(np.array([7, 3, 7, 0]))
    array([0, 1, 0, 2])
    """
    first = _first_places(classes)
    new = np.zeros(len(classes), dtype=np.int64)
    new[first] = 1
    return (np.cumsum(new) - 1)[first]


def _first_places(classes: NDArray[Any]) -> NDArray[np.int64]:
    """Where the class of each member appears first; small numbers are marked, not sorted."""
    if classes.dtype.kind != "i" or classes.min(initial=0) < 0 or _is_sparse(classes):
        _, first, which = np.unique(classes, return_index=True, return_inverse=True)
        return np.asarray(first[which.reshape(-1)])
    first_of: NDArray[np.int64] = np.zeros(int(classes.max(initial=0)) + 1, dtype=np.int64)
    first_of[classes[::-1]] = np.arange(len(classes))[::-1]  # of several, the last one stays
    return np.asarray(first_of[classes])


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
