"""Pairwise variables with up to three values: their log-weights as curves, with no look-up.

Values are counted from the middle one here: -1, 0, 1. The log-weight of value v is v * slope +
v * v * bend, up to a number that is the same for all. A neighbour of value w adds w * a + w * w * b
to the slope, and likewise to the bend: three values always lie on a parabola.
"""

import numpy as np
from numpy.typing import NDArray

from orbitmc._numba.jit import shared
from orbitmc._numba.tiers import of_first, tiered
from orbitmc._simd.random import lanes_of
from orbitmc._util.arrays import Bytes, Floats, Index, Indices, lengths, starts
from orbitmc.graph.conditionals.layout import Conditionals, Scratch
from orbitmc.graph.factor_graph import FactorGraph

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


@tiered(of_first)
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
        own = np.int64(start[variable])
        for edge in range(neighbour_start[variable], neighbour_start[variable + 1]):
            slot[neighbour[edge]] = own + OWN + EACH * (edge - neighbour_start[variable])
        for edge in range(graph.incident_start[variable], graph.incident_start[variable + 1]):
            factor = graph.incident[edge]
            first = np.int64(graph.scope_start[factor])
            if np.int64(graph.scope_start[factor + 1]) - first == 1:
                slope, bend = _curve(graph, factor, first, 0)
                numbers[own] += slope
                numbers[own + 1] += bend
            else:
                mine = first if graph.scope[first] == variable else first + 1
                other = first + first + 1 - mine
                there = slot[graph.scope[other]]
                _add_pair(graph, factor, mine, other, numbers, own, there)


@shared
def _add_pair(
    graph: FactorGraph,
    factor: Index,
    mine: Index,
    other: Index,
    numbers: Floats,
    own: Index,
    there: Index,
) -> None:
    """Put a parabola through the slopes, and one through the bends, at the neighbour's values."""
    values = np.int64(graph.cardinality[graph.scope[other]])
    stride = np.int64(graph.stride[other])
    slope_0, bend_0 = _curve(graph, factor, mine, 0)
    slope_1, bend_1 = _curve(graph, factor, mine, stride * np.int64(values > 1))
    slope_2, bend_2 = _curve(graph, factor, mine, stride * (values - 1))
    numbers[own] += slope_1
    numbers[own + 1] += bend_1
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
