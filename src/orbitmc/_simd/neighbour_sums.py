"""Sums over neighbours and float32 functions that are written for vector units."""

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types

from orbitmc._numba.jit import shared
from orbitmc._simd.vector_code import (
    EIGHT,
    I32,
    I64,
    NUMBER_VECTOR,
    ROW,
    STREAMS,
    WORD_VECTOR,
    Call,
    allocate,
    broadcast,
    count_to,
    declare,
    eight_of,
    look_up,
    splat,
    vector_code,
)
from orbitmc._util.arrays import CACHE_LINE, Bytes, Floats, Index, Indices, Singles, Width


def add_by_eight(
    limit: Indices, start: Index, index: Bytes, sums: Floats, place: Index, width: Width
) -> None:
    """Add the chances `limit[start + index[lane]]` to eight sums from `place` on, lane by lane.

    Every index is below eight.
    """
    chances = limit[int(start) + index.astype(np.int64)] * 2.0**-32
    sums[place : place + STREAMS] += chances.reshape(-1, STREAMS).sum(axis=0)


@vector_code(add_by_eight)
def _add_by_eight(call: Call) -> None:
    builder, indices = call.builder, call.array("index")
    table = call.load(call.array("limit"), call.number("start"), WORD_VECTOR)
    long, numbers = ir.VectorType(I64, STREAMS), ir.VectorType(ir.DoubleType(), STREAMS)
    total = splat(0, long)
    for lane in range(0, call.lanes, STREAMS):
        places = builder.zext(call.load(indices, lane, EIGHT), WORD_VECTOR)
        total = builder.add(total, builder.zext(look_up(builder, table, places), long))
    chances = builder.fmul(builder.sitofp(total, numbers), splat(2.0**-32, numbers))
    sums, place = call.array("sums"), call.number("place")
    call.store(builder.fadd(call.load(sums, place, numbers), chances), sums, place)


def add_row_by_eight(
    values: Bytes, variable: Index, sums: Floats, place: Index, width: Width
) -> None:
    """Add `values[variable]` to eight sums from `place` on, lane modulo eight."""
    sums[place : place + STREAMS] += values[variable].reshape(-1, STREAMS).sum(axis=0)


@vector_code(add_row_by_eight)
def _add_row_by_eight(call: Call) -> None:
    builder, row = call.builder, call.row("values", "variable")
    numbers = ir.VectorType(ir.DoubleType(), STREAMS)
    total = splat(0, WORD_VECTOR)
    for lane in range(0, call.lanes, STREAMS):
        total = builder.add(total, builder.zext(call.load(row, lane, EIGHT), WORD_VECTOR))
    sums, place = call.array("sums"), call.number("place")
    added = builder.sitofp(total, numbers)
    call.store(builder.fadd(call.load(sums, place, numbers), added), sums, place)


def add_sextet(
    field: Singles,
    sums: Singles,
    start: Index,
    values: Bytes,
    neighbour: Indices,
    edge: Index,
    width: Width,
) -> None:
    """Add what six binary neighbours contribute to `field`, three at a time by a table of eight.

    The neighbours are `neighbour[edge]` to `neighbour[edge + 5]`; `sums[start + b]` belongs to the
    bits of the first three (first one lowest), `sums[start + 8 + b]` to the others.
    """
    bits = values[neighbour[edge : edge + 6]].astype(np.int64)
    for place, (low, middle, high) in zip((start, start + 8), (bits[:3], bits[3:]), strict=True):
        field += sums[int(place) + low + 2 * middle + 4 * high]


@vector_code(add_sextet)
def _add_sextet(call: Call) -> None:
    builder, fields = call.builder, call.array("field")
    rows, tables = _rows_of_six(call), _two_tables(call)
    for chunk in range(0, call.lanes, 32):
        patterns = [_pattern(call, rows[3 * k : 3 * k + 3], chunk) for k in range(2)]
        for part in range(0, 32, STREAMS):
            total = call.load(fields, chunk + part, NUMBER_VECTOR)
            for table, pattern in zip(tables, patterns, strict=True):
                places = builder.zext(eight_of(builder, pattern, part), WORD_VECTOR)
                terms = builder.bitcast(look_up(builder, table, places), NUMBER_VECTOR)
                total = builder.fadd(total, terms)
            call.store(total, fields, chunk + part)


def _rows_of_six(call: Call) -> list[Any]:
    """Where the values of six neighbours begin."""
    builder, states, others = call.builder, call.array("values"), call.array("neighbour")
    places = [builder.add(call.number("edge"), I64(k)) for k in range(6)]
    numbers = [builder.load(call.at(others, place)) for place in places]
    return [call.row_at(states, builder.zext(number, I64)) for number in numbers]


def _two_tables(call: Call) -> list[Any]:
    """Two tables of eight float32, by their bits."""
    start, sums = call.number("start"), call.array("sums")
    return [call.load(sums, call.builder.add(start, I64(8 * k)), WORD_VECTOR) for k in range(2)]


def _pattern(call: Call, rows: list[Any], lane: int) -> Any:
    """The bits of three rows of 32 lanes as numbers below eight, first row lowest."""
    low, middle, high = (call.load(row, lane, ROW) for row in rows)
    upper = call.builder.add(middle, call.builder.add(high, high))
    return call.builder.add(low, call.builder.add(upper, upper))


def _power_of_two(exponent: np.int32) -> np.float32:
    """The float32 whose exponent field is the given integer."""
    return np.float32(np.ldexp(1.0, int(exponent) - 127))


@vector_code(_power_of_two)
def _emit_power_of_two(call: Call) -> Any:
    exponent = call.number("exponent", types.int32)
    return call.builder.bitcast(call.builder.shl(exponent, I32(23)), ir.FloatType())


POLYNOMIAL = tuple(
    np.float32(c)
    for c in (1.0, 0.69314718, 0.24022651, 0.05550411, 0.00961813, 0.00133336, 0.00015468)
)
"""Taylor coefficients of 2^x; on [-1/2, 1/2] the relative error is below 1e-7."""


@shared
def exponential(x: np.float32) -> np.float32:
    """Exponential of a float32, written so that it becomes vector code; 0 below about -87."""
    c0, c1, c2, c3, c4, c5, c6 = POLYNOMIAL
    clipped = min(max(x, np.float32(-87.3)), np.float32(87.3))
    scaled = clipped * np.float32(1.44269504)
    whole = np.floor(scaled + np.float32(0.5))
    rest = scaled - whole
    power = c0 + rest * (c1 + rest * (c2 + rest * (c3 + rest * (c4 + rest * (c5 + rest * c6)))))
    result = power * _power_of_two(np.int32(whole) + np.int32(127))
    return np.float32(0.0) if x < np.float32(-87.3) else result


@shared
def logistic(field: np.float32) -> np.float32:
    """Chance of the value 1 from its log-odds, in float32."""
    return np.float32(1.0) / (np.float32(1.0) + exponential(-field))


# What the rows of a variable's neighbours add up to, per lane.
#
# Sums stay in registers until all neighbours are read; a loop over lanes inside one over neighbours
# would store and load them for each.


Step = Callable[[Any, Any, Any], Any]
"""From a sum, a row of a neighbour and its role to the next sum."""


def fetch_row(values: Bytes, variable: Index, width: Width) -> None:
    """Let the processor fetch a row that is read soon; nothing changes."""


@vector_code(fetch_row)
def _fetch_row(call: Call) -> None:
    builder, row = call.builder, call.row("values", "variable")
    kind = ir.FunctionType(ir.VoidType(), [row.type, I32, I32, I32])
    fetch = declare(builder.module, kind, "llvm.prefetch.p0")
    for lane in range(0, call.lanes, CACHE_LINE):
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
        negative = broadcast(builder, builder.trunc(role, ir.IntType(8)), ROW.count)
        return builder.add(total, builder.xor(row, negative))

    return _fold_rows(call, agree, ROW, ROW, splat(0, ROW))


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

    _store(call, _fold_rows(call, shift, ROW, ROW, splat(0, ROW)), "pattern", ROW)


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
        steps = builder.mul(builder.zext(row, WORD_VECTOR), broadcast(builder, role, STREAMS))
        return builder.add(total, steps)

    begin = builder.trunc(call.number("start"), ir.IntType(32))
    totals = _fold_rows(call, walk, WORD_VECTOR, EIGHT, broadcast(builder, begin, STREAMS))
    _store(call, totals, "place", WORD_VECTOR)


def _fold_rows(call: Call, step: Step, kind: Any, read: Any, begin: Any) -> list[Any]:
    """Go through the rows of the neighbours; gives where sums of a `kind` are, by lanes."""
    builder, states = call.builder, call.array("values")
    first, last = call.number("first"), call.number("last")
    others, roles = call.array("neighbour"), call.array("role")
    lanes = range(0, call.lanes, kind.count)
    totals = [allocate(builder, begin) for _ in lanes]
    with count_to(builder, builder.sub(last, first)) as number:
        edge = builder.add(first, number)
        row = call.row_at(states, builder.zext(builder.load(call.at(others, edge)), I64))
        role = builder.load(call.at(roles, edge))
        for lane, total in zip(lanes, totals, strict=True):
            values = call.load(row, lane, read)
            builder.store(step(builder.load(total), values, role), total)
    return totals


def _store(call: Call, totals: list[Any], target: str, kind: Any) -> None:
    for lane, total in zip(range(0, call.lanes, kind.count), totals, strict=True):
        call.store(call.builder.load(total), call.array(target), lane)
