"""Start packs, now or later: a late one catches up with those that are there."""

import numpy as np

from orbitmc._numba.jit import Stopwatch
from orbitmc.run.pack import Pack, advance, start_pack
from orbitmc.run.run import Run
from orbitmc.run.starts.annealing import heaviest, search_modes
from orbitmc.run.starts.warming import warm_up


def add_packs(run: Run, count: int) -> None:
    """Let a run have so many packs, all equally far; a pack depends on its number only."""
    numbers = range(len(run.packs), count)
    if not numbers:
        return
    with Stopwatch() as watch:
        started = {number: _started(run, number) for number in numbers}
        _occupy_modes(run, started)
    run.starting = watch.seconds / len(numbers)
    for number, pack in started.items():
        _catch_up(run, number, pack)
    run.packs += tuple(started.values())


def _started(run: Run, number: int) -> Pack:
    pack = start_pack(
        run.prepared,
        run.kernel,
        seed=run.seed,
        number=number,
        lanes=run.lanes,
        kind=run.kind,
        part_of=run.part_of,
    )
    if run.choice is None:
        return pack
    from orbitmc.run.control.choice import with_controls

    return with_controls(pack, run.choice)


def _occupy_modes(run: Run, started: dict[int, Pack]) -> None:
    if run.skips_modes:
        return
    found = search_modes(run.graph, started, run.lanes, run.part_of, seed=run.seed)
    if run.heaviest is not None:
        found = heaviest(run.graph, np.stack([run.heaviest, found], axis=1), run.part_of)
    run.heaviest = found


def _catch_up(run: Run, number: int, pack: Pack) -> None:
    todo = (run.prepared, run.kernel, pack)
    if run.warm_up_steps:
        warm_up(*todo, steps=run.warm_up_steps, annealing=run.annealing)
    go_on = run.recording(number, advance)
    go_on(*todo, recorded=0, samples=run.recorded, spacing=run.spacing)
