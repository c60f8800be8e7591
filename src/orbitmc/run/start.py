"""Where chains start: anywhere if every state is possible, otherwise in some possible state."""

import numpy as np

from orbitmc.arrays import Bytes
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.support import possible_states


def start_values(graph: FactorGraph, lanes: int, seed: np.random.SeedSequence) -> Bytes:
    """Draw a dispersed start for each lane."""
    if graph.has_zeros():
        return possible_states(graph, lanes, seed)
    rng = np.random.default_rng(seed)
    values = rng.random((graph.variables, lanes)) * graph.cardinality[:, None]
    return values.astype(np.uint8)
