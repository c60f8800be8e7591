"""Draw a variable given all others, or say how probable its values are; the same in all lanes."""

from typing import Any

import numpy as np

from orbitmc._numba.jit import shared
from orbitmc._simd.neighbour_sums import add_by_eight, logistic
from orbitmc._simd.random import (
    choose_by_log_weights,
    choose_by_table,
    cumulate_weights,
    flip_by_eight_limits,
    flip_by_field,
    flip_by_table,
    lanes_of,
    width_of,
)
from orbitmc._util.arrays import Bytes, Floats, zeros
from orbitmc.conditionals.classify import BITS, COUNT, FEW_BITS, FIELD, TABLE
from orbitmc.conditionals.factors import forget_clauses, keep_values, local_log_weights, recount
from orbitmc.conditionals.fields import (
    bits_of_neighbours,
    count_agreeing,
    local_field,
    places_of_limits,
)
from orbitmc.conditionals.layout import Conditionals, Scratch
from orbitmc.conditionals.prepared import LARGEST_LIMIT, PreparedGraph

CERTAINTY = 1.0 / LARGEST_LIMIT  # what a limit is multiplied with; the largest one becomes 1.0


def scratch(prepared: PreparedGraph, lanes: int) -> Scratch:
    """Make the arrays that drawing a variable overwrites; no two packs may share them.

    >>> import orbitmc as om
    >>> prepared = om.kernels.prepare(om.ising_grid(3, 3, 0.3).graph)
    >>> om.kernels.scratch(prepared, 64).pattern.shape
    (64,)
    """
    most = int(prepared.graph.cardinality.max(initial=1))
    number = prepared.conditionals.bias.dtype
    clauses = len(prepared.conditionals.groups.long_factor)
    return Scratch(
        pattern=zeros(lanes, np.uint8),
        place=zeros(lanes, np.uint32),
        field=zeros(lanes, number),
        bend=zeros(lanes, number),
        log_weights=zeros((most, lanes), np.float64),
        others=zeros(lanes, np.uint8),
        saved=zeros(lanes, np.uint8),
        counts=zeros((clauses, lanes), np.uint16),
        counted=np.zeros(clauses, dtype=np.int64),
        turn=np.ones(1, dtype=np.int64),
        width=width_of(lanes),
    )


@shared
def draw(prepared: PreparedGraph, scratch: Scratch, values: Bytes, variable: int, rng: Any) -> None:
    """Give one variable a new value in every lane, drawn from its conditional distribution.

    `scratch` is overwritten; a kernel keeps it in its memory.

    >>> from typing import NamedTuple
    >>> import orbitmc as om
    >>> class DrawFirst(NamedTuple):
    ...     outcomes = ()
    ...     def memory(self, prepared, lanes):
    ...         return om.kernels.scratch(prepared, lanes)
    >>> @om.kernels.step(DrawFirst)
    ... def draw_first(prepared, kernel, memory, values, outcomes, rng):
    ...     draw(prepared, memory, values, 0, rng)
    >>> om.testing.check_kernel(DrawFirst()).stationary < 1e-12
    True
    """
    forget_clauses(scratch)
    _draw(prepared, scratch, values, variable, rng)


@shared
def draw_sequentially(
    prepared: PreparedGraph, scratch: Scratch, values: Bytes, variable: int, rng: Any
) -> None:
    """Do what `draw` does, where nothing else has changed values since `forget_clauses`."""
    keep_values(prepared, scratch, values, variable)
    _draw(prepared, scratch, values, variable, rng)
    recount(prepared, scratch, values, variable)


@shared
def _draw(
    prepared: PreparedGraph, scratch: Scratch, values: Bytes, variable: int, rng: Any
) -> None:
    graph, conditionals = prepared.graph, prepared.conditionals
    path = conditionals.path[variable]
    if path == COUNT:
        count_agreeing(conditionals, scratch, values, variable)
        flip_by_eight_limits(
            rng, conditionals.limit, conditionals.start[variable], scratch.pattern, values, variable
        )
    elif path == BITS:
        bits_of_neighbours(conditionals, scratch, values, variable)
        start = conditionals.start[variable]
        if _has_few_bits(conditionals, variable):
            flip_by_eight_limits(rng, conditionals.limit, start, scratch.pattern, values, variable)
        else:
            flip_by_table(rng, conditionals.limit, start, scratch.pattern, values, variable)
    elif path == TABLE:
        size = np.int64(graph.cardinality[variable])
        places_of_limits(conditionals, scratch, values, variable)
        choose_by_table(rng, conditionals.limit, scratch.place, size, values, variable)
    elif path == FIELD:
        local_field(conditionals, scratch, values, variable)
        flip_by_field(rng, scratch.field, values, variable)
    else:
        size = np.int64(graph.cardinality[variable])
        local_log_weights(prepared, scratch, values, variable)
        if conditionals.groups.smooth[variable]:
            _take_log_odds(scratch)
            flip_by_field(rng, scratch.field, values, variable)
        else:
            choose_by_log_weights(rng, scratch.log_weights, size, values, variable)


@shared
def _take_log_odds(scratch: Scratch) -> None:
    """Turn finite log-weights of two values into log-odds."""
    for lane in range(lanes_of(scratch)):
        odds = scratch.log_weights[1, lane] - scratch.log_weights[0, lane]
        scratch.field[lane] = odds


@shared
def _has_few_bits(conditionals: Conditionals, variable: int) -> bool:
    """Whether the pattern of a BITS variable is below eight."""
    first = np.int64(conditionals.neighbour_start[variable])
    return bool(np.int64(conditionals.neighbour_start[variable + 1]) - first <= FEW_BITS)


@shared
def has_limits(prepared: PreparedGraph, variable: int) -> bool:
    """Whether `add_limits` serves this variable."""
    return bool(prepared.conditionals.path[variable] <= BITS)


@shared
def add_limits(
    prepared: PreparedGraph,
    scratch: Scratch,
    values: Bytes,
    variable: int,
    sums: Floats,
) -> None:
    """Add the chances of value 1 to eight `sums`, lane modulo eight."""
    conditionals = prepared.conditionals
    start = conditionals.start[variable]
    if conditionals.path[variable] == COUNT:
        count_agreeing(conditionals, scratch, values, variable)
        add_by_eight(conditionals.limit, start, scratch.pattern, sums, 0, scratch.width)
    else:
        bits_of_neighbours(conditionals, scratch, values, variable)
        if _has_few_bits(conditionals, variable):
            add_by_eight(conditionals.limit, start, scratch.pattern, sums, 0, scratch.width)
            return
        for lane in range(lanes_of(scratch)):
            limit = conditionals.limit[np.uint64(start) + np.uint64(scratch.pattern[lane])]
            sums[lane % 8] += np.float64(limit) * CERTAINTY


@shared
def cumulative_probabilities(
    prepared: PreparedGraph, scratch: Scratch, values: Bytes, variable: int
) -> None:
    """Fill `scratch.log_weights[value, lane]` with the chance of each value but the last, or less.

    Of a binary variable only row 0 is filled, with the chance of value 0. Call `forget_clauses`
    first, if values have changed since.
    """
    graph, conditionals = prepared.graph, prepared.conditionals
    path = conditionals.path[variable]
    start = np.uint64(conditionals.start[variable])
    chances = scratch.log_weights
    if path <= BITS:
        if path == COUNT:
            count_agreeing(conditionals, scratch, values, variable)
        else:
            bits_of_neighbours(conditionals, scratch, values, variable)
        for lane in range(lanes_of(scratch)):
            limit = conditionals.limit[start + np.uint64(scratch.pattern[lane])]
            # from the other end: 1.0 minus a product, fused, would not be 0 for the largest limit
            chances[0, lane] = np.float64(LARGEST_LIMIT - limit) * CERTAINTY
    elif path == TABLE:
        places_of_limits(conditionals, scratch, values, variable)
        for value in range(np.int64(graph.cardinality[variable]) - 1):
            for lane in range(lanes_of(scratch)):
                limit = conditionals.limit[scratch.place[lane] + np.uint32(value)]
                chances[value, lane] = np.float64(limit) * CERTAINTY
    elif path == FIELD:
        local_field(conditionals, scratch, values, variable)
        for lane in range(lanes_of(scratch)):
            chances[0, lane] = np.float64(logistic(-scratch.field[lane]))
    else:
        size = np.int64(graph.cardinality[variable])
        local_log_weights(prepared, scratch, values, variable)
        if conditionals.groups.smooth[variable]:
            _take_log_odds(scratch)
            for lane in range(lanes_of(scratch)):
                chances[0, lane] = np.float64(logistic(-scratch.field[lane]))
            return
        cumulate_weights(chances, size, lanes_of(scratch))
        for value in range(size - 1):
            for lane in range(lanes_of(scratch)):
                chances[value, lane] /= chances[size - 1, lane]
