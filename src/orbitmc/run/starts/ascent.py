"""Greedy ascent: give variables their best value until none can be improved alone."""

from typing import Any

import numpy as np

from orbitmc._numba.jit import shared
from orbitmc._numba.tiers import elements, tiered
from orbitmc._util.arrays import Bytes, Floats, Index
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.log_weights import log_potential

GAIN = 1e-12  # less is rounding


def _work(graph: FactorGraph, values: Bytes, *rest: Any) -> float:
    """Every lane looks at every factor a few times."""
    return 10.0 * float(values.shape[1]) * elements(graph.scope)


@tiered(_work)
def ascend(graph: FactorGraph, values: Bytes) -> None:
    """Improve the possible states of all lanes, one variable at a time; impossible ones stay."""
    for lane in range(values.shape[1]):
        better = True
        while better:
            better = False
            for variable in range(values.shape[0]):
                before = values[variable, lane]
                best, highest = before, _around(graph, values, variable, lane) + GAIN
                if highest > -np.inf:
                    for value in range(np.int64(graph.cardinality[variable])):
                        values[variable, lane] = value
                        sum_here = _around(graph, values, variable, lane)
                        if sum_here > highest:
                            best, highest = np.uint8(value), sum_here
                            better = True
                values[variable, lane] = best


@tiered(_work)
def changed_weights(graph: FactorGraph, values: Bytes, start: Any, gains: Floats) -> None:
    """What the log-weight of the first lane's state gains by each value of each variable alone."""
    for variable in range(values.shape[0]):
        before = values[variable, 0]
        here = _around(graph, values, variable, 0)
        for value in range(np.int64(graph.cardinality[variable])):
            values[variable, 0] = value
            gains[np.int64(start[variable]) + value] = _around(graph, values, variable, 0) - here
        values[variable, 0] = before


@shared
def _around(graph: FactorGraph, values: Bytes, variable: Index, lane: Index) -> float:
    """What the factors around a variable add up to."""
    total = 0.0
    for edge in range(graph.incident_start[variable], graph.incident_start[variable + 1]):
        total += log_potential(graph, graph.incident[edge], values, lane)
    return total
