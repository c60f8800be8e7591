"""Where chains start: anywhere if every state is possible, otherwise in some possible state."""

import numpy as np
from numpy.typing import NDArray

from orbitmc._util.arrays import Bytes
from orbitmc.graph.factor_graph import FactorGraph

ROWS = 2**14  # variables whose starts are drawn together: the numbers take a few MiB


def start_values(
    graph: FactorGraph,
    lanes: int,
    seed: np.random.SeedSequence,
    wanted: NDArray[np.int16] | None = None,
) -> Bytes:
    """Draw a dispersed start for each lane.

    Variables for which `wanted[variable, lane]` is not negative get that value, unless zeros are in
    the way.
    """
    if graph.has_zeros():
        from orbitmc.graph.feasibility import possible_states

        return possible_states(graph, lanes, seed, wanted)
    rng = np.random.default_rng(seed)
    values = np.empty((graph.variables, lanes), dtype=np.uint8)
    for first in range(0, graph.variables, ROWS):
        sizes = graph.cardinality[first : first + ROWS, None]
        values[first : first + ROWS] = rng.random((len(sizes), lanes)) * sizes
        if wanted is not None:
            told = wanted[first : first + ROWS]
            np.copyto(values[first : first + ROWS], told, where=told >= 0, casting="unsafe")
    return values
