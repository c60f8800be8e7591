"""Log-weights of the values of one variable, summed over the factors around it, per lane."""

import numpy as np

from orbitmc._numba.jit import shared
from orbitmc._simd.neighbour_sums import fetch_row
from orbitmc._simd.random import lanes_of
from orbitmc._util.arrays import Bytes, Index
from orbitmc.conditionals.layout import FactorGroups, Scratch
from orbitmc.conditionals.prepared import PreparedGraph
from orbitmc.graph.factor_graph import FactorGraph

MOST_MEMBERS_COUNTED = 255  # members at a time: a count is a byte
CACHE_BYTES = (
    2**19
)  # bytes of values that stay close to the processor; of more, rows are fetched early
AHEAD = 16  # literals


@shared
def forget_clauses(scratch: Scratch) -> None:
    """Values may have changed in any way: count the literals of long clauses anew."""
    scratch.turn[0] += 1


@shared
def local_log_weights(
    prepared: PreparedGraph, scratch: Scratch, values: Bytes, variable: Index
) -> None:
    """Log-weight of each value given the others, per lane, from the factors around it.

    A number that all values share is left out. What is known of long clauses is believed.
    """
    graph, groups = prepared.graph, prepared.conditionals.groups
    log_weights = scratch.log_weights
    size = np.int64(graph.cardinality[variable])
    for value in range(size):
        for lane in range(lanes_of(scratch)):
            log_weights[value, lane] = 0.0
    if size == 2:
        _add_groups(groups, scratch, values, variable)
        for entry in range(groups.long_start[variable], groups.long_start[variable + 1]):
            _add_long(graph, groups, scratch, values, variable, entry)
    for edge in range(groups.rest_start[variable], groups.rest_start[variable + 1]):
        factor = groups.rest[edge]
        if factor >= graph.first_clause:
            _add_clause(graph, scratch, values, variable, factor, size)
        elif _is_finite_triple(graph, factor):
            _add_triple(graph, scratch, values, variable, factor)
        else:
            _add_table(graph, scratch, values, variable, factor, size)


@shared
def _is_finite_triple(graph: FactorGraph, factor: Index) -> bool:
    """Whether a table is about three binary variables and has no zeros."""
    first = graph.scope_start[factor]
    if graph.scope_start[factor + 1] - first != 3:
        return False
    for place in range(3):
        if graph.cardinality[graph.scope[first + np.uint64(place)]] != 2:
            return False
    start = np.uint64(graph.table_start[graph.table_of[factor]])
    least = graph.table[start]
    for entry in range(1, 8):
        least = min(least, graph.table[start + np.uint64(entry)])
    return bool(least > -np.inf)


@shared
def _add_groups(groups: FactorGroups, scratch: Scratch, values: Bytes, variable: Index) -> None:
    offset = groups.offset[variable]
    for lane in range(lanes_of(scratch)):
        scratch.log_weights[1, lane] = offset
    for group in range(groups.start[variable], groups.start[variable + 1]):
        width = np.int64(groups.width[group])
        place, end = np.int64(groups.first[group]), np.int64(groups.first[group + 1])
        while place < end:
            batch = min(end, place + MOST_MEMBERS_COUNTED * width)
            _count_members(groups, scratch, values, place, batch, width)
            _earn(scratch, groups.gain[group])
            place = batch


@shared
def _count_members(
    groups: FactorGroups, scratch: Scratch, values: Bytes, first: Index, last: Index, width: Index
) -> None:
    """Count, per lane, the members of which no literal has its unwanted value."""
    far = len(values) * lanes_of(scratch) > CACHE_BYTES
    for lane in range(lanes_of(scratch)):
        scratch.pattern[lane] = 0
    if width == 1:
        while last - first >= 4:
            if far:
                _fetch_ahead(groups, scratch, values, first, 4)
            _count_four(groups, scratch, values, first)
            first += 4
    for place in range(first, last, width):
        if far:
            _fetch_ahead(groups, scratch, values, place, width)
        _count_member(groups, scratch, values, place, width)


@shared
def _fetch_ahead(
    groups: FactorGroups, scratch: Scratch, values: Bytes, place: Index, count: Index
) -> None:
    """Fetch the rows of some literals that are read soon: they may lie anywhere in memory."""
    for soon in range(place + AHEAD, min(place + AHEAD + count, len(groups.literal))):
        fetch_row(values, np.uint64(groups.literal[soon]), scratch.width)


@shared
def _count_four(groups: FactorGroups, scratch: Scratch, values: Bytes, place: Index) -> None:
    """Count four members of one literal each: fewer loads and stores of the count."""
    literal, unwanted = groups.literal, groups.unwanted
    a, b = np.uint64(literal[place]), np.uint64(literal[place + 1])
    c, d = np.uint64(literal[place + 2]), np.uint64(literal[place + 3])
    not_a, not_b = unwanted[place], unwanted[place + 1]
    not_c, not_d = unwanted[place + 2], unwanted[place + 3]
    for lane in range(lanes_of(scratch)):
        first = np.uint8(values[a, lane] != not_a) + np.uint8(values[b, lane] != not_b)
        second = np.uint8(values[c, lane] != not_c) + np.uint8(values[d, lane] != not_d)
        scratch.pattern[lane] += np.uint8(first) + np.uint8(second)


@shared
def _count_member(
    groups: FactorGroups, scratch: Scratch, values: Bytes, place: Index, width: Index
) -> None:
    pattern, others = scratch.pattern, scratch.others
    first, unwanted = np.uint64(groups.literal[place]), groups.unwanted[place]
    if width == 2:
        second, worse = np.uint64(groups.literal[place + 1]), groups.unwanted[place + 1]
        for lane in range(lanes_of(scratch)):
            both = (values[first, lane] != unwanted) & (values[second, lane] != worse)
            pattern[lane] += np.uint8(both)
        return
    for lane in range(lanes_of(scratch)):
        others[lane] = np.uint8(values[first, lane] != unwanted)
    for more in range(place + 1, place + width):
        first, unwanted = np.uint64(groups.literal[more]), groups.unwanted[more]
        for lane in range(lanes_of(scratch)):
            others[lane] &= np.uint8(values[first, lane] != unwanted)
    for lane in range(lanes_of(scratch)):
        pattern[lane] += others[lane]


@shared
def _earn(scratch: Scratch, gain: float) -> None:
    """Let value 1 earn a gain as often as was counted; an infinite one rules a value out."""
    pattern, log_weights = scratch.pattern, scratch.log_weights
    if np.isinf(gain):
        worse = 0 if gain > 0.0 else 1
        for lane in range(lanes_of(scratch)):
            log_weights[worse, lane] = -np.inf if pattern[lane] else log_weights[worse, lane]
    else:
        for lane in range(lanes_of(scratch)):
            log_weights[1, lane] += gain * np.float64(pattern[lane])


@shared
def _add_long(
    graph: FactorGraph,
    groups: FactorGroups,
    scratch: Scratch,
    values: Bytes,
    variable: Index,
    entry: Index,
) -> None:
    """A long clause earns where no other variable satisfies it."""
    clause, wanted = np.int64(groups.long[entry]), groups.long_wanted[entry]
    if scratch.counted[clause] != scratch.turn[0]:
        _count_literals(graph, groups, scratch, values, clause)
    for lane in range(lanes_of(scratch)):
        satisfied = np.uint16(values[variable, lane] == wanted)
        scratch.pattern[lane] = np.uint8(scratch.counts[clause, lane] == satisfied)
    _earn(scratch, groups.long_gain[entry])


@shared
def _count_literals(
    graph: FactorGraph, groups: FactorGroups, scratch: Scratch, values: Bytes, clause: Index
) -> None:
    """Count the literals of a long clause that hold, per lane."""
    factor, counts = np.int64(groups.long_factor[clause]), scratch.counts
    for lane in range(lanes_of(scratch)):
        counts[clause, lane] = 0
    for edge in range(graph.scope_start[factor], graph.scope_start[factor + 1]):
        other, satisfying = np.uint64(graph.scope[edge]), np.uint8(graph.satisfying[edge])
        for lane in range(lanes_of(scratch)):
            counts[clause, lane] += np.uint16(values[other, lane] == satisfying)
    scratch.counted[clause] = scratch.turn[0]


@shared
def keep_values(prepared: PreparedGraph, scratch: Scratch, values: Bytes, variable: Index) -> None:
    """Remember the values of a variable that long clauses read, before they change."""
    groups = prepared.conditionals.groups
    if groups.long_start[variable + 1] > groups.long_start[variable]:
        for lane in range(lanes_of(scratch)):
            scratch.saved[lane] = values[variable, lane]


@shared
def recount(prepared: PreparedGraph, scratch: Scratch, values: Bytes, variable: Index) -> None:
    """Correct the counts of long clauses after a variable has changed from what was kept."""
    groups, counts = prepared.conditionals.groups, scratch.counts
    for entry in range(groups.long_start[variable], groups.long_start[variable + 1]):
        clause, wanted = np.int64(groups.long[entry]), groups.long_wanted[entry]
        if scratch.counted[clause] == scratch.turn[0]:
            for lane in range(lanes_of(scratch)):
                counts[clause, lane] += np.uint16(values[variable, lane] == wanted)
                counts[clause, lane] -= np.uint16(scratch.saved[lane] == wanted)


@shared
def _add_triple(
    graph: FactorGraph, scratch: Scratch, values: Bytes, variable: Index, factor: Index
) -> None:
    """Do what `_add_table` does for three binary variables, but only tell values 1 and 0 apart.

    The log-odds that a table adds are a sum over the others and their product.
    """
    first = np.uint64(graph.scope_start[factor])
    place = np.uint64(0)
    while np.uint64(graph.scope[first + place]) != variable:
        place += np.uint64(1)
    left = first + (np.uint64(1) if place == 0 else np.uint64(0))
    right = first + (np.uint64(1) if place == 2 else np.uint64(2))
    stride = np.uint64(graph.stride[first + place])
    entry = np.uint64(graph.table_start[graph.table_of[factor]])
    at_zero = _rise(graph, entry, stride)
    with_left = _rise(graph, entry + np.uint64(graph.stride[left]), stride) - at_zero
    entry += np.uint64(graph.stride[right])
    with_right = _rise(graph, entry, stride) - at_zero
    with_both = _rise(graph, entry + np.uint64(graph.stride[left]), stride) - at_zero
    bend = with_both - with_left - with_right
    neighbour, other = np.uint64(graph.scope[left]), np.uint64(graph.scope[right])
    for lane in range(lanes_of(scratch)):
        x, y = np.float64(values[neighbour, lane]), np.float64(values[other, lane])
        scratch.log_weights[1, lane] += at_zero + with_left * x + (with_right + bend * x) * y


@shared
def _rise(graph: FactorGraph, entry: Index, stride: Index) -> float:
    """What the value 1 of a variable adds beside the value 0."""
    rise: float = graph.table[entry + stride] - graph.table[entry]
    return rise


@shared
def _add_table(
    graph: FactorGraph, scratch: Scratch, values: Bytes, variable: Index, factor: Index, size: Index
) -> None:
    place, log_weights = scratch.place, scratch.log_weights
    start = graph.table_start[graph.table_of[factor]]
    for lane in range(lanes_of(scratch)):
        place[lane] = start
    own_stride = np.uint32(0)
    for edge in range(graph.scope_start[factor], graph.scope_start[factor + 1]):
        other = np.uint64(graph.scope[edge])
        stride = graph.stride[edge]
        if other == variable:
            own_stride = stride
        else:
            for lane in range(lanes_of(scratch)):
                place[lane] += stride * np.uint32(values[other, lane])
    for value in range(size):
        shift = own_stride * np.uint32(value)
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
