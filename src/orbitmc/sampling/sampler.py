"""Run packs of chains in threads, round by round, until the schedule is fulfilled."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from concurrent.futures import Executor, Future, ThreadPoolExecutor, wait
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from orbitmc._numba.compile_log import time_limit
from orbitmc._numba.jit import Stopwatch
from orbitmc._util.interrupts import (
    forward_interrupt,
    interruptible,
    stop_on_ctrl_c,
    was_interrupted,
)
from orbitmc._util.text import MOST_COUNT
from orbitmc.conditionals.prepared import PreparedGraph
from orbitmc.errors import InputError, LimitError, OutOfRangeError
from orbitmc.estimate.tally import RaoBlackwellTally
from orbitmc.kernels.protocol import Kernel, constrained_variables, kernel_name
from orbitmc.sampling.budget import (
    MEASURED_SECONDS,
    ROUND_SECONDS,
    Budget,
    Clock,
    affordable_packs,
    answering_seconds,
    available_cores,
    costs_of,
)
from orbitmc.sampling.collapsed import Recovery, recover_states
from orbitmc.sampling.estimator_trial import choose_estimator
from orbitmc.sampling.executor import workers_of
from orbitmc.sampling.initialization import search_seconds
from orbitmc.sampling.observers import Course, next_snapshot, snapshot
from orbitmc.sampling.pack import recorded_sums
from orbitmc.sampling.remote_packs import Remote
from orbitmc.sampling.run import Recording, Run, RunObserver, samples_after_pilot, with_controls
from orbitmc.sampling.schedule import (
    GRACE_SECONDS,
    LANES,
    PACKS,
    PILOT_SAMPLES,
    WARM_UP_SHARE,
    Schedule,
)
from orbitmc.sampling.warmup import (
    affordable_annealing,
    affordable_spacing,
    annealing_steps,
    start_packs,
    steps_scanned_first,
    usual_spacing,
    warm_up,
)

if TYPE_CHECKING:
    from orbitmc.sampling.observers import Observer


FEWEST_SWEEPS = 1000  # of a run that finds out whether control variates pay
FIRST_ROUND = 16  # as many of which are a sweep: it shows what a sweep takes
STARTING_SHARE = 0.6  # of a timed run: when it is spent, no further packs are started
SEARCH_SHARE = 0.1  # of a timed run may go into a search for modes


@interruptible()
def sample(
    prepared: PreparedGraph,
    kernel: Kernel,
    schedule: Schedule,
    *,
    seed: int = 0,
    packs: int = PACKS,
    lanes: int = LANES,
    threads: int | None = None,
    executor: Executor | None = None,
    kind: type = RaoBlackwellTally,
    controlled: bool = False,
    room: int | None = None,
    watchers: Iterable[RunObserver] = (),
    notes: Observer | None = None,
    spent: float = 0.0,
    after: float = 0.0,
    recovery: Recovery | None = None,
) -> Run:
    """Sample a prepared graph with a kernel; the same seed gives the same samples on any machine.

    `spent` seconds went into finding the kernel and count as the run's own, as does finding
    starts; `after` seconds are needed when it is over; compiling does not count. A timed run
    has fewer packs if it has no time to take enough samples in all of them.
    A run that is `controlled` uses control variates if they pay, which it finds out after its
    warm-up, and if `room` bytes are enough for them, unless that is None.
    With an `executor` packs advance on its workers, and come back after every round.
    With a `recovery` the graph is the core of another one, which the run tells of.
    Ctrl-C ends the run early, in whatever thread it is: it gives what was recorded, `interrupted`.

    >>> import orbitmc as om
    >>> graph = om.kernels.prepare(om.ising_grid(3, 3, 0.3, 0.1).graph)
    >>> run = om.sample(graph, om.kernels.gibbs(), om.Schedule(samples=20), seed=1)
    >>> run.recorded, run.chains
    (20, 256)
    """
    if packs < 1:
        raise InputError(f"a run has at least one pack, not {packs}")
    with Stopwatch() as preparing:
        run = Run(
            prepared=prepared,
            kernel=kernel,
            schedule=schedule,
            seed=seed,
            lanes=lanes,
            budget=Budget(schedule.seconds),
            spacing=usual_spacing(schedule, kernel, prepared.graph.variables),
            most_packs=packs,
            recording=Recording(
                kind,
                recover_states(notes, recovery, seed),
                controlled and notes is None and kind is RaoBlackwellTally,
                room,
                recovery,
            ),
        )
        _start_run(run, _at_once(run, threads, executor), spent, after)
    run.budget.preparing = run.budget.seconds = spent + preparing.seconds
    return continue_sampling(run, threads=threads, executor=executor, watchers=watchers)


def _start_run(run: Run, at_once: int, spent: float, after: float) -> None:
    """Start the packs of a run; if it is timed, those that run at once and can start soon."""
    run.annealing = annealing_steps(run, at_once)
    seconds = run.schedule.seconds
    search = constrained_variables(run.kernel) is None and not run.independent
    if seconds is None:
        _add_packs(run, run.most_packs, search=search)
    else:
        search &= search_seconds(run.graph, run.lanes) <= SEARCH_SHARE * seconds
        left = seconds + GRACE_SECONDS - spent
        _add_packs(run, 1, search=search, left=left)
        if spent + run.budget.starting <= STARTING_SHARE * seconds:
            _add_packs(run, at_once, search=search, left=left - run.budget.starting)
    warm_up(run.prepared, run.kernel, run.packs[0], steps=0)  # compiles
    if seconds is not None:
        run.budget.answering, run.budget.after = answering_seconds(run), after


def _add_packs(run: Run, count: int, *, search: bool, left: float = math.inf) -> None:
    """Have so many packs; no more than there are where their starts are not found in time."""
    if count <= len(run.packs):
        return
    try:
        with time_limit(left):
            packs, run.heaviest, run.budget.starting = start_packs(run, count, search=search)
    except LimitError:
        if not run.packs:
            raise
        run.most_packs = len(run.packs)
        return
    run.packs += packs


def continue_sampling(
    run: Run,
    *,
    threads: int | None = None,
    executor: Executor | None = None,
    watchers: Iterable[RunObserver] = (),
) -> Run:
    """Go on with a run until its schedule is fulfilled or Ctrl-C is pressed."""
    at_once = _at_once(run, threads, executor)
    course = Course()
    with stop_on_ctrl_c(run.stop), _workers(executor, at_once) as workers:
        workers.begin(run)
        clock = Clock(run.seconds, at_once)
        _plan(run)
        while not run.interrupted and not _is_finished(run, clock):
            _round(run, workers, clock)
            _choose_pack_count(run, clock)
            run.budget.seconds = clock()
            _end_pilot(run)
            if run.recorded and run.recorded == clock.snapshot_due:
                run.snapshots.append(snapshot(run))
            if course.is_due(run):
                run.course.append(course.point(run))
            for watcher in watchers:
                watcher(run)
    require_values(run)
    return run


def _at_once(run: Run, threads: int | None, executor: Executor | None) -> int:
    """How many packs advance at the same time."""
    if executor is not None and threads is None:
        return workers_of(executor, run.most_packs)
    return min(run.most_packs, threads or available_cores())


def _plan(run: Run) -> None:
    """Say how many samples are wanted, where that is known beforehand."""
    if run.wanted is None and run.schedule.samples is not None:
        run.wanted = run.schedule.samples
    elif run.wanted is None and run.schedule.standard_error is not None:
        run.wanted = PILOT_SAMPLES


def _is_finished(run: Run, clock: Clock) -> bool:
    """Whether the schedule is fulfilled: a timed run ends where a sample more would be too far.

    Then it knows how many samples it wanted, and records no more when it is resumed.
    """
    timed = run.wanted is None and run.ends is not None and run.recorded > 0
    if timed and clock() + 0.5 * clock.turns(run) * clock.samples.each >= (run.ends or 0.0):
        run.wanted = run.recorded
    return run.wanted is not None and run.recorded >= run.wanted


def _round(run: Run, workers: Threads | Remote, clock: Clock) -> None:
    """Advance every pack by as many steps of warm-up, or samples; never leaves them unequal."""
    steps = _warm_up_steps(run, clock)
    if not steps:
        if not run.recorded:
            require_values(run)
            run.spacing = affordable_spacing(run, clock)
        _choose_estimator_when_warm(run, clock)
        clock.begun += workers.begin(run)
    samples = 0 if steps else min(_samples_now(run, clock), workers.most_samples(run))
    begun = clock()
    if workers.advance(run, steps, samples):
        clock.learn(run, steps, samples, clock() - begun, workers.round_seconds)
        run.warm_up_steps += steps
        run.recorded += samples
    if steps:
        run.annealing = affordable_annealing(run, clock)


def _end_pilot(run: Run) -> None:
    """After the pilot, plan the second stage and forget the pilot's samples."""
    target = run.schedule.standard_error
    if target is None or run.piloted or run.recorded < (run.wanted or 0):
        return
    run.wanted = samples_after_pilot(run, target)
    run.piloted, run.recorded = True, 0
    for pack in run.packs:
        for sums in recorded_sums(pack):
            sums[:] = 0.0


def _workers(executor: Executor | None, at_once: int) -> Threads | Remote:
    if executor is None:
        return Threads(at_once)
    return Remote(executor, at_once)


class Threads(ThreadPoolExecutor):
    """Packs advance in threads of this process."""

    round_seconds = ROUND_SECONDS

    def begin(self, run: Run) -> float:
        """Nothing is to be done before a round, in no time."""
        return 0.0

    def most_samples(self, run: Run) -> int:
        """A round may have any number of samples."""
        return MOST_COUNT

    def advance(self, run: Run, steps: int, samples: int) -> bool:
        """Advance every pack: none is ever left behind."""
        work = {"steps": steps, "taken": run.warm_up_steps, "annealing": run.annealing}
        if not steps:
            work = {"recorded": run.recorded, "samples": samples, "spacing": run.spacing}
        fixed = (run.prepared, run.kernel)
        todo = (
            partial(warm_up if steps else run.advancer(number), *fixed, pack)
            for number, pack in enumerate(run.packs)
        )
        _wait(run, [_submit(self, partial(task, **work)) for task in todo])
        return True


def _submit(pool: ThreadPoolExecutor, work: Callable[[], None]) -> Future[None]:
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
            forward_interrupt(stop)
            run.stop()
        else:
            break
    run.interrupted |= was_interrupted()
    for future in futures:
        future.result()


def _warm_up_steps(run: Run, clock: Clock) -> int:
    """How many steps of warm-up come next; none when it is over."""
    if run.recorded or run.piloted or (run.independent and run.warm_up_steps >= run.sweep):
        return 0
    if run.independent:
        return run.sweep
    if run.ends is None or run.schedule.warm_up is not None:
        left = run.schedule.warm_up_for(run.wanted or 0) * run.spacing - run.warm_up_steps
        return max(0, min(left, clock.sweeps.units * run.sweep))
    turns = clock.turns(run)
    seconds = run.budget.part_over(WARM_UP_SHARE, run.ends) - clock()
    scanned = steps_scanned_first(run)
    if 0 < run.warm_up_steps < scanned:
        return scanned - run.warm_up_steps
    if run.warm_up_steps in (0, scanned):  # nothing is known yet of what a sweep takes
        return max(1, run.sweep // FIRST_ROUND)
    if seconds <= 0.5 * turns * clock.sweeps.each:
        return max(0, min(run.annealing - run.warm_up_steps, clock.sweeps.units * run.sweep))
    return clock.sweeps.fitting(seconds / turns) * run.sweep


def _choose_estimator_when_warm(run: Run, clock: Clock) -> None:
    """Let a run that wants control variates find out whether they pay, as its warm-up is over."""
    settled = run.choice is not None or run.recorded or run.piloted or run.independent
    if settled or not run.recording.controlled or not run.graph.variables:
        return
    sweeps = _sweeps_ahead(run, clock)
    if sweeps < FEWEST_SWEEPS:
        return
    run.choice, seconds = choose_estimator(run, sweeps)
    run.packs = tuple(with_controls(pack, run.choice) for pack in run.packs)
    run.budget.after += seconds if run.ends is not None else 0.0


def _sweeps_ahead(run: Run, clock: Clock) -> float:
    """How many sweeps of one pack are ahead; a timed run has cores beside the one that it asks."""
    each = run.spacing / max(run.sweep, 1)
    if run.ends is None:
        return each * (run.wanted or 0) * run.most_packs
    return (run.ends - clock()) / clock.sweeps.each if clock.sweeps.each else 0.0


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


def _choose_pack_count(run: Run, clock: Clock) -> None:
    """Decide how many packs a timed run can afford, as soon as it is known what they cost."""
    if len(run.packs) >= run.most_packs or run.interrupted:
        return
    if clock.round < MEASURED_SECONDS and _warm_up_steps(run, clock):
        return
    costs = costs_of(run, clock)
    run.most_packs = affordable_packs(run.most_packs, clock.at_once, len(run.packs), costs)
    left = math.inf if run.ends is None else run.ends - clock() + GRACE_SECONDS
    _add_packs(run, run.most_packs, search=run.heaviest is not None, left=left)


def require_values(run: Run) -> None:
    """Refuse a run in which a lane has a value that its variable does not have.

    A kernel of one's own may write anything.
    """
    cardinality = run.graph.cardinality
    for pack in run.packs:
        largest = pack.values.max(axis=1)
        wrong = np.flatnonzero(largest >= cardinality)
        if len(wrong):
            variable = int(wrong[0])
            size, value = int(cardinality[variable]), int(largest[variable])
            raise OutOfRangeError(kernel_name(run.kernel), variable, value, size)
