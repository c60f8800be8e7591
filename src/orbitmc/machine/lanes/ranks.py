"""Pick members of a block by their ranks, lane by lane, handled as whole vectors like `rows`."""

from typing import Any

from numba.extending import overload
from numpy.typing import NDArray

from orbitmc.machine.arrays import Bytes, Index
from orbitmc.machine.compiling import INNER
from orbitmc.machine.lanes.rank_vectors import count_holders_vectors, find_picked_vectors


def count_holders(
    holders: NDArray[Any],
    number: Index,
    wanted: Bytes,
    proposed: Bytes,
    place: Index,
    width: tuple[int, ...],
) -> None:
    """Add 1 to `holders[number]` where a member has the wanted value."""
    holders[number] += proposed[place] == wanted


def find_picked(
    first: NDArray[Any],
    second: NDArray[Any],
    seen: NDArray[Any],
    rank: NDArray[Any],
    other_rank: NDArray[Any],
    wanted: Bytes,
    proposed: Bytes,
    place: Index,
    width: tuple[int, ...],
) -> None:
    """Note a member as the first or the second of the pair where it has the right rank.

    The first is number `rank` of those that have the `wanted` value, of which `seen` came
    before; the second is number `other_rank` of the others.
    """
    alike = proposed[place] == wanted
    first[alike & (seen == rank)] = place
    second[~alike & (place - seen == other_rank)] = place
    seen += alike


@overload(count_holders, strict=False, jit_options=INNER)
def _compiled_count_holders(
    holders: Any, number: Any, wanted: Any, proposed: Any, place: Any, width: Any
) -> Any:
    return lambda holders, number, wanted, proposed, place, width: count_holders_vectors(
        holders, number, wanted, proposed, place, width
    )


@overload(find_picked, strict=False, jit_options=INNER)
def _compiled_find_picked(
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
    return lambda first, second, seen, rank, other_rank, wanted, proposed, place, width: (
        find_picked_vectors(first, second, seen, rank, other_rank, wanted, proposed, place, width)
    )
