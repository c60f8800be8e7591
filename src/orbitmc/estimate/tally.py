"""What is counted while chains run.

Lanes are gathered into eight columns; each column is an independent estimate, and their spread
is the error of the whole. Time is cut into four parts of equal capacity; when all are full, they
are merged two by two, so any run is remembered in two to four parts and drift shows.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc._numba.jit import generic, implementation, shared
from orbitmc._simd.neighbour_sums import add_row_by_eight
from orbitmc._simd.random import COLUMNS, lanes_of
from orbitmc._util.arrays import (
    Bytes,
    Floats,
    Index,
    Indices,
    count_within,
    indices,
    lengths,
    starts,
)
from orbitmc.conditionals.draws import add_limits, cumulative_probabilities, has_limits
from orbitmc.conditionals.factors import forget_clauses
from orbitmc.conditionals.layout import Scratch
from orbitmc.conditionals.prepared import PreparedGraph
from orbitmc.errors import LimitError
from orbitmc.graph.factor_graph import FactorGraph

PARTS = 4
NO_VALUES = np.zeros((PARTS, 0, COLUMNS))


class RaoBlackwellTally(NamedTuple):
    """Sums of conditional probabilities (Rao-Blackwell): less noise than counting values.

    `sums[part, row, column]`; a binary variable has one row, for value 1, others one per value.
    `open[variable, lane]` becomes 1 when the conditional has left a choice; it has no rows when
    every state is possible, since then every choice is open. `values` sums up the values seen, as
    `sums` does with conditional probabilities, for control variates; it has no rows without them.
    """

    sums: Floats
    row_start: Indices
    open: Bytes
    values: Floats = NO_VALUES


class ValueTally(NamedTuple):
    """Sums of the values seen, as plain counting does; fields as in `RaoBlackwellTally`."""

    sums: Floats
    row_start: Indices
    open: Bytes


Tally = RaoBlackwellTally | ValueTally

TALLIES: Mapping[str, type] = {"rao-blackwell": RaoBlackwellTally, "values": ValueTally}
"""Tallies by the estimator that needs them."""


def tally(graph: FactorGraph, lanes: int, *, kind: type = RaoBlackwellTally) -> Tally:
    """Give an empty tally of one pack."""
    row_start = starts(rows_of(graph.cardinality))
    watched = graph.variables if graph.has_zeros() else 0
    sums = np.zeros((PARTS, int(row_start[-1]), COLUMNS))
    return kind(sums, row_start, np.zeros((watched, lanes), dtype=np.uint8))  # type: ignore[no-any-return]


def with_values(tally: RaoBlackwellTally) -> RaoBlackwellTally:
    """Let a tally sum up values too, from now on."""
    return tally._replace(values=np.zeros_like(tally.sums))


def all_sums(tally: Any) -> tuple[Floats, ...]:
    """Everything in a tally that is summed up in parts of time."""
    return tally.sums, getattr(tally, "values", NO_VALUES)


def rows_of(cardinality: Indices) -> NDArray[np.int64]:
    """How many rows of a tally each variable has."""
    return np.where(cardinality > 2, cardinality, cardinality - 1).astype(np.int64)


def capacity(samples: int) -> int:
    """How many samples each part holds when that many have been recorded."""
    size = 1
    while samples > PARTS * size:
        size *= 2
    return size


def merge_parts(sums: Floats) -> None:
    """Make room: the first two parts become one, and so do the last two."""
    sums[0] += sums[1]
    np.add(sums[2], sums[3], out=sums[1])
    sums[2:] = 0.0


@generic("tally")
def record(tally: Any, prepared: PreparedGraph, scratch: Scratch, values: Bytes, part: int) -> None:
    """Add the present state of every lane to one part of a tally."""
    raise NotImplementedError


@implementation(record, RaoBlackwellTally)
def _record_probabilities(
    tally: RaoBlackwellTally, prepared: PreparedGraph, scratch: Scratch, values: Bytes, part: int
) -> None:
    graph = prepared.graph
    forget_clauses(scratch)
    for variable in range(len(graph.cardinality)):
        size = np.int64(graph.cardinality[variable])
        row = np.int64(tally.row_start[variable])
        if tally.values.shape[1] > 0:
            add_values(tally.values, scratch, values, variable, part, row, size)
        if len(tally.open) == 0 and has_limits(prepared, variable):
            add_limits(prepared, scratch, values, variable, tally.sums[part, row])
            continue
        cumulative_probabilities(prepared, scratch, values, variable)
        if len(tally.open) > 0:
            mark_open(tally, scratch, variable, size)
        add_conditional(tally, scratch, part, row, size)


@implementation(record, ValueTally)
def _record_values(
    tally: ValueTally, prepared: PreparedGraph, scratch: Scratch, values: Bytes, part: int
) -> None:
    graph = prepared.graph
    forget_clauses(scratch)
    for variable in range(len(graph.cardinality)):
        size = np.int64(graph.cardinality[variable])
        row = np.int64(tally.row_start[variable])
        if len(tally.open) > 0:
            cumulative_probabilities(prepared, scratch, values, variable)
            mark_open(tally, scratch, variable, size)
        add_values(tally.sums, scratch, values, variable, part, row, size)


@shared
def add_values(
    sums: Floats,
    scratch: Scratch,
    values: Bytes,
    variable: int,
    part: int,
    row: Index,
    size: Index,
) -> None:
    """Add the values of a variable to the sums of its rows."""
    if size == 2:
        add_row_by_eight(values, variable, sums[part, row], 0, scratch.width)
    elif size > 2:
        for lane in range(lanes_of(scratch)):
            sums[part, row + np.int64(values[variable, lane]), lane % COLUMNS] += 1.0


@shared
def add_conditional(tally: Any, scratch: Scratch, part: int, row: Index, size: Index) -> None:
    """Add the chances of a variable's values, which `cumulative_probabilities` has found."""
    if size == 2:
        _add_binary(tally, scratch, part, row)
    else:
        _add_probabilities(tally, scratch, part, row, size)


@shared
def _add_binary(tally: Tally, scratch: Scratch, part: int, row: Index) -> None:
    for first in range(0, lanes_of(scratch), COLUMNS):
        for column in range(COLUMNS):
            tally.sums[part, row, column] += 1.0 - scratch.log_weights[0, first + column]


@shared
def _add_probabilities(tally: Tally, scratch: Scratch, part: int, row: Index, size: Index) -> None:
    chances = scratch.log_weights
    for value in range(size if size > 2 else 0):
        for first in range(0, lanes_of(scratch), COLUMNS):
            for column in range(COLUMNS):
                above = 1.0 if value == size - 1 else chances[value, first + column]
                below = 0.0 if value == 0 else chances[value - 1, first + column]
                tally.sums[part, row + value, column] += above - below


@shared
def mark_open(tally: Any, scratch: Scratch, variable: int, size: Index) -> None:
    """Remember the lanes in which more than one value is possible."""
    for value in range(size - 1):
        for lane in range(lanes_of(scratch)):
            chance = scratch.log_weights[value, lane]
            undecided = (chance > 0.0) & (chance < 1.0)
            tally.open[variable, lane] |= np.uint8(undecided)


# Joint values of a few variables at a time: what is exact given these is known from such counts.


MOST_JOINT_VALUES = 256  # of a group: the number of one is a byte


class JointTally(NamedTuple):
    """Counts of the joint values of groups of variables: `sums[part, row, column]`.

    Those of group `g` begin at row `row_start[g]`; its last variable is the fastest. A value of
    `scope[place]` counts `stride[place]` rows. `number[lane]` is that of a joint value.
    """

    sums: Floats
    row_start: Indices
    scope_start: Indices
    scope: Indices
    stride: Indices
    number: Bytes


def joint_tally(cardinality: Indices, groups: Sequence[Sequence[int]], lanes: int) -> JointTally:
    """Give an empty tally of the joint values of each group, of which there must be few."""
    sizes = [cardinality[[*group]].astype(np.int64) for group in groups]
    steps = [np.cumprod([1, *size[:0:-1]])[::-1] for size in sizes]
    row_start = starts(np.array([size.prod() for size in sizes], dtype=np.int64))
    if lengths(row_start).max(initial=0) > MOST_JOINT_VALUES:
        raise LimitError(f"a group of variables has more than {MOST_JOINT_VALUES} joint values")
    return JointTally(
        sums=np.zeros((PARTS, int(row_start[-1]), COLUMNS)),
        row_start=row_start,
        scope_start=starts(np.array([len(group) for group in groups], dtype=np.int64)),
        scope=indices(np.array([member for group in groups for member in group], np.int64)),
        stride=indices(np.concatenate([np.zeros(0, np.int64), *steps])),
        number=np.zeros(lanes, dtype=np.uint8),
    )


@shared
def count_joints(joints: JointTally, values: Bytes, part: int) -> None:
    """Count the present joint values of every lane in one part of a tally."""
    number = joints.number
    for group in range(len(joints.row_start) - 1):
        number[:] = 0
        for place in range(joints.scope_start[group], joints.scope_start[group + 1]):
            stride, variable = np.uint8(joints.stride[place]), np.uint64(joints.scope[place])
            for lane in range(len(number)):
                number[lane] += np.uint8(stride * values[variable, lane])
        first = np.int64(joints.row_start[group])
        for lane in range(0, len(number), COLUMNS):
            for column in range(COLUMNS):
                joints.sums[part, first + np.int64(number[lane + column]), column] += 1.0


def rows_of_orbits(cardinality: Indices, labels: Any) -> Any:
    """Number the tally rows that exact symmetries make equal: same orbit, same value.

    `labels` gives the orbit of each variable; only orbits of verified symmetries may be pooled.
    """
    rows = rows_of(cardinality)
    keys = np.stack([np.repeat(np.asarray(labels), rows), count_within(rows)], axis=1)
    _, pools = np.unique(keys, axis=0, return_inverse=True)
    return pools.reshape(-1)
