"""Run a kernel for a moment, and see what a second of it is worth."""

import time
from dataclasses import dataclass

from orbitmc.arrays import Bytes, Floats
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.kernels.kernel import Kernel
from orbitmc.run.pack import start_pack, walk
from orbitmc.tune.panel import Panel, effective_samples, statistics_of, worth

SNAPSHOTS = 96
SETTLING = 0.25  # of a trial is not counted
SEED = 1


@dataclass(frozen=True)
class Trial:
    """What a trial showed.

    `rate` is effective samples per second, to be compared with that of trials of the same
    length only. States were looked at `spacing` sweeps apart, and a share of `fresh` of them is
    as good as independent. `outcomes` is what the steps came to.
    """

    rate: float
    spacing: float
    fresh: float
    per_step: float
    outcomes: dict[str, int]

    @property
    def memory(self) -> float:
        """How many sweeps an effective sample takes; cannot be seen below the spacing."""
        return self.spacing / self.fresh

    @property
    def acceptance(self) -> float | None:
        """Accepted among proposals that would change something; None if it never rejects."""
        if "proposals" not in self.outcomes:
            return None
        real = self.outcomes["proposals"] - self.outcomes["null proposals"]
        return self.outcomes["accepted"] / real if real else 0.0


class Track:
    """A kernel on its way through the warm-up: states of one pack, and how long a step takes."""

    def __init__(self, graph: FactorGraph, kernel: Kernel, values: Bytes | None) -> None:
        self.graph, self.kernel = graph, kernel
        self.pack = start_pack(graph, kernel, seed=SEED, number=0, lanes=lanes_for(graph))
        if values is not None:
            self.pack.values[...] = values
        self._take(0)  # compiles

    def seconds_per_step(self, seconds: float) -> float:
        """How long one step takes, from at least so many seconds of them."""
        count, spent, done = 1, 0.0, 0
        while spent < seconds:
            spent += self._take(count)
            done += count
            count *= 2
        return spent / done

    def trial(self, watched: Panel, seconds: float) -> Trial:
        """Go on for so long, and count the effective samples of a panel."""
        step = self.seconds_per_step(0.1 * seconds)
        spacing = max(1, int(seconds / SNAPSHOTS / step))
        self.pack.outcomes[:] = 0
        seen: list[Floats] = []
        spent = 0.0
        for number in range(SNAPSHOTS):
            spent += self._take(spacing)
            if number >= SETTLING * SNAPSHOTS:
                seen.append(statistics_of(watched, self.graph, self.pack.values))
        found = effective_samples(seen)
        return Trial(
            rate=worth(found) / (spent * (1.0 - SETTLING)),
            spacing=spacing / max(1, self.graph.variables),
            fresh=worth(found) / (len(seen) * self.pack.values.shape[1]),
            per_step=spent / (SNAPSHOTS * spacing),
            outcomes=self._outcomes(),
        )

    def _take(self, count: int) -> float:
        begun = time.thread_time()  # what others do on this machine does not count
        walk(self.graph, self.kernel, self.pack, count)
        return time.thread_time() - begun

    def _outcomes(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for name, count in zip(self.kernel.outcomes, self.pack.outcomes.tolist(), strict=True):
            found[name] = found.get(name, 0) + count
        return found


def lanes_for(graph: FactorGraph) -> int:
    """Fewer lanes for large models, whose trials would otherwise take too few steps."""
    return 64 if graph.variables * 64 <= 2**20 else 32
