"""Log-weights of the values of one variable, summed over the factors around it, per lane."""

import numpy as np

from orbitmc.graph.conditionals.layout import Scratch
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.machine.arrays import Bytes, Index
from orbitmc.machine.compiling import shared
from orbitmc.machine.lanes.random import lanes_of


@shared
def local_log_weights(graph: FactorGraph, scratch: Scratch, values: Bytes, variable: Index) -> None:
    """Log-weight of each value given the others, per lane, from the factors around it."""
    log_weights = scratch.log_weights
    size = np.int64(graph.cardinality[variable])
    for value in range(size):
        for lane in range(lanes_of(scratch)):
            log_weights[value, lane] = 0.0
    for edge in range(graph.incident_start[variable], graph.incident_start[variable + 1]):
        factor = graph.incident[edge]
        if factor >= graph.first_clause:
            _add_clause(graph, scratch, values, variable, factor, size)
        elif _is_finite_pair(graph, factor):
            _add_pair(graph, scratch, values, variable, factor)
        else:
            _add_table(graph, scratch, values, variable, factor, size)


@shared
def _is_finite_pair(graph: FactorGraph, factor: Index) -> bool:
    """Whether a table is about two binary variables and has no zeros."""
    first = graph.scope_start[factor]
    start = np.uint64(graph.table_start[graph.table_of[factor]])
    if graph.scope_start[factor + 1] - first != 2:
        return False
    if graph.cardinality[graph.scope[first]] != 2 or graph.cardinality[graph.scope[first + 1]] != 2:
        return False
    least = graph.table[start]
    for entry in range(1, 4):
        least = min(least, graph.table[start + np.uint64(entry)])
    return bool(least > -np.inf)


@shared
def _add_pair(
    graph: FactorGraph, scratch: Scratch, values: Bytes, variable: Index, factor: Index
) -> None:
    """Do what `_add_table` does for two binary variables: a line through both values of the other.

    It needs no look-up for each lane.
    """
    first = graph.scope_start[factor]
    start = np.uint64(graph.table_start[graph.table_of[factor]])
    own_first = np.uint64(graph.scope[first]) == variable
    own = np.uint64(2) if own_first else np.uint64(1)
    other = np.uint64(graph.scope[first + 1] if own_first else graph.scope[first])
    for value in range(2):
        entry = start + own * np.uint64(value)
        at_zero = graph.table[entry]
        rise = graph.table[entry + np.uint64(3) - own] - at_zero
        for lane in range(lanes_of(scratch)):
            scratch.log_weights[value, lane] += at_zero + rise * np.float64(values[other, lane])


@shared
def _add_table(
    graph: FactorGraph, scratch: Scratch, values: Bytes, variable: Index, factor: Index, size: Index
) -> None:
    place, log_weights = scratch.place, scratch.log_weights
    start = graph.table_start[graph.table_of[factor]]
    for lane in range(lanes_of(scratch)):
        place[lane] = start
    own = np.uint32(0)
    for edge in range(graph.scope_start[factor], graph.scope_start[factor + 1]):
        other = np.uint64(graph.scope[edge])
        stride = graph.stride[edge]
        if other == variable:
            own = stride
        else:
            for lane in range(lanes_of(scratch)):
                place[lane] += stride * np.uint32(values[other, lane])
    for value in range(size):
        shift = own * np.uint32(value)
        for lane in range(lanes_of(scratch)):
            log_weights[value, lane] += graph.table[np.uint64(place[lane] + shift)]


@shared
def _add_clause(
    graph: FactorGraph, scratch: Scratch, values: Bytes, variable: Index, factor: Index, size: Index
) -> None:
    by_others, log_weights = scratch.pattern, scratch.log_weights
    start = graph.table_start[graph.table_of[factor]]
    unsatisfied, satisfied = graph.table[start], graph.table[start + np.uint32(1)]
    for lane in range(lanes_of(scratch)):
        by_others[lane] = 0
    wanted = np.int64(-1)
    for edge in range(graph.scope_start[factor], graph.scope_start[factor + 1]):
        other = np.uint64(graph.scope[edge])
        satisfying = np.uint8(graph.satisfying[edge])
        if other == variable:
            wanted = np.int64(satisfying)
        else:
            for lane in range(lanes_of(scratch)):
                by_others[lane] |= np.uint8(values[other, lane] == satisfying)
    for value in range(size):
        alone = satisfied if value == wanted else unsatisfied
        for lane in range(lanes_of(scratch)):
            log_weights[value, lane] += satisfied if by_others[lane] else alone
