"""Who joins a block next: the variable that moves the fewest further factors, compiled."""

from typing import TypeVar

import numpy as np

from orbitmc.machine.compiling import shared
from orbitmc.symmetry.blocks.greedy_memory import (
    CLIQUES,
    FRONT,
    ROUND,
    SIZE,
    TOUCHED,
    Candidates,
    Memory,
)

Ordered = TypeVar("Ordered", bound=tuple[float, ...])

NOBODY = -1
FAR = 2**62

TIES = 32
"""How many equally cheap variables that share nothing with the block are compared."""


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
