"""The work inside one bucket, slab by slab, so that its table never exists as a whole.

A slab is a run of entries of the shared variables, the last ones fastest. Tables hold
logarithms; beliefs are probabilities.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orbitmc.arrays import Floats
from orbitmc.compiled import compiled
from orbitmc.exact.problem import Scope

SLAB = 2**14  # entries: a slab and what is added to it stay in the processor's cache

Offsets = NDArray[np.int64]


@dataclass(frozen=True)
class View:
    """A flat table seen from a bucket: where its entries are for each entry of the bucket's.

    Entry (value of the bucket's variable, slab `high`, place `low` in the slab) is at
    `value * step + high[slab] + low[place]`.
    """

    step: int
    high: Offsets
    low: Offsets


class Bucket:
    """Views of tables from the variable that is eliminated and those it is shared with."""

    def __init__(self, variable: int, shared: Scope, sizes: Sequence[int]) -> None:
        self.variable, self.shared = variable, shared
        self.values = sizes[variable]
        self.shape = [sizes[member] for member in shared]
        self.split = _split(self.shape)
        self.slabs = int(np.prod(self.shape[: self.split], dtype=np.int64))
        self.places = int(np.prod(self.shape[self.split :], dtype=np.int64))

    def view(self, scope: Scope, sizes: Sequence[int]) -> View:
        """See a table over some of the bucket's variables, last of `scope` fastest."""
        strides, stride = {}, 1
        for member in reversed(scope):
            strides[member] = stride
            stride *= sizes[member]
        along = [strides.get(member, 0) for member in self.shared]
        return View(
            step=strides.get(self.variable, 0),
            high=_offsets(self.shape[: self.split], along[: self.split]),
            low=_offsets(self.shape[self.split :], along[self.split :]),
        )

    def together(self, factors: Sequence[tuple[Scope, Floats]]) -> tuple[Scope, Floats]:
        """Add up factors of the bucket to one table, its own variable first."""
        axes = {member: axis for axis, member in enumerate((self.variable, *self.shared))}
        read = sorted({member for scope, _ in factors for member in scope}, key=axes.__getitem__)
        shape = [(self.values, *self.shape)[axes[member]] for member in read]
        total = np.zeros(shape)
        for scope, table in factors:
            order = sorted(range(len(scope)), key=lambda axis: axes[scope[axis]])
            full = [size if m in scope else 1 for m, size in zip(read, shape, strict=True)]
            total += table.transpose(order).reshape(full)
        return tuple(read), total.reshape(-1)

    def sums(self, terms: Sequence[tuple[Floats, View]]) -> Iterator[tuple[int, Floats]]:
        """Add up tables; gives (slab, sums[value, place]), overwriting the same memory."""
        slab_sums = np.empty((self.values, self.places))
        for slab in range(self.slabs):
            slab_sums[:] = 0.0
            for table, view in terms:
                add_table(slab_sums, table, view.step, view.high[slab], view.low)
            yield slab, slab_sums


def _split(shape: Sequence[int]) -> int:
    """How many of the leading axes count slabs; the rest fits into one."""
    places = 1
    for axis in reversed(range(len(shape))):
        places *= shape[axis]
        if places > SLAB:
            return axis + 1 if axis + 1 < len(shape) else axis
    return 0


def _offsets(shape: Sequence[int], strides: Sequence[int]) -> Offsets:
    """Where each entry, last axis fastest, is found in a table with these strides."""
    offsets = np.zeros(1, dtype=np.int64)
    for size, stride in zip(shape, strides, strict=True):
        offsets = (offsets[:, None] + stride * np.arange(size)).reshape(-1)
    return offsets


@compiled
def add_table(sums: Floats, table: Floats, step: int, high: int, low: Offsets) -> None:
    for value in range(sums.shape[0]):
        start = value * step + high
        for place in range(sums.shape[1]):
            sums[value, place] += table[start + low[place]]


@compiled
def collect(beliefs: Floats, total: Floats, step: int, high: int, low: Offsets) -> None:
    """Add the beliefs of a slab to the sums they belong to: `add_table` the other way."""
    for value in range(beliefs.shape[0]):
        start = value * step + high
        for place in range(beliefs.shape[1]):
            total[start + low[place]] += beliefs[value, place]


def log_sum_exp(sums: Floats) -> Floats:
    """Sum weights over the values of the bucket's variable; overwrites its argument."""
    largest: Floats = sums.max(axis=0)
    largest[largest == -np.inf] = 0.0
    sums -= largest
    np.exp(sums, out=sums)
    with np.errstate(divide="ignore"):
        largest += np.log(sums.sum(axis=0))
    return largest
