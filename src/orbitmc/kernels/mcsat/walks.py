"""SampleSAT: find a solution of a component by WalkSAT and annealing; nearly uniform at best.

It starts at random and stops at the first solution, so solutions that are easy to find come too
often. MC-SAT with it is approximate, and counts how often it was used.
"""

from typing import Any, NamedTuple

import numpy as np

from orbitmc._numba.jit import generic, implementation, shared
from orbitmc._simd.random import lane_bernoulli, lane_integer
from orbitmc._util.arrays import Index
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.kernels.mcsat.propagation import NO_VALUE, another_value, pick_allowed, restore
from orbitmc.kernels.mcsat.slices import Ranks, SliceMemory, is_satisfied

# A walk that never leaves the slice: exact for components of any size.

WALKED = 5  # which outcome of MC-SAT counts the components drawn this way


class WithinSlice(NamedTuple):
    """Draw every member of a component given all others, `sweeps` times there and back.

    That keeps the uniform distribution on the slice whatever the number of sweeps; more of them
    forget the old state better. Going back the way it came makes the walk reversible.
    """

    sweeps: int


@generic("way")
def draw_large(
    way: Any, graph: FactorGraph, ranks: Ranks, memory: SliceMemory, size: Index, rng: Any
) -> Index:
    """Draw a component that is too large to count; gives the number of the outcome it is."""
    raise NotImplementedError


@implementation(draw_large, WithinSlice)
def _walk(
    way: WithinSlice, graph: FactorGraph, ranks: Ranks, memory: SliceMemory, size: Index, rng: Any
) -> Index:
    for _ in range(way.sweeps):
        for place in range(size):
            _redraw(graph, ranks, memory, np.int64(memory.member[place]), rng)
        for place in range(size):
            _redraw(graph, ranks, memory, np.int64(memory.member[size - 1 - place]), rng)
    return WALKED


@shared
def _redraw(
    graph: FactorGraph, ranks: Ranks, memory: SliceMemory, variable: Index, rng: Any
) -> None:
    """Draw a member: a coin decides between two values, others are proposed; the slice allows."""
    before = memory.state[variable]
    if graph.cardinality[variable] == 2:
        value = np.uint8(lane_integer(rng, 2))
        if value == before:
            return
    else:
        value = np.uint8(another_value(graph, ranks, memory, variable, rng))
    memory.state[variable] = value
    if _still_satisfied(graph, ranks, memory, variable, before):
        _update_counts(memory, variable, before, value)
    else:
        memory.state[variable] = before


@shared
def _still_satisfied(
    graph: FactorGraph, ranks: Ranks, memory: SliceMemory, variable: Index, before: Index
) -> bool:
    """Whether the constraints around a member hold now that it has another value than before.

    A clause holds unless the value was the only one that satisfied it; what pruning leaves of
    clauses are those that must be satisfied.
    """
    for edge in range(memory.near_start[variable], memory.near_start[variable + 1]):
        number, wanted = np.int64(memory.near[edge]), memory.near_wanted[edge]
        if wanted == before:
            if memory.satisfied[number] == 1:
                return False
        elif wanted == NO_VALUE and not is_satisfied(
            graph, ranks, memory, np.int64(memory.active[number])
        ):
            return False
    return True


@shared
def _update_counts(memory: SliceMemory, variable: Index, before: Index, value: Index) -> None:
    """Correct the counts of literals that hold around a member that has changed."""
    for edge in range(memory.near_start[variable], memory.near_start[variable + 1]):
        number, wanted = np.int64(memory.near[edge]), memory.near_wanted[edge]
        memory.satisfied[number] += np.int32(wanted == value) - np.int32(wanted == before)


DRAWN_COMPONENTS = 6  # which outcome of MC-SAT counts the components drawn this way


class SampleSAT(NamedTuple):
    """Mix WalkSAT moves and annealing moves until every constraint of a component holds.

    `greedy` is the share of WalkSAT moves, `noise` the share of those that change any variable of
    a broken constraint instead of the best, `temperature` belongs to the annealing moves. After
    `moves` moves per member the component keeps the state it had.
    """

    moves: int = 100
    greedy: float = 0.5
    noise: float = 0.3
    temperature: float = 0.5


@implementation(draw_large, SampleSAT)
def _sample(
    way: SampleSAT, graph: FactorGraph, ranks: Ranks, memory: SliceMemory, size: Index, rng: Any
) -> Index:
    for place in range(size):
        variable = np.int64(memory.member[place])
        number = np.int64(lane_integer(rng, memory.left[variable]))
        memory.state[variable] = pick_allowed(graph, ranks, memory, variable, number)
    broken = _list_broken(graph, ranks, memory, size)
    for _ in range(way.moves * size):
        if broken == 0:
            break
        walking = lane_bernoulli(rng, way.greedy)
        if walking:
            factor = np.int64(memory.broken[lane_integer(rng, broken)])
            variable = np.int64(_choose_member(way, graph, ranks, memory, factor, rng))
        else:
            variable = np.int64(memory.member[lane_integer(rng, size)])
        before = memory.state[variable]
        worse = -_count_broken_around(graph, ranks, memory, variable)
        memory.state[variable] = another_value(graph, ranks, memory, variable, rng)
        worse += _count_broken_around(graph, ranks, memory, variable)
        if walking or worse <= 0 or lane_bernoulli(rng, np.exp(-worse / way.temperature)):
            broken = _update_broken(graph, ranks, memory, variable, broken)
        else:
            memory.state[variable] = before
    if broken > 0:
        restore(memory, size)
    return DRAWN_COMPONENTS


@shared
def _list_broken(graph: FactorGraph, ranks: Ranks, memory: SliceMemory, size: Index) -> Index:
    """List the constraints of a component that do not hold; gives their number."""
    broken = np.int64(0)
    for depth in range(size):
        factor = np.int64(memory.first[depth])
        while factor != NO_VALUE:
            memory.broken_place[factor] = NO_VALUE
            if not is_satisfied(graph, ranks, memory, factor):
                memory.broken[broken] = factor
                memory.broken_place[factor] = broken
                broken += 1
            factor = np.int64(memory.following[factor])
    return broken


@shared
def _update_broken(
    graph: FactorGraph, ranks: Ranks, memory: SliceMemory, variable: Index, broken: Index
) -> Index:
    """Correct the list after a variable has changed; gives its new length."""
    for edge in range(graph.incident_start[variable], graph.incident_start[variable + 1]):
        factor = np.int64(graph.incident[edge])
        if memory.level[factor] > 0:
            place = np.int64(memory.broken_place[factor])
            if is_satisfied(graph, ranks, memory, factor):
                if place != NO_VALUE:
                    broken -= 1
                    last = np.int64(memory.broken[broken])
                    memory.broken[place] = last
                    memory.broken_place[last] = place
                    memory.broken_place[factor] = NO_VALUE
            elif place == NO_VALUE:
                memory.broken[broken] = factor
                memory.broken_place[factor] = broken
                broken += 1
    return broken


@shared
def _count_broken_around(
    graph: FactorGraph, ranks: Ranks, memory: SliceMemory, variable: Index
) -> Index:
    broken = np.int64(0)
    for edge in range(graph.incident_start[variable], graph.incident_start[variable + 1]):
        factor = np.int64(graph.incident[edge])
        if memory.level[factor] > 0 and not is_satisfied(graph, ranks, memory, factor):
            broken += 1
    return broken


@shared
def _choose_member(
    way: SampleSAT, graph: FactorGraph, ranks: Ranks, memory: SliceMemory, factor: Index, rng: Any
) -> Index:
    """A variable of a broken constraint: any, or one whose change breaks fewest others."""
    any_member = lane_bernoulli(rng, way.noise)
    chosen, fewest, ties = np.int64(-1), np.int64(0), 0
    for edge in range(graph.scope_start[factor], graph.scope_start[factor + 1]):
        variable = np.int64(graph.scope[edge])
        if memory.left[variable] > 1:
            score = np.int64(0)
            if not any_member:
                score = np.int64(_score(graph, ranks, memory, variable))
            if chosen < 0 or score < fewest:
                chosen, fewest, ties = variable, score, 1
            elif score == fewest:
                ties += 1
                if lane_integer(rng, ties) == 0:
                    chosen = variable
    return chosen


@shared
def _score(graph: FactorGraph, ranks: Ranks, memory: SliceMemory, variable: Index) -> Index:
    """How many constraints around a variable are broken at the next value that is left."""
    before = memory.state[variable]
    memory.state[variable] = _next_value(graph, ranks, memory, variable)
    score = _count_broken_around(graph, ranks, memory, variable)
    memory.state[variable] = before
    return score - _count_broken_around(graph, ranks, memory, variable)


@shared
def _next_value(graph: FactorGraph, ranks: Ranks, memory: SliceMemory, variable: Index) -> Index:
    """The next value that the slice leaves, round and round."""
    size = np.int64(graph.cardinality[variable])
    value = np.int64(memory.state[variable])
    while True:
        value = (value + 1) % size
        if memory.allowed[np.int64(ranks.value_start[variable]) + value]:
            return value
