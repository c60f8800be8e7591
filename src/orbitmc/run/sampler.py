"""Run packs of chains in threads, round by round, until the schedule is fulfilled."""

import os
import time
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace
from functools import partial

from orbitmc.compiled import Stopwatch
from orbitmc.errors import InputError
from orbitmc.estimate.tallies import ChanceTally
from orbitmc.graph.conditionals import Conditionals
from orbitmc.graph.conditionals import conditionals as prepare
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.groups.permutation_group import PermutationGroup
from orbitmc.kernels.kernel import Kernel
from orbitmc.run.annealing import occupy_modes
from orbitmc.run.pack import advance, copied, start_pack, warm_up
from orbitmc.run.run import Run, Watcher
from orbitmc.run.schedule import PILOT_SAMPLES, SAFETY, WARM_UP_SHARE, Schedule
from orbitmc.run.snapshots import next_snapshot, snapshot

LANES = 64
PACKS = 4
ROUND_SECONDS = 0.1  # a compiled call cannot be interrupted, so it must be short


def sample(
    graph: FactorGraph,
    kernel: Kernel,
    schedule: Schedule,
    *,
    seed: int = 0,
    packs: int = PACKS,
    lanes: int = LANES,
    threads: int | None = None,
    kind: type = ChanceTally,
    group: PermutationGroup | None = None,
    prepared: Conditionals | None = None,
    watchers: Iterable[Watcher] = (),
    spent: float = 0.0,
) -> Run:
    """Sample a graph with a kernel; the same seed gives the same samples on any machine.

    `spent` seconds went into finding the kernel and count as the run's own, as does finding
    starts; compiling does not.
    Ctrl-C ends the run early: what was recorded so far is returned, marked `interrupted`.
    """
    if packs < 1:
        raise InputError(f"a run has at least one pack, not {packs}")
    with Stopwatch() as starting:
        started = tuple(
            start_pack(graph, kernel, seed=seed, number=number, lanes=lanes, kind=kind, group=group)
            for number in range(packs)
        )
        heaviest = occupy_modes(graph, started, seed=seed)
    run = Run(
        graph=graph,
        kernel=kernel,
        prepared=prepared if prepared is not None else prepare(graph),
        schedule=schedule,
        seed=seed,
        lanes=lanes,
        packs=started,
        seconds=spent + starting.seconds,
        preparing=spent + starting.seconds,
        heaviest=heaviest,
    )
    warm_up(graph, kernel, run.prepared, started[0], samples=0, spacing=0)  # compiles
    return proceed(run, threads=threads, watchers=watchers)


def proceed(run: Run, *, threads: int | None = None, watchers: Iterable[Watcher] = ()) -> Run:
    """Go on with a run until its schedule is fulfilled or Ctrl-C is pressed."""
    workers = min(len(run.packs), threads or available_cores())
    with ThreadPoolExecutor(workers) as pool:
        clock = _Clock(run)
        _plan(run)
        while not run.interrupted and not _finished(run, clock):
            _round(run, pool, clock)
            clock.stamp(run)
            _end_pilot(run)
            if run.recorded and run.recorded == clock.snapshot_due:
                run.snapshots.append(snapshot(run.statistics(), run.recorded, run))
            for watcher in watchers:
                watcher(run)
    return run


def glimpse(run: Run, *, samples: int = 4) -> Run:
    """Let copies of the chains record a few samples; the run itself stays as it is.

    For runs that were interrupted in their warm-up: a rough answer instead of none.
    """
    seen = replace(run, packs=tuple(copied(pack) for pack in run.packs))
    for pack in seen.packs:
        advance(
            run.graph,
            run.kernel,
            run.prepared,
            pack,
            recorded=run.recorded,
            samples=samples,
            spacing=run.spacing,
        )
    seen.recorded += samples
    return seen


def available_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _Clock:
    """Knows the time of this session and how many samples fit into a round."""

    def __init__(self, run: Run) -> None:
        self.begun = time.perf_counter() - run.seconds
        self.samples = 1
        self.snapshot_due = 0

    def stamp(self, run: Run) -> None:
        run.seconds = time.perf_counter() - self.begun

    def learn(self, samples: int, seconds: float) -> None:
        """Aim at rounds of equal duration; grow carefully."""
        wanted = samples * ROUND_SECONDS / max(seconds, 1e-6)
        self.samples = max(1, int(min(wanted, 4.0 * samples)))


def _plan(run: Run) -> None:
    """Say how many samples are wanted, where that is known beforehand."""
    if run.wanted is None and run.schedule.samples is not None:
        run.wanted = run.schedule.samples
    elif run.wanted is None and run.schedule.standard_error is not None:
        run.wanted = PILOT_SAMPLES


def _finished(run: Run, clock: _Clock) -> bool:
    if run.ends is not None:
        spent = time.perf_counter() - clock.begun
        return spent >= run.ends and run.recorded > 0
    return run.recorded >= (run.wanted or 0)


def _round(run: Run, pool: ThreadPoolExecutor, clock: _Clock) -> None:
    """Advance every pack by the same number of samples; never leaves them unequal."""
    warming = _warm_up_left(run, clock)
    if warming:
        samples = min(warming, clock.samples)
        work = partial(warm_up, samples=samples)
    else:
        samples = _samples_now(run, clock)
        work = partial(advance, recorded=run.recorded, samples=samples)
    begun = time.perf_counter()
    futures = [
        pool.submit(work, run.graph, run.kernel, run.prepared, pack, spacing=run.spacing)
        for pack in run.packs
    ]
    _wait(run, futures)
    turns = -(-len(run.packs) // pool._max_workers)
    clock.learn(samples, (time.perf_counter() - begun) / turns)
    if warming:
        run.warmed += samples
    else:
        run.recorded += samples


def _wait(run: Run, futures: list[Future[None]]) -> None:
    """Wait for a round to end, even when Ctrl-C asks for an early end of the run."""
    while True:
        try:
            wait(futures)
        except KeyboardInterrupt:
            run.interrupted = True
        else:
            break
    for future in futures:
        future.result()


def _warm_up_left(run: Run, clock: _Clock) -> int:
    """How many samples of warm-up are still to be made."""
    if run.recorded or run.piloted:
        return 0
    if run.ends is None or run.schedule.warm_up is not None:
        return max(0, run.schedule.warm_up_for(run.wanted or 0) - run.warmed)
    spent = time.perf_counter() - clock.begun - run.preparing
    return clock.samples if spent < WARM_UP_SHARE * (run.ends - run.preparing) else 0


def _samples_now(run: Run, clock: _Clock) -> int:
    samples = clock.samples
    if run.wanted is not None:
        samples = min(samples, run.wanted - run.recorded)
    if run.ends is not None:
        left = run.ends - (time.perf_counter() - clock.begun)
        samples = max(1, min(samples, int(samples * left / ROUND_SECONDS) + 1))
    if run.schedule.snapshots:
        clock.snapshot_due = next_snapshot(run.recorded)
        samples = min(samples, clock.snapshot_due - run.recorded)
    return samples


def _end_pilot(run: Run) -> None:
    """After the pilot, plan the second stage and forget the pilot's samples."""
    target = run.schedule.standard_error
    if target is None or run.piloted or run.recorded < (run.wanted or 0):
        return
    found = run.statistics()
    spread = float((found.spread / target).max(initial=0.0)) ** 2
    unseen = float((found.standard_error / target).max(initial=0.0))
    run.wanted = max(8, int(run.recorded * SAFETY * max(spread, unseen)) + 1)
    run.piloted, run.recorded = True, 0
    for pack in run.packs:
        pack.tally.sums[:] = 0.0
