"""From tallies to numbers: probabilities, errors, intervals, effective sizes, R-hat."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from orbitmc._simd.random import COLUMNS
from orbitmc._util.arrays import Floats, Indices, brief, counted, lengths, starts
from orbitmc.estimate.row_summaries import (
    ROUNDING,
    RowSummaries,
    pooled,
    row_summaries,
    spread_of,
)
from orbitmc.estimate.tallies import Tally, rows_of

LEVEL = 0.95
UNSEEN = 3.0  # / n is what n independent states may all have missed: -log(1 - LEVEL)
APART = 10.0  # samples: so far apart, states of a chain count as independent for what is seldom
RARE = 10.0  # / n is how often a value must occur to be known from n independent states


@dataclass(frozen=True)
class CoursePoint:
    """The standard errors of a run after so many seconds and samples: the middle, the largest."""

    seconds: float
    samples: int
    middle: float
    largest: float


@dataclass(frozen=True)
class Statistics:
    """One number per tallied row; `open_lanes` says, per variable, how many lanes had a choice.

    `spread` is the error that columns show, `standard_error` what may not have been seen included.
    `states` is how many independent states a row has been seen in, at most: what happens less often
    may not have been seen at all. `kept` and `drifts` mark rows whose columns do not forget. Where
    recorded states are `independent` draws, none of these is asked: all states count.
    """

    probability: Floats
    spread: Floats
    standard_error: Floats
    low: Floats
    high: Floats
    ess: Floats
    r_hat: Floats
    states: Floats
    kept: NDArray[np.bool_]
    drifts: NDArray[np.bool_]
    open_lanes: NDArray[np.int64]
    lanes: int
    recorded: int
    independent: bool = False

    def __repr__(self) -> str:
        return brief(self)


def statistics(
    tallies: Sequence[Tally],
    recorded: int,
    lanes: int,
    pools: NDArray[np.int64] | None = None,
    part_of: NDArray[np.int64] | None = None,
    *,
    looks: int = 1,
    sharper: Floats | None = None,
    independent: bool = False,
) -> Statistics:
    """Combine the tallies of packs that have each recorded as many samples in as many lanes.

    Rows with the same number in `pools` are known to be equal (exact symmetries) and averaged.
    Rows with the same number in `part_of` belong to variables that depend on each other; unless it
    is given, all do. A sample has so many `looks` at each lane.

    `sharper` estimates of columns, `[row, column]`, replace those of the tallies, and so does their
    spread. What says whether chains mix, and in how many states, is always taken from the tallies:
    an estimate with less noise shows no more states. Recorded states that are `independent` draws
    of the model are all counted, and nothing is asked about mixing.
    """
    seen = row_summaries(tallies, recorded, lanes, pools, looks)
    chains, columns = lanes * len(tallies), COLUMNS * len(tallies)
    if independent:
        states = np.full(len(seen.probability), float(chains * recorded))
        seen = of_draws(seen, states)
    else:
        together = np.zeros(len(seen.probability), np.int64) if part_of is None else part_of
        states = states_seen(seen.probability, seen.spread, chains, recorded, together)
    probability, spread = seen.probability, seen.spread
    if sharper is not None:
        probability, spread = summarised(sharper, tallies[0].row_start, pools)
    standard_error = np.maximum(spread, np.maximum(probability, 1.0 - probability) / states)
    ess = effective_size(probability, standard_error, states)
    low, high = interval(probability, ess, states, degrees=columns - 1)
    return Statistics(
        probability=probability,
        spread=spread,
        standard_error=standard_error,
        low=low,
        high=high,
        ess=ess,
        r_hat=seen.r_hat,
        states=states,
        kept=seen.kept,
        drifts=seen.drifts,
        open_lanes=sum((t.open.sum(axis=1, dtype=np.int64) for t in tallies), np.int64(0)),  # type: ignore[arg-type]
        lanes=chains,
        recorded=recorded,
        independent=independent,
    )


def of_draws(seen: RowSummaries, states: Floats) -> RowSummaries:
    """What is known of rows from so many independent draws: no doubt that they mix.

    An average of conditional probabilities varies no more than one of values does.
    """
    p, never = seen.probability, np.zeros(len(seen.probability), dtype=np.bool_)
    return RowSummaries(p, np.sqrt(p * (1.0 - p) / states), np.ones(len(p)), never, never)


def summarised(
    columns: Floats, row_start: Indices, pools: NDArray[np.int64] | None
) -> tuple[Floats, Floats]:
    """Mean and spread of the estimates of columns; probabilities of a variable sum to one."""
    if pools is not None:
        columns = pooled(columns[None], pools)[0]
    spread, probability = spread_of(columns), columns.mean(axis=1)
    if pools is not None:
        probability, spread = probability[pools], spread[pools]
    return _between_zero_and_one(probability, row_start), spread


def _between_zero_and_one(probability: Floats, row_start: Indices) -> Floats:
    """Clip what noise has carried too far; other values of the variable make up for it."""
    clipped = np.clip(probability, 0.0, 1.0)
    rows = lengths(row_start)
    variable = np.repeat(np.arange(len(rows)), rows)
    total = np.bincount(variable, clipped, minlength=len(rows))
    many = (rows > 2) & (np.bincount(variable, clipped != probability, minlength=len(rows)) > 0)
    clipped[many[variable]] /= total[variable[many[variable]]]
    return clipped


def states_seen(
    probability: Floats, spread: Floats, chains: int, recorded: int, part_of: NDArray[np.int64]
) -> Floats:
    """In how many independent states each row has been seen: at most in one of `APART` recorded.

    States that are seldom entered are also slowly left, and nobody knows how slowly before a chain
    was there. A spread as large as that of fewer independent values means fewer. A smaller spread
    does not mean more: averages of conditional probabilities vary little until a rare state is
    met. A rare row tells nothing of this itself: it has been seen as often as the row of its part
    (rows with the same number in `part_of`) that was seen least; where all are rare, once per
    chain.
    """
    variance = probability * (1.0 - probability)
    with np.errstate(divide="ignore", invalid="ignore"):
        size = np.where(spread > ROUNDING, variance / spread**2, np.inf)
    size = np.clip(size, 1.0, chains * max(recorded / APART, 1.0))
    rare = is_rare(probability, size)
    least = np.full(int(part_of.max(initial=-1)) + 1, np.inf)
    np.minimum.at(least, part_of[~rare], size[~rare])
    least[np.isinf(least)] = chains
    return np.where(rare, np.minimum(size, least[part_of]), size)


def is_rare(probability: Floats, states: Floats) -> NDArray[np.bool_]:
    """Whether a value, or all others together, may have been seen too seldom to be known."""
    return np.minimum(probability, 1.0 - probability) < RARE / states


def effective_size(probability: Floats, standard_error: Floats, states: Floats) -> Floats:
    """How many independent draws would have this error; for rare values, how many were seen."""
    size = probability * (1.0 - probability) / standard_error**2
    return np.where(is_rare(probability, states), states, size)


def interval(
    probability: Floats, size: Floats, states: Floats, degrees: int
) -> tuple[Floats, Floats]:
    """Wilson's score interval with Student's quantile; for rare values, wide enough for the unseen.

    States that none of n independent ones has shown have a probability of up to 3 / n together
    (at a level of 95 %); the value may be certain in them, or impossible. For other values the
    standard error has room for them.
    """
    quantile = float(stdtrit(degrees, 0.5 + LEVEL / 2))
    shrink = quantile**2 / size
    centre = (probability + shrink / 2) / (1 + shrink)
    spread = np.sqrt(probability * (1 - probability) / size + shrink / (4 * size))
    half = quantile * spread / (1 + shrink)
    unseen = np.where(is_rare(probability, states), UNSEEN / states, 0.0)
    low = np.minimum(centre - half, probability * (1.0 - unseen))
    high = np.maximum(centre + half, probability + (1.0 - probability) * unseen)
    low, high = np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)
    return np.where(probability <= 0.0, 0.0, low), np.where(probability >= 1.0, 1.0, high)


@dataclass(frozen=True)
class Values:
    """Statistics spread out to one entry per value, binary variables completed."""

    start: Indices
    rows: NDArray[np.int64]
    mirrored: NDArray[np.bool_]

    def spread(self, numbers: NDArray[Any], single: float) -> NDArray[Any]:
        """Give each value its row's number; `single` for variables with one value."""
        return np.append(numbers, numbers.dtype.type(single))[self.rows]

    def probabilities(self, numbers: Floats) -> Floats:
        found = self.spread(numbers, 1.0)
        return np.where(self.mirrored, 1.0 - found, found)

    def intervals(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """Both ends of each value's interval; a mirrored one is turned around."""
        below, above = self.spread(low, 1.0), self.spread(high, 1.0)
        return (
            np.where(self.mirrored, 1.0 - above, below),
            np.where(self.mirrored, 1.0 - below, above),
        )


def values_of(cardinality: Indices) -> Values:
    """Say which row serves each value: value 0 of a binary variable mirrors value 1."""
    sizes = cardinality.astype(np.int64)
    row_start = np.concatenate([[0], np.cumsum(rows_of(cardinality))])
    variable, value = np.repeat(np.arange(len(sizes)), sizes), counted(sizes)
    binary, single = sizes[variable] == 2, sizes[variable] == 1
    rows = row_start[variable] + np.where(binary, 0, value)
    rows[single] = -1
    return Values(starts(sizes), rows, binary & (value == 0))
