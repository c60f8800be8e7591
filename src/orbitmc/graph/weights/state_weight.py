"""The log-weight of one state, to the last digit."""

import numpy as np

from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.weights.sums import exact_sum
from orbitmc.machine.arrays import Floats, Numbers, lengths


def log_weight(graph: FactorGraph, state: Numbers) -> float:
    """What all factors and the constant add up to; minus infinity if one of them is.

    >>> import numpy as np, orbitmc as om
    >>> log_weight(om.ising_grid(2, 2, 0.5).graph, np.array([1, 1, 1, 1]))
    2.0
    """
    found = log_potentials(graph, state)
    if np.isneginf(found).any():
        return -np.inf
    return exact_sum([graph.constant, *found.tolist()])


def log_potentials(graph: FactorGraph, state: Numbers) -> Floats:
    """The entry of each factor's table in a state."""
    factor_of = np.repeat(np.arange(graph.factors), lengths(graph.scope_start))
    value = np.asarray(state, dtype=np.int64)[graph.scope]
    entry = graph.table_start[graph.table_of].astype(np.int64)
    np.add.at(entry, factor_of, graph.stride.astype(np.int64) * value)
    satisfied = np.bincount(factor_of[value == graph.satisfying], minlength=graph.factors) > 0
    entry[graph.first_clause :] += satisfied[graph.first_clause :]
    found: Floats = graph.table[entry]
    return found
