"""Lead chains away from their starts, before anything is recorded."""

import numpy as np

from orbitmc.graph.prepared import PreparedGraph
from orbitmc.kernels.base.gibbs import GibbsMemory, RandomScan, SystematicScan
from orbitmc.kernels.kernel import Kernel
from orbitmc.run.pack import Pack, proceed_unrecorded

STRETCH = 4096  # steps at least, in whole sweeps: to call compiled code takes time
SCAN = SystematicScan()


def warm_up(
    prepared: PreparedGraph, kernel: Kernel, pack: Pack, *, steps: int, taken: int = 0
) -> None:
    """Take so many steps, after as many as were `taken` before, and record nothing.

    A kernel that picks variables at random leaves some in the state they were started in for many
    sweeps, and jumps may carry it to others. So every other stretch of its warm-up is a systematic
    scan. Which stretch that is depends on the number of steps alone.
    """
    if not picks_at_random(kernel):
        proceed_unrecorded(prepared, kernel, pack, steps)
        return
    variables = max(1, prepared.graph.variables)
    stretch = variables * -(-STRETCH // variables)
    while True:
        now = min(steps, stretch - taken % stretch)
        scanned = now if taken // stretch % 2 == 0 else 0
        _scan(prepared, kernel, pack, scanned, taken % variables)
        proceed_unrecorded(prepared, kernel, pack, now - scanned)
        steps, taken = steps - now, taken + now
        if steps == 0:
            return


def picks_at_random(kernel: Kernel) -> bool:
    """Whether a kernel, or the base chain of a mixture, picks the variables that it updates."""
    base = kernel
    while hasattr(base, "first"):
        base = base.first
    return isinstance(base, RandomScan) and "updates" in kernel.outcomes


def _scan(prepared: PreparedGraph, kernel: Kernel, pack: Pack, steps: int, turn: int) -> None:
    """Update so many variables of a pack in turn, in the memory that its tally uses."""
    counted = np.zeros(1, dtype=np.int64)
    memory = GibbsMemory(pack.scratch, np.array([turn], dtype=np.int64))
    scanning = Pack(pack.values, memory, pack.rng, pack.tally, pack.scratch, counted)
    proceed_unrecorded(prepared, SCAN, scanning, steps)
    pack.outcomes[kernel.outcomes.index("updates")] += counted[0]
