"""Sums of log-potentials per lane, of the factors that a proposal may change."""

from typing import Any

import numpy as np

from orbitmc._numba.jit import shared
from orbitmc._simd.random import lanes_of
from orbitmc._util.arrays import Bytes, Index
from orbitmc.graph.factor_graph import FactorGraph


@shared
def add_affected(graph: FactorGraph, memory: Any, values: Bytes, count: Index, sign: float) -> None:
    """Add or subtract the log-potentials of the first `count` affected factors."""
    for place in range(count):
        factor = memory.affected[place]
        first, last = graph.scope_start[factor], graph.scope_start[factor + 1]
        if factor < graph.first_clause and last - first == 2:
            _add_pair(graph, memory, values, factor, sign)
        else:
            add_potentials(graph, memory, values, factor, sign)


@shared
def _add_pair(graph: FactorGraph, memory: Any, values: Bytes, factor: Index, sign: float) -> None:
    """Do what `add_potentials` does for a table of two variables, in one go."""
    first = np.uint64(graph.scope_start[factor])
    one, two = np.uint64(graph.scope[first]), np.uint64(graph.scope[first + np.uint64(1)])
    stride, start = graph.stride[first], graph.table_start[graph.table_of[factor]]
    for lane in range(lanes_of(memory.scratch)):
        place = start + stride * np.uint32(values[one, lane]) + np.uint32(values[two, lane])
        memory.change[lane] += sign * graph.table[np.uint64(place)]


@shared
def add_potentials(
    graph: FactorGraph, memory: Any, values: Bytes, factor: Index, sign: float
) -> None:
    """Add or subtract one factor's log-potentials; a present state's are always finite."""
    place, satisfied = memory.scratch.place, memory.scratch.pattern
    start = graph.table_start[graph.table_of[factor]]
    first, last = graph.scope_start[factor], graph.scope_start[factor + 1]
    if factor < graph.first_clause:
        for lane in range(lanes_of(memory.scratch)):
            place[lane] = start
        for edge in range(first, last):
            variable, stride = np.uint64(graph.scope[edge]), graph.stride[edge]
            for lane in range(lanes_of(memory.scratch)):
                place[lane] += stride * np.uint32(values[variable, lane])
    else:
        for lane in range(lanes_of(memory.scratch)):
            satisfied[lane] = 0
        for edge in range(first, last):
            variable, wanted = np.uint64(graph.scope[edge]), np.uint8(graph.satisfying[edge])
            for lane in range(lanes_of(memory.scratch)):
                satisfied[lane] |= np.uint8(values[variable, lane] == wanted)
        for lane in range(lanes_of(memory.scratch)):
            place[lane] = start + np.uint32(satisfied[lane])
    for lane in range(lanes_of(memory.scratch)):
        memory.change[lane] += sign * graph.table[np.uint64(place[lane])]
