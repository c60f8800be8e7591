"""Lead chains away from their starts, before anything is recorded."""

import numpy as np

from orbitmc.graph.prepared import PreparedGraph
from orbitmc.kernels.base.gibbs import GibbsMemory, RandomScan, SystematicScan
from orbitmc.kernels.kernel import Kernel
from orbitmc.run.pack import Pack, compile_recording, walker

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
    compile_recording(prepared, pack)
    walk = walker(prepared, kernel, pack)
    if not picks_at_random(kernel):
        walk(steps)
        return
    variables = max(1, prepared.graph.variables)
    stretch = variables * -(-STRETCH // variables)
    scanning = _scanning(pack)
    scan = walker(prepared, SCAN, scanning)
    while True:
        now = min(steps, stretch - taken % stretch)
        scanned = now if taken // stretch % 2 == 0 else 0
        scanning.memory.turn[0] = taken % variables
        scan(scanned)
        walk(now - scanned)
        steps, taken = steps - now, taken + now
        if steps == 0:
            break
    pack.outcomes[kernel.outcomes.index("updates")] += scanning.outcomes[0]


def picks_at_random(kernel: Kernel) -> bool:
    """Whether a kernel, or the base chain of a mixture, picks the variables that it updates."""
    base = kernel
    while hasattr(base, "first"):
        base = base.first
    return isinstance(base, RandomScan) and "updates" in kernel.outcomes


def _scanning(pack: Pack) -> Pack:
    """The chains of a pack, to be scanned in the memory that its tally uses."""
    memory = GibbsMemory(pack.scratch, np.zeros(1, dtype=np.int64))
    counted = np.zeros(1, dtype=np.int64)
    return Pack(pack.values, memory, pack.rng, pack.tally, pack.scratch, counted)
