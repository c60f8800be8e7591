"""Whether zeros keep chains from changing variables one at a time."""

import numpy as np

from orbitmc.ask.settings import Settings
from orbitmc.conditionals.prepared import PreparedGraph
from orbitmc.graph.support import hard_factors, possible_values
from orbitmc.kernels._gibbs import SystematicScan
from orbitmc.sampling.pack import advance, empty_pack, start_values

STARTS = 8  # different ones: to find one may take long; as many chains begin in each
PILOT = 16  # samples of each chain, a sweep apart


def frozen_alone(prepared: PreparedGraph, settings: Settings) -> int:
    """How many variables never have a choice after some start, in a short pilot run of Gibbs.

    Values that are impossible anyhow do not count. Without a factor of several variables that has
    zeros there is no need to look.
    """
    graph = prepared.graph
    if not (graph.arities[hard_factors(graph)] > 1).any():
        return 0
    domains = possible_values(graph)
    kernel = SystematicScan()
    pack = empty_pack(prepared, kernel, lanes=settings.lane_count)
    start = start_values(graph, STARTS, np.random.SeedSequence(settings.seed))
    pack.values[...] = np.tile(start, settings.lane_count // STARTS)
    advance(prepared, kernel, pack, recorded=0, samples=PILOT, spacing=graph.variables)
    left = np.add.reduceat(domains.allowed.astype(np.int64), domains.value_start[:-1])
    by_start = pack.tally.open.reshape(graph.variables, -1, STARTS).any(axis=1)
    return int(((left > 1) & ~by_start.all(axis=1)).sum())
