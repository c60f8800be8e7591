"""Who joins a block next: the variable that moves the fewest further factors, compiled."""

from typing import TypeVar

import numpy as np

from orbitmc._numba.jit import shared
from orbitmc.symmetry.blocks.greedy_memory import (
    CLIQUES,
    FRONT,
    MET,
    ROUND,
    SIZE,
    TOUCHED,
    Candidates,
    Memory,
)
from orbitmc.symmetry.detection.encoding.exchangeable import NO_JOINT, Links

Ordered = TypeVar("Ordered", bound=tuple[float, ...])

NOBODY = -1
FAR = 2**62

TIES = 32
"""How many equally cheap variables that share nothing with the block are compared."""

WIDE = 64
"""Factors that read more variables than this are counted, but do not make variables cheaper:
they are shared by so many that it would hardly change who comes next."""

WIDE_BOND = 1024
"""The same for bonds, of which a block loses all that some member does not have."""


@shared
def cheapest(candidates: Candidates, memory: Memory, last: int, room: float) -> int:
    """Who adds the fewest moved factors; then who is nearest to the members; then the first.

    Nobody farther from the members than `room` (a squared distance) is considered.
    """
    best = (FAR, np.inf, NOBODY)
    for place in range(memory.counter[TOUCHED]):
        variable = memory.touched[place]
        cost = memory.cost[variable] - _traded(memory, variable)
        if cost <= best[0] and _free(candidates, memory, variable):
            distance = distance_of(candidates, memory, variable)
            if distance <= room:
                best = _lesser(best, (cost, distance, variable))
    stranger = _stranger(candidates, memory, last)
    if stranger != NOBODY:
        distance = distance_of(candidates, memory, stranger)
        if distance <= room:
            best = _lesser(best, (candidates.degree[stranger], distance, stranger))
    return best[2]


@shared
def _traded(memory: Memory, variable: int) -> int:
    """How many factors would only be traded for equal ones if a variable joined.

    A common bond that stays spares the factors of all members, the new one's too; so does a joint
    that joins the new one to everybody, if every two members have one.
    """
    count, size = memory.counter, memory.counter[SIZE]
    traded: int = memory.has[variable] * (size + 1)
    if count[CLIQUES] > 0:
        traded += min(count[CLIQUES], memory.joins[variable] // size) * (size * (size + 1) // 2)
    return traded


@shared
def _lesser(one: Ordered, two: Ordered) -> Ordered:
    return two if two < one else one


@shared
def _free(candidates: Candidates, memory: Memory, variable: int) -> bool:
    """Whether a variable is still in the chain and not in the block."""
    place = candidates.place_of[variable]
    return memory.joined_in[variable] != memory.counter[ROUND] and not memory.gone[place]


@shared
def _stranger(candidates: Candidates, memory: Memory, last: int) -> int:
    """The nearest of the cheapest variables that share no factor with the block."""
    place = memory.counter[FRONT]
    while place < last and not _untouched(memory, candidates.variable[place]):
        place = memory.after[place]
    memory.counter[FRONT] = place
    if place >= last:
        return NOBODY
    degree = candidates.degree[candidates.variable[place]]
    nearest = (np.inf, NOBODY)
    for _ in range(TIES):
        variable = candidates.variable[place]
        if candidates.degree[variable] != degree:
            break
        if _untouched(memory, variable):
            nearest = _lesser(nearest, (distance_of(candidates, memory, variable), variable))
        place = memory.after[place]
        if place >= last:
            break
    return nearest[1]


@shared
def _untouched(memory: Memory, variable: int) -> bool:
    number = memory.counter[ROUND]
    return bool(memory.touched_in[variable] != number and memory.joined_in[variable] != number)


@shared
def distance_of(candidates: Candidates, memory: Memory, variable: int) -> float:
    """Squared distance of a variable's field to the mean of the members'."""
    total = 0.0
    start = candidates.field_start[variable]
    for value in range(candidates.field_start[variable + 1] - start):
        difference = candidates.field[start + value] - memory.total[value] / memory.counter[SIZE]
        total += difference * difference
    return total


@shared
def meet(links: Links, candidates: Candidates, memory: Memory, factor: int, member: int) -> None:
    """Count a factor; those who read it too become cheaper."""
    memory.met_in[factor] = memory.counter[ROUND]
    memory.counter[MET] += 1
    first, last = links.factor_start[factor], links.factor_start[factor + 1]
    if last - first <= WIDE:
        for link in range(first, last):
            _touch(candidates, memory, links.variable[link], member, -1)


@shared
def rate(
    links: Links, candidates: Candidates, memory: Memory, factor: int, member: int, change: int
) -> None:
    """Change the cost of those who could join without moving an invariant factor."""
    first, last = links.factor_start[factor], links.factor_start[factor + 1]
    if last - first <= WIDE:
        for link in range(first, last):
            if links.alike[link] == memory.class_in[factor]:
                _touch(candidates, memory, links.variable[link], member, change)


@shared
def credit(
    links: Links, candidates: Candidates, memory: Memory, bond: int, member: int, change: int
) -> None:
    """Remember who else has a bond, or that it no longer counts."""
    first, last = links.holder_start[bond], links.holder_start[bond + 1]
    if last - first <= WIDE_BOND:
        for place in range(first, last):
            variable = links.holder[place]
            if candidates.class_of[variable] == candidates.class_of[member]:
                _touch(candidates, memory, variable, member, 0)
                memory.has[variable] += change


@shared
def _touch(candidates: Candidates, memory: Memory, variable: int, member: int, change: int) -> None:
    count = memory.counter
    if candidates.class_of[variable] != candidates.class_of[member]:
        return
    if memory.touched_in[variable] != count[ROUND]:
        memory.touched_in[variable] = count[ROUND]
        memory.cost[variable] = candidates.degree[variable]
        memory.has[variable] = 0
        memory.joins[variable] = 0
        memory.touched[count[TOUCHED]] = variable
        count[TOUCHED] += 1
    memory.cost[variable] += change


@shared
def count_cliques(links: Links, candidates: Candidates, memory: Memory, variable: int) -> None:
    """Count the ways in which all members are joined, the newest too, and who else is so."""
    count = memory.counter
    count[CLIQUES] = 0
    for link in range(links.variable_start[variable], links.variable_start[variable + 1]):
        factor = links.factor[link]
        joint = links.joint[factor]
        if joint == NO_JOINT or not _joins_members(links, memory, factor, variable):
            continue
        if memory.inner_in[joint] != count[ROUND]:
            memory.inner_in[joint] = count[ROUND]
            memory.inner[joint] = 0
        memory.inner[joint] += 1
        if memory.inner[joint] == pairs(count[SIZE]):
            count[CLIQUES] += 1
    if count[CLIQUES] > 0:
        for place in range(count[SIZE] - 1 if count[SIZE] > 2 else 0, count[SIZE]):
            _extend(links, candidates, memory, memory.block[place])


@shared
def _joins_members(links: Links, memory: Memory, factor: int, member: int) -> bool:
    return bool(memory.joined_in[_partner(links, factor, member)] == memory.counter[ROUND])


@shared
def _extend(links: Links, candidates: Candidates, memory: Memory, member: int) -> None:
    """Remember who is joined to a member as all members are."""
    count = memory.counter
    for link in range(links.variable_start[member], links.variable_start[member + 1]):
        joint = links.joint[links.factor[link]]
        if joint == NO_JOINT or memory.inner_in[joint] != count[ROUND]:
            continue
        other = _partner(links, links.factor[link], member)
        same_class = candidates.class_of[other] == candidates.class_of[member]
        if same_class and memory.inner[joint] == pairs(count[SIZE]):
            _touch(candidates, memory, other, member, 0)
            memory.joins[other] += 1


@shared
def _partner(links: Links, factor: int, variable: int) -> int:
    """The other variable of a factor that joins two."""
    first = links.factor_start[factor]
    one, two = np.int64(links.variable[first]), np.int64(links.variable[first + 1])
    return int(two if one == variable else one)


@shared
def pairs(size: int) -> int:
    return size * (size - 1) // 2
