"""Log-weights of the connected components of a graph, in many states at once."""

import numpy as np
from numpy.typing import NDArray

from orbitmc.arrays import Bytes, Floats, lengths
from orbitmc.graph.factor_graph import FactorGraph


def log_weights_of_parts(graph: FactorGraph, values: Bytes, part_of: NDArray[np.int64]) -> Floats:
    """What the factors of each part add up to in each lane's state: `[part, lane]`.

    `part_of` numbers the connected component of each variable.
    """
    parts = int(part_of.max(initial=-1)) + 1
    result = np.zeros((parts, values.shape[1]))
    factors = np.flatnonzero(lengths(graph.scope_start))
    if not len(factors):
        return result
    own = part_of[graph.scope[graph.scope_start[factors]]]
    for lane in range(values.shape[1]):
        potentials = graph.table[_places(graph, factors, values[:, lane])]
        result[:, lane] = np.bincount(own, potentials, minlength=parts)
    return result


def _places(graph: FactorGraph, factors: NDArray[np.int64], state: Bytes) -> NDArray[np.int64]:
    """Where each factor finds its log-potential of a state."""
    first = graph.scope_start[factors].astype(np.int64)
    here = state[graph.scope]
    moved = np.add.reduceat(graph.stride.astype(np.int64) * here, first)
    if graph.first_clause < graph.factors:
        satisfied = np.maximum.reduceat(here == graph.satisfying, first)
        moved = np.where(factors >= graph.first_clause, satisfied, moved)
    return graph.table_start[graph.table_of[factors]].astype(np.int64) + moved
