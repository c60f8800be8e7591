"""Log-weights of states: the only routines that read tables and clauses one state at a time.

`values[variable, lane]` holds the states of a pack; `total[lane]` receives the sums.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from orbitmc._numba.jit import compiled, shared
from orbitmc._util.arrays import Bytes, Floats, Index, Indices
from orbitmc.graph.factor_graph import FactorGraph


@shared
def log_potential(graph: FactorGraph, factor: Index, values: NDArray[Any], lane: Index) -> float:
    """Log-potential of one factor in one lane."""
    first, last = graph.scope_start[factor], graph.scope_start[factor + 1]
    start = graph.table_start[graph.table_of[factor]]
    if factor < graph.first_clause:
        place = np.uint64(start)
        for edge in range(first, last):
            value = np.uint64(values[graph.scope[edge], lane])
            place += np.uint64(graph.stride[edge]) * value
        return float(graph.table[place])
    for edge in range(first, last):
        if values[graph.scope[edge], lane] == graph.satisfying[edge]:
            return float(graph.table[start + np.uint32(1)])
    return float(graph.table[start])


@compiled
def _add_log_potentials(graph: FactorGraph, factors: Indices, values: Bytes, total: Floats) -> None:
    for factor in factors:
        for lane in range(values.shape[1]):
            total[lane] += log_potential(graph, factor, values, lane)


def log_weight(graph: FactorGraph, values: Bytes) -> Floats:
    """Log-weight of each lane's state, constant included; minus infinity if impossible."""
    every = np.arange(graph.factors, dtype=np.uint32)
    return graph.constant + partial_log_weight(graph, every, values)


def partial_log_weight(graph: FactorGraph, factors: NDArray[np.uint32], values: Bytes) -> Floats:
    """What some of the factors add to the log-weight of each lane's state."""
    total = np.zeros(values.shape[1])
    _add_log_potentials(graph, factors, values, total)
    return total


@shared
def log_weight_change(
    graph: FactorGraph, factors: Indices, values: Bytes, proposed: Bytes, change: Floats
) -> None:
    """Fill `change[lane]` with how the given factors' log-potentials change.

    The states in `values` must be possible; an impossible proposal gets minus infinity, and no
    infinity is ever subtracted from another.

    >>> import orbitmc as om
    >>> graph = om.ising_grid(1, 2, 0.5).graph  # two spins; agreeing has the larger weight
    >>> values = np.array([[0], [0]], dtype=np.uint8)
    >>> proposed = np.array([[0], [1]], dtype=np.uint8)
    >>> change = np.zeros(1)
    >>> factors = np.arange(graph.factors, dtype=np.uint32)  # all of them
    >>> log_weight_change(graph, factors, values, proposed, change)
    >>> change.tolist()
    [-1.0]
    """
    for lane in range(values.shape[1]):
        change[lane] = 0.0
        for factor in factors:
            after = log_potential(graph, factor, proposed, lane)
            if after == -np.inf:
                change[lane] = -np.inf
                break
            change[lane] += after - log_potential(graph, factor, values, lane)


def factors_around(graph: FactorGraph, moved: NDArray[np.bool_]) -> NDArray[np.uint32]:
    """Factors that read a moved variable, each once."""
    touched = [graph.factors_of(variable) for variable in np.flatnonzero(moved)]
    return np.unique(np.concatenate([np.zeros(0, np.uint32), *touched]))
