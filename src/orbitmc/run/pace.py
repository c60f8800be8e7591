"""How fast chains advance, and how many of them a timed run can afford."""

import os
import time
from dataclasses import dataclass

from orbitmc.estimate.statistics import row_summaries
from orbitmc.estimate.tally import PARTS
from orbitmc.run.run import Run
from orbitmc.run.schedule import WARM_UP_SHARE

ROUND_SECONDS = 0.1  # a compiled call cannot be interrupted, so it must be short
MEASURED_SECONDS = 0.02  # a round that takes so long says what the next ones will take
ENOUGH_SAMPLES = 16  # of each chain; a run that has no time for them has fewer chains
RECORDING = 1.25  # what a sample costs, recorded, beside the steps that lead to it
TRIED_ROWS = 2**15  # of statistics, to see how long they take
ANSWERING, WITH_MODES = 1.6, 3.0  # what an answer costs, beside the summaries of its rows


class Pace:
    """Learns what a unit of work takes, and how many units fit into a round."""

    def __init__(self) -> None:
        self.units = 1
        self.each = 0.0

    def learn(self, units: float, seconds: float, wanted: float = ROUND_SECONDS) -> None:
        """Aim at rounds that take so many seconds; grow carefully."""
        self.each = max(seconds, 1e-6) / units
        self.units = max(1, int(min(wanted / self.each, 4.0 * units)))

    def fitting(self, seconds: float) -> int:
        """How many units to take now, with so much time left; at least one."""
        return max(1, min(self.units, round(seconds / self.each))) if self.each else self.units


class Clock:
    """Knows the time of a session, and the pace of warming up (in sweeps) and of recording.

    `at_once` packs advance at the same time; `round` is how long the last round took.
    """

    def __init__(self, run: Run, at_once: int) -> None:
        self.begun = time.perf_counter() - run.seconds
        self.at_once = at_once
        self.sweeps, self.samples = Pace(), Pace()
        self.round = 0.0
        self.snapshot_due = 0

    def __call__(self) -> float:
        """Seconds of the run so far."""
        return time.perf_counter() - self.begun

    def turns(self, run: Run) -> int:
        """How often threads have to take another pack until all have advanced."""
        return -(-len(run.packs) // self.at_once)

    def learn(self, run: Run, steps: int, samples: int, seconds: float, wanted: float) -> None:
        """Remember how long a round of so many steps of warm-up, or samples, took."""
        self.round = seconds
        if steps:
            self.sweeps.learn(steps / run.sweep, seconds / self.turns(run), wanted)
        elif samples:
            self.samples.learn(samples, seconds / self.turns(run), wanted)


@dataclass(frozen=True)
class Costs:
    """Seconds: left for recording, for one sample of packs that run at once, to add one pack."""

    left: float
    sample: float
    pack: float


def costs_of(run: Run, clock: Clock) -> Costs:
    """What a timed run can spend, and on what; a pack that is added has to catch up."""
    ends = run.ends or 0.0
    steps = clock.sweeps.each / max(run.sweep, 1)
    behind = run.warm_up_steps * steps + run.recorded * clock.samples.each
    warm = run.preparing + WARM_UP_SHARE * (ends - run.preparing)
    return Costs(
        left=ends - max(clock(), warm),
        sample=clock.samples.each or RECORDING * run.spacing * steps,
        pack=run.starting + behind,
    )


def affordable_packs(most: int, at_once: int, started: int, costs: Costs) -> int:
    """How many packs can each record enough samples; as few as run at once if none can.

    More packs take longer to start and take turns.
    """
    for turns in range(-(-most // at_once), 1, -1):
        packs = min(most, turns * at_once)
        left = costs.left - (packs - started) * costs.pack
        if left >= ENOUGH_SAMPLES * turns * costs.sample:
            return packs
    return max(started, min(most, at_once))


def answering_seconds(run: Run) -> float:
    """How long the answer takes for each pack, from how long some rows of its statistics do."""
    tallies = [pack.tally._replace(sums=pack.tally.sums[:, :TRIED_ROWS]) for pack in run.packs]
    begun = time.perf_counter()
    row_summaries(tallies, PARTS, run.lanes)
    seconds = (time.perf_counter() - begun) / len(run.packs)
    rows: int = run.packs[0].tally.sums.shape[1]
    beside = ANSWERING if run.skips_modes else WITH_MODES
    return beside * seconds * max(1.0, rows / TRIED_ROWS)


def available_cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
