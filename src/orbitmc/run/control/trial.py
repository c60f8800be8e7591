"""What control variates, and more looks at the chains, would save: tried out after the warm-up.

A copy of the first pack goes on for a small part of the run. How much its columns differ is the
variance of each way of estimating, slow changes of the chains included.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from orbitmc._simd.random import COLUMNS, generator
from orbitmc._util.arrays import Floats
from orbitmc.estimate.control_variates import MAX_SHARE, Controls, series
from orbitmc.estimate.tally import RaoBlackwellTally, tally, with_values
from orbitmc.run.control.choice import CONTROLLED, PLAIN
from orbitmc.run.control.settling import looks_of
from orbitmc.run.pack import copied, recorder

if TYPE_CHECKING:
    from orbitmc.run.run import Run

LEAST_GAIN = 1.1  # below it, control variates are not worth their while
GAIN_OF_SLOW = 2.0  # the same where chains are slow: one slow change may look like a gain
CLEAR_GAIN = 5.0  # below it, more looks are not worth the risk of slow changes that a trial misses
FAST = 1.02  # four looks have so much less variance than one, at least, unless chains are slow
STREAM = 2**31  # of random numbers, beside those of packs
SMALLEST = 1e-3  # variances of single values below it count as this


class Means(NamedTuple):
    """Means of conditional probabilities and of values that columns have shown, `[row, column]`."""

    chances: Floats
    values: Floats


class Best(NamedTuple):
    """The best number of looks, and how many times less the variance is then, at equal cost."""

    looks: int
    gain: float


Trial = Mapping[int, Means]
"""What was shown, by the number of looks for each sample."""


def trial_of(run: Run, samples: int) -> Trial:
    """Take so many samples of a copy of the first pack, with random numbers of its own.

    Between two samples there are other looks, unless the run has a spacing of its own.
    """
    often = looks_of(run)
    tallies = [with_values(tally(run.graph, run.lanes)) for _ in often]  # type: ignore[arg-type]
    rng = generator(run.seed, STREAM, run.lanes)
    pack = replace(copied(run.packs[0]), rng=rng, ends=None)
    packs = [replace(pack, tally=one) for one in tallies]
    record = [recorder(run.prepared, run.kernel, one) for one in packs]
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


def best_way(trial: Trial, controls: Controls, sweeps: float) -> Best:
    """Compare the ways to estimate with the plain one, at equal cost; a sample takes `sweeps`."""
    weight = _weights(trial)
    plain = (sweeps + PLAIN) * _variance(trial[1].chances, weight)
    prices = {
        looks: (sweeps + looks * CONTROLLED) * _variance(_sharper(means, controls, weight), weight)
        for looks, means in trial.items()
    }
    gains = {looks: plain / price if price > 0.0 else 1.0 for looks, price in prices.items()}
    looks = max(gains, key=gains.__getitem__)
    return Best(looks, gains[looks]) if gains[looks] >= CLEAR_GAIN else Best(1, gains[1])


def _means(tallies: list[RaoBlackwellTally], records: int) -> Means:
    chances = sum(one.sums[0] for one in tallies) / records
    values = sum(one.values[0] for one in tallies) / records
    return Means(chances, values)


def _sharper(means: Means, controls: Controls, weight: Floats) -> Floats:
    """Columns with control variates, as much of them for all rows."""
    excess = series(controls.matrix, means.values - means.chances, controls.terms)
    own, other = (columns - columns.mean(axis=1, keepdims=True) for columns in (means[0], excess))
    square = float((weight[:, None] * other**2).sum())
    both = float((weight[:, None] * own * other).sum())
    share = min(max(both / square, 0.0), MAX_SHARE) if square > 0.0 else 0.0
    return means.chances - share * excess


def _weights(trial: Trial) -> Floats:
    """Rows count by how large their error is beside what single values vary."""
    p = trial[1].chances.mean(axis=1)
    weight: Floats = 1.0 / (p * (1.0 - p) + SMALLEST)
    return weight


def _variance(columns: Floats, weight: Floats) -> float:
    return float((weight * columns.var(axis=1, ddof=1)).sum())
