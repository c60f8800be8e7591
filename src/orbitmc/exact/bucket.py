"""The work inside one bucket, slab by slab, so that its table never exists as a whole.

A slab is a run of entries of the shared variables, the last ones fastest. Tables hold
logarithms; beliefs are probabilities.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from orbitmc._numba.tiers import of_all, tiered
from orbitmc._util.arrays import Floats, Numbers
from orbitmc._util.interrupts import heed
from orbitmc.exact.problem import Scope
from orbitmc.graph.log_weights import sum_of_tables

SLAB = 2**14  # entries: a slab and what is added to it stay in the processor's cache


@dataclass(frozen=True)
class View:
    """A flat table seen from a bucket: where its entries are for each entry of the bucket's.

    Entry (value of the bucket's variable, slab `high`, place `low` in the slab) is at
    `value * step + high[slab] + low[place]`.
    """

    step: int
    high: Numbers
    low: Numbers


class Term(NamedTuple):
    """A flat table that a bucket adds up, over which variables, and how the bucket sees it."""

    scope: Scope
    table: Floats
    view: View


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
        strides = strides_of(scope, sizes)
        along = [strides.get(member, 0) for member in self.shared]
        return View(
            step=strides.get(self.variable, 0),
            high=_offsets(self.shape[: self.split], along[: self.split]),
            low=_offsets(self.shape[self.split :], along[self.split :]),
        )

    def together(self, pieces: Sequence[tuple[Scope, Floats]]) -> tuple[Scope, Floats]:
        """Add up small tables (flat or shaped) to one, its own variable first."""
        axes = {member: axis for axis, member in enumerate((self.variable, *self.shared))}
        size = dict(zip(axes, (self.values, *self.shape), strict=True))
        read = sorted({member for scope, _ in pieces for member in scope}, key=axes.__getitem__)
        tables = []
        for scope, table in pieces:
            order = sorted(range(len(scope)), key=lambda axis: axes[scope[axis]])
            shaped = table.reshape([size[member] for member in scope]).transpose(order)
            tables.append(shaped.reshape([size[m] if m in scope else 1 for m in read]))
        return tuple(read), sum_of_tables(tables)

    def sums(self, terms: Sequence[Term]) -> Iterator[tuple[int, Floats]]:
        """Add up tables; gives (slab, sums[value, place]), overwriting the same memory."""
        slab_sums = np.empty((self.values, self.places))
        # in one piece, because compiled code is made for each layout
        whole = [(np.ascontiguousarray(table), view) for _, table, view in terms]
        for slab in range(self.slabs):
            heed()
            slab_sums[:] = 0.0
            for table, view in whole:
                add_table(slab_sums, table, view.step, view.high[slab], view.low)
            yield slab, slab_sums


def strides_of(scope: Scope, sizes: Sequence[int]) -> dict[int, int]:
    """How far a step of each variable moves in a flat table, last of its scope fastest."""
    strides, stride = {}, 1
    for member in reversed(scope):
        strides[member] = stride
        stride *= sizes[member]
    return strides


def _split(shape: Sequence[int]) -> int:
    """How many of the leading axes count slabs; the rest fits into one."""
    places = 1
    for axis in reversed(range(len(shape))):
        places *= shape[axis]
        if places > SLAB:
            return axis + 1 if axis + 1 < len(shape) else axis
    return 0


def _offsets(shape: Sequence[int], strides: Sequence[int]) -> Numbers:
    """Where each entry, last axis fastest, is found in a table with these strides."""
    offsets = np.zeros(1, dtype=np.int64)
    for size, stride in zip(shape, strides, strict=True):
        offsets = (offsets[:, None] + stride * np.arange(size)).reshape(-1)
    return offsets


@tiered(of_all)
def add_table(sums: Floats, table: Floats, step: int, high: int, low: Numbers) -> None:
    for value in range(sums.shape[0]):
        start = value * step + high
        for place in range(sums.shape[1]):
            sums[value, place] += table[start + low[place]]


@tiered(of_all)
def collect(beliefs: Floats, total: Floats, step: int, high: int, low: Numbers) -> None:
    """Add the beliefs of a slab to the sums they belong to: `add_table` the other way."""
    for value in range(beliefs.shape[0]):
        start = value * step + high
        for place in range(beliefs.shape[1]):
            total[start + low[place]] += beliefs[value, place]


def summed_onto(table: Floats, scope: Scope, onto: Scope, sizes: Sequence[int]) -> Floats:
    """Sum a flat table over the variables that are not in `onto`; gives a new one, in its order."""
    shaped = table.reshape([sizes[member] for member in scope])
    left = [axis for axis, member in enumerate(scope) if member not in onto]
    kept = [member for member in scope if member in onto]
    total: Floats = shaped.sum(axis=tuple(left)).transpose([kept.index(member) for member in onto])
    return total.flatten()


def log_sum_exp(sums: Floats) -> Floats:
    """Sum weights over the values of the bucket's variable; overwrites its argument."""
    largest: Floats = sums.max(axis=0)
    largest[largest == -np.inf] = 0.0
    sums -= largest
    np.exp(sums, out=sums)
    with np.errstate(divide="ignore"):
        largest += np.log(sums.sum(axis=0))
    return largest
