"""Log Z by passes of annealed importance sampling, each with a longer ladder than the last."""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import stdtrit

from orbitmc._numba.compile_log import working_time
from orbitmc._util.interrupts import interrupted, stopped_by_ctrl_c
from orbitmc.errors import LimitError
from orbitmc.estimate.statistics import LEVEL
from orbitmc.estimate.verdicts import FEW, GOOD, MISSED, UNMIXED
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.relevance import components
from orbitmc.run.annealed.importance import (
    SIZE,
    Cooled,
    cool_down,
    cool_down_elsewhere,
    first_ladder,
    log_mean,
    log_weights,
    refined,
)
from orbitmc.run.schedule import Schedule
from orbitmc.run.starts.annealing import annealed_states, heaviest
from orbitmc.run.workers.sending import Sender

PACKS = 2
MOST_SPREAD = 0.5  # of the logarithms of estimates: beyond it their mean is ruled by few of them
APART = 4.0  # errors by which two passes may differ
ROUNDING = 1e-12  # of the value: an estimate that every pack agrees on is still a sum of doubles
EXPECTED = 10.0  # lanes that a state should have, if it is to be missed


@dataclass(frozen=True)
class SampledLogZ:
    """An estimate of log Z, its error and interval, and from how many rungs it is."""

    value: float
    standard_error: float
    low: float
    high: float
    verdict: str
    rungs: int
    chains: int
    interrupted: bool = False


def sampled_log_z(
    graph: FactorGraph,
    schedule: Schedule,
    *,
    seed: int = 0,
    packs: int = PACKS,
    threads: int = 1,
    executor: Executor | None = None,
) -> SampledLogZ:
    """Cool packs down until the schedule is fulfilled: so many rungs, seconds, or an error.

    With an `executor` its workers cool them. Ctrl-C gives what the last complete pass has found.
    """
    passes = _Passes(graph, schedule, seed, packs, threads, executor)
    with stopped_by_ctrl_c(passes.stop):
        try:
            while not passes.interrupted and (rungs := passes.next_rungs()) is not None:
                passes.run(rungs)
        except KeyboardInterrupt:
            passes.stop()
    return passes.answer()


class _Passes:
    """Passes so far, and which one comes next."""

    def __init__(
        self,
        graph: FactorGraph,
        schedule: Schedule,
        seed: int,
        packs: int,
        threads: int,
        executor: Executor | None = None,
    ) -> None:
        self.begun = working_time()
        self.graph, self.schedule, self.seed = graph, schedule, seed
        self.packs, self.threads = packs, threads
        self.sender = None if executor is None else Sender(executor)
        self.ladder = first_ladder(graph, seed=seed)
        self.done: list[Cooled] = []
        self.rungs: list[int] = []
        self.last_seconds = 0.0
        self.interrupted = self.late = False

    def next_rungs(self) -> int | None:
        """How many rungs the next pass has; None when the schedule is fulfilled."""
        first = len(self.ladder) - 1
        if self.late:
            return None
        if not self.done:
            return first if self.schedule.samples is None else max(1, self.schedule.samples // 2)
        if self.schedule.samples is not None:
            return self.schedule.samples if len(self.done) == 1 else None
        if self.schedule.standard_error is not None:
            small = self.estimate()[1] <= self.schedule.standard_error
            return None if small and self.verdict() == GOOD else 2 * self.rungs[-1]
        return self._fitting()

    def _fitting(self) -> int | None:
        """Twice as many rungs as the last pass had, or as many as there is time for."""
        left = (self.schedule.seconds or 0.0) - (working_time() - self.begun)
        each = self.last_seconds / self.rungs[-1]
        most = int(left / each)
        if most < self.rungs[-1]:
            return None
        twice = 2 * self.rungs[-1]
        return most if most < 3 * self.rungs[-1] else twice

    def stop(self) -> None:
        self.interrupted = True

    def is_stopped(self) -> bool:
        return self.interrupted or interrupted()

    def run(self, rungs: int) -> None:
        """Make a pass; one that is interrupted, or not over in time, does not count."""
        begun = working_time()
        try:
            cooled = self._cooled(refined(self.ladder, rungs))
        except LimitError:
            if not self.done:
                raise
            self.late = True
            return
        if cooled is None:
            self.stop()
            return
        self.done.append(cooled)
        self.rungs.append(rungs)
        self.last_seconds = working_time() - begun

    def _cooled(self, betas: Sequence[float]) -> Cooled | None:
        how: dict[str, Any] = {
            "seed": self.seed,
            "number": len(self.done),
            "packs": self.packs,
            "stopped": self.is_stopped,
        }
        if self.sender is None:
            return cool_down(self.graph, betas, **how, threads=self.threads)
        return cool_down_elsewhere(self.graph, betas, **how, sender=self.sender)

    def estimate(self, place: int = -1) -> tuple[float, float]:
        """The logarithm of the mean of unbiased estimates, and its error."""
        log_z = self.done[place].log_z
        value = float(log_mean(log_z))
        if not math.isfinite(value):
            return value, math.inf
        relative = float(np.exp(log_z - value).std(ddof=1))
        spread = float(log_z.std(ddof=1)) if np.isfinite(log_z).all() else math.inf
        return value, max(relative, spread, ROUNDING * abs(value)) / math.sqrt(len(log_z))

    def verdict(self) -> str:
        """Whether the last pass may be believed."""
        value, error = self.estimate()
        if error * math.sqrt(len(self.done[-1].log_z)) > MOST_SPREAD:
            return FEW
        if self._misses(value):
            return MISSED
        if len(self.done) < 2:
            return FEW
        before, uncertain = self.estimate(-2)
        return GOOD if abs(value - before) <= APART * math.hypot(error, uncertain) else UNMIXED

    def _misses(self, value: float) -> bool:
        """Whether a state must be probable, by its weight, and no lane ended in it."""
        part_of = components(self.graph)
        searched = annealed_states(self.graph, seed=self.seed, group=0, lanes=SIZE)
        earlier = [cooled.states for cooled in self.done]
        state = heaviest(self.graph, np.concatenate([searched, *earlier], axis=1), part_of)
        states = self.done[-1].states
        weight = float(log_weights(self.graph, state[:, None])[0]) + self.graph.constant
        expected = math.exp(min(weight - value, 0.0)) * states.shape[1]
        return expected > EXPECTED and not (states == state[:, None]).all(axis=0).any()

    def answer(self) -> SampledLogZ:
        if not self.done:
            raise KeyboardInterrupt
        value, error = self.estimate()
        half = float(stdtrit(len(self.done[-1].log_z) - 1, 0.5 + LEVEL / 2)) * error
        return SampledLogZ(
            value=value,
            standard_error=error,
            low=value - half,
            high=value + half,
            verdict=self.verdict(),
            rungs=self.rungs[-1],
            chains=self.done[-1].states.shape[1],
            interrupted=self.interrupted,
        )
