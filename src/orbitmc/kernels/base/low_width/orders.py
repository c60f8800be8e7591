"""In which order variables are eliminated, and which are left out where tables become too large.

Greedy: always the variable whose table is smallest. When even that is too large, the remaining
variable with most neighbours is left out, and so cuts the model where it is densest. Neighbours
count by the weight of their variable, so other weights cut elsewhere.
"""

from collections.abc import Mapping, Sequence, Set
from heapq import heapify, heappop, heappush

from orbitmc.kernels.base.low_width.neighbours import Neighbours

Dense = tuple[bool, float, int, int]
"""Whether it is wanted, its weighted neighbours below 0, how many they were, and the variable."""


def elimination_order(
    known: Neighbours,
    wanted: Set[int],
    most_entries: int,
    most_in_all: int,
    weight: Sequence[float],
) -> tuple[list[int], int]:
    """The variables that are eliminated, in order; those that are wanted are left out last.

    If all tables together are too large, smaller ones are tried. Also gives how many neighbours
    were visited.
    """
    visits = 0
    while True:
        order, total, visited = _greedy(known, wanted, most_entries, weight)
        visits += visited
        if total <= most_in_all or most_entries <= 1:
            return order, visits
        most_entries //= 2


def _greedy(
    known: Neighbours, wanted: Set[int], most_entries: int, weight: Sequence[float]
) -> tuple[list[int], int, int]:
    """An order in which no table is too large, the entries of all of them, and visits."""
    near = {v: set(others) for v, others in known.near.items()}
    order, total, visits = list[int](), 0, len(near)
    waiting = [(_entries(known, near, v), v) for v in near]
    dense = [_density(v, near, wanted, weight) for v in near]
    heapify(waiting)
    heapify(dense)
    while near:
        entries, variable = heappop(waiting)
        if variable not in near or entries != _entries(known, near, variable):
            continue
        if entries <= most_entries:
            order.append(variable)
            total += entries
            touched = _eliminate(near, variable)
        else:
            heappush(waiting, (entries, variable))
            touched = _leave_out(near, _densest(near, dense))
        visits += len(touched) + 1
        for other in touched:
            visits += len(near[other])
            heappush(waiting, (_entries(known, near, other), other))
            heappush(dense, _density(other, near, wanted, weight))
    return order, total, visits


def _entries(known: Neighbours, near: Mapping[int, set[int]], variable: int) -> int:
    found = known.sizes[variable]
    for other in near[variable]:
        found *= known.sizes[other]
    return found


def _density(
    variable: int, near: Mapping[int, set[int]], wanted: Set[int], weight: Sequence[float]
) -> Dense:
    count = len(near[variable])
    return variable in wanted, -count * weight[variable], count, variable


def _densest(near: Mapping[int, set[int]], dense: list[Dense]) -> int:
    """The variable with most neighbours; entries of earlier times are skipped."""
    while True:
        *_, count, variable = heappop(dense)
        if variable in near and count == len(near[variable]):
            return variable


def _eliminate(near: dict[int, set[int]], variable: int) -> set[int]:
    """Connect the neighbours of a variable with each other; gives them."""
    others = near.pop(variable)
    for other in others:
        near[other] |= others
        near[other] -= {other, variable}
    return others


def _leave_out(near: dict[int, set[int]], variable: int) -> set[int]:
    others = near.pop(variable)
    for other in others:
        near[other].discard(variable)
    return others
