"""Annealed importance sampling (Neal 2001) with resampling (population annealing).

The lanes of a pack start in uniformly random states, where Z is known, and are cooled down along a
ladder of inverse temperatures, with one sweep of Gibbs at each. What a lane's log-weight gains at
every rung adds up to the logarithm of its importance weight. When few lanes have most of the
weight, lanes are drawn anew in proportion to it. The mean weights of a pack multiply to an unbiased
estimate of Z, for any ladder and however badly chains mix (Del Moral, Doucet and Jasra 2006).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from orbitmc._numba.compile_log import require_time, timed, working_time
from orbitmc._simd.random import Stream, generator
from orbitmc._util.arrays import Bytes, Floats, readonly
from orbitmc._util.interrupts import stop_on_ctrl_c, was_interrupted
from orbitmc.conditionals.prepared import PreparedGraph, prepare_briefly
from orbitmc.errors import LimitError
from orbitmc.estimate.statistics import LEVEL
from orbitmc.estimate.verdicts import FEW, GOOD, MISSED, UNMIXED
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.log_weights import partial_log_weight
from orbitmc.graph.relevance import components
from orbitmc.graph.transforms import at_beta
from orbitmc.kernels._gibbs import SystematicScan
from orbitmc.sampling.executor import Sender, SharedGraph, pack_shared
from orbitmc.sampling.initialization import anneal_states, heaviest_states
from orbitmc.sampling.pack import empty_pack, walk
from orbitmc.sampling.schedule import Schedule

# A graph without zeros that stands in for one with zeros while chains are cooled down.

MARGIN = 7.0  # a forbidden entry is so much lighter than all others: by a factor of 1,000


def soften(graph: FactorGraph) -> FactorGraph:
    """Let forbidden entries be light instead; a graph without zeros stays as it is.

    They are so light that few of the states that this graph prefers are forbidden.
    """
    forbidden = np.isneginf(graph.table)
    if not forbidden.any():
        return graph
    finite = graph.table[~forbidden]
    lowest = float(finite.min(initial=0.0))
    table = graph.table.copy()
    table[forbidden] = lowest - MARGIN - math.log1p(graph.factors)
    return graph._replace(table=readonly(table))


STEP = 1.0  # standard deviations of a log-weight between two rungs of the first ladder
SIZE = 64  # lanes of a population
POPULATIONS = 8  # in a pack
FEWEST = 0.5  # lanes are drawn anew when fewer than this share of them would weigh as much
MOST_RUNGS = 100_000  # a model whose first ladder is longer is not cooled down


def first_ladder(graph: FactorGraph, *, seed: int) -> list[float]:
    """Betas from 0 to 1 that log-weights pass in equal steps, measured while lanes cool down."""
    soft, kernel = soften(graph), SystematicScan()
    values, rng = (
        _random_states(soft, seed, -1, SIZE),
        generator(seed, Stream.ANNEALED_IMPORTANCE - 1, SIZE),
    )
    betas = [0.0]
    while betas[-1] < 1.0 and len(betas) < MOST_RUNGS:
        spread = float(log_weights(soft, values).std())
        betas.append(min(1.0, betas[-1] + STEP / max(spread, STEP)))
        require_time()
        cooled = prepare_briefly(at_beta(soft, betas[-1]))
        pack = replace(empty_pack(cooled, kernel, lanes=SIZE), values=values, rng=rng)
        walk(cooled, kernel, pack, soft.variables)
    if betas[-1] < 1.0:
        raise LimitError(
            f"log-weights of chains lie too far apart to cool them down in {MOST_RUNGS:,} steps"
        )
    return betas


def refine_ladder(betas: Sequence[float], rungs: int) -> list[float]:
    """A ladder with as many rungs, as dense in each place as another one."""
    places = np.linspace(0.0, len(betas) - 1.0, rungs + 1)
    finer: list[float] = np.interp(places, np.arange(len(betas)), betas).tolist()
    return finer


class AnnealedPack(NamedTuple):
    """The logarithm of an unbiased estimate of Z from each population, and the last states."""

    log_z: Floats
    states: Bytes


def cool_down(
    graph: FactorGraph,
    betas: Sequence[float],
    *,
    seed: int,
    number: int,
    packs: int,
    stopped: Callable[[], bool],
    threads: int,
) -> AnnealedPack | None:
    """Cool packs down a ladder from 0 to 1; None if it was `stopped` on the way.

    `number` keeps passes with one seed apart.
    """
    soft = soften(graph)
    cooling = [_Cooling(soft, seed, number * packs + pack) for pack in range(packs)]
    with ThreadPoolExecutor(min(packs, threads)) as pool:
        for beta, hotter in timed(zip(betas[1:], betas[:-1], strict=True)):
            cooled = prepare_briefly(at_beta(soft, beta))
            list(pool.map(partial(_Cooling.cool, gain=beta - hotter, to=cooled), cooling))
            if stopped():
                return None
    return _combine_packs(graph, [(cooler.log_z(graph), cooler.values) for cooler in cooling])


def cool_down_on_workers(
    graph: FactorGraph,
    betas: Sequence[float],
    *,
    seed: int,
    number: int,
    packs: int,
    stopped: Callable[[], bool],
    sender: Sender,
) -> AnnealedPack | None:
    """The same on workers, a pack in each piece of work; the numbers are the same."""
    numbers = [number * packs + pack for pack in range(packs)]
    work = [(tuple(betas), seed, pack_number) for pack_number in numbers]
    cooled = sender.all(_cool_pack, pack_shared(SharedGraph(graph)), work, stopped)
    return None if cooled is None else _combine_packs(graph, cooled)


def _cool_pack(
    graph: FactorGraph, work: tuple[tuple[float, ...], int, int]
) -> tuple[Floats, Bytes]:
    """What one pack comes to at the foot of a ladder."""
    betas, seed, number = work
    soft = soften(graph)
    cooling = _Cooling(soft, seed, number)
    for beta, hotter in zip(betas[1:], betas[:-1], strict=True):
        cooling.cool(gain=beta - hotter, to=prepare_briefly(at_beta(soft, beta)))
    return cooling.log_z(graph), cooling.values


def _combine_packs(graph: FactorGraph, packs: Sequence[tuple[Floats, Bytes]]) -> AnnealedPack:
    """What all packs say of Z, and their states."""
    uniform = float(np.log(graph.cardinality.astype(np.float64)).sum())
    log_z = np.concatenate([pack_log_z for pack_log_z, _ in packs]) + uniform + graph.constant
    return AnnealedPack(log_z, np.concatenate([states for _, states in packs], axis=1))


class _Cooling:
    """A pack of several populations on its way down the ladder."""

    def __init__(self, soft: FactorGraph, seed: int, number: int) -> None:
        self.soft, self.kernel = soft, SystematicScan()
        self.values = _random_states(soft, seed, number, POPULATIONS * SIZE)
        self.rng = generator(seed, Stream.ANNEALED_IMPORTANCE + number, POPULATIONS * SIZE)
        source = np.random.SeedSequence(seed, spawn_key=(Stream.ANNEALED_IMPORTANCE, number))
        self.choices = np.random.default_rng(source)
        self.log_weight = np.zeros((POPULATIONS, SIZE))
        self.gained = np.zeros(POPULATIONS)

    def cool(self, *, gain: float, to: PreparedGraph) -> None:
        """Go down one rung: weights change first, then lanes are drawn anew, then states change."""
        self.log_weight += gain * log_weights(self.soft, self.values).reshape(POPULATIONS, SIZE)
        share = np.exp(self.log_weight - self.log_weight.max(axis=1, keepdims=True))
        few = share.sum(axis=1) ** 2 < FEWEST * SIZE * (share**2).sum(axis=1)
        if few.any():
            self._draw_lanes(np.flatnonzero(few), share)
        pack = empty_pack(to, self.kernel, lanes=POPULATIONS * SIZE)
        walk(to, self.kernel, replace(pack, values=self.values, rng=self.rng), self.soft.variables)

    def _draw_lanes(self, chosen: NDArray[np.int64], share: Floats) -> None:
        """Draw lanes in proportion to their weights, by one random number for each population."""
        lanes = np.arange(POPULATIONS * SIZE).reshape(POPULATIONS, SIZE)
        self.gained[chosen] += log_mean(self.log_weight[chosen])
        for population in chosen:
            ticks = (np.arange(SIZE) + self.choices.random()) / SIZE
            drawn = np.searchsorted(np.cumsum(share[population] / share[population].sum()), ticks)
            lanes[population] = population * SIZE + np.minimum(drawn, SIZE - 1)
        self.values = np.ascontiguousarray(self.values[:, lanes.reshape(-1)])
        self.log_weight[chosen] = 0.0

    def log_z(self, graph: FactorGraph) -> Floats:
        """What all gains come to once forbidden states weigh nothing."""
        lost = _hardening_loss(graph, self.soft, self.values).reshape(POPULATIONS, SIZE)
        return self.gained + log_mean(self.log_weight + lost)


def log_mean(log_weight: Floats) -> Floats:
    """The logarithm of the mean weight, along the last axis."""
    mean: Floats = np.logaddexp.reduce(log_weight, axis=-1) - math.log(log_weight.shape[-1])
    return mean


def log_weights(graph: FactorGraph, values: Bytes) -> Floats:
    """What all factors add up to in each lane's state."""
    return partial_log_weight(graph, np.arange(graph.factors, dtype=np.uint32), values)


def _random_states(graph: FactorGraph, seed: int, number: int, lanes: int) -> Bytes:
    """Uniformly random states."""
    source = np.random.SeedSequence(seed, spawn_key=(Stream.ANNEALED_IMPORTANCE + number,))
    rng = np.random.default_rng(source)
    shape = (graph.variables, lanes)
    return rng.integers(0, graph.cardinality[:, None], size=shape, dtype=np.uint8)


def _hardening_loss(graph: FactorGraph, soft: FactorGraph, values: Bytes) -> Floats:
    """What states lose when what is light becomes forbidden."""
    if soft is graph:
        return np.zeros(values.shape[1])
    return log_weights(graph, values) - log_weights(soft, values)


# Log Z by passes of annealed importance sampling, each with a longer ladder than the last.

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


def sample_log_z(
    graph: FactorGraph,
    schedule: Schedule,
    *,
    seed: int = 0,
    packs: int = PACKS,
    threads: int = 1,
    executor: Executor | None = None,
    show: Callable[[float, str], None] | None = None,
) -> SampledLogZ:
    """Cool packs down until the schedule is fulfilled: so many rungs, seconds, or an error.

    With an `executor` its workers cool them. `show` is told which share is done, and words
    about it. Ctrl-C gives what the last complete pass has found.
    """
    passes = _Passes(graph, schedule, seed, packs, threads, executor, show)
    with stop_on_ctrl_c(passes.stop):
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
        show: Callable[[float, str], None] | None = None,
    ) -> None:
        self.begun, self.show = working_time(), show
        self.graph, self.schedule, self.seed = graph, schedule, seed
        self.packs, self.threads = packs, threads
        self.sender = None if executor is None else Sender(executor)
        self.ladder = first_ladder(graph, seed=seed)
        self.done: list[AnnealedPack] = []
        self.rungs: list[int] = []
        self.begun_rungs = self.passed_rungs = 0
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

    def pass_rung(self) -> bool:
        """Show how far it is after a rung; gives whether the passes were stopped."""
        self.passed_rungs += 1
        if self.show is not None:
            self.show(self._share_done(), self._describe())
        return self.interrupted or was_interrupted()

    def _share_done(self) -> float:
        """How much of all seconds, of all rungs, or of this pass is done."""
        if self.schedule.seconds is not None:
            return min(1.0, (working_time() - self.begun) / self.schedule.seconds)
        samples = self.schedule.samples
        rungs = self.begun_rungs if samples is None else samples + max(1, samples // 2)
        before = 0 if samples is None else sum(self.rungs)
        return min(1.0, (before + self.passed_rungs) / max(1, rungs))

    def _describe(self) -> str:
        words = f"pass {len(self.done) + 1}, {self.begun_rungs:,} temperatures"
        if not self.done:
            return words
        value, error = self.estimate()
        return f"{words}, log Z {value:.6g} ± {error:.2g} so far"

    def run(self, rungs: int) -> None:
        """Make a pass; one that is interrupted, or not over in time, does not count."""
        begun = working_time()
        self.begun_rungs, self.passed_rungs = rungs, 0
        try:
            cooled = self._cool(refine_ladder(self.ladder, rungs))
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

    def _cool(self, betas: Sequence[float]) -> AnnealedPack | None:
        how: dict[str, Any] = {
            "seed": self.seed,
            "number": len(self.done),
            "packs": self.packs,
            "stopped": self.pass_rung,
        }
        if self.sender is None:
            return cool_down(self.graph, betas, **how, threads=self.threads)
        return cool_down_on_workers(self.graph, betas, **how, sender=self.sender)

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
        searched = anneal_states(self.graph, seed=self.seed, group=0, lanes=SIZE)
        earlier = [cooled.states for cooled in self.done]
        state = heaviest_states(self.graph, np.concatenate([searched, *earlier], axis=1), part_of)
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
