"""What `pairs` does, in LLVM's own vector language."""

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from orbitmc.row_vectors import ROW, part, row
from orbitmc.vectors import array_data, load_vector, store_vector


def _numbers(array: Any) -> Any:
    """32 entries of an array of counts."""
    return ir.VectorType(ir.IntType(array.dtype.bitwidth), 32)


def _repeated(builder: Any, context: Any, value: Any, kind: Any, vector: Any) -> Any:
    """A vector that repeats one integer, cut to its entries."""
    number = context.cast(builder, value, kind, types.uint64)
    if vector.element.width < 64:
        number = builder.trunc(number, vector.element)
    single = builder.insert_element(ir.Constant(vector, ir.Undefined), number, ir.IntType(32)(0))
    order = ir.Constant(ir.VectorType(ir.IntType(32), 32), [0] * 32)
    return builder.shuffle_vector(single, single, order)


@intrinsic
def count_holders_vectors(
    typing: Any, holders: Any, number: Any, value: Any, proposed: Any, place: Any, width: Any
) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        counts = row(context, builder, signature, arguments, 0, 1)
        wanted = array_data(context, builder, signature.args[2], arguments[2])
        proposal = row(context, builder, signature, arguments, 3, 4)
        kind = _numbers(signature.args[0])
        for lane in range(0, 32 * len(signature.args[5]), 32):
            values = (part(builder, start, lane, ROW) for start in (proposal, wanted))
            alike = builder.icmp_unsigned("==", *values)
            before = part(builder, counts, lane, kind)
            after = builder.add(before, builder.zext(alike, kind))
            store_vector(builder, after, builder.gep(counts, [ir.IntType(64)(lane)]))
        return context.get_dummy_value()

    return types.void(holders, number, value, proposed, place, width), generate


@intrinsic
def find_picked_vectors(
    typing: Any,
    first: Any,
    second: Any,
    seen: Any,
    rank: Any,
    other_rank: Any,
    value: Any,
    proposed: Any,
    place: Any,
    width: Any,
) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = [
            array_data(context, builder, signature.args[k], arguments[k]) for k in range(6)
        ]
        proposal = row(context, builder, signature, arguments, 6, 7)
        kind = _numbers(signature.args[0])
        here = _repeated(builder, context, arguments[7], signature.args[7], kind)
        for lane in range(0, 32 * len(signature.args[8]), 32):
            found, other, passed, wanted, other_wanted = (
                part(builder, data[k], lane, kind) for k in range(5)
            )
            values = (part(builder, start, lane, ROW) for start in (proposal, data[5]))
            alike = builder.icmp_unsigned("==", *values)
            hit = builder.and_(alike, builder.icmp_unsigned("==", passed, wanted))
            others = builder.icmp_unsigned("==", builder.sub(here, passed), other_wanted)
            missed = builder.and_(builder.not_(alike), others)
            for k, new in (
                (0, builder.select(hit, here, found)),
                (1, builder.select(missed, here, other)),
                (2, builder.add(passed, builder.zext(alike, kind))),
            ):
                store_vector(builder, new, builder.gep(data[k], [ir.IntType(64)(lane)]))
        return context.get_dummy_value()

    kinds = (first, second, seen, rank, other_rank, value, proposed, place, width)
    return types.void(*kinds), generate
