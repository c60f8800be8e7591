"""The few operations that are written for vector units, in LLVM's own vector language.

Everything here works on any processor; the lookup of eight limits uses the AVX2 permutation
where there is one.
"""

from typing import Any

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from orbitmc.machine.compiling import shared

STREAMS = 8
I8, I32, I64 = ir.IntType(8), ir.IntType(32), ir.IntType(64)
WORDS = ir.VectorType(I32, STREAMS)
NUMBERS = ir.VectorType(ir.FloatType(), STREAMS)
DOUBLES = ir.VectorType(ir.DoubleType(), 4)
HAS_AVX2 = bool(llvm.get_host_cpu_features().get("avx2", False))


def load_doubles(builder: Any, start: Any, lane: int) -> list[Any]:
    """Eight float64 in two halves, because four fill a register."""
    return [
        load_vector(builder, builder.gep(start, [I64(lane + 4 * half)]), DOUBLES)
        for half in range(2)
    ]


def multiply_add(builder: Any, one: Any, other: Any, more: Any) -> Any:
    """`one * other + more` of eight float32."""
    kind = ir.FunctionType(NUMBERS, [NUMBERS] * 3)
    function = cgutils.get_or_insert_function(builder.module, kind, "llvm.fmuladd.v8f32")
    return builder.call(function, [one, other, more])


def constant(value: int) -> ir.Constant:
    return ir.Constant(WORDS, [value] * STREAMS)


def array_data(context: Any, builder: Any, array_type: Any, array: Any) -> Any:
    return context.make_array(array_type)(context, builder, array).data


def load_vector(builder: Any, pointer: Any, kind: Any) -> Any:
    loaded = builder.load(builder.bitcast(pointer, kind.as_pointer()))
    loaded.align = 1
    return loaded


def store_vector(builder: Any, value: Any, pointer: Any) -> None:
    builder.store(value, builder.bitcast(pointer, value.type.as_pointer())).align = 1


@intrinsic
def add_by_eight(
    typing: Any, limit: Any, start: Any, index: Any, sums: Any, place: Any, width: Any
) -> Any:
    """Add the chances `limit[start + index[lane]]` to eight sums from `place` on, lane by lane."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        limits, indices, out = (
            array_data(context, builder, signature.args[k], arguments[k]) for k in (0, 2, 3)
        )
        first, target = (
            context.cast(builder, arguments[k], signature.args[k], types.uint64) for k in (1, 4)
        )
        table = load_vector(builder, builder.gep(limits, [first]), WORDS)
        long = ir.VectorType(I64, STREAMS)
        total = ir.Constant(long, [0] * STREAMS)
        for chunk in range(4 * len(signature.args[5])):
            place = builder.gep(indices, [I64(STREAMS * chunk)])
            places = builder.zext(load_vector(builder, place, ir.VectorType(I8, STREAMS)), WORDS)
            total = builder.add(total, builder.zext(look_up(builder, table, places), long))
        numbers = ir.VectorType(ir.DoubleType(), STREAMS)
        scale = ir.Constant(numbers, [2.0**-32] * STREAMS)
        pointer = builder.gep(out, [target])
        chances = builder.fmul(builder.sitofp(total, numbers), scale)
        store_vector(
            builder, builder.fadd(load_vector(builder, pointer, numbers), chances), pointer
        )
        return context.get_dummy_value()

    return types.void(limit, start, index, sums, place, width), generate


@intrinsic
def add_sextet(
    typing: Any,
    field: Any,
    sums: Any,
    start: Any,
    values: Any,
    neighbour: Any,
    edge: Any,
    width: Any,
) -> Any:
    """Add what six binary neighbours contribute to `field`, three at a time by a table of eight.

    The neighbours are `neighbour[edge]` to `neighbour[edge + 5]`; `sums[start + b]` belongs to the
    bits of the first three (first one lowest), `sums[start + 8 + b]` to the others.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        fields, tables, states, others = (
            array_data(context, builder, signature.args[k], arguments[k]) for k in (0, 1, 3, 4)
        )
        first, begin = (
            context.cast(builder, arguments[k], signature.args[k], types.uint64) for k in (2, 5)
        )
        lanes = 32 * len(signature.args[6])
        rows = []
        for k in range(6):
            number = builder.load(builder.gep(others, [builder.add(begin, I64(k))]))
            place = builder.mul(builder.zext(number, I64), I64(lanes))
            rows.append(builder.gep(states, [place]))
        pair = [
            load_vector(builder, builder.gep(tables, [builder.add(first, I64(8 * k))]), NUMBERS)
            for k in range(2)
        ]
        for chunk in range(lanes // 32):
            patterns = [_pattern(builder, rows[3 * k : 3 * k + 3], 32 * chunk) for k in range(2)]
            for part in range(4):
                pointer = builder.gep(fields, [I64(32 * chunk + STREAMS * part)])
                total = load_vector(builder, pointer, NUMBERS)
                order = ir.Constant(WORDS, list(range(STREAMS * part, STREAMS * (part + 1))))
                for table, pattern in zip(pair, patterns, strict=True):
                    places = builder.shuffle_vector(pattern, pattern, order)
                    looked_up = _look_up_numbers(builder, table, builder.zext(places, WORDS))
                    total = builder.fadd(total, looked_up)
                store_vector(builder, total, pointer)
        return context.get_dummy_value()

    return types.void(field, sums, start, values, neighbour, edge, width), generate


def _pattern(builder: Any, rows: list[Any], offset: int) -> Any:
    """The bits of three rows of 32 lanes as numbers below eight, first row lowest."""
    low, middle, high = (
        load_vector(builder, builder.gep(row, [I64(offset)]), ir.VectorType(I8, 32)) for row in rows
    )
    upper = builder.add(middle, builder.add(high, high))
    return builder.add(low, builder.add(upper, upper))


def _look_up_numbers(builder: Any, table: Any, places: Any) -> Any:
    """Eight entries of a table of eight float32."""
    words = look_up(builder, builder.bitcast(table, WORDS), places)
    return builder.bitcast(words, NUMBERS)


def look_up(builder: Any, table: Any, places: Any) -> Any:
    """Eight entries of a table of eight."""
    if HAS_AVX2:
        permute = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(WORDS, [WORDS, WORDS]), "llvm.x86.avx2.permd"
        )
        return builder.call(permute, [table, places])
    found = builder.shuffle_vector(table, table, constant(0))
    for entry in range(1, STREAMS):
        spread = builder.shuffle_vector(table, table, constant(entry))
        found = builder.select(builder.icmp_unsigned("==", places, constant(entry)), spread, found)
    return found


def joined(builder: Any, parts: list[Any]) -> Any:
    while len(parts) > 1:
        width = 2 * parts[0].type.count
        order = ir.Constant(ir.VectorType(I32, width), list(range(width)))
        parts = [
            builder.shuffle_vector(first, second, order)
            for first, second in zip(parts[::2], parts[1::2], strict=True)
        ]
    return parts[0]


@intrinsic
def _power_of_two(typing: Any, exponent: Any) -> Any:
    """The float32 whose exponent field is the given integer."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(builder.shl(arguments[0], I32(23)), ir.FloatType())

    return types.float32(types.int32), generate


POLYNOMIAL = tuple(
    np.float32(c)
    for c in (1.0, 0.69314718, 0.24022651, 0.05550411, 0.00961813, 0.00133336, 0.00015468)
)
"""Taylor coefficients of 2^x; on [-1/2, 1/2] the relative error is below 1e-7."""


@shared
def exponential(x):
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
def logistic(field):
    """Chance of the value 1 from its log-odds, in float32."""
    return np.float32(1.0) / (np.float32(1.0) + exponential(-field))
