"""Log-weights of the connected components of a graph, in many states at once."""

import numpy as np
from numpy.typing import NDArray

from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.weights.potentials import log_potential
from orbitmc.machine.arrays import Bytes, Floats, Numbers, lengths
from orbitmc.machine.compiling import compiled


def log_weights_of_parts(graph: FactorGraph, values: Bytes, part_of: NDArray[np.int64]) -> Floats:
    """What the factors of each part add up to in each lane's state: `[part, lane]`.

    `part_of` numbers the connected component of each variable.
    """
    result = np.zeros((int(part_of.max(initial=-1)) + 1, values.shape[1]))
    factors = np.flatnonzero(lengths(graph.scope_start))
    own = part_of[graph.scope[graph.scope_start[factors]]]
    _add_by_part(graph, factors, own, np.ascontiguousarray(values), result)
    return result


@compiled
def _add_by_part(
    graph: FactorGraph, factors: Numbers, part: Numbers, values: Bytes, result: Floats
) -> None:
    for place, factor in enumerate(factors):
        for lane in range(values.shape[1]):
            result[part[place], lane] += log_potential(graph, factor, values, lane)
