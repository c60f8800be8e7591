"""Log-weights of the values of one variable, summed over the factors around it, per lane."""

import numpy as np

from orbitmc.compiled import shared
from orbitmc.random import lanes_of


@shared
def local_log_weights(graph, scratch, values, variable):
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
def _is_finite_pair(graph, factor):
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
    return least > -np.inf


@shared
def _add_pair(graph, scratch, values, variable, factor):
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
def _add_table(graph, scratch, values, variable, factor, size):
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
def _add_clause(graph, scratch, values, variable, factor, size):
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


@shared
def local_log_ratios(graph, scratch, values, variable):
    """Log-weights of values 1 and 2 above that of value 0, per lane, of a pairwise variable.

    They are left in rows 1 and 2 of `scratch.log_weights`; row 2 means nothing for a binary one.
    """
    ratios = scratch.log_weights
    for lane in range(lanes_of(scratch)):
        ratios[1, lane], ratios[2, lane] = 0.0, 0.0
    for edge in range(graph.incident_start[variable], graph.incident_start[variable + 1]):
        factor = graph.incident[edge]
        first = graph.scope_start[factor]
        if graph.scope_start[factor + 1] - first == 1:
            _add_own_ratios(graph, scratch, variable, factor)
        elif graph.scope[first] == variable:
            _add_pair_ratios(graph, scratch, values, variable, factor, first, first + 1)
        else:
            _add_pair_ratios(graph, scratch, values, variable, factor, first + 1, first)


@shared
def _add_own_ratios(graph, scratch, variable, factor):
    start = np.uint64(graph.table_start[graph.table_of[factor]])
    last = np.uint64(graph.cardinality[variable]) - np.uint64(1)
    one = graph.table[start + np.uint64(1)] - graph.table[start]
    two = graph.table[start + last] - graph.table[start]
    for lane in range(lanes_of(scratch)):
        scratch.log_weights[1, lane] += one
        scratch.log_weights[2, lane] += two


@shared
def _add_pair_ratios(graph, scratch, values, variable, factor, own, other):
    """Add the ratios of a table, own and other variable standing at two places of `scope`.

    A parabola through the values of the other variable needs no look-up for each lane.
    """
    stride = np.uint64(graph.stride[own])
    last = np.uint64(graph.cardinality[variable]) - np.uint64(1)
    low_1, slope_1, bend_1 = _parabola(graph, factor, stride, other)
    low_2, slope_2, bend_2 = _parabola(graph, factor, stride * last, other)
    neighbour, ratios = np.uint64(graph.scope[other]), scratch.log_weights
    for lane in range(lanes_of(scratch)):
        near = np.float64(values[neighbour, lane])
        ratios[1, lane] += low_1 + near * (slope_1 + near * bend_1)
        ratios[2, lane] += low_2 + near * (slope_2 + near * bend_2)


@shared
def _parabola(graph, factor, shift, other):
    """Coefficients of what a step of `shift` in the table adds, by the other variable's value."""
    zero = np.uint64(graph.table_start[graph.table_of[factor]])
    stride, size = np.uint64(graph.stride[other]), graph.cardinality[graph.scope[other]]
    at_0 = graph.table[zero + shift] - graph.table[zero]
    if size == 1:
        return at_0, 0.0, 0.0
    one = zero + stride
    at_1 = graph.table[one + shift] - graph.table[one]
    if size == 2:
        return at_0, at_1 - at_0, 0.0
    two = one + stride
    bend = 0.5 * (graph.table[two + shift] - graph.table[two] - at_1 - (at_1 - at_0))
    return at_0, at_1 - at_0 - bend, bend
