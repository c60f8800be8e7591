"""What `rows` does, in LLVM's own vector language."""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from orbitmc.machine.lanes.vectors import (
    I8,
    I32,
    I64,
    NUMBERS,
    STREAMS,
    WORDS,
    array_data,
    load_vector,
    multiply_add,
    store_vector,
)

ROW = ir.VectorType(I8, 32)
EIGHT = ir.VectorType(I8, STREAMS)


def row(context: Any, builder: Any, signature: Any, arguments: Any, array: int, number: int) -> Any:
    """Where the row `arguments[array][arguments[number]]` begins."""
    lanes = 32 * len(signature.args[-1])
    place = context.cast(builder, arguments[number], signature.args[number], types.uint64)
    start = array_data(context, builder, signature.args[array], arguments[array])
    return builder.gep(start, [builder.mul(place, I64(lanes))])


def part(builder: Any, start: Any, lane: int, kind: Any) -> Any:
    return load_vector(builder, builder.gep(start, [I64(lane)]), kind)


def _differ(builder: Any, one: Any, other: Any) -> Any:
    return builder.icmp_unsigned("!=", one, other)


def _count(builder: Any, flags: Any) -> Any:
    return builder.zext(builder.ctpop(builder.bitcast(flags, I32)), I64)


@intrinsic
def rows_differ_vectors(
    typing: Any, values: Any, variable: Any, proposed: Any, place: Any, width: Any
) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        one = row(context, builder, signature, arguments, 0, 1)
        other = row(context, builder, signature, arguments, 2, 3)
        found = ir.Constant(ROW, [0] * 32)
        for lane in range(0, 32 * len(signature.args[4]), 32):
            parts = (part(builder, start, lane, ROW) for start in (one, other))
            found = builder.or_(found, builder.xor(*parts))
        whole = ir.IntType(256)
        return builder.icmp_unsigned("!=", builder.bitcast(found, whole), whole(0))

    return types.boolean(values, variable, proposed, place, width), generate


@intrinsic
def keep_accepted_vectors(
    typing: Any,
    values: Any,
    variable: Any,
    proposed: Any,
    place: Any,
    accepted: Any,
    changed: Any,
    width: Any,
) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        present = row(context, builder, signature, arguments, 0, 1)
        former = row(context, builder, signature, arguments, 2, 3)
        decided, gathered = (
            array_data(context, builder, signature.args[k], arguments[k]) for k in (4, 5)
        )
        none, total = ir.Constant(ROW, [0] * 32), I64(0)
        for lane in range(0, 32 * len(signature.args[6]), 32):
            new, old, taken, before = (
                part(builder, start, lane, ROW) for start in (present, former, decided, gathered)
            )
            wanted = _differ(builder, taken, none)
            differs = _differ(builder, new, old)
            total = builder.add(total, _count(builder, builder.and_(differs, wanted)))
            store_vector(
                builder, builder.select(wanted, new, old), builder.gep(present, [I64(lane)])
            )
            both = builder.or_(before, builder.zext(differs, ROW))
            store_vector(builder, both, builder.gep(gathered, [I64(lane)]))
        return total

    kinds = (values, variable, proposed, place, accepted, changed, width)
    return types.int64(*kinds), generate


@intrinsic
def choose_by_coins_vectors(
    typing: Any,
    proposed: Any,
    place: Any,
    values: Any,
    tails: Any,
    heads: Any,
    coins: Any,
    width: Any,
) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        target = row(context, builder, signature, arguments, 0, 1)
        low, high = (row(context, builder, signature, arguments, 2, k) for k in (3, 4))
        tosses = array_data(context, builder, signature.args[5], arguments[5])
        none = ir.Constant(ROW, [0] * 32)
        for lane in range(0, 32 * len(signature.args[6]), 32):
            one, other, coin = (part(builder, start, lane, ROW) for start in (low, high, tosses))
            value = builder.select(_differ(builder, coin, none), other, one)
            store_vector(builder, value, builder.gep(target, [I64(lane)]))
        return context.get_dummy_value()

    kinds = (proposed, place, values, tails, heads, coins, width)
    return types.void(*kinds), generate


@intrinsic
def count_both_vectors(typing: Any, one: Any, other: Any, width: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        starts = [array_data(context, builder, signature.args[k], arguments[k]) for k in (0, 1)]
        none, total = ir.Constant(ROW, [0] * 32), I64(0)
        for lane in range(0, 32 * len(signature.args[2]), 32):
            first, second = (
                _differ(builder, part(builder, start, lane, ROW), none) for start in starts
            )
            total = builder.add(total, _count(builder, builder.and_(first, second)))
        return total

    return types.int64(one, other, width), generate


@intrinsic
def add_rise_vectors(
    typing: Any,
    gain: Any,
    field: Any,
    values: Any,
    variable: Any,
    proposed: Any,
    place: Any,
    width: Any,
) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        sums, fields = (
            array_data(context, builder, signature.args[k], arguments[k]) for k in (0, 1)
        )
        present = row(context, builder, signature, arguments, 2, 3)
        proposal = row(context, builder, signature, arguments, 4, 5)
        for lane in range(0, 32 * len(signature.args[6]), STREAMS):
            field = part(builder, fields, lane, NUMBERS)
            _add_gain(builder, sums, field, present, proposal, lane)
        return context.get_dummy_value()

    kinds = (gain, field, values, variable, proposed, place, width)
    return types.void(*kinds), generate


@intrinsic
def add_curved_rise_vectors(
    typing: Any,
    gain: Any,
    field: Any,
    bend: Any,
    values: Any,
    variable: Any,
    proposed: Any,
    place: Any,
    width: Any,
) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        sums, fields, bends = (
            array_data(context, builder, signature.args[k], arguments[k]) for k in range(3)
        )
        present = row(context, builder, signature, arguments, 3, 4)
        proposal = row(context, builder, signature, arguments, 5, 6)
        for lane in range(0, 32 * len(signature.args[7]), STREAMS):
            new, old = (part(builder, start, lane, EIGHT) for start in (proposal, present))
            twice_middle = ir.Constant(EIGHT, [2] * STREAMS)
            both = builder.sitofp(builder.sub(builder.add(new, old), twice_middle), NUMBERS)
            field, bend = (part(builder, start, lane, NUMBERS) for start in (fields, bends))
            _add_gain(
                builder, sums, multiply_add(builder, both, bend, field), present, proposal, lane
            )
        return context.get_dummy_value()

    kinds = (gain, field, bend, values, variable, proposed, place, width)
    return types.void(*kinds), generate


@intrinsic
def add_counted_rise_vectors(
    typing: Any,
    gain: Any,
    neighbour: Any,
    role: Any,
    first: Any,
    last: Any,
    low: Any,
    step: Any,
    values: Any,
    variable: Any,
    proposed: Any,
    place: Any,
    width: Any,
) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        sums, others, signs = (
            array_data(context, builder, signature.args[k], arguments[k]) for k in range(3)
        )
        begin, end = (
            context.cast(builder, arguments[k], signature.args[k], types.uint64) for k in (3, 4)
        )
        base, rise = (spread(builder, arguments[k]) for k in (5, 6))
        present = row(context, builder, signature, arguments, 7, 8)
        proposal = row(context, builder, signature, arguments, 9, 10)
        states = array_data(context, builder, signature.args[7], arguments[7])
        lanes = 32 * len(signature.args[11])
        counts = [cgutils.alloca_once(builder, ROW) for _ in range(0, lanes, 32)]
        for count in counts:
            builder.store(ir.Constant(ROW, [0] * 32), count)
        with cgutils.for_range(builder, builder.sub(end, begin)) as loop:
            edge = builder.add(begin, loop.index)
            number = builder.zext(builder.load(builder.gep(others, [edge])), I64)
            states_row = builder.gep(states, [builder.mul(number, I64(lanes))])
            sign = builder.trunc(builder.load(builder.gep(signs, [edge])), I8)
            negative = spread(builder, sign, 32)
            for lane, count in zip(range(0, lanes, 32), counts, strict=True):
                agrees = builder.xor(part(builder, states_row, lane, ROW), negative)
                builder.store(builder.add(builder.load(count), agrees), count)
        for lane in range(0, lanes, STREAMS):
            order = ir.Constant(WORDS, [lane % 32 + k for k in range(STREAMS)])
            found = builder.load(counts[lane // 32])
            count = builder.uitofp(builder.shuffle_vector(found, found, order), NUMBERS)
            field = multiply_add(builder, rise, count, base)
            _add_gain(builder, sums, field, present, proposal, lane)
        return context.get_dummy_value()

    kinds = (gain, neighbour, role, first, last, low, step, values, variable, proposed, place)
    return types.void(*kinds, width), generate


def spread(builder: Any, value: Any, count: int = STREAMS) -> Any:
    """A vector that repeats one number."""
    kind = ir.VectorType(value.type, count)
    single = builder.insert_element(ir.Constant(kind, ir.Undefined), value, I32(0))
    order = ir.Constant(ir.VectorType(I32, count), [0] * count)
    return builder.shuffle_vector(single, single, order)


def _add_gain(builder: Any, sums: Any, field: Any, present: Any, proposal: Any, lane: int) -> None:
    """Add eight fields where a bit rises, subtract them where it falls."""
    new, old = (part(builder, start, lane, EIGHT) for start in (proposal, present))
    rise = builder.sitofp(builder.sub(new, old), NUMBERS)
    before = part(builder, sums, lane, NUMBERS)
    store_vector(
        builder, multiply_add(builder, rise, field, before), builder.gep(sums, [I64(lane)])
    )


@intrinsic
def exchange_rows_vectors(
    typing: Any, values: Any, variable: Any, proposed: Any, place: Any, width: Any
) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        one = row(context, builder, signature, arguments, 0, 1)
        other = row(context, builder, signature, arguments, 2, 3)
        for lane in range(0, 32 * len(signature.args[4]), 32):
            first, second = (part(builder, start, lane, ROW) for start in (one, other))
            store_vector(builder, second, builder.gep(one, [I64(lane)]))
            store_vector(builder, first, builder.gep(other, [I64(lane)]))
        return context.get_dummy_value()

    return types.void(values, variable, proposed, place, width), generate


@intrinsic
def copy_row_vectors(
    typing: Any, proposed: Any, place: Any, values: Any, variable: Any, width: Any
) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        target = row(context, builder, signature, arguments, 0, 1)
        source = row(context, builder, signature, arguments, 2, 3)
        for lane in range(0, 32 * len(signature.args[4]), 32):
            copied = part(builder, source, lane, ROW)
            store_vector(builder, copied, builder.gep(target, [I64(lane)]))
        return context.get_dummy_value()

    return types.void(proposed, place, values, variable, width), generate
