"""Run a kernel for a moment, and see what a second of it is worth."""

import time
from dataclasses import dataclass, replace

import numpy as np

from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.prepared import PreparedGraph
from orbitmc.kernels.kernel import Kernel
from orbitmc.machine.arrays import Bytes, Floats
from orbitmc.machine.interrupts import heed
from orbitmc.machine.lanes.random import generator
from orbitmc.run.pack import Pack, empty_pack, walk
from orbitmc.run.schedule import SWEEPS_PER_SAMPLE
from orbitmc.run.starts.start import start_values
from orbitmc.tuning.panel import (
    LOST,
    Panel,
    effective_samples,
    lessened,
    persistence,
    statistics_of,
    worth,
)

SNAPSHOTS, FEWEST = 96, 24  # states that a trial looks at; fewer than so many are less than a sweep
SETTLING = 0.25  # of a trial is not counted
SHORTEST = 0.002  # seconds: to call compiled code takes up to a tenth of a millisecond
REPEATED = 4  # times that a step is timed again; the best counts
SEED = 1


@dataclass(frozen=True)
class Trial:
    """What a trial showed.

    `rate` is effective samples per second; `least_rate` takes a sample of each lane for granted, as
    if none were lost. States were looked at `spacing` sweeps apart, and a
    share of `fresh` of them is as good as independent. Lanes have `kept` so much of what told them
    apart, in the kind of statistics where it was most.
    """

    rate: float
    least_rate: float
    spacing: float
    fresh: float
    per_step: float
    kept: float

    @property
    def lost(self) -> bool:
        """Whether lanes still remember where they came from."""
        return self.kept > LOST

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

    def seconds_per_step(self, seconds: float, least: int = 1) -> float:
        """How long one step takes in long calls, from at least so many seconds of them.

        Calls take `least` steps, or that many times a power of two.
        """
        count, spent = -(-least // 2), 0.0
        while spent < 0.3 * max(seconds, SHORTEST):
            count *= 2
            spent = self._take(count)
        return min(spent, *(self._take(count) for _ in range(REPEATED))) / count

    def trial(self, watched: Panel, seconds: float, step: float | None = None) -> Trial:
        """Go on for so long, and count the effective samples of a panel.

        How long a `step` takes is measured unless it is known.
        """
        step = self.seconds_per_step(0.2 * seconds) if step is None else step
        variables, lanes = self.pack.values.shape
        snapshots = int(np.clip(seconds / step / max(1, variables), FEWEST, SNAPSHOTS))
        spacing = self._spacing(seconds / snapshots / step)
        self.pack.outcomes[:] = 0
        seen: list[Floats] = []
        for number in range(snapshots):
            self._take(spacing)
            if number >= SETTLING * snapshots:
                seen.append(statistics_of(watched, self.prepared.graph, self.pack.values))
        kept = persistence(seen, watched.kind)
        effective = effective_samples(seen)
        found, at_least = worth(lessened(effective, kept, lanes)), worth(effective)
        return Trial(
            rate=found / (len(seen) * spacing * step),
            least_rate=at_least / (len(seen) * spacing * step),
            spacing=spacing / max(1, variables),
            fresh=found / (len(seen) * lanes),
            per_step=step,
            kept=float(kept.max(initial=0.0)),
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
    """A pack that goes on from given states; without them it starts from opposite ones."""
    lanes = lanes_for(prepared.graph)
    pack = empty_pack(prepared, kernel, lanes=lanes)
    pack.values[...] = opposite_starts(prepared.graph, lanes) if values is None else values
    return replace(pack, rng=generator(SEED, 0, lanes))


def opposite_starts(graph: FactorGraph, lanes: int) -> Bytes:
    """A quarter of the lanes has all variables at their first values, another one at their last.

    The others are random. Where zeros forbid that, states are as near to it as a search can find.
    """
    wanted = np.full((graph.variables, lanes), -1, dtype=np.int16)
    wanted[:, ::4] = 0
    wanted[:, 1::4] = graph.cardinality[:, None] - 1
    return start_values(graph, lanes, np.random.SeedSequence(SEED), wanted)


def lanes_for(graph: FactorGraph) -> int:
    """Fewer lanes for large models, whose trials would otherwise take too few steps."""
    return 64 if graph.variables * 64 <= 2**20 else 32
