"""Run a kernel for a moment, and see what a second of it is worth."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from orbitmc._simd.random import generator
from orbitmc._util.arrays import Bytes, Floats
from orbitmc._util.interrupts import check_interrupt
from orbitmc.conditionals.prepared import PreparedGraph
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.log_weights import log_weight
from orbitmc.graph.model import Model
from orbitmc.kernels._alternation import alternation, set_period
from orbitmc.kernels.protocol import Kernel
from orbitmc.sampling.pack import Pack, empty_pack, start_values, stepper
from orbitmc.sampling.schedule import SWEEPS_PER_SAMPLE
from orbitmc.tuning.families import FAMILIES, Propose
from orbitmc.tuning.panel import (
    LOST,
    Panel,
    effective_samples,
    penalise_stuck,
    persistence,
    statistics_of,
)
from orbitmc.tuning.record import Tuning, base_chain, combine_jumps

FEWEST = 24  # states that a trial looks at, even if they are less than a sweep apart
SETTLING = 0.25  # of a trial is not counted
SHORTEST = 0.0005  # seconds: to call compiled code takes some millionths
TIMED = 0.2  # of a trial goes into finding out how long a step takes
LONG_ENOUGH = 0.15  # of the time for that: a call of so long is repeated, and the best counts
WINDOWS, LOOKS = 8, 8  # of time in which all variables are watched, and looks in each
TIMED_LOOKS = 4  # times that one looks, to see how long it takes
OVERTIME = 2.0  # times as long as planned: then a trial stops
SEED = 1


WindowMeans = NDArray[np.float32]
"""Means of all variables in windows of time: `[window, variable, lane]`."""


@dataclass(frozen=True)
class Trial:
    """What a trial showed.

    `rate` is effective samples per second; `least_rate` takes a sample of each lane for granted, as
    if none were lost, and `recorded_rate` counts only states that a run would record. States were
    looked at `spacing` sweeps apart, and a share of `fresh` of them is as good as independent.
    `correlation` says how much lanes have kept of what told them apart, in the kind of statistics
    where it was most. `slowest` is the kind of which there were fewest samples, in words.
    """

    rate: float
    least_rate: float
    recorded_rate: float
    spacing: float
    fresh: float
    per_step: float
    correlation: float
    seconds: float
    slowest: str = ""

    def lost(self, seconds: float = 0.0) -> bool:
        """Whether lanes still remember where they came from, or would after so many seconds."""
        longer = max(1.0, seconds / self.seconds)
        return bool(max(0.0, self.correlation) ** longer > LOST)

    @property
    def memory(self) -> float:
        """How many sweeps an effective sample takes; cannot be seen below the spacing."""
        return self.spacing / self.fresh


class TrialChain:
    """A kernel on its way through the warm-up: states of one pack, and how long a step takes."""

    def __init__(
        self,
        prepared: PreparedGraph,
        kernel: Kernel,
        values: Bytes | None = None,
    ) -> None:
        self.prepared = prepared
        self.sample = SWEEPS_PER_SAMPLE * prepared.graph.variables
        self.pack = _pack(prepared, kernel, values)
        self.run(kernel)

    def run(self, kernel: Kernel) -> None:
        """Go on with a kernel that works on the same memory."""
        self.kernel, self._fastest = kernel, np.inf
        self._walk = stepper(self.prepared, kernel, self.pack)
        self._take(0)  # compiles

    def seconds_per_step(self, seconds: float, least: int = 1) -> float:
        """How long one step takes in long calls, from about so many seconds of them.

        Calls take `least` steps, or that many times a power of two. The last one is repeated, once
        at least: the first call is slower.
        """
        seconds = max(seconds, SHORTEST)
        count, best, spent = -(-least // 2), 0.0, 0.0
        while best < LONG_ENOUGH * seconds:
            count *= 2
            best = self._take(count)
            spent += best
        for _ in range(max(1, int((seconds - spent) / best))):
            best = min(best, self._take(count))
        return best / count

    def trial(
        self, watched: Panel, seconds: float, step: float | None = None, cycle: int = 1
    ) -> Trial:
        """Go on for so long, and count the effective samples of a panel.

        How long a `step` takes is measured, in whole cycles, unless it is known; of all trials with
        this kernel the fastest one counts, since others on this machine can only slow it down.
        Where steps turn out to take much longer, fewer states are seen.
        """
        if step is None:
            measured = self.seconds_per_step(TIMED * seconds, cycle)
            step = self._fastest = min(self._fastest, measured)
        variables, lanes = self.pack.values.shape
        steps = seconds / step
        states = np.clip(steps / max(1, variables), FEWEST, max(FEWEST, watched.states))
        spacing = self._spacing(steps / states)
        snapshots = max(FEWEST, int(steps / spacing))
        self.pack.outcomes[:] = 0
        seen: list[Floats] = []
        end = time.thread_time() + OVERTIME * seconds
        for number in range(snapshots):
            if len(seen) >= (1.0 - SETTLING) * FEWEST and time.thread_time() >= end:
                break
            self._take(spacing)
            if number >= SETTLING * snapshots:
                seen.append(statistics_of(watched, self.prepared.graph, self.pack.values))
        series, looked = watched.series(seen), len(seen) * lanes
        persisting, effective = persistence(series, watched.kind), effective_samples(series)
        penalised = penalise_stuck(effective, persisting, lanes)
        ess, at_least = watched.ess(series, penalised), watched.ess(series, effective)
        samples = spacing / self.sample if self.sample else 1.0
        return Trial(
            rate=ess / (len(seen) * spacing * step),
            least_rate=at_least / (len(seen) * spacing * step),
            recorded_rate=lanes * recorded_share(ess / looked, samples) / (spacing * step),
            spacing=spacing / max(1, variables),
            fresh=ess / looked,
            per_step=step,
            correlation=float(persisting.max(initial=0.0)),
            seconds=seconds,
            slowest=watched.slowest(series, penalised)[1],
        )

    def watch(self, sweeps: float) -> WindowMeans:
        """Go on, and give means of all variables in windows of time.

        There are `WINDOWS` of them, with about so many sweeps in all; the first time that takes a
        quarter as long is not looked at.
        """
        variables, lanes = self.pack.values.shape
        spacing = max(1, round(sweeps * variables / (WINDOWS * LOOKS)))
        self._take(round(SETTLING * WINDOWS) * LOOKS * spacing)
        means = np.zeros((WINDOWS, variables, lanes), dtype=np.float32)
        for window in means:
            for _ in range(LOOKS):
                self._take(spacing)
                window += self.pack.values
        means /= LOOKS
        return means

    def look(self, watched: Panel) -> float:
        """How many seconds it takes to look at a state."""
        begun = time.thread_time()
        for _ in range(TIMED_LOOKS):
            statistics_of(watched, self.prepared.graph, self.pack.values)
        return (time.thread_time() - begun) / TIMED_LOOKS

    def _spacing(self, steps: float) -> int:
        """About so many steps, to look at states that a run would record, where that is possible.

        An odd number of samples: states that are flipped once per sample alternate, and every
        second one would look as if nothing had happened.
        """
        samples = int(steps / self.sample)
        return self.sample * (samples // 2 * 2 + 1) if samples else max(1, int(steps))

    def acceptance(self, outcomes: int) -> float | None:
        """Accepted among the real proposals of the last trial; None if nothing is ever rejected.

        Only the last so many outcomes are looked at.
        """
        named = zip(self.kernel.outcomes, self.pack.outcomes.tolist(), strict=True)
        counts = dict(list(named)[-outcomes:])
        if "proposals" not in counts:
            return None
        real = counts["proposals"] - counts["null proposals"]
        return counts["accepted"] / real if real else 0.0

    def _take(self, count: int) -> float:
        check_interrupt()
        begun = time.thread_time()  # what others do on this machine does not count
        self._walk(count)
        return time.thread_time() - begun


def recorded_share(fresh: float, samples: float) -> float:
    """Independent states that a run would record per state that was looked at.

    A run records a state per sample, so looking more often shows states that it would not count.
    Of states that are a part of a sample apart, a share of `fresh` is as good as independent;
    their correlation falls with every state as that of an autoregression.
    """
    if samples >= 1.0:
        return fresh
    correlation = float(max(0.0, (1.0 - fresh) / (1.0 + fresh)) ** (1.0 / samples))
    return samples * (1.0 - correlation) / (1.0 + correlation)


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


# An arm of the race: a base chain with some jumps, as often as their share of the time allows.

SHARE = 0.2  # of the time, for jumps in their first lap
DEAR = 1e-3  # seconds: a jump that takes as long
LEAST_COST = 0.02  # of all base steps between two jumps: less cannot be measured
GUESSES, LEAST_LANES = 16, 8
MOST_POTENTIALS = 2**22  # that a guess may look at: large models are guessed from fewer lanes


class Arm:
    """Families of jumps on a base chain, running from given states.

    `step` is how long a step of the base chain alone takes; the last family is the one on trial.
    """

    def __init__(
        self,
        model: Model,
        prepared: PreparedGraph,
        jumps: dict[str, Kernel],
        betas: Sequence[float],
        values: Bytes | None = None,
        step: float = 0.0,
    ) -> None:
        self.prepared, self.betas = prepared, tuple(betas)
        self.jumps, self.families = jumps, tuple(jumps)
        self.step, self.cost, self.period = step, 0.0, max(1, model.graph.variables)
        self.seen: Trial | None = None  # in its first trial
        self.alone = False  # whether that trial is so long that there is time for no other
        kernel = base_chain(prepared, betas)
        if jumps:
            kernel = alternation(kernel, combine_jumps(list(jumps.values())), period=self.period)
        self.track = TrialChain(prepared, kernel, values)
        self._counted = len(list(jumps.values())[-1].outcomes) if jumps else 0

    def find_cost(
        self,
        seconds: float,
        share: float = SHARE,
        base: TrialChain | None = None,
        others: float = 0.0,
    ) -> None:
        """Learn how many base steps a jump costs, and give jumps their first share of the time.

        Between modes one jump for each state that a run would record is enough. Steps of the `base`
        chain are timed once more beside, as long as it can be had alone. Of several families, which
        take turns at random, the last one is timed by itself: the other ones cost `others` each.
        """
        if base is not None:
            self.step = min(self.step, base.seconds_per_step(seconds))
        several = len(self.families) - 1
        timed = self._alone() if several else self.track
        together = timed.seconds_per_step(seconds, self.period)
        cost = max(together / self.step - 1.0, LEAST_COST) * self.period
        self.cost = (cost + several * others) / (1 + several)
        switches = FAMILIES[self.families[-1]].switches
        self.hold(max(self.period_for(share), self.track.sample if switches else 1))

    def _alone(self) -> TrialChain:
        """The base chain with the family on trial alone."""
        kernel = base_chain(self.prepared, self.betas)
        jumping = alternation(kernel, self.jumps[self.families[-1]], period=self.period)
        return TrialChain(self.prepared, jumping, self.track.pack.values)

    @property
    def cycle(self) -> float:
        """Seconds from one jump to the next."""
        return self.step * (self.period + self.cost)

    @property
    def share(self) -> float:
        """Of the time, for jumps."""
        return self.cost / (self.period + self.cost)

    def period_for(self, share: float) -> int:
        """After how many base steps a jump comes if jumps take such a share of the time."""
        return max(1, round(self.cost * (1.0 - share) / share))

    def hold(self, period: int) -> None:
        """Let a jump come after every so many base steps."""
        kernel = set_period(self.track.kernel, self.track.pack.memory, period)
        if kernel is not None:
            self.period = period
            self.track.run(kernel)

    def trial(self, watched: Panel, seconds: float) -> Trial:
        """Go on for so long; where a jump or what lies between two takes long, it is not timed."""
        dear = self.cost * self.step > DEAR or self.cycle > TIMED * seconds
        step = self.cycle / self.period if dear else None
        timed = self.jumps and not self.betas
        return self.track.trial(watched, seconds, step, self.period if timed else 1)

    @property
    def acceptance(self) -> float | None:
        """Of the family on trial, in its last lap; None if it never rejects."""
        return self.track.acceptance(self._counted) if self._counted else None

    @property
    def recipe(self) -> Tuning:
        period = self.period if self.families else 1
        return Tuning(self.families, period, self.betas)

    @property
    def words(self) -> str:
        parts = [FAMILIES[name].words for name in self.families]
        return "; ".join([*parts, *(["the chain is tempered"] if self.betas else [])])


def estimate_acceptance(model: Model, propose: Propose, values: Bytes) -> float:
    """How often jumps from these states would be accepted, among those that change something."""
    rng = np.random.default_rng(0)
    lanes = max(LEAST_LANES, MOST_POTENTIALS // (GUESSES * max(1, model.graph.factors)))
    values = np.ascontiguousarray(values[:, :lanes])
    graph = model.graph._replace(constant=0.0)  # beside a large one differences are lost
    before = log_weight(graph, values)
    chances = []
    for _ in range(GUESSES):
        after = propose(values, rng)
        real = (after != values).any(axis=0)
        change = log_weight(graph, after)[real] - before[real]
        chances.append(np.exp(np.minimum(change, 0.0)))
    acceptance = np.concatenate(chances)
    return float(acceptance.mean()) if len(acceptance) else 0.0
