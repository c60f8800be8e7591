"""Lead chains away from their starts, before anything is recorded."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from orbitmc._numba.jit import Stopwatch
from orbitmc._simd.random import COLUMNS
from orbitmc._util.arrays import Bytes
from orbitmc.conditionals.prepared import PreparedGraph
from orbitmc.kernels._gibbs import GibbsMemory, SystematicScan
from orbitmc.kernels.protocol import (
    Kernel,
    annealing_entries,
    independent_after,
    kernel_at,
    picks_at_random,
    record_every,
)
from orbitmc.sampling.budget import Clock
from orbitmc.sampling.initialization import heaviest_states, search_modes
from orbitmc.sampling.pack import Pack, compile_recording, start_pack, stepper
from orbitmc.sampling.run import Run, with_controls
from orbitmc.sampling.schedule import PILOT_SAMPLES, WARM_UP_SHARE, Schedule

STAGES = 32  # of annealing, each a little colder
ANNEALED = 0.75  # of the warm-up
NANOSECONDS = 3.5  # that an entry of a block's tables takes in each lane
RECORDED = 1.0  # sweeps that recording a sample takes, about
LEAST_SPACING = 1 / 16  # sweeps between two samples of a run that has no time for more
STRETCH = 4096  # steps at least, in whole sweeps: to call compiled code takes time
SCAN = SystematicScan()


def warm_up(
    prepared: PreparedGraph,
    kernel: Kernel,
    pack: Pack,
    *,
    steps: int,
    taken: int = 0,
    annealing: int = 0,
) -> None:
    """Take so many steps, after as many as were `taken` before, and record nothing.

    The first `annealing` steps of all go from hot to cold.

    A kernel that picks variables at random leaves some in the state they were started in for many
    sweeps, and jumps may carry it to others. So every other stretch of its warm-up is a systematic
    scan. Which stretch that is depends on the number of steps alone.
    """
    compile_recording(prepared, pack)
    if taken < annealing:
        annealed = min(steps, annealing - taken)
        _anneal(prepared, kernel, pack, steps=annealed, taken=taken, annealing=annealing)
        steps, taken = steps - annealed, taken + annealed
    walk = stepper(prepared, kernel, pack)
    if not picks_at_random(kernel):
        walk(steps)
        return
    variables = max(1, prepared.graph.variables)
    stretch = _stretch(variables)
    scanning = _scan_pack(pack)
    scan = stepper(prepared, SCAN, scanning)
    while True:
        now = min(steps, stretch - taken % stretch)
        scanned = now if taken // stretch % 2 == 0 else 0
        scanning.memory.turn[0] = taken % variables
        scan(scanned)
        walk(now - scanned)
        steps, taken = steps - now, taken + now
        if steps == 0:
            break
    pack.outcomes[kernel.outcomes.index("updates")] += scanning.outcomes[0]


def _stretch(variables: int) -> int:
    """Steps of the same kind that a warm-up takes together."""
    return variables * -(-STRETCH // variables)


def steps_scanned_first(run: Run) -> int:
    """Steps of a warm-up that do not tell what steps of the kernel take."""
    if run.annealing or not picks_at_random(run.kernel):
        return 0
    return _stretch(max(1, run.graph.variables))


def usual_spacing(schedule: Schedule, kernel: Kernel, variables: int) -> int:
    """Steps between two samples: those asked for, or enough that every block is drawn.

    To record a sample costs about as much: blocks are eliminated once more for what it tells.
    Where states become independent of each other, that is soon enough.
    """
    spacing, alone = schedule.spacing_for(variables), independent_after(kernel)
    if alone is not None and schedule.spacing is None and alone <= spacing:
        return alone
    return spacing if schedule.spacing is not None else max(spacing, record_every(kernel))


def annealing_steps(run: Run, at_once: int) -> int:
    """How many steps of a run's warm-up go from hot to cold, if so many packs advance at once.

    Blocks of variables that zeros tie to each other are annealed: it may be hard to leave a mode
    of what they allow. One block that has all variables needs no warm-up.
    """
    kernel, schedule = run.kernel, run.schedule
    entries = annealing_entries(kernel)
    if not entries:
        return 0
    if schedule.seconds is None or schedule.warm_up is not None:
        samples = schedule.warm_up_for(schedule.samples or PILOT_SAMPLES)
        return int(ANNEALED * samples * run.spacing)
    turns = -(-run.most_packs // at_once)
    seconds = ANNEALED * WARM_UP_SHARE * schedule.seconds / turns
    return int(seconds / (NANOSECONDS * 1e-9 * run.lanes * entries))


def affordable_annealing(run: Run, clock: Clock) -> int:
    """How many steps of a timed run may go from hot to cold, now that a sweep has been timed."""
    if run.ends is None or run.schedule.warm_up is not None or not clock.sweeps.each:
        return run.annealing
    ends = run.budget.part_over(ANNEALED * WARM_UP_SHARE, run.ends)
    sweeps = (ends - clock()) / (clock.turns(run) * clock.sweeps.each)
    affordable = run.warm_up_steps + max(0, int(sweeps * run.sweep))
    return min(run.annealing, affordable)


def affordable_spacing(run: Run, clock: Clock) -> int:
    """Steps between samples: fewer in a timed run that has time for no whole sample.

    A spacing that was asked for stays, and so does one that makes draws independent.
    """
    asked = run.schedule.spacing is not None
    if run.ends is None or run.recorded or asked or run.independent or not clock.sweeps.each:
        return run.spacing
    sweeps = (run.ends - clock()) / (clock.turns(run) * clock.sweeps.each) - RECORDED
    if sweeps >= run.spacing / max(run.sweep, 1):
        return run.spacing
    return max(1, int(max(LEAST_SPACING * run.sweep, sweeps * run.sweep)))


def _anneal(
    prepared: PreparedGraph, kernel: Kernel, pack: Pack, *, steps: int, taken: int, annealing: int
) -> None:
    """Take steps at the temperatures of their stages; the last stage is that of the model.

    The column that starts in modes stays where it is: heat would take it out of them, and it is
    there to show whether chains leave them.
    """
    in_modes = pack.values[:, ::COLUMNS].copy()
    while steps:
        stage = taken * STAGES // annealing
        end = -(-(stage + 1) * annealing // STAGES)
        now = min(steps, end - taken)
        stepper(prepared, kernel_at(kernel, (stage + 1) / STAGES), pack)(now)
        steps, taken = steps - now, taken + now
    pack.values[:, ::COLUMNS] = in_modes


def _scan_pack(pack: Pack) -> Pack:
    """The chains of a pack, to be scanned in the memory that its tally uses."""
    memory = GibbsMemory(pack.scratch, np.zeros(1, dtype=np.int64))
    counted = np.zeros(1, dtype=np.int64)
    return Pack(pack.values, memory, pack.rng, pack.tally, pack.scratch, counted)


# Start packs, now or later: a late one catches up with those that are there.


class StartedPacks(NamedTuple):
    """Packs that were started, the heaviest state known now, and seconds that a start took."""

    packs: tuple[Pack, ...]
    heaviest: Bytes | None
    seconds: float


def start_packs(run: Run, count: int, *, search: bool) -> StartedPacks:
    """Start packs of a run until there are so many, all equally far.

    A pack depends on its number only. With `search`, some of its lanes start in modes.
    """
    heaviest = run.heaviest
    with Stopwatch() as watch:
        started = {number: _start(run, number) for number in range(len(run.packs), count)}
        if search:
            heaviest = search_modes(run.graph, started, run.lanes, run.part_of, seed=run.seed)
            if run.heaviest is not None:
                both = np.stack([run.heaviest, heaviest], axis=1)
                heaviest = heaviest_states(run.graph, both, run.part_of)
    for number, pack in started.items():
        _catch_up(run, number, pack)
    return StartedPacks(tuple(started.values()), heaviest, watch.seconds / len(started))


def _start(run: Run, number: int) -> Pack:
    pack = start_pack(
        run.prepared,
        run.kernel,
        seed=run.seed,
        number=number,
        lanes=run.lanes,
        kind=run.recording.kind,
        part_of=run.part_of,
        groups=run.groups,
    )
    return with_controls(pack, run.choice)


def _catch_up(run: Run, number: int, pack: Pack) -> None:
    todo = (run.prepared, run.kernel, pack)
    if run.warm_up_steps:
        warm_up(*todo, steps=run.warm_up_steps, annealing=run.annealing)
    go_on = run.advancer(number)
    go_on(*todo, recorded=0, samples=run.recorded, spacing=run.spacing)
