"""Weigh the candidates of a one-hot group by the factors around it, each looked at once.

All members are 0 meanwhile. A factor may be impossible then (a group of which one must be 1), so
such factors are counted, not summed: no infinity is ever subtracted.
"""

from typing import Any

import numpy as np

from orbitmc._numba.jit import shared
from orbitmc._simd.random import lanes_of
from orbitmc._util.arrays import Bytes, Index
from orbitmc.conditionals.layout import Scratch
from orbitmc.graph.factor_graph import FactorGraph


@shared
def weigh_by_factors(
    graph: FactorGraph, kernel: Any, memory: Any, values: Bytes, group: Index
) -> None:
    """Sum over factors what each member changes as the only 1; impossible ones are counted."""
    first, last = np.int64(kernel.start[group]), np.int64(kernel.start[group + 1])
    for candidate in range(last - first + 1):
        for lane in range(lanes_of(memory.scratch)):
            memory.log_weights[candidate, lane] = 0.0
            memory.lost[candidate, lane] = 0
    for place in range(kernel.factor_start[group], kernel.factor_start[group + 1]):
        factor = kernel.factor[place]
        _find_places(graph, memory.scratch, values, factor)
        _count_lost(graph, memory)
        for candidate in range(1, last - first + 1):
            member = kernel.member[first + candidate - 1]
            for edge in range(graph.scope_start[factor], graph.scope_start[factor + 1]):
                if graph.scope[edge] == member:
                    _add_member(graph, memory, factor, edge, candidate)
    for candidate in range(last - first, -1, -1):
        for lane in range(lanes_of(memory.scratch)):
            saved = memory.lost[candidate, lane] if candidate else np.uint32(0)
            if saved != memory.lost[0, lane]:
                memory.log_weights[candidate, lane] = -np.inf


@shared
def _find_places(graph: FactorGraph, scratch: Scratch, values: Bytes, factor: Index) -> None:
    """Where each lane stands in a factor's table; `pattern` counts satisfied literals, up to 2."""
    start = graph.table_start[graph.table_of[factor]]
    for lane in range(lanes_of(scratch)):
        scratch.place[lane] = start
        scratch.pattern[lane] = 0
    for edge in range(graph.scope_start[factor], graph.scope_start[factor + 1]):
        variable = np.uint64(graph.scope[edge])
        if factor < graph.first_clause:
            stride = graph.stride[edge]
            for lane in range(lanes_of(scratch)):
                scratch.place[lane] += stride * np.uint32(values[variable, lane])
        else:
            wanted = np.uint8(graph.satisfying[edge])
            for lane in range(lanes_of(scratch)):
                has = np.uint8(values[variable, lane] == wanted)
                scratch.pattern[lane] = min(scratch.pattern[lane] + has, 2)
    if factor >= graph.first_clause:
        for lane in range(lanes_of(scratch)):
            scratch.place[lane] += np.uint32(scratch.pattern[lane] > 0)


@shared
def _count_lost(graph: FactorGraph, memory: Any) -> None:
    for lane in range(lanes_of(memory.scratch)):
        base = graph.table[np.uint64(memory.scratch.place[lane])]
        memory.lost[0, lane] += np.uint32(base == -np.inf)


@shared
def _add_member(
    graph: FactorGraph, memory: Any, factor: Index, edge: Index, candidate: Index
) -> None:
    """Add what a factor changes when the member at `edge` of its scope becomes the only 1."""
    place, pattern = memory.scratch.place, memory.scratch.pattern
    start = graph.table_start[graph.table_of[factor]]
    if factor < graph.first_clause:
        stride = graph.stride[edge]
        for lane in range(lanes_of(memory.scratch)):
            after = graph.table[np.uint64(place[lane] + stride)]
            _add_change(graph, memory, candidate, lane, after)
    else:
        needed = np.uint8(0) if graph.satisfying[edge] == 1 else np.uint8(2)
        unsatisfied, satisfied = graph.table[start], graph.table[start + np.uint32(1)]
        for lane in range(lanes_of(memory.scratch)):
            after = satisfied if pattern[lane] >= needed else unsatisfied
            _add_change(graph, memory, candidate, lane, after)


@shared
def _add_change(
    graph: FactorGraph, memory: Any, candidate: Index, lane: Index, after: float
) -> None:
    base = graph.table[np.uint64(memory.scratch.place[lane])]
    lost = base == -np.inf
    memory.lost[candidate, lane] += np.uint32(lost)
    memory.log_weights[candidate, lane] += after - (0.0 if lost else base)
