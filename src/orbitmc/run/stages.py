"""The pilot of a run that is to reach an error, and a glimpse at one that ends too early."""

from dataclasses import replace
from functools import partial

from orbitmc._util.arrays import Floats
from orbitmc.estimate.statistics import APART
from orbitmc.estimate.tally import all_sums
from orbitmc.run.pack import advance, copied
from orbitmc.run.run import Run
from orbitmc.run.schedule import SAFETY


def glimpse(run: Run, *, samples: int = 4) -> Run:
    """Let copies of the chains record a few samples; the run itself stays as it is.

    For runs that were interrupted in their warm-up: a rough answer instead of none.
    """
    seen = replace(run, packs=tuple(copied(pack) for pack in run.packs))
    for number, pack in enumerate(seen.packs):
        more = partial(run.recording(number, advance), run.prepared, run.kernel, pack)
        more(recorded=run.recorded, samples=samples, spacing=run.spacing)
    seen.recorded += samples
    return seen


def end_pilot(run: Run) -> None:
    """After the pilot, plan the second stage and forget the pilot's samples."""
    target = run.schedule.standard_error
    if target is None or run.piloted or run.recorded < (run.wanted or 0):
        return
    spread, error = _errors(run)
    longer = max(float((spread / target).max(initial=0.0)) ** 2, error / target)
    run.wanted = max(8, int(run.recorded * SAFETY * longer) + 1)
    run.piloted, run.recorded = True, 0
    for pack in run.packs:
        for sums in all_sums(pack.tally):
            sums[:] = 0.0


def _errors(run: Run) -> tuple[Floats, float]:
    """The errors that columns show in what was asked, and the largest of what is not seen."""
    if run.notes is not None:
        return run.notes.spread(run.recorded, run.lanes), APART / (run.chains * run.recorded)
    found = run.statistics()
    return found.spread, float(found.standard_error.max(initial=0.0))
