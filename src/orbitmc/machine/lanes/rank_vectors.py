"""What `picks` does, in LLVM's own vector language."""

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from orbitmc.machine.lanes.row_vectors import ROW, part, row, spread
from orbitmc.machine.lanes.vectors import I64, array_data, store_vector


def _numbers(array: Any) -> Any:
    """32 entries of an array of counts."""
    return ir.VectorType(ir.IntType(array.dtype.bitwidth), 32)


@intrinsic
def count_holders_vectors(
    typing: Any, holders: Any, number: Any, wanted: Any, proposed: Any, place: Any, width: Any
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
            store_vector(builder, after, builder.gep(counts, [I64(lane)]))
        return context.get_dummy_value()

    return types.void(holders, number, wanted, proposed, place, width), generate


@intrinsic
def find_picked_vectors(
    typing: Any,
    first: Any,
    second: Any,
    seen: Any,
    rank: Any,
    other_rank: Any,
    wanted: Any,
    proposed: Any,
    place: Any,
    width: Any,
) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = [array_data(context, builder, signature.args[k], arguments[k]) for k in range(6)]
        proposal = row(context, builder, signature, arguments, 6, 7)
        kind = _numbers(signature.args[0])
        number = context.cast(builder, arguments[7], signature.args[7], signature.args[0].dtype)
        here = spread(builder, number, 32)
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
                store_vector(builder, new, builder.gep(data[k], [I64(lane)]))
        return context.get_dummy_value()

    kinds = (first, second, seen, rank, other_rank, wanted, proposed, place, width)
    return types.void(*kinds), generate
