"""What the rows of a variable's neighbours add up to, per lane.

Sums stay in registers until all neighbours are read; a loop over lanes inside one over neighbours
would store and load them for each.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils

from orbitmc.machine.arrays import Bytes, Index, Indices, Width
from orbitmc.machine.lanes.vector_code import (
    EIGHT,
    I32,
    I64,
    ROW,
    STREAMS,
    WORDS,
    Call,
    repeated,
    spread,
    vector_code,
)

LINE = 64  # bytes that the processor fetches together

Step = Callable[[Any, Any, Any], Any]
"""From a sum, a row of a neighbour and its role to the next sum."""


def fetch_row(values: Bytes, variable: Index, width: Width) -> None:
    """Let the processor fetch a row that is read soon; nothing changes."""


@vector_code(fetch_row)
def _fetch_row(call: Call) -> None:
    builder, row = call.builder, call.row("values", "variable")
    kind = ir.FunctionType(ir.VoidType(), [row.type, I32, I32, I32])
    fetch = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
    for lane in range(0, call.lanes, LINE):
        builder.call(fetch, [call.at(row, lane), I32(0), I32(3), I32(1)])  # to read, for long, data


def count_agreeing_rows(
    pattern: Bytes,
    neighbour: Indices,
    role: Indices,
    first: Index,
    last: Index,
    values: Bytes,
    width: Width,
) -> None:
    """Count those of `neighbour[first:last]` whose values differ from their roles, per lane."""
    edges = slice(int(first), int(last))
    pattern[:] = (values[neighbour[edges]] != role[edges, None]).sum(axis=0)


@vector_code(count_agreeing_rows)
def _count_agreeing_rows(call: Call) -> None:
    _store(call, counts_of_agreeing(call), "pattern", ROW)


def counts_of_agreeing(call: Call) -> list[Any]:
    """How many neighbours differ from their roles, 32 lanes in each place of memory."""
    builder = call.builder

    def agree(total: Any, row: Any, role: Any) -> Any:
        negative = spread(builder, builder.trunc(role, ir.IntType(8)), ROW.count)
        return builder.add(total, builder.xor(row, negative))

    return _folded(call, agree, ROW, ROW, repeated(0, ROW))


def bits_of_rows(
    pattern: Bytes,
    neighbour: Indices,
    role: Indices,
    first: Index,
    last: Index,
    values: Bytes,
    width: Width,
) -> None:
    """Put the values of `neighbour[first:last]` together as bits, the first one highest."""
    pattern[:] = 0
    for other in neighbour[int(first) : int(last)]:
        pattern[:] = pattern + pattern + values[other]


@vector_code(bits_of_rows)
def _bits_of_rows(call: Call) -> None:
    builder = call.builder

    def shift(total: Any, row: Any, role: Any) -> Any:
        return builder.add(builder.add(total, total), row)

    _store(call, _folded(call, shift, ROW, ROW, repeated(0, ROW)), "pattern", ROW)


def places_of_rows(
    place: Indices,
    neighbour: Indices,
    role: Indices,
    first: Index,
    last: Index,
    values: Bytes,
    start: Index,
    width: Width,
) -> None:
    """`start`, and the values of `neighbour[first:last]` times their roles, added up per lane."""
    edges = slice(int(first), int(last))
    steps = role[edges, None] * values[neighbour[edges]].astype(np.uint32)
    place[:] = np.uint32(start) + steps.sum(axis=0, dtype=np.uint32)


@vector_code(places_of_rows)
def _places_of_rows(call: Call) -> None:
    builder = call.builder

    def walk(total: Any, row: Any, role: Any) -> Any:
        steps = builder.mul(builder.zext(row, WORDS), spread(builder, role, STREAMS))
        return builder.add(total, steps)

    begin = builder.trunc(call.number("start"), ir.IntType(32))
    totals = _folded(call, walk, WORDS, EIGHT, spread(builder, begin, STREAMS))
    _store(call, totals, "place", WORDS)


def _folded(call: Call, step: Step, kind: Any, read: Any, begin: Any) -> list[Any]:
    """Go through the rows of the neighbours; gives where sums of a `kind` are, by lanes."""
    builder, states = call.builder, call.array("values")
    first, last = call.number("first"), call.number("last")
    others, roles = call.array("neighbour"), call.array("role")
    lanes = range(0, call.lanes, kind.count)
    totals = [cgutils.alloca_once_value(builder, begin) for _ in lanes]
    with cgutils.for_range(builder, builder.sub(last, first), intp=I64) as loop:
        edge = builder.add(first, loop.index)
        row = call.row_at(states, builder.zext(builder.load(call.at(others, edge)), I64))
        role = builder.load(call.at(roles, edge))
        for lane, total in zip(lanes, totals, strict=True):
            values = call.load(row, lane, read)
            builder.store(step(builder.load(total), values, role), total)
    return totals


def _store(call: Call, totals: list[Any], target: str, kind: Any) -> None:
    for lane, total in zip(range(0, call.lanes, kind.count), totals, strict=True):
        call.store(call.builder.load(total), call.array(target), lane)
