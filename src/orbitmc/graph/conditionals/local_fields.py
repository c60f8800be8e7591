"""What neighbours make of one variable, per lane: patterns of their values, and log-odds."""

from typing import Any

import numpy as np
from numba.extending import overload

from orbitmc._numba.jit import INNER, shared
from orbitmc._simd.neighbour_sums import (
    add_sextet,
    bits_of_rows,
    count_agreeing_rows,
    places_of_rows,
)
from orbitmc._simd.random import lanes_of
from orbitmc._simd.vector_code import HAS_AVX2
from orbitmc._util.arrays import Bytes, Index
from orbitmc.graph.conditionals.layout import Conditionals, Scratch
from orbitmc.graph.conditionals.pair_couplings import TRIPLET
from orbitmc.graph.conditionals.paths import COUNT, SEXTETS_TOGETHER


@shared
def count_agreeing(
    conditionals: Conditionals, scratch: Scratch, values: Bytes, variable: Index
) -> None:
    """How many neighbours agree with their sign, per lane."""
    first, last = _neighbours(conditionals, variable)
    neighbour, role = conditionals.neighbour, conditionals.role
    count_agreeing_rows(scratch.pattern, neighbour, role, first, last, values, scratch.width)


@shared
def bits_of_neighbours(
    conditionals: Conditionals, scratch: Scratch, values: Bytes, variable: Index
) -> None:
    """The neighbours' values as the bits of one number, first neighbour highest, per lane."""
    first, last = _neighbours(conditionals, variable)
    neighbour, role = conditionals.neighbour, conditionals.role
    bits_of_rows(scratch.pattern, neighbour, role, first, last, values, scratch.width)


@shared
def places_of_limits(
    conditionals: Conditionals, scratch: Scratch, values: Bytes, variable: Index
) -> None:
    """Where the limits for the neighbours' joint value begin, per lane."""
    first, last = _neighbours(conditionals, variable)
    start, neighbour, role = conditionals.start[variable], conditionals.neighbour, conditionals.role
    places_of_rows(scratch.place, neighbour, role, first, last, values, start, scratch.width)


@shared
def _neighbours(conditionals: Conditionals, variable: Index) -> tuple[np.uint64, np.uint64]:
    """Where the neighbours of a variable begin and end."""
    first = np.uint64(conditionals.neighbour_start[variable])
    return first, np.uint64(conditionals.neighbour_start[variable + 1])


@shared
def local_field(
    conditionals: Conditionals, scratch: Scratch, values: Bytes, variable: Index
) -> None:
    """Log-odds of value 1 of an affine variable, per lane."""
    if conditionals.path[variable] == COUNT:
        count_agreeing(conditionals, scratch, values, variable)
        _field_by_count(conditionals, scratch, variable)
    else:
        _field(conditionals, scratch, values, variable)


@shared
def counted_field(conditionals: Conditionals, variable: Index) -> Any:
    """The neighbours of a COUNT variable, the least log-odds, and what one that agrees adds."""
    first = np.uint64(conditionals.neighbour_start[variable])
    last = np.uint64(conditionals.neighbour_start[variable + 1])
    low, step = conditionals.ladder[variable, 0], conditionals.ladder[variable, 1]
    return (conditionals.neighbour, conditionals.role, first, last), low, step


@shared
def _field_by_count(conditionals: Conditionals, scratch: Scratch, variable: Index) -> None:
    """Every neighbour that agrees with its sign adds the same."""
    _, low, step = counted_field(conditionals, variable)
    for lane in range(lanes_of(scratch)):
        scratch.field[lane] = low + step * scratch.pattern[lane]


def _field(conditionals: Conditionals, scratch: Scratch, values: Bytes, variable: Index) -> None:
    """Sum the couplings of all neighbours that are 1."""
    _add_couplings(conditionals, scratch, values, variable, 0)


@overload(_field, strict=False, jit_options=INNER)  # type: ignore[untyped-decorator]
def _compiled_field(conditionals: Any, scratch: Any, values: Any, variable: Any) -> Any:
    """Sum the couplings of six neighbours at a time where there is a vector permutation."""

    def by_sextets(
        conditionals: Conditionals, scratch: Scratch, values: Bytes, variable: Index
    ) -> None:
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

    def one_by_one(
        conditionals: Conditionals, scratch: Scratch, values: Bytes, variable: Index
    ) -> None:
        _add_couplings(conditionals, scratch, values, variable, 0)

    return by_sextets if HAS_AVX2 else one_by_one


@shared
def _add_couplings(
    conditionals: Conditionals, scratch: Scratch, values: Bytes, variable: Index, skipped: Index
) -> None:
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
