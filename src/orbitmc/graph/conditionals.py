"""The distribution of one variable given all others, prepared once per model.

Nobody else knows how it is stored. Each variable goes one of five ways:

- COUNT: binary, and its log-odds depend only on how many of at most seven neighbours agree with
  a sign (Ising grids, ±J glasses): eight limits.
- BITS: binary with few binary neighbours: a limit for each pattern of their bits.
- TABLE: few neighbours of any cardinality: cumulative limits for each of their joint values.
- FIELD: binary with pairwise finite factors of any number: a sum of float32 couplings.
- FACTORS: anything else (large tables, clauses, hard pairs): a sum over factors in float64.

A limit is a probability times 2^32. `unrounded` conditionals hold the probabilities themselves;
they exist for proofs.
"""

from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload
from numpy.typing import NDArray

from orbitmc.arrays import Bytes, Floats, Indices, lengths, sealed, starts
from orbitmc.compiled import INNER, shared
from orbitmc.graph.conditional_tables import (
    BITS,
    COUNT,
    FIELD,
    SEXTETS_TOGETHER,
    TABLE,
    TRIPLET,
    classify,
    fill_fields,
    fill_limits,
    fill_sextets,
)
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.random import (
    choose_by_log_weights,
    choose_by_table,
    cumulate_weights,
    flip_by_eight_limits,
    flip_by_field,
    flip_by_table,
    lanes_of,
    width_of,
)
from orbitmc.vectors import HAS_AVX2, add_by_eight, add_sextet, logistic

LARGEST_LIMIT = 2.0**32 - 1.0  # stands for certainty


class Conditionals(NamedTuple):
    """How to draw each variable: its way, its neighbours, and their limits or couplings.

    `affine` variables have finite log-odds that are `bias` plus the `coupling` of each neighbour
    that is 1. `role` belongs to `neighbour`: whether a COUNT neighbour counts when it is 0, or
    the stride of a TABLE neighbour. `start` is where a variable's limits begin. `sextet` sums the
    couplings of six neighbours at a time, by the patterns of the first and the last three.
    """

    path: Bytes
    affine: Bytes
    neighbour_start: Indices
    neighbour: Indices
    role: Indices
    coupling: NDArray[Any]
    bias: NDArray[Any]
    start: Indices
    limit: NDArray[Any]
    sextet_start: Indices
    sextet: NDArray[np.float32]


class Scratch(NamedTuple):
    """Arrays that one conditional overwrites, one entry per lane."""

    pattern: Bytes
    place: NDArray[np.uint32]
    field: NDArray[Any]
    log_weights: Floats
    width: tuple[int, ...]


def conditionals(graph: FactorGraph) -> Conditionals:
    """Prepare all conditionals, rounded to 32-bit limits and float32 couplings."""
    return _rounded(unrounded_conditionals(graph))


def unrounded_conditionals(graph: FactorGraph) -> Conditionals:
    """Prepare all conditionals with float64 probabilities and couplings."""
    path, affine, neighbour_start, neighbour, start, limits = classify(graph)
    role = np.zeros(len(neighbour), dtype=np.uint32)
    coupling = np.zeros(len(neighbour))
    bias = np.zeros(graph.variables)
    limit = np.zeros(limits)
    fill_fields(graph, affine, neighbour_start, neighbour, coupling, bias)
    sextet_start = starts(np.where(affine, lengths(neighbour_start) // 6 * 2 * TRIPLET, 0))
    sextet = np.zeros(int(sextet_start[-1]))
    fill_sextets(neighbour_start, coupling, sextet_start, sextet)
    most = int(graph.cardinality.max(initial=1))
    fill_limits(graph, path, neighbour_start, neighbour, coupling, bias, role, start, limit, most)
    return Conditionals(
        sealed(path),
        sealed(affine),
        sealed(neighbour_start),
        sealed(neighbour),
        sealed(role),
        sealed(coupling),
        sealed(bias),
        sealed(start),
        sealed(limit),
        sealed(sextet_start),
        sealed(sextet.astype(np.float32)),
    )


def fields_in_double(graph: FactorGraph, prepared: Conditionals) -> tuple[Floats, Floats]:
    """Couplings and biases of the affine variables before rounding, aligned with `prepared`."""
    coupling, bias = np.zeros(len(prepared.neighbour)), np.zeros(graph.variables)
    fill_fields(
        graph, prepared.affine, prepared.neighbour_start, prepared.neighbour, coupling, bias
    )
    return sealed(coupling), sealed(bias)


def scratch(graph: FactorGraph, lanes: int, number: type = np.float32) -> Scratch:
    most = int(graph.cardinality.max(initial=1))
    return Scratch(
        pattern=np.zeros(lanes, dtype=np.uint8),
        place=np.zeros(lanes, dtype=np.uint32),
        field=np.zeros(lanes, dtype=number),
        log_weights=np.zeros((most, lanes)),
        width=width_of(lanes),
    )


def _rounded(exact: Conditionals) -> Conditionals:
    return exact._replace(
        coupling=sealed(exact.coupling.astype(np.float32)),
        bias=sealed(exact.bias.astype(np.float32)),
        limit=sealed(rounded_limits(exact.limit)),
    )


def rounded_limits(chances: Floats) -> Indices:
    """Probabilities times 2^32, even as the numbers that they are compared with."""
    even = 2.0 * np.rint(chances * 2.0**31)
    return np.minimum(even, LARGEST_LIMIT).astype(np.uint32)


@shared
def draw(graph, conditionals, scratch, values, variable, rng):
    """Give one variable a new value in every lane, drawn from its conditional distribution."""
    path = conditionals.path[variable]
    if path == COUNT:
        _count(conditionals, scratch, values, variable)
        flip_by_eight_limits(
            rng, conditionals.limit, conditionals.start[variable], scratch.pattern, values, variable
        )
    elif path == BITS:
        _bits(conditionals, scratch, values, variable)
        flip_by_table(
            rng, conditionals.limit, conditionals.start[variable], scratch.pattern, values, variable
        )
    elif path == TABLE:
        size = np.int64(graph.cardinality[variable])
        _places(conditionals, scratch, values, variable)
        choose_by_table(rng, conditionals.limit, scratch.place, size, values, variable)
    elif path == FIELD:
        local_field(conditionals, scratch, values, variable)
        flip_by_field(rng, scratch.field, values, variable)
    else:
        size = np.int64(graph.cardinality[variable])
        local_log_weights(graph, scratch, values, variable)
        choose_by_log_weights(rng, scratch.log_weights, size, values, variable)


@shared
def has_limits(conditionals, variable):
    """Whether `add_limits` serves this variable."""
    return conditionals.path[variable] <= BITS


@shared
def add_limits(conditionals, scratch, values, variable, sums, place):
    """Add the chances of value 1 to the eight flat `sums` from `place` on, lane modulo eight."""
    start = conditionals.start[variable]
    if conditionals.path[variable] == COUNT:
        _count(conditionals, scratch, values, variable)
        add_by_eight(conditionals.limit, start, scratch.pattern, sums, place, scratch.width)
    else:
        _bits(conditionals, scratch, values, variable)
        for lane in range(lanes_of(scratch)):
            limit = conditionals.limit[np.uint64(start) + np.uint64(scratch.pattern[lane])]
            sums[place + np.uint64(lane % 8)] += np.float64(limit) / LARGEST_LIMIT


@shared
def cumulative_chances(graph, conditionals, scratch, values, variable):
    """Fill `scratch.log_weights[value, lane]` with the chance of each value but the last, or less.

    Of a binary variable only row 0 is filled, with the chance of value 0.
    """
    path = conditionals.path[variable]
    start = np.uint64(conditionals.start[variable])
    chances = scratch.log_weights
    if path <= BITS:
        if path == COUNT:
            _count(conditionals, scratch, values, variable)
        else:
            _bits(conditionals, scratch, values, variable)
        for lane in range(lanes_of(scratch)):
            limit = conditionals.limit[start + np.uint64(scratch.pattern[lane])]
            chances[0, lane] = 1.0 - np.float64(limit) / LARGEST_LIMIT
    elif path == TABLE:
        _places(conditionals, scratch, values, variable)
        for value in range(np.int64(graph.cardinality[variable]) - 1):
            for lane in range(lanes_of(scratch)):
                limit = conditionals.limit[scratch.place[lane] + np.uint32(value)]
                chances[value, lane] = np.float64(limit) / LARGEST_LIMIT
    elif path == FIELD:
        local_field(conditionals, scratch, values, variable)
        for lane in range(lanes_of(scratch)):
            chances[0, lane] = np.float64(logistic(-scratch.field[lane]))
    else:
        size = np.int64(graph.cardinality[variable])
        local_log_weights(graph, scratch, values, variable)
        cumulate_weights(chances, size, lanes_of(scratch))
        for value in range(size - 1):
            for lane in range(lanes_of(scratch)):
                chances[value, lane] /= chances[size - 1, lane]


@shared
def _count(conditionals, scratch, values, variable):
    """How many neighbours agree with their sign, per lane."""
    pattern = scratch.pattern
    for lane in range(lanes_of(scratch)):
        pattern[lane] = 0
    first = np.uint64(conditionals.neighbour_start[variable])
    last = np.uint64(conditionals.neighbour_start[variable + 1])
    for edge in range(first, last):
        neighbour = np.uint64(conditionals.neighbour[edge])
        negative = np.uint8(conditionals.role[edge])
        for lane in range(lanes_of(scratch)):
            pattern[lane] += values[neighbour, lane] ^ negative


@shared
def _bits(conditionals, scratch, values, variable):
    """The neighbours' values as the bits of one number, first neighbour highest, per lane."""
    pattern = scratch.pattern
    for lane in range(lanes_of(scratch)):
        pattern[lane] = 0
    first = np.uint64(conditionals.neighbour_start[variable])
    last = np.uint64(conditionals.neighbour_start[variable + 1])
    for edge in range(first, last):
        neighbour = np.uint64(conditionals.neighbour[edge])
        for lane in range(lanes_of(scratch)):
            pattern[lane] = pattern[lane] + pattern[lane] + values[neighbour, lane]


@shared
def _places(conditionals, scratch, values, variable):
    """Where the limits for the neighbours' joint value begin, per lane."""
    place = scratch.place
    for lane in range(lanes_of(scratch)):
        place[lane] = conditionals.start[variable]
    first = np.uint64(conditionals.neighbour_start[variable])
    last = np.uint64(conditionals.neighbour_start[variable + 1])
    for edge in range(first, last):
        neighbour = np.uint64(conditionals.neighbour[edge])
        stride = conditionals.role[edge]
        for lane in range(lanes_of(scratch)):
            place[lane] += stride * np.uint32(values[neighbour, lane])


@shared
def local_field(conditionals, scratch, values, variable):
    """Log-odds of value 1 of an affine variable, per lane."""
    if conditionals.path[variable] == COUNT:
        _count(conditionals, scratch, values, variable)
        _field_by_count(conditionals, scratch, variable)
    else:
        _field(conditionals, scratch, values, variable)


@shared
def _field_by_count(conditionals, scratch, variable):
    """Every neighbour that agrees with its sign adds the same."""
    low, step = conditionals.bias[variable], conditionals.bias[variable]
    first = np.uint64(conditionals.neighbour_start[variable])
    last = np.uint64(conditionals.neighbour_start[variable + 1])
    for edge in range(first, last):
        coupling = conditionals.coupling[edge]
        step = abs(coupling)
        low += min(coupling, coupling - coupling)
    for lane in range(lanes_of(scratch)):
        scratch.field[lane] = low + step * scratch.pattern[lane]


def _field(conditionals: Any, scratch: Any, values: Any, variable: int) -> None:
    """Sum the couplings of all neighbours that are 1."""
    _add_couplings(conditionals, scratch, values, variable, 0)


@overload(_field, strict=False, jit_options=INNER)
def _compiled_field(conditionals: Any, scratch: Any, values: Any, variable: Any) -> Any:
    """Sum the couplings of six neighbours at a time where there is a vector permutation."""

    def by_sextets(conditionals, scratch, values, variable):
        sextets = (
            conditionals.sextet_start[variable + 1] - conditionals.sextet_start[variable]
        ) // np.uint32(2 * TRIPLET)
        _add_couplings(conditionals, scratch, values, variable, 6 * np.int64(sextets))
        edge = np.uint64(conditionals.neighbour_start[variable])
        place = np.uint64(conditionals.sextet_start[variable])
        total = scratch.log_weights
        for lane in range(lanes_of(scratch)):
            total[0, lane] = 0.0
        for number in range(sextets):
            if number % SEXTETS_TOGETHER == SEXTETS_TOGETHER - 1:
                for lane in range(lanes_of(scratch)):
                    total[0, lane] += np.float64(scratch.field[lane])
                    scratch.field[lane] = 0.0
            add_sextet(
                scratch.field,
                conditionals.sextet,
                place,
                values,
                conditionals.neighbour,
                edge,
                scratch.width,
            )
            edge += np.uint64(6)
            place += np.uint64(2 * TRIPLET)
        for lane in range(lanes_of(scratch)):
            scratch.field[lane] = np.float32(total[0, lane] + np.float64(scratch.field[lane]))

    def one_by_one(conditionals, scratch, values, variable):
        _add_couplings(conditionals, scratch, values, variable, 0)

    return by_sextets if HAS_AVX2 else one_by_one


@shared
def _add_couplings(conditionals, scratch, values, variable, skipped):
    """Sum bias and couplings, but for the first neighbours."""
    field, coupling = scratch.field, conditionals.coupling
    bias = conditionals.bias[variable]
    for lane in range(lanes_of(scratch)):
        field[lane] = bias
    first = np.uint64(conditionals.neighbour_start[variable]) + np.uint64(skipped)
    last = np.uint64(conditionals.neighbour_start[variable + 1])
    for edge in range(first, last):
        neighbour = np.uint64(conditionals.neighbour[edge])
        for lane in range(lanes_of(scratch)):
            field[lane] += coupling[edge] * values[neighbour, lane]


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
        if factor < graph.first_clause:
            _add_table(graph, scratch, values, variable, factor, size)
        else:
            _add_clause(graph, scratch, values, variable, factor, size)


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
