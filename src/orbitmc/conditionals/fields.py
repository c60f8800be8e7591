"""What neighbours make of one variable, per lane: patterns of their values, and log-odds."""

from typing import Any

import numpy as np
from numba.extending import overload
from numpy.typing import NDArray

from orbitmc._numba.dispatchers import INNER
from orbitmc._numba.jit import shared
from orbitmc._numba.tiers import of_first, tier
from orbitmc._simd.neighbour_sums import (
    add_sextet,
    bits_of_rows,
    count_agreeing_rows,
    places_of_rows,
)
from orbitmc._simd.random import lanes_of
from orbitmc._simd.vector_code import HAS_AVX2
from orbitmc._util.arrays import Bytes, Floats, Index, Indices, lengths, starts
from orbitmc.conditionals.classify import COUNT, SEXTETS_TOGETHER, TRIPLET
from orbitmc.conditionals.layout import Conditionals, Scratch
from orbitmc.graph.factor_graph import FactorGraph


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
def neighbour_count_field(conditionals: Conditionals, variable: Index) -> Any:
    """The neighbours of a COUNT variable, the least log-odds, and what one that agrees adds."""
    first = np.uint64(conditionals.neighbour_start[variable])
    last = np.uint64(conditionals.neighbour_start[variable + 1])
    low, step = conditionals.ladder[variable, 0], conditionals.ladder[variable, 1]
    return (conditionals.neighbour, conditionals.role, first, last), low, step


@shared
def _field_by_count(conditionals: Conditionals, scratch: Scratch, variable: Index) -> None:
    """Every neighbour that agrees with its sign adds the same."""
    _, low, step = neighbour_count_field(conditionals, variable)
    for lane in range(lanes_of(scratch)):
        scratch.field[lane] = low + step * scratch.pattern[lane]


def _field(conditionals: Conditionals, scratch: Scratch, values: Bytes, variable: Index) -> None:
    """Sum the couplings of all neighbours that are 1."""
    _add_couplings(conditionals, scratch, values, variable, 0)


@overload(_field, strict=False, jit_options=INNER)  # type: ignore[untyped-decorator]
def _compile_field(conditionals: Any, scratch: Any, values: Any, variable: Any) -> Any:
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


# Pairwise variables with up to three values: their log-weights as curves, with no look-up.
#
# Values are counted from the middle one here: -1, 0, 1. The log-weight of value v is v * slope + v
# * v * bend, up to a number that is the same for all. A neighbour of value w adds w * a + w * w * b
# to the slope, and likewise to the bend: three values always lie on a parabola.

OWN, EACH = 2, 4
"""Numbers of a curve: slope and bend when all neighbours are 0, then a and b of both for each."""

MIDDLE = np.float32(1.0)


def curves(
    graph: FactorGraph, curved: NDArray[np.bool_], neighbour_start: Indices, neighbour: Indices
) -> tuple[Indices, Floats]:
    """Where the numbers of each curve begin, and all of them; other variables have none."""
    start = starts(np.where(curved, OWN + EACH * lengths(neighbour_start), 0))
    numbers = np.zeros(int(start[-1]))
    _fill_curves(graph, curved, neighbour_start, neighbour, start, numbers)
    return start, numbers


@tier(of_first)
def _fill_curves(
    graph: FactorGraph,
    curved: NDArray[np.bool_],
    neighbour_start: Indices,
    neighbour: Indices,
    start: Indices,
    numbers: Floats,
) -> None:
    slot = np.zeros(len(graph.cardinality), dtype=np.int64)
    for variable in range(len(curved)):
        if not curved[variable]:
            continue
        curve = np.int64(start[variable])
        for edge in range(neighbour_start[variable], neighbour_start[variable + 1]):
            slot[neighbour[edge]] = curve + OWN + EACH * (edge - neighbour_start[variable])
        for edge in range(graph.incident_start[variable], graph.incident_start[variable + 1]):
            factor = graph.incident[edge]
            first = np.int64(graph.scope_start[factor])
            if np.int64(graph.scope_start[factor + 1]) - first == 1:
                slope, bend = _curve(graph, factor, first, 0)
                numbers[curve] += slope
                numbers[curve + 1] += bend
            else:
                mine = first if graph.scope[first] == variable else first + 1
                other = first + first + 1 - mine
                there = slot[graph.scope[other]]
                _add_pair(graph, factor, mine, other, numbers, curve, there)


@shared
def _add_pair(
    graph: FactorGraph,
    factor: Index,
    mine: Index,
    other: Index,
    numbers: Floats,
    curve: Index,
    there: Index,
) -> None:
    """Put a parabola through the slopes, and one through the bends, at the neighbour's values."""
    values = np.int64(graph.cardinality[graph.scope[other]])
    stride = np.int64(graph.stride[other])
    slope_0, bend_0 = _curve(graph, factor, mine, 0)
    slope_1, bend_1 = _curve(graph, factor, mine, stride * np.int64(values > 1))
    slope_2, bend_2 = _curve(graph, factor, mine, stride * (values - 1))
    numbers[curve] += slope_1
    numbers[curve + 1] += bend_1
    for part, at in enumerate(((slope_0, slope_1, slope_2), (bend_0, bend_1, bend_2))):
        a, b = _parabola(at[0], at[1], at[2], values)
        numbers[there + 2 * part] += a
        numbers[there + 2 * part + 1] += b


@shared
def _curve(graph: FactorGraph, factor: Index, place: Index, shift: Index) -> tuple[float, float]:
    """Slope and bend of one variable of a factor, `shift` entries into its table."""
    first = np.int64(graph.table_start[graph.table_of[factor]]) + shift
    values = np.int64(graph.cardinality[graph.scope[place]])
    stride, table = np.int64(graph.stride[place]), graph.table
    middle, last = first + stride * np.int64(values > 1), first + stride * (values - 1)
    return _parabola(float(table[first]), table[middle], table[last], values)


@shared
def _parabola(low: float, middle: float, high: float, values: Index) -> tuple[float, float]:
    """Slope and bend through up to three numbers, at -1, 0 and 1; without a third, a line."""
    if values < 3:
        return middle - low, 0.0
    return 0.5 * (high - low), 0.5 * (high - middle) - 0.5 * (middle - low)


@shared
def local_curve(
    conditionals: Conditionals, scratch: Scratch, values: Bytes, variable: Index
) -> None:
    """Slope and bend of a variable that has a curve, per lane, into `field` and `bend`."""
    field, bend, numbers = scratch.field, scratch.bend, conditionals.curve
    place = np.uint64(conditionals.curve_start[variable])
    for lane in range(lanes_of(scratch)):
        field[lane] = numbers[place]
        bend[lane] = numbers[place + np.uint64(1)]
    place += np.uint64(OWN)
    first = np.uint64(conditionals.neighbour_start[variable])
    last = np.uint64(conditionals.neighbour_start[variable + 1])
    for edge in range(first, last):
        neighbour = np.uint64(conditionals.neighbour[edge])
        a, b = numbers[place], numbers[place + np.uint64(1)]
        c, d = numbers[place + np.uint64(2)], numbers[place + np.uint64(3)]
        for lane in range(lanes_of(scratch)):
            near = np.float32(values[neighbour, lane]) - MIDDLE
            field[lane] += near * (a + near * b)
            bend[lane] += near * (c + near * d)
        place += np.uint64(EACH)
