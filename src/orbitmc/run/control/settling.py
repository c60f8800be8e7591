"""Choose how a run estimates, when its warm-up is over, and let its packs record accordingly."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orbitmc.estimate.control_variates import secant_bytes, secant_entries, secant_sweeps
from orbitmc.estimate.tally import RaoBlackwellTally
from orbitmc.run.control.choice import CONTROLLED, LOOKS, ControlChoice, plainly, with_controls
from orbitmc.run.footprint import control_bytes

if TYPE_CHECKING:
    from orbitmc.run.run import Run

TRIAL = 0.05  # of the run goes into the trial
FEWEST, MOST = 8, 1024  # samples of the trial
SHARE = 0.15  # of the run may go into secants
CHEAP = 0.02  # of the run: secants that cost no more are tried even where chains are slow
MOST_BYTES = 2**29  # of secants


def settle_estimator(run: Run, sweeps: float) -> None:
    """Choose how a run estimates that has so many sweeps of one pack ahead of it."""
    why_not = _why_not(run, sweeps)
    run.choice = plainly(why_not) if why_not else _tried(run, sweeps)
    run.packs = tuple(with_controls(pack, run.choice) for pack in run.packs)


def looks_of(run: Run) -> tuple[int, ...]:
    """How often a sample may look at the chains: once if the run has a spacing of its own."""
    return LOOKS if run.schedule.spacing is None else LOOKS[:1]


def _why_not(run: Run, sweeps: float) -> str:
    """Why a run has no control variates, in words; nothing if they are worth a try."""
    if not isinstance(run.packs[0].tally, RaoBlackwellTally):
        return "blocks of variables are drawn and recorded as a whole"
    if not secant_entries(run.graph):
        return "no variable depends on another one"
    more = control_bytes(run.graph, run.most_packs)
    if secant_bytes(run.graph) > MOST_BYTES or (run.room is not None and more > run.room):
        return "they would take too much memory"
    if _trial_samples(run, sweeps) < FEWEST or secant_sweeps(run.graph) > SHARE * sweeps:
        return "the run is too short to find out whether they pay"
    return ""


def _trial_samples(run: Run, sweeps: float) -> int:
    """How many samples the trial takes."""
    each = run.spacing / run.graph.variables + CONTROLLED * looks_of(run)[-1]
    return int(min(TRIAL * sweeps / each, MOST))


def _tried(run: Run, sweeps: float) -> ControlChoice:
    from orbitmc.run.control.trying import tried

    cheap = secant_sweeps(run.graph) <= CHEAP * sweeps
    return tried(run, _trial_samples(run, sweeps), cheap=cheap)
