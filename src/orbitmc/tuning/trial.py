"""Run a kernel for a moment, and see what a second of it is worth."""

import time
from dataclasses import dataclass, replace

from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.prepared import PreparedGraph
from orbitmc.kernels.kernel import Kernel
from orbitmc.machine.arrays import Bytes, Floats
from orbitmc.machine.interrupts import heed
from orbitmc.machine.lanes.random import generator
from orbitmc.run.pack import Pack, empty_pack, start_pack, walk
from orbitmc.run.schedule import SWEEPS_PER_SAMPLE
from orbitmc.tuning.panel import Panel, effective_samples, statistics_of, worth

SNAPSHOTS = 96
SETTLING = 0.25  # of a trial is not counted
SHORTEST = 0.002  # seconds: to call compiled code takes up to a tenth of a millisecond
REPEATED = 2  # times that a step is timed again; the best counts
SEED = 1


@dataclass(frozen=True)
class Trial:
    """What a trial showed.

    `rate` is effective samples per second, to be compared with that of trials of the same
    length only. States were looked at `spacing` sweeps apart, and a share of `fresh` of them is
    as good as independent.
    """

    rate: float
    spacing: float
    fresh: float
    per_step: float

    @property
    def memory(self) -> float:
        """How many sweeps an effective sample takes; cannot be seen below the spacing."""
        return self.spacing / self.fresh


class Track:
    """A kernel on its way through the warm-up: states of one pack, and how long a step takes."""

    def __init__(
        self,
        prepared: PreparedGraph,
        kernel: Kernel,
        values: Bytes | None = None,
    ) -> None:
        self.prepared, self.kernel = prepared, kernel
        self.sample = SWEEPS_PER_SAMPLE * prepared.graph.variables
        self.pack = _pack(prepared, kernel, values)
        self._take(0)  # compiles

    def seconds_per_step(self, seconds: float) -> float:
        """How long one step takes in long calls, from at least so many seconds of them."""
        count, spent = 1, 0.0
        while spent < 0.3 * max(seconds, SHORTEST):
            count *= 2
            spent = self._take(count)
        return min(spent, *(self._take(count) for _ in range(REPEATED))) / count

    def trial(self, watched: Panel, seconds: float) -> Trial:
        """Go on for so long, and count the effective samples of a panel."""
        step = self.seconds_per_step(0.2 * seconds)
        spacing = self._spacing(seconds / SNAPSHOTS / step)
        self.pack.outcomes[:] = 0
        seen: list[Floats] = []
        for number in range(SNAPSHOTS):
            self._take(spacing)
            if number >= SETTLING * SNAPSHOTS:
                seen.append(statistics_of(watched, self.prepared.graph, self.pack.values))
        found = worth(effective_samples(seen))
        return Trial(
            rate=found / (len(seen) * spacing * step),
            spacing=spacing / max(1, self.prepared.graph.variables),
            fresh=found / (len(seen) * self.pack.values.shape[1]),
            per_step=step,
        )

    def _spacing(self, steps: float) -> int:
        """About so many steps, to look at states that a run would record, where that is possible.

        An odd number of samples: states that are flipped once per sample alternate, and every
        second one would look as if nothing had happened.
        """
        samples = int(steps / self.sample)
        return self.sample * (samples - 1 + samples % 2) if samples else max(1, int(steps))

    def acceptance(self, outcomes: int) -> float | None:
        """Accepted among the real proposals of the last trial; None if nothing is ever rejected.

        Only the last so many outcomes are looked at.
        """
        named = zip(self.kernel.outcomes, self.pack.outcomes.tolist(), strict=True)
        own = dict(list(named)[-outcomes:])
        if "proposals" not in own:
            return None
        real = own["proposals"] - own["null proposals"]
        return own["accepted"] / real if real else 0.0

    def _take(self, count: int) -> float:
        heed()
        begun = time.thread_time()  # what others do on this machine does not count
        walk(self.prepared, self.kernel, self.pack, count)
        return time.thread_time() - begun


def _pack(prepared: PreparedGraph, kernel: Kernel, values: Bytes | None) -> Pack:
    """A pack that goes on from given states; without them it looks for starts of its own."""
    lanes = lanes_for(prepared.graph)
    if values is None:
        return start_pack(prepared, kernel, seed=SEED, number=0, lanes=lanes)
    pack = empty_pack(prepared, kernel, lanes=lanes)
    pack.values[...] = values
    return replace(pack, rng=generator(SEED, 0, lanes))


def lanes_for(graph: FactorGraph) -> int:
    """Fewer lanes for large models, whose trials would otherwise take too few steps."""
    return 64 if graph.variables * 64 <= 2**20 else 32
