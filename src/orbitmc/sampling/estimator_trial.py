"""How a run estimates: control variates are tried when its warm-up is over, and kept if they pay.

A copy of the first pack goes on for a small part of the run. How much its columns differ is the
variance of each way of estimating, slow changes of the chains included.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from scipy.sparse import csr_array

from orbitmc._numba.jit import Stopwatch
from orbitmc._simd.random import COLUMNS, Stream, generator
from orbitmc._util.arrays import Floats
from orbitmc._util.text import format_number
from orbitmc.estimate.control_variates import (
    MAX_SHARE,
    SENSITIVITY_STATES,
    Controls,
    neumann_series,
    radii_for,
    scale_to_radius,
    sensitivities,
    sensitivity_bytes,
    sensitivity_entries,
    sensitivity_sweeps,
    terms_for,
)
from orbitmc.estimate.tally import PARTS, RaoBlackwellTally, rows_of, tally, with_values
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.sampling.pack import copy_pack, recorder
from orbitmc.sampling.run import LOOKS, EstimatorChoice, Run, without_controls
from orbitmc.sampling.schedule import SWEEPS_PER_SAMPLE

PLAIN, CONTROLLED = 1.6, 2.2  # what one look costs, in sweeps
TRIAL = 0.05  # of the run goes into the trial
FEWEST, MOST = 8, 1024  # samples of the trial
SHARE = 0.15  # of the run may go into secants
CHEAP = 0.02  # of the run: secants that cost no more are tried even where chains are slow
MOST_BYTES = 2**29  # of secants


def choose_estimator(run: Run, sweeps: float) -> tuple[EstimatorChoice, float]:
    """Choose how a run estimates that has so many sweeps of one pack ahead of it.

    Gives also the seconds that control variates will take at its end.
    """
    why_not = _why_not(run, sweeps)
    if why_not:
        return without_controls(why_not), 0.0
    cheap = sensitivity_sweeps(run.graph) <= CHEAP * sweeps
    return choose_by_trial(run, _trial_samples(run, sweeps), cheap=cheap)


def looks_of(run: Run) -> tuple[int, ...]:
    """How often a sample may look at the chains: once if its spacing is not the usual one."""
    usual = SWEEPS_PER_SAMPLE * run.graph.variables
    return LOOKS if run.schedule.spacing is None and run.spacing == usual else LOOKS[:1]


IN_COLUMNS = 6  # arrays of columns at the end: chances, values, what is subtracted, and the like
WHILE_SECANTS = 2**28  # bytes of log-weights at a time


def control_bytes(graph: FactorGraph, packs: int) -> int:
    """What control variates take on top: sums of values, secants, and columns at the end."""
    rows = int(rows_of(graph.cardinality).sum())
    columns = IN_COLUMNS * 8 * rows * COLUMNS * packs
    secants = sensitivity_bytes(graph) + WHILE_SECANTS
    return int(8 * PARTS * rows * COLUMNS * packs + columns + secants)


def _why_not(run: Run, sweeps: float) -> str:
    """Why a run has no control variates, in words; nothing if they are worth a try."""
    if not isinstance(run.packs[0].tally, RaoBlackwellTally):
        return "blocks of variables are drawn and recorded as a whole"
    if not sensitivity_entries(run.graph):
        return "no variable depends on another one"
    more, room = control_bytes(run.graph, run.most_packs), run.recording.room
    if sensitivity_bytes(run.graph) > MOST_BYTES or (room is not None and more > room):
        return "they would take too much memory"
    if _trial_samples(run, sweeps) < FEWEST or sensitivity_sweeps(run.graph) > SHARE * sweeps:
        return "the run is too short to find out whether they pay"
    return ""


def _trial_samples(run: Run, sweeps: float) -> int:
    """How many samples the trial takes."""
    each = run.spacing / run.graph.variables + CONTROLLED * looks_of(run)[-1]
    return int(min(TRIAL * sweeps / each, MOST))


LEAST_GAIN = 1.1  # below it, control variates are not worth their while
GAIN_OF_SLOW = 2.0  # the same where chains are slow: one slow change may look like a gain
CLEAR_GAIN = 5.0  # below it, more looks are not worth the risk of slow changes that a trial misses
FAST = 1.02  # four looks have so much less variance than one, at least, unless chains are slow
SMALLEST = 1e-3  # variances of single values below it count as this


class Means(NamedTuple):
    """Means of conditional probabilities and of values that columns have shown, `[row, column]`."""

    chances: Floats
    values: Floats


class TrialOutcome(NamedTuple):
    """The best number of looks, and how many times less the variance is then, at equal cost."""

    looks: int
    gain: float


Trial = Mapping[int, Means]
"""What was shown, by the number of looks for each sample."""


def run_estimator_trial(run: Run, samples: int) -> Trial:
    """Take so many samples of a copy of the first pack, with random numbers of its own.

    Between two samples there are other looks, unless the run has a spacing of its own.
    """
    often = looks_of(run)
    tallies = [with_values(tally(run.graph, run.lanes)) for _ in often]  # type: ignore[arg-type]
    rng = generator(run.seed, Stream.ESTIMATOR_TRIAL, run.lanes)
    pack = replace(copy_pack(run.packs[0]), rng=rng, ends=None, joints=None)
    packs = [replace(pack, tally=empty) for empty in tallies]
    record = [recorder(run.prepared, run.kernel, tallied) for tallied in packs]
    spacing = run.spacing // often[-1]
    order = (2, 1, 2, 0) if len(often) > 1 else (0,)
    for _ in range(samples):
        for place in order:
            record[place](spacing)
    return {
        looks: _means(tallies[: place + 1], samples * looks * run.lanes // COLUMNS)
        for place, looks in enumerate(often)
    }


def is_slow(trial: Trial) -> bool:
    """Whether more looks show nothing new: then most noise is what chains remember."""
    variances = [_variance(means.chances, _weights(trial)) for means in trial.values()]
    return len(variances) > 1 and variances[0] < FAST * variances[-1]


def choose_weight(trial: Trial, controls: Controls, sweeps: float) -> TrialOutcome:
    """Compare the ways to estimate with the plain one, at equal cost; a sample takes `sweeps`."""
    weight = _weights(trial)
    plain = (sweeps + PLAIN) * _variance(trial[1].chances, weight)
    prices = {
        looks: (sweeps + looks * CONTROLLED)
        * _variance(_apply_controls(means, controls, weight), weight)
        for looks, means in trial.items()
    }
    gains = {looks: plain / price if price > 0.0 else 1.0 for looks, price in prices.items()}
    looks = max(gains, key=gains.__getitem__)
    return (
        TrialOutcome(looks, gains[looks])
        if gains[looks] >= CLEAR_GAIN
        else TrialOutcome(1, gains[1])
    )


def _means(tallies: list[RaoBlackwellTally], records: int) -> Means:
    chances = sum(tally.sums[0] for tally in tallies) / records
    values = sum(tally.values[0] for tally in tallies) / records
    return Means(chances, values)


def _apply_controls(means: Means, controls: Controls, weight: Floats) -> Floats:
    """Columns with control variates, as much of them for all rows."""
    excess = neumann_series(controls.matrix, means.values - means.chances, controls.terms)
    plain, other = (columns - columns.mean(axis=1, keepdims=True) for columns in (means[0], excess))
    square = float((weight[:, None] * other**2).sum())
    both = float((weight[:, None] * plain * other).sum())
    share = min(max(both / square, 0.0), MAX_SHARE) if square > 0.0 else 0.0
    return means.chances - share * excess


def _weights(trial: Trial) -> Floats:
    """Rows count by how large their error is beside what single values vary."""
    p = trial[1].chances.mean(axis=1)
    weight: Floats = 1.0 / (p * (1.0 - p) + SMALLEST)
    return weight


def _variance(columns: Floats, weight: Floats) -> float:
    return float((weight * columns.var(axis=1, ddof=1)).sum())


# Try control variates out, and choose by what the trial has shown.

SLOW = "chains remember their states for too long"


def choose_by_trial(run: Run, samples: int, *, cheap: bool) -> tuple[EstimatorChoice, float]:
    """Choose how a run estimates by a trial of so many samples.

    Where chains are slow, a few columns may seem to gain by chance: then control variates are
    looked at only if they are `cheap`, and used only if they gain clearly. Gives also the seconds
    that it takes to prepare them: to use them will take as long.
    """
    trial = run_estimator_trial(run, samples)
    slow = is_slow(trial)
    if slow and not cheap:
        return without_controls(SLOW), 0.0
    states = run.packs[0].values[:, :SENSITIVITY_STATES].copy()  # chains go on
    with Stopwatch() as watch:
        matrix = sensitivities(run.graph, states)
        ways = {radius: _scale_controls(matrix, radius) for radius in radii_for(matrix)}
        sweeps = run.spacing / run.graph.variables
        choices = {radius: choose_weight(trial, way, sweeps) for radius, way in ways.items()}
    radius = max(choices, key=lambda candidate: choices[candidate].gain)
    best, controls = choices[radius], ways[radius]
    if best.gain < (GAIN_OF_SLOW if slow else LEAST_GAIN):
        return without_controls(SLOW if slow else "they would not pay"), 0.0
    about = _words(best)
    choice = EstimatorChoice(best.looks, controls.terms, about, radius, states, controls)
    return choice, watch.seconds


def controls_of(graph: FactorGraph, choice: EstimatorChoice) -> Controls:
    """What corrects the estimates of a run."""
    return _scale_controls(sensitivities(graph, choice.states), choice.radius)


def _scale_controls(matrix: csr_array, radius: float) -> Controls:
    return Controls(scale_to_radius(matrix, radius), terms_for(radius))


def _words(best: TrialOutcome) -> str:
    looks = f"{best.looks} looks for each sample, " if best.looks > 1 else ""
    gain = format_number(best.gain)
    return f"control variates, {looks}about {gain} times less variance in the same time"
