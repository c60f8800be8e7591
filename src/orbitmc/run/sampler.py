"""Run packs of chains in threads, round by round, until the schedule is fulfilled."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from orbitmc.errors import InputError
from orbitmc.estimate.tallies import RaoBlackwellTally
from orbitmc.graph.components import components
from orbitmc.graph.prepared import PreparedGraph
from orbitmc.kernels.kernel import Kernel
from orbitmc.machine.compiling import Stopwatch
from orbitmc.machine.interrupts import interrupted, listening, stopped_by_ctrl_c, tell_others
from orbitmc.run.kept.snapshots import next_snapshot, snapshot
from orbitmc.run.pace import (
    MEASURED_SECONDS,
    Clock,
    affordable_packs,
    answering_seconds,
    costs_of,
)
from orbitmc.run.pack import advance, copied, warm_up
from orbitmc.run.run import Run, Watcher
from orbitmc.run.schedule import LANES, PACKS, PILOT_SAMPLES, SAFETY, WARM_UP_SHARE, Schedule
from orbitmc.run.starts.annealing import search_seconds
from orbitmc.run.starts.starting import add_packs

if TYPE_CHECKING:
    from orbitmc.groups.permutation_groups import PermutationGroup

SEARCH_SHARE = 0.1  # of a timed run may go into a search for modes


@listening()
def sample(
    prepared: PreparedGraph,
    kernel: Kernel,
    schedule: Schedule,
    *,
    seed: int = 0,
    packs: int = PACKS,
    lanes: int = LANES,
    threads: int | None = None,
    kind: type = RaoBlackwellTally,
    group: PermutationGroup | None = None,
    watchers: Iterable[Watcher] = (),
    spent: float = 0.0,
    after: float = 0.0,
) -> Run:
    """Sample a prepared graph with a kernel; the same seed gives the same samples on any machine.

    `spent` seconds went into finding the kernel and count as the run's own, as does finding
    starts; `after` seconds are needed when it is over; compiling does not count. A timed run
    has fewer packs if it has no time to take enough samples in all of them.
    Ctrl-C ends the run early, in whatever thread it is: what was recorded so far is returned,
    marked `interrupted`.

    >>> import orbitmc as om
    >>> model = om.ising_grid(3, 3, 0.3, 0.1)
    >>> graph = om.kernels.prepare(model.graph)
    >>> run = om.sample(graph, om.kernels.gibbs(), om.Schedule(samples=20), seed=1)
    >>> run.recorded, run.chains
    (20, 256)
    """
    if packs < 1:
        raise InputError(f"a run has at least one pack, not {packs}")
    graph, seconds = prepared.graph, schedule.seconds
    with Stopwatch() as preparing:
        run = Run(
            prepared=prepared,
            kernel=kernel,
            schedule=schedule,
            seed=seed,
            lanes=lanes,
            packs=(),
            most_packs=packs,
            part_of=components(graph),
            kind=kind,
            group=group,
            skips_modes=seconds is not None
            and search_seconds(graph, lanes) > SEARCH_SHARE * seconds,
        )
        add_packs(run, packs if seconds is None else _at_once(run, threads))
        warm_up(prepared, kernel, run.packs[0], samples=0, spacing=0)  # compiles
        if seconds is not None:
            run.answering, run.after = answering_seconds(run), after
    run.preparing = run.seconds = spent + preparing.seconds
    return proceed(run, threads=threads, watchers=watchers)


def proceed(run: Run, *, threads: int | None = None, watchers: Iterable[Watcher] = ()) -> Run:
    """Go on with a run until its schedule is fulfilled or Ctrl-C is pressed."""
    at_once = _at_once(run, threads)
    stop = partial(setattr, run, "interrupted", True)
    with stopped_by_ctrl_c(stop), ThreadPoolExecutor(at_once) as pool:
        clock = Clock(run, at_once)
        _plan(run)
        while not run.interrupted and not _finished(run, clock):
            _round(run, pool, clock)
            _settle_packs(run, clock)
            run.seconds = clock()
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
        recorded, spacing = run.recorded, run.spacing
        advance(run.prepared, run.kernel, pack, recorded=recorded, samples=samples, spacing=spacing)
    seen.recorded += samples
    return seen


def _at_once(run: Run, threads: int | None) -> int:
    """How many packs advance at the same time."""
    return min(run.most_packs, threads or available_cores())


def available_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _plan(run: Run) -> None:
    """Say how many samples are wanted, where that is known beforehand."""
    if run.wanted is None and run.schedule.samples is not None:
        run.wanted = run.schedule.samples
    elif run.wanted is None and run.schedule.standard_error is not None:
        run.wanted = PILOT_SAMPLES


def _finished(run: Run, clock: Clock) -> bool:
    """Whether the schedule is fulfilled: a timed run ends where a sample more would be too far.

    Then it knows how many samples it wanted, and records no more when it is resumed.
    """
    timed = run.wanted is None and run.ends is not None and run.recorded > 0
    if timed and clock() + 0.5 * clock.turns(run) * clock.samples.each >= (run.ends or 0.0):
        run.wanted = run.recorded
    return run.wanted is not None and run.recorded >= run.wanted


def _round(run: Run, pool: ThreadPoolExecutor, clock: Clock) -> None:
    """Advance every pack by as many steps of warm-up, or samples; never leaves them unequal."""
    steps = _warm_up_steps(run, clock)
    samples = 0 if steps else _samples_now(run, clock)
    work = (
        partial(warm_up, samples=1, spacing=steps)
        if steps
        else partial(advance, recorded=run.recorded, samples=samples, spacing=run.spacing)
    )
    begun = clock()
    todo = (partial(work, run.prepared, run.kernel, pack) for pack in run.packs)
    _wait(run, [_submitted(pool, one) for one in todo])
    clock.learn(run, steps, samples, clock() - begun)
    run.warm_up_steps += steps
    run.recorded += samples


def _submitted(pool: ThreadPoolExecutor, work: Callable[[], None]) -> Future[None]:
    """Let another thread work; when the program is ending, threads take no more, so do it here."""
    try:
        return pool.submit(work)
    except RuntimeError:
        done: Future[None] = Future()
        done.set_result(work())  # type: ignore[func-returns-value]
        return done


def _wait(run: Run, futures: list[Future[None]]) -> None:
    """Wait for a round to end, even when Ctrl-C asks for an early end of the run."""
    while True:
        try:
            wait(futures)
        except KeyboardInterrupt as stop:
            tell_others(stop)
            run.interrupted = True
        else:
            break
    run.interrupted |= interrupted()
    for future in futures:
        future.result()


def _warm_up_steps(run: Run, clock: Clock) -> int:
    """How many steps of warm-up come next; none when it is over."""
    if run.recorded or run.piloted:
        return 0
    if run.ends is None or run.schedule.warm_up is not None:
        left = run.schedule.warm_up_for(run.wanted or 0) * run.spacing - run.warm_up_steps
        return max(0, min(left, clock.sweeps.units * run.sweep))
    turns = clock.turns(run)
    seconds = run.preparing + WARM_UP_SHARE * (run.ends - run.preparing) - clock()
    if run.warm_up_steps and seconds <= 0.5 * turns * clock.sweeps.each:
        return 0
    return clock.sweeps.fitting(seconds / turns) * run.sweep


def _samples_now(run: Run, clock: Clock) -> int:
    samples = clock.samples.units
    if run.wanted is not None:
        samples = min(samples, run.wanted - run.recorded)
    if run.ends is not None:
        samples = min(samples, clock.samples.fitting((run.ends - clock()) / clock.turns(run)))
    if run.schedule.snapshots:
        clock.snapshot_due = next_snapshot(run.recorded)
        samples = min(samples, clock.snapshot_due - run.recorded)
    return samples


def _settle_packs(run: Run, clock: Clock) -> None:
    """Decide how many packs a timed run can afford, as soon as it is known what they cost."""
    if len(run.packs) >= run.most_packs or run.interrupted:
        return
    if clock.round < MEASURED_SECONDS and _warm_up_steps(run, clock):
        return
    costs = costs_of(run, clock)
    run.most_packs = affordable_packs(run.most_packs, clock.at_once, len(run.packs), costs)
    add_packs(run, run.most_packs)


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
