"""Rows of a pack, one byte per lane, handled as whole vectors.

A row is `values[variable]` or `proposed[place]`. The compiler cannot know that two arrays never
overlap and so would check it for every row; hence the vector code.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numpy.typing import NDArray

from orbitmc._simd.neighbour_sums import counts_of_agreeing
from orbitmc._simd.vector_code import (
    EIGHT,
    I32,
    I64,
    NUMBER_VECTOR,
    ROW,
    STREAMS,
    Call,
    broadcast,
    eight_of,
    multiply_add,
    splat,
    vector_code,
)
from orbitmc._util.arrays import Bytes, Index, Indices, Singles, Width

ZERO_ROW = splat(0, ROW)


def rows_differ(
    values: Bytes, variable: Index, proposed: Bytes, place: Index, width: Width
) -> bool:
    """Whether any lane would change."""
    return bool((values[variable] != proposed[place]).any())


@vector_code(rows_differ)
def _rows_differ(call: Call) -> Any:
    first, second = call.row("values", "variable"), call.row("proposed", "place")
    difference = ZERO_ROW
    for lane in range(0, call.lanes, 32):
        differing = call.builder.xor(*(call.load(start, lane, ROW) for start in (first, second)))
        difference = call.builder.or_(difference, differing)
    whole = ir.IntType(256)
    return call.builder.icmp_unsigned("!=", call.builder.bitcast(difference, whole), whole(0))


def exchange_rows(
    values: Bytes, variable: Index, proposed: Bytes, place: Index, width: Width
) -> None:
    """Exchange present and proposed values."""
    values[variable], proposed[place] = proposed[place].copy(), values[variable].copy()


@vector_code(exchange_rows)
def _exchange_rows(call: Call) -> None:
    row, partner = call.row("values", "variable"), call.row("proposed", "place")
    for lane in range(0, call.lanes, 32):
        first, second = (call.load(start, lane, ROW) for start in (row, partner))
        call.store(second, row, lane)
        call.store(first, partner, lane)


def copy_row(proposed: Bytes, place: Index, values: Bytes, variable: Index, width: Width) -> None:
    """Propose the values that a variable has."""
    proposed[place] = values[variable]


@vector_code(copy_row)
def _copy_row(call: Call) -> None:
    target, source = call.row("proposed", "place"), call.row("values", "variable")
    for lane in range(0, call.lanes, 32):
        call.store(call.load(source, lane, ROW), target, lane)


def choose_by_coins(
    proposed: Bytes,
    place: Index,
    values: Bytes,
    tails: Index,
    heads: Index,
    coins: Bytes,
    width: Width,
) -> None:
    """Propose the values of `heads` where the coin is 1, those of `tails` where it is 0."""
    proposed[place] = np.where(coins, values[heads], values[tails])


@vector_code(choose_by_coins)
def _choose_by_coins(call: Call) -> None:
    target, tosses = call.row("proposed", "place"), call.array("coins")
    low, high = (call.row("values", name) for name in ("tails", "heads"))
    for lane in range(0, call.lanes, 32):
        tails, heads, coin = (call.load(start, lane, ROW) for start in (low, high, tosses))
        call.store(call.builder.select(_differ(call, coin, ZERO_ROW), heads, tails), target, lane)


def keep_accepted(
    values: Bytes,
    variable: Index,
    proposed: Bytes,
    place: Index,
    accepted: Bytes,
    changed: Bytes,
    width: Width,
) -> int:
    """Put the old value, kept in `proposed`, back where it is not accepted; count the changes.

    `changed` gathers in which lanes the two differ.
    """
    differs = values[variable] != proposed[place]
    changed |= differs
    values[variable] = np.where(accepted, values[variable], proposed[place])
    return int((differs & (accepted != 0)).sum())


@vector_code(keep_accepted)
def _keep_accepted(call: Call) -> Any:
    present, former = call.row("values", "variable"), call.row("proposed", "place")
    starts = (present, former, call.array("accepted"), call.array("changed"))
    total = I64(0)
    for lane in range(0, call.lanes, 32):
        new, old, accepted, before = (call.load(start, lane, ROW) for start in starts)
        wanted, differs = _differ(call, accepted, ZERO_ROW), _differ(call, new, old)
        counted = _count(call, call.builder.and_(differs, wanted))
        total = call.builder.add(total, counted)
        call.store(call.builder.select(wanted, new, old), present, lane)
        both = call.builder.or_(before, call.builder.zext(differs, ROW))
        call.store(both, starts[3], lane)
    return total


def count_both(first: Bytes, second: Bytes, width: Width) -> int:
    """In how many lanes neither of two rows is 0."""
    return int(((first != 0) & (second != 0)).sum())


@vector_code(count_both)
def _count_both(call: Call) -> Any:
    starts, total = [call.array(name) for name in ("first", "second")], I64(0)
    for lane in range(0, call.lanes, 32):
        flags = (_differ(call, call.load(start, lane, ROW), ZERO_ROW) for start in starts)
        total = call.builder.add(total, _count(call, call.builder.and_(*flags)))
    return total


def _differ(call: Call, first: Any, second: Any) -> Any:
    return call.builder.icmp_unsigned("!=", first, second)


def _count(call: Call, flags: Any) -> Any:
    return call.builder.zext(call.builder.ctpop(call.builder.bitcast(flags, I32)), I64)


def add_rise(
    gain: Singles,
    field: Singles,
    values: Bytes,
    variable: Index,
    proposed: Bytes,
    place: Index,
    width: Width,
) -> None:
    """Add the field where a bit rises, subtract it where it falls."""
    rise = proposed[place].astype(np.int8) - values[variable].astype(np.int8)
    gain += rise * field


@vector_code(add_rise)
def _add_rise(call: Call) -> None:
    rise, fields = _Rise(call), call.array("field")
    for lane in range(0, call.lanes, STREAMS):
        rise.add(call.load(fields, lane, NUMBER_VECTOR), lane)


def add_curved_rise(
    gain: Singles,
    field: Singles,
    bend: Singles,
    values: Bytes,
    variable: Index,
    proposed: Bytes,
    place: Index,
    width: Width,
) -> None:
    """Add how much v * field + v * v * bend grows from the present to the proposed value.

    The v of a value is counted from the middle one: -1, 0, 1.
    """
    new, old = proposed[place].astype(np.int8) - 1, values[variable].astype(np.int8) - 1
    gain += (new - old) * (field + (new + old) * bend)


@vector_code(add_curved_rise)
def _add_curved_rise(call: Call) -> None:
    builder, rise, twice_middle = call.builder, _Rise(call), splat(2, EIGHT)
    fields, bends = call.array("field"), call.array("bend")
    for lane in range(0, call.lanes, STREAMS):
        new, old = rise.values(lane)
        both = builder.sitofp(builder.sub(builder.add(new, old), twice_middle), NUMBER_VECTOR)
        field, bend = (call.load(start, lane, NUMBER_VECTOR) for start in (fields, bends))
        rise.add(multiply_add(builder, both, bend, field), lane)


def add_counted_rise(
    gain: Singles,
    neighbour: Indices,
    role: Indices,
    first: Index,
    last: Index,
    low: float,
    step: float,
    values: Bytes,
    variable: Index,
    proposed: Bytes,
    place: Index,
    width: Width,
) -> None:
    """Do what `add_rise` does with a field of `low`, and `step` for each neighbour that agrees.

    The neighbours are `neighbour[first:last]`; `role` is 1 for those that agree when they are 0.
    """
    pattern: NDArray[np.int64] = np.zeros(values.shape[1], dtype=np.int64)
    for edge in range(first, last):
        pattern += values[neighbour[edge]] ^ np.uint8(role[edge])
    add_rise(gain, low + step * pattern, values, variable, proposed, place, width)


@vector_code(add_counted_rise)
def _add_counted_rise(call: Call) -> None:
    rise = _Rise(call)
    low, step = (broadcast(call.builder, call.value(name), STREAMS) for name in ("low", "step"))
    counts = [call.builder.load(count) for count in counts_of_agreeing(call)]
    for lane in range(0, call.lanes, STREAMS):
        eight = eight_of(call.builder, counts[lane // 32], lane % 32)
        count = call.builder.uitofp(eight, NUMBER_VECTOR)
        rise.add(multiply_add(call.builder, step, count, low), lane)


class _Rise:
    """What `gain` gets where a proposal differs from the present values."""

    def __init__(self, call: Call) -> None:
        self.call, self.sums = call, call.array("gain")
        self.starts = call.row("proposed", "place"), call.row("values", "variable")

    def values(self, lane: int) -> tuple[Any, ...]:
        """Eight new and eight old values."""
        return tuple(self.call.load(start, lane, EIGHT) for start in self.starts)

    def add(self, field: Any, lane: int) -> None:
        """Add eight fields where a bit rises, subtract them where it falls."""
        builder = self.call.builder
        rise = builder.sitofp(builder.sub(*self.values(lane)), NUMBER_VECTOR)
        before = self.call.load(self.sums, lane, NUMBER_VECTOR)
        self.call.store(multiply_add(builder, rise, field, before), self.sums, lane)
