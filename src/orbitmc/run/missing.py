"""Whether a run has missed a mode."""

import numpy as np
from numpy.typing import NDArray

from orbitmc.estimate.missed_modes import lanes_to_look_at, missed_modes
from orbitmc.estimate.statistics import Statistics
from orbitmc.run.run import Run
from orbitmc.run.starts.annealing import search_modes


def missed_by(run: Run, statistics: Statistics) -> NDArray[np.bool_] | None:
    """Say of each variable whether the run has provably missed a mode; None if nobody looked."""
    if run.skips_modes or not run.graph.variables:
        return None
    if run.heaviest is None:
        packs = dict.fromkeys(range(len(run.packs)))
        run.heaviest = search_modes(run.graph, packs, run.lanes, run.part_of, seed=run.seed)
    each = -(-lanes_to_look_at(run.graph, run.chains) // len(run.packs))
    values = np.concatenate([pack.values[:, :each] for pack in run.packs], axis=1)
    return missed_modes(run.graph, run.heaviest, values, statistics, run.part_of)
