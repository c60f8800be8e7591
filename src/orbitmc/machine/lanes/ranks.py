"""Pick members of a block by their ranks, lane by lane, handled as whole vectors like `rows`."""

from typing import Any

from llvmlite import ir
from numpy.typing import NDArray

from orbitmc.machine.arrays import Bytes, Index, Width
from orbitmc.machine.lanes.vector_code import ROW, Call, spread, vector_code


def count_holders(
    holders: NDArray[Any], number: Index, wanted: Bytes, proposed: Bytes, place: Index, width: Width
) -> None:
    """Add 1 to `holders[number]` where a member has the wanted value."""
    holders[number] += proposed[place] == wanted


@vector_code(count_holders)
def _count_holders(call: Call) -> None:
    counts, kind = call.row("holders", "number"), _kind_of_counts(call, "holders")
    starts = call.row("proposed", "place"), call.array("wanted")
    for lane in range(0, call.lanes, 32):
        values = (call.load(start, lane, ROW) for start in starts)
        alike = call.builder.zext(call.builder.icmp_unsigned("==", *values), kind)
        call.store(call.builder.add(call.load(counts, lane, kind), alike), counts, lane)


def find_picked(
    first: NDArray[Any],
    second: NDArray[Any],
    seen: NDArray[Any],
    rank: NDArray[Any],
    other_rank: NDArray[Any],
    wanted: Bytes,
    proposed: Bytes,
    place: Index,
    width: Width,
) -> None:
    """Note a member as the first or the second of the pair where it has the right rank.

    The first is number `rank` of those that have the `wanted` value, of which `seen` came
    before; the second is number `other_rank` of the others.
    """
    alike = proposed[place] == wanted
    first[alike & (seen == rank)] = place
    second[~alike & (place - seen == other_rank)] = place
    seen += alike


@vector_code(find_picked)
def _find_picked(call: Call) -> None:
    builder, kind = call.builder, _kind_of_counts(call, "first")
    data = [call.array(name) for name in ("first", "second", "seen", "rank", "other_rank")]
    starts = call.row("proposed", "place"), call.array("wanted")
    here = spread(builder, call.number("place", call.kind("first").dtype), 32)
    for lane in range(0, call.lanes, 32):
        found, other, passed, rank, other_rank = (call.load(start, lane, kind) for start in data)
        values = (call.load(start, lane, ROW) for start in starts)
        alike = builder.icmp_unsigned("==", *values)
        hit = builder.and_(alike, builder.icmp_unsigned("==", passed, rank))
        others = builder.icmp_unsigned("==", builder.sub(here, passed), other_rank)
        missed = builder.and_(builder.not_(alike), others)
        call.store(builder.select(hit, here, found), data[0], lane)
        call.store(builder.select(missed, here, other), data[1], lane)
        call.store(builder.add(passed, builder.zext(alike, kind)), data[2], lane)


def _kind_of_counts(call: Call, name: str) -> Any:
    """32 entries of an array of counts."""
    return ir.VectorType(ir.IntType(call.kind(name).dtype.bitwidth), 32)
