"""A walk that never leaves the slice: exact for components of any size.

Constraints are numbered anew for a component, so that all it looks at lies close together.
"""

from typing import Any, NamedTuple

import numpy as np

from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.kernels.base.mcsat.slice_components import NONE, another_value
from orbitmc.kernels.base.mcsat.slices import Ranks, SliceMemory, holds
from orbitmc.machine.arrays import Index
from orbitmc.machine.compiling import generic, implementation, shared
from orbitmc.machine.lanes.random import lane_integer

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
    _list_constraints(graph, memory, size)
    _list_near(graph, memory, size)
    for _ in range(way.sweeps):
        for place in range(size):
            _renew(graph, ranks, memory, np.int64(place), rng)
        for place in range(size):
            _renew(graph, ranks, memory, np.int64(size - 1 - place), rng)
    return WALKED


@shared
def _renew(graph: FactorGraph, ranks: Ranks, memory: SliceMemory, place: Index, rng: Any) -> None:
    """Draw a member: a coin decides between two values, others are proposed; the slice allows."""
    before = memory.own[place]
    if memory.trial[place]:
        value = np.uint8(lane_integer(rng, 2))
        if value == before:
            return
    else:
        variable = np.int64(memory.member[place])
        value = np.uint8(another_value(graph, ranks, memory, variable, rng))
    if _stays(graph, ranks, memory, place, before, value):
        _change(memory, place, before, value)


@shared
def _list_constraints(graph: FactorGraph, memory: SliceMemory, size: Index) -> None:
    """Number the constraints of a component from 0, in `broken_place`; `broken` lists them."""
    count = np.int64(0)
    for depth in range(size):
        factor = np.int64(memory.first[depth])
        while factor != NONE:
            memory.broken[count] = factor
            memory.broken_place[factor] = count
            memory.satisfied[count] = 0
            count += 1
            factor = np.int64(memory.following[factor])


@shared
def _list_near(graph: FactorGraph, memory: SliceMemory, size: Index) -> None:
    """List the constraints around each member, and count the literals of clauses that hold.

    `own` are the members' values; `trial` says which of them have two.
    """
    edges = np.int64(0)
    for place in range(size):
        variable = np.int64(memory.member[place])
        memory.own[place] = memory.state[variable]
        memory.trial[place] = np.int32(graph.cardinality[variable] == 2)
        memory.near_start[place] = edges
        for edge in range(graph.incident_start[variable], graph.incident_start[variable + 1]):
            factor = np.int64(graph.incident[edge])
            if memory.level[factor] > 0:
                number = np.int64(memory.broken_place[factor])
                wanted = _wanted(graph, factor, variable)
                memory.near[edges] = number
                memory.near_wanted[edges] = wanted
                memory.satisfied[number] += np.int32(memory.own[place] == wanted)
                edges += 1
    memory.near_start[size] = edges


@shared
def _wanted(graph: FactorGraph, factor: Index, variable: Index) -> Index:
    """The value of a variable that satisfies a clause; `NONE` in a table."""
    if factor < graph.first_clause:
        return np.int16(NONE)
    edge = np.int64(graph.scope_start[factor])
    while graph.scope[edge] != variable:
        edge += 1
    return np.int16(graph.satisfying[edge])


@shared
def _stays(
    graph: FactorGraph,
    ranks: Ranks,
    memory: SliceMemory,
    place: Index,
    before: Index,
    value: Index,
) -> bool:
    """Whether the constraints around a member hold when it has another value than before.

    A clause holds unless the value was the only one that satisfied it; what pruning leaves of
    clauses are those that must be satisfied.
    """
    for edge in range(memory.near_start[place], memory.near_start[place + 1]):
        number, wanted = np.int64(memory.near[edge]), memory.near_wanted[edge]
        if wanted == before:
            if memory.satisfied[number] == 1:
                return False
        elif wanted == NONE:
            variable = np.int64(memory.member[place])
            memory.state[variable] = value
            kept = holds(graph, ranks, memory, np.int64(memory.broken[number]))
            memory.state[variable] = before
            if not kept:
                return False
    return True


@shared
def _change(memory: SliceMemory, place: Index, before: Index, value: Index) -> None:
    """Give a member another value, and correct the counts of literals that hold."""
    memory.own[place] = value
    memory.state[memory.member[place]] = value
    for edge in range(memory.near_start[place], memory.near_start[place + 1]):
        number, wanted = np.int64(memory.near[edge]), memory.near_wanted[edge]
        memory.satisfied[number] += np.int32(wanted == value) - np.int32(wanted == before)
