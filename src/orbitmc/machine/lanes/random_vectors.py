"""Draws for all lanes at once, as whole vectors.

Eight interleaved generators (xoshiro128+, Blackman & Vigna 2018) serve the lanes in turn.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils

from orbitmc.machine.arrays import Bytes, Floats, Index, Indices, Width
from orbitmc.machine.lanes.vector_code import (
    EIGHT,
    HAS_AVX2,
    I32,
    I64,
    NUMBERS,
    ROW,
    STREAMS,
    WORDS,
    Call,
    joined,
    look_up,
    multiply_add,
    repeated,
    vector_code,
)
from orbitmc.machine.lanes.vectors import POLYNOMIAL

EVEN = 0xFFFFFFFE  # the lowest bit of a number is weak
LARGEST_CHANCE = 2147483520.0  # the largest float32 below 2^31
ROUNDING = 1.5 * 2.0**23  # added to a small float32, leaves the nearest integer in its low bits
NO_LOSS = 2.0**-20  # a log-ratio so near to 0 is 0 but for the rounding of float32 sums
BITS = 31  # of a number are good for coins: the lowest is always 0
FOUR = ir.VectorType(ir.FloatType(), 4)
DOUBLES = ir.VectorType(ir.DoubleType(), 4)
PAIRS = ir.VectorType(I64, STREAMS)


def _draw(streams: Indices) -> Indices:
    """One step of eight xoshiro128+ generators."""
    s0, s1, s2, s3 = streams.copy()
    drawn: Indices = (s0 + s3) & np.uint32(EVEN)
    s2, s3 = s2 ^ s0, s3 ^ s1
    streams[:] = s0 ^ s3, s1 ^ s2, s2 ^ (s1 << 9), (s3 << 11) | (s3 >> 21)
    return drawn


def _draw_vector(builder: Any, state: list[Any]) -> Any:
    """Do what `_draw` does."""

    def by(shift: int) -> Any:
        return repeated(shift, WORDS)

    drawn = builder.and_(builder.add(state[0], state[3]), by(EVEN))
    shifted = builder.shl(state[1], by(9))
    state[2] = builder.xor(state[2], state[0])
    state[3] = builder.xor(state[3], state[1])
    state[1] = builder.xor(state[1], state[2])
    state[0] = builder.xor(state[0], state[3])
    state[2] = builder.xor(state[2], shifted)
    state[3] = builder.or_(builder.shl(state[3], by(11)), builder.lshr(state[3], by(21)))
    return drawn


@contextmanager
def _state(call: Call) -> Iterator[list[Any]]:
    """The state of the generators, written back in the end."""
    streams = call.array("streams")
    state = [call.load(streams, STREAMS * word, WORDS) for word in range(4)]
    yield state
    for word in range(4):
        call.store(state[word], streams, STREAMS * word)


def fill_random(streams: Indices, drawn: Indices, width: Width) -> None:
    """Fill `drawn` with even 32-bit numbers, one per lane."""
    for chunk in drawn.reshape(-1, STREAMS):
        chunk[:] = _draw(streams)


@vector_code(fill_random)
def _fill_random(call: Call) -> None:
    out = call.array("drawn")
    with _state(call) as state:
        for lane in range(0, call.lanes, STREAMS):
            call.store(_draw_vector(call.builder, state), out, lane)


def flip_by_eight(
    streams: Indices,
    limit: Indices,
    start: Index,
    index: Bytes,
    values: Bytes,
    variable: Index,
    width: Width,
) -> None:
    """Set `values[variable, lane]` to whether a draw is below `limit[start + index[lane]]`."""
    drawn = np.empty_like(index, dtype=np.uint32)
    fill_random(streams, drawn, width)
    values[variable] = drawn < limit[int(start) + index.astype(np.int64)]


@vector_code(flip_by_eight)
def _flip_by_eight(call: Call) -> None:
    builder, places = call.builder, call.array("index")
    table = call.load(call.array("limit"), call.number("start"), WORDS)

    def below(state: list[Any], lane: int) -> Any:
        place = builder.zext(call.load(places, lane, EIGHT), WORDS)
        limit = look_up(builder, table, place)
        return builder.icmp_unsigned("<", _draw_vector(builder, state), limit)

    _store_bits(call, below, call.row("values", "variable"))


def choose_of_three(
    streams: Indices,
    limit: Indices,
    place: Indices,
    values: Bytes,
    variable: Index,
    width: Width,
) -> None:
    """Set `values[variable, lane]` to how many of two limits from `place[lane]` a draw reaches."""
    drawn = np.empty_like(place)
    fill_random(streams, drawn, width)
    first = place.astype(np.int64)
    values[variable] = (drawn >= limit[first]).astype(np.uint8) + (drawn >= limit[first + 1])


@vector_code(choose_of_three)
def _choose_of_three(call: Call) -> None:
    """Load both limits of a lane at once."""
    builder, places, target = call.builder, call.array("place"), call.row("values", "variable")
    limits = call.array("limit")

    def reached(state: list[Any], lane: int) -> Any:
        pairs = ir.Constant(PAIRS, ir.Undefined)
        for k in range(STREAMS):
            place = builder.zext(builder.load(call.at(places, lane + k)), I64)
            pair = call.load(limits, place, I64)
            pairs = builder.insert_element(pairs, pair, I32(k))
        drawn = _draw_vector(builder, state)
        low = builder.trunc(pairs, WORDS)
        high = builder.trunc(builder.lshr(pairs, repeated(32, PAIRS)), WORDS)
        steps = [builder.icmp_unsigned(">=", drawn, one) for one in (low, high)]
        return builder.add(*(builder.zext(step, EIGHT) for step in steps))

    with _state(call) as state:
        for row in range(0, call.lanes, 32):
            parts = [reached(state, lane) for lane in range(row, row + 32, STREAMS)]
            call.store(joined(builder, parts), target, row)


def toss_lanes(streams: Indices, coins: Bytes, width: Width) -> None:
    """Set every coin to 0 or 1; a number gives `BITS` coins of its stream, highest bit first."""
    for number, chunk in enumerate(coins.reshape(-1, STREAMS)):
        if number % BITS == 0:
            drawn = _draw(streams)
        chunk[:] = drawn >> (BITS - number % BITS) & 1


@vector_code(toss_lanes)
def _toss_lanes(call: Call) -> None:
    builder, drawn = call.builder, None

    def tossed(state: list[Any], lane: int) -> Any:
        nonlocal drawn
        number = lane // STREAMS % BITS
        if number == 0:
            drawn = _draw_vector(builder, state)
        bit = builder.and_(drawn, repeated(1 << BITS - number, WORDS))
        return builder.icmp_unsigned("!=", bit, repeated(0, WORDS))

    _store_bits(call, tossed, call.array("coins"))


def accept_lanes(streams: Indices, log_ratio: Floats, accepted: Bytes, width: Width) -> None:
    """Do what `accept_by_log_ratio` does for all lanes."""
    drawn = np.empty_like(accepted, dtype=np.uint32)
    fill_random(streams, drawn, width)
    chance = np.exp(np.minimum(log_ratio, 0.0)) * LARGEST_CHANCE
    accepted[:] = (log_ratio >= -NO_LOSS) | ((drawn >> 1) < np.floor(chance))


@vector_code(accept_lanes)
def _accept_lanes(call: Call) -> None:
    builder, ratios = call.builder, call.array("log_ratio")

    def taken(state: list[Any], lane: int) -> Any:
        halves = [call.load(ratios, lane + 4 * half, DOUBLES) for half in range(2)]
        rounded = joined(builder, [_rounded(builder, half) for half in halves])
        sure = builder.fcmp_ordered(">=", rounded, repeated(-NO_LOSS, NUMBERS))
        power = builder.fmul(_exponential(builder, rounded), repeated(LARGEST_CHANCE, NUMBERS))
        drawn = builder.lshr(_draw_vector(builder, state), repeated(1, WORDS))
        chosen = builder.icmp_signed("<", drawn, builder.fptosi(power, WORDS))
        return builder.or_(sure, chosen)

    _store_bits(call, taken, call.array("accepted"))


def _store_bits(call: Call, eight_bits: Any, target: Any) -> None:
    """Store a bit per lane; `eight_bits(state, lane)` makes those of eight lanes."""
    with _state(call) as state:
        for row in range(0, call.lanes, 32):
            parts = [eight_bits(state, lane) for lane in range(row, row + 32, STREAMS)]
            call.store(call.builder.zext(joined(call.builder, parts), ROW), target, row)


def _exponential(builder: Any, x: Any) -> Any:
    """Do what `exponential` does for eight numbers, of which positive ones count as 0."""
    zero, rounding = repeated(0.0, NUMBERS), repeated(ROUNDING, NUMBERS)
    negative = builder.select(builder.fcmp_ordered("<", x, zero), x, zero)
    scaled = builder.fmul(negative, repeated(1.44269504, NUMBERS))
    shifted = builder.fadd(scaled, rounding)
    rest = builder.fsub(scaled, builder.fsub(shifted, rounding))
    power = repeated(float(POLYNOMIAL[-1]), NUMBERS)
    for coefficient in POLYNOMIAL[-2::-1]:
        power = multiply_add(builder, power, rest, repeated(float(coefficient), NUMBERS))
    exponent = builder.shl(builder.bitcast(shifted, WORDS), repeated(23, WORDS))
    result = builder.bitcast(builder.add(builder.bitcast(power, WORDS), exponent), NUMBERS)
    above = builder.fcmp_ordered(">", x, repeated(-87.0, NUMBERS))
    return builder.select(above, result, zero)


def _rounded(builder: Any, doubles: Any) -> Any:
    """Four float32; by its own name, so that LLVM does not make it eight in a slower register."""
    if not HAS_AVX2:
        return builder.fptrunc(doubles, FOUR)
    kind = ir.FunctionType(FOUR, [DOUBLES])
    name = "llvm.x86.avx.cvt.pd2.ps.256"
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), [doubles])
