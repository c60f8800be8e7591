"""A first look at how heavy the states of a model are."""

import numpy as np

from orbitmc.conditionals.prepared import prepare
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.log_weights import log_weight
from orbitmc.kernels._gibbs import SystematicScan
from orbitmc.run.pack import start_pack, walk
from orbitmc.run.schedule import LANES

SWEEPS = 20


def mean_log_weight(graph: FactorGraph, *, seed: int) -> float:
    """About the mean log-weight, from a few chains after a few sweeps."""
    prepared, kernel = prepare(graph), SystematicScan()
    pack = start_pack(prepared, kernel, seed=seed, number=0, lanes=LANES)
    walk(prepared, kernel, pack, SWEEPS * graph.variables)
    return float(np.mean(log_weight(graph, pack.values)))
