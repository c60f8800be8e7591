"""A walk that never leaves the slice: exact for components of any size."""

from typing import Any, NamedTuple

import numpy as np

from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.kernels.base.mcsat.slice_components import another_value
from orbitmc.kernels.base.mcsat.slices import Ranks, SliceMemory, holds
from orbitmc.machine.arrays import Index
from orbitmc.machine.compiling import generic, implementation, shared
from orbitmc.machine.lanes.random import lane_integer

WALKED = 5  # which outcome of MC-SAT counts the components drawn this way


class WithinSlice(NamedTuple):
    """Propose a new value for a random member, `sweeps` times per member of a component.

    A proposal is accepted if the slice allows it. That keeps the uniform distribution on the
    slice whatever the number of proposals; more of them forget the old state better.
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
    for _ in range(way.sweeps * size):
        variable = np.int64(memory.member[lane_integer(rng, size)])
        before = memory.state[variable]
        memory.state[variable] = another_value(graph, ranks, memory, variable, rng)
        if not _stays(graph, ranks, memory, variable):
            memory.state[variable] = before
    return WALKED


@shared
def _stays(graph: FactorGraph, ranks: Ranks, memory: SliceMemory, variable: Index) -> bool:
    """Whether the constraints around a variable hold."""
    for edge in range(graph.incident_start[variable], graph.incident_start[variable + 1]):
        factor = np.int64(graph.incident[edge])
        if memory.level[factor] > 0 and not holds(graph, ranks, memory, factor):
            return False
    return True
