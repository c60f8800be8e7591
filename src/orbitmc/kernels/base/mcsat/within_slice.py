"""A walk that never leaves the slice: exact for components of any size."""

from typing import Any, NamedTuple

import numpy as np

from orbitmc._numba.jit import generic, implementation, shared
from orbitmc._simd.random import lane_integer
from orbitmc._util.arrays import Index
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.kernels.base.mcsat.slice_components import NONE, another_value
from orbitmc.kernels.base.mcsat.slices import Ranks, SliceMemory, holds

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
            _renew(graph, ranks, memory, np.int64(memory.member[place]), rng)
        for place in range(size):
            _renew(graph, ranks, memory, np.int64(memory.member[size - 1 - place]), rng)
    return WALKED


@shared
def _renew(
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
    if _stays(graph, ranks, memory, variable, before):
        _count_again(memory, variable, before, value)
    else:
        memory.state[variable] = before


@shared
def _stays(
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
        elif wanted == NONE and not holds(graph, ranks, memory, np.int64(memory.active[number])):
            return False
    return True


@shared
def _count_again(memory: SliceMemory, variable: Index, before: Index, value: Index) -> None:
    """Correct the counts of literals that hold around a member that has changed."""
    for edge in range(memory.near_start[variable], memory.near_start[variable + 1]):
        number, wanted = np.int64(memory.near[edge]), memory.near_wanted[edge]
        memory.satisfied[number] += np.int32(wanted == value) - np.int32(wanted == before)
