"""Draws for all lanes at once, in LLVM's own vector language.

Eight interleaved generators (xoshiro128+, Blackman & Vigna 2018) serve the lanes in turn.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from orbitmc.machine.lanes.vectors import (
    DOUBLES,
    HAS_AVX2,
    I8,
    I64,
    NUMBERS,
    POLYNOMIAL,
    STREAMS,
    WORDS,
    array_data,
    constant,
    joined,
    load_doubles,
    load_vector,
    look_up,
    multiply_add,
    store_vector,
)

ROUNDING = 1.5 * 2.0**23  # added to a small float32, leaves the nearest integer in its low bits
NO_LOSS = 2.0**-20  # a log-ratio so near to 0 is 0 but for the rounding of float32 sums
BITS = 31  # of a number are good for coins: the lowest is always 0


def _draw(builder: Any, state: list[Any]) -> Any:
    """One step of eight xoshiro128+ generators; the weak lowest bit is cleared."""
    drawn = builder.and_(builder.add(state[0], state[3]), constant(0xFFFFFFFE))
    shifted = builder.shl(state[1], constant(9))
    state[2] = builder.xor(state[2], state[0])
    state[3] = builder.xor(state[3], state[1])
    state[1] = builder.xor(state[1], state[2])
    state[0] = builder.xor(state[0], state[3])
    state[2] = builder.xor(state[2], shifted)
    high, low = builder.shl(state[3], constant(11)), builder.lshr(state[3], constant(21))
    state[3] = builder.or_(high, low)
    return drawn


@contextmanager
def _generators(context: Any, builder: Any, signature: Any, arguments: Any) -> Iterator[list[Any]]:
    """The state of the streams, which are the first argument; written back in the end."""
    streams = array_data(context, builder, signature.args[0], arguments[0])
    pointers = [builder.gep(streams, [I64(STREAMS * word)]) for word in range(4)]
    state = [load_vector(builder, pointer, WORDS) for pointer in pointers]
    yield state
    for pointer, word in zip(pointers, state, strict=True):
        store_vector(builder, word, pointer)


@intrinsic
def fill_random(typing: Any, streams: Any, drawn: Any, width: Any) -> Any:
    """Fill `drawn` with even 32-bit numbers, one per lane."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        out = array_data(context, builder, signature.args[1], arguments[1])
        with _generators(context, builder, signature, arguments) as state:
            for chunk in range(4 * len(signature.args[2])):
                store_vector(
                    builder, _draw(builder, state), builder.gep(out, [I64(STREAMS * chunk)])
                )
        return context.get_dummy_value()

    return types.void(streams, drawn, width), generate


@intrinsic
def flip_by_eight(
    typing: Any,
    streams: Any,
    limit: Any,
    start: Any,
    index: Any,
    values: Any,
    variable: Any,
    width: Any,
) -> Any:
    """Set `values[variable, lane]` to whether a draw is below `limit[start + index[lane]]`."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = [
            array_data(context, builder, signature.args[k], arguments[k])
            if k in (1, 3, 4)
            else None
            for k in range(7)
        ]
        lanes = 32 * len(signature.args[6])
        first, row = (
            context.cast(builder, arguments[k], signature.args[k], types.uint64) for k in (2, 5)
        )
        with _generators(context, builder, signature, arguments) as state:
            table = load_vector(builder, builder.gep(data[1], [first]), WORDS)
            target = builder.gep(data[4], [builder.mul(row, I64(lanes))])
            for chunk in range(lanes // 32):
                below = []
                for part in range(4):
                    offset = 32 * chunk + STREAMS * part
                    places = load_vector(
                        builder, builder.gep(data[3], [I64(offset)]), ir.VectorType(I8, STREAMS)
                    )
                    looked_up = look_up(builder, table, builder.zext(places, WORDS))
                    below.append(builder.icmp_unsigned("<", _draw(builder, state), looked_up))
                bits = builder.zext(joined(builder, below), ir.VectorType(I8, 32))
                store_vector(builder, bits, builder.gep(target, [I64(32 * chunk)]))
        return context.get_dummy_value()

    return types.void(streams, limit, start, index, values, variable, width), generate


@intrinsic
def toss_lanes(typing: Any, streams: Any, coins: Any, width: Any) -> Any:
    """Set every coin to 0 or 1; a number gives `BITS` coins of its stream, highest bit first."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        out = array_data(context, builder, signature.args[1], arguments[1])
        with _generators(context, builder, signature, arguments) as state:
            tossed = []
            for chunk in range(4 * len(signature.args[2])):
                if chunk % BITS == 0:
                    drawn = _draw(builder, state)
                bit = builder.and_(drawn, constant(1 << BITS - chunk % BITS))
                tossed.append(builder.icmp_unsigned("!=", bit, constant(0)))
            for row in range(len(signature.args[2])):
                coins = joined(builder, tossed[4 * row : 4 * row + 4])
                whole = builder.zext(coins, ir.VectorType(I8, 32))
                store_vector(builder, whole, builder.gep(out, [I64(32 * row)]))
        return context.get_dummy_value()

    return types.void(streams, coins, width), generate


@intrinsic
def accept_lanes(typing: Any, streams: Any, log_ratio: Any, accepted: Any, width: Any) -> Any:
    """Do what `accept_by_log_ratio` does for all lanes."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        log_ratios, out = (
            array_data(context, builder, signature.args[k], arguments[k]) for k in (1, 2)
        )
        with _generators(context, builder, signature, arguments) as state:
            for lane in range(0, 32 * len(signature.args[3]), 32):
                below = []
                for part in range(lane, lane + 32, STREAMS):
                    ratios = load_doubles(builder, log_ratios, part)
                    rounded = joined(builder, [_rounded(builder, ratio) for ratio in ratios])
                    sure = builder.fcmp_ordered(">=", rounded, _numbers(-NO_LOSS))
                    power = _exponential(builder, rounded)
                    chance = builder.fptosi(builder.fmul(power, _numbers(2147483520.0)), WORDS)
                    drawn = builder.lshr(_draw(builder, state), constant(1))
                    chosen = builder.icmp_signed("<", drawn, chance)
                    below.append(builder.or_(sure, chosen))
                bits = builder.zext(joined(builder, below), ir.VectorType(I8, 32))
                store_vector(builder, bits, builder.gep(out, [I64(lane)]))
        return context.get_dummy_value()

    return types.void(streams, log_ratio, accepted, width), generate


def _exponential(builder: Any, x: Any) -> Any:
    """Do what `exponential` does for eight numbers, of which positive ones count as 0."""
    below = builder.fcmp_ordered("<", x, _numbers(0.0))
    scaled = builder.fmul(builder.select(below, x, _numbers(0.0)), _numbers(1.44269504))
    shifted = builder.fadd(scaled, _numbers(ROUNDING))
    rest = builder.fsub(scaled, builder.fsub(shifted, _numbers(ROUNDING)))
    power = _numbers(float(POLYNOMIAL[-1]))
    for coefficient in POLYNOMIAL[-2::-1]:
        power = multiply_add(builder, power, rest, _numbers(float(coefficient)))
    exponent = builder.shl(builder.bitcast(shifted, WORDS), constant(23))
    result = builder.bitcast(builder.add(builder.bitcast(power, WORDS), exponent), NUMBERS)
    above = builder.fcmp_ordered(">", x, _numbers(-87.0))
    return builder.select(above, result, _numbers(0.0))


def _rounded(builder: Any, doubles: Any) -> Any:
    """Four float32; by its own name, so that LLVM does not make it eight in a slower register."""
    kind = ir.VectorType(ir.FloatType(), 4)
    if not HAS_AVX2:
        return builder.fptrunc(doubles, kind)
    convert = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(kind, [DOUBLES]), "llvm.x86.avx.cvt.pd2.ps.256"
    )
    return builder.call(convert, [doubles])


def _numbers(value: float) -> ir.Constant:
    return ir.Constant(NUMBERS, [value] * STREAMS)
