"""Fill the limits of conditionals: chances for each pattern of the neighbours' values."""

import math

import numpy as np

from orbitmc._numba.jit import shared
from orbitmc._numba.tiers import of_all, tier
from orbitmc._util.arrays import Bytes, Floats, Index, Indices
from orbitmc.conditionals.classify import BITS, COUNT, MOST_COUNT_NEIGHBOURS, TABLE
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.log_weights import log_potential

LARGEST_EXPONENT = 709.78


@tier(of_all)
def fill_limits(
    graph: FactorGraph,
    path: Bytes,
    neighbour_start: Indices,
    neighbour: Indices,
    coupling: Floats,
    ladder: Floats,
    role: Indices,
    start: Indices,
    limit: Floats,
    values: Indices,
    log_weights: Floats,
) -> None:
    """Probabilities of COUNT, BITS and TABLE variables, and the roles of their neighbours.

    `values[variable, 0]` and `log_weights[value]` are overwritten.
    """
    for variable in range(len(graph.cardinality)):
        first = np.int64(neighbour_start[variable])
        last = np.int64(neighbour_start[variable + 1])
        if path[variable] == COUNT:
            for edge in range(first, last):
                role[edge] = coupling[edge] < 0.0
            for count in range(MOST_COUNT_NEIGHBOURS + 1):
                # not in an inner function, where a product and a sum may be rounded as one
                odds = ladder[variable, 0] + ladder[variable, 1] * min(count, last - first)
                limit[start[variable] + count] = 1.0 / (1.0 + _exp(-odds))
        elif path[variable] == BITS or path[variable] == TABLE:
            size = np.int64(graph.cardinality[variable])
            stride = np.int64(1) if path[variable] == BITS else size - 1
            for edge in range(last - 1, first - 1, -1):
                role[edge] = stride
                stride *= np.int64(graph.cardinality[neighbour[edge]])
            others = neighbour[first:last]
            _fill_table(graph, variable, others, values, log_weights, path, start, limit)


@tier(of_all)
def fill_ladder(
    path: Bytes, neighbour_start: Indices, coupling: Floats, bias: Floats, ladder: Floats
) -> None:
    """Log-odds of COUNT variables when no neighbour agrees, and what each that agrees adds."""
    for variable in range(len(path)):
        if path[variable] == COUNT:
            ladder[variable, 0] = bias[variable]
            for edge in range(neighbour_start[variable], neighbour_start[variable + 1]):
                ladder[variable, 0] += min(coupling[edge], 0.0)
                ladder[variable, 1] = abs(coupling[edge])


@shared
def _fill_table(
    graph: FactorGraph,
    variable: Index,
    others: Indices,
    values: Indices,
    log_weights: Floats,
    path: Bytes,
    start: Indices,
    limit: Floats,
) -> None:
    """Walk through the joint values of the neighbours, last one fastest."""
    size = np.int64(graph.cardinality[variable])
    place = np.int64(start[variable])
    for number in range(len(others)):
        values[others[number], 0] = 0
    while True:
        _weigh(graph, variable, values, log_weights, size)
        if path[variable] == BITS:
            limit[place] = log_weights[1]
            place += 1
        else:
            total = 0.0
            for value in range(size - 1):
                total += log_weights[value]
                limit[place] = min(total, 1.0) if _more_follow(log_weights, value, size) else 1.0
                place += 1
        if not _advance(graph, others, values):
            return


@shared
def _more_follow(chances: Floats, value: Index, size: Index) -> bool:
    """Whether a value above this one is possible."""
    possible = False
    for higher in range(value + 1, size):
        possible |= chances[higher] > 0.0
    return possible


@shared
def _exp(number: float) -> float:
    """The exponential function that compiled code has; the interpreter's raises beyond 709.78."""
    return math.exp(number) if number < LARGEST_EXPONENT else math.inf


@shared
def _weigh(
    graph: FactorGraph, variable: Index, values: Indices, log_weights: Floats, size: Index
) -> None:
    """Replace `log_weights` by the probabilities of the values; all zero if none is possible."""
    best = -np.inf
    for value in range(size):
        values[variable, 0] = value
        log_weights[value] = 0.0
        for edge in range(graph.incident_start[variable], graph.incident_start[variable + 1]):
            log_weights[value] += log_potential(graph, graph.incident[edge], values, 0)
        best = max(best, log_weights[value])
    total = 0.0
    for value in range(size):
        log_weights[value] = math.exp(log_weights[value] - best) if best > -np.inf else 0.0
        total += log_weights[value]
    for value in range(size):
        log_weights[value] = log_weights[value] / total if total > 0.0 else 0.0


@shared
def _advance(graph: FactorGraph, others: Indices, values: Indices) -> bool:
    for place in range(len(others) - 1, -1, -1):
        other = others[place]
        values[other, 0] += 1
        if values[other, 0] < graph.cardinality[other]:
            return True
        values[other, 0] = 0
    return False
