"""From tallies to numbers: probabilities, errors, intervals, effective sizes, R-hat."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc._simd.random import COLUMNS
from orbitmc._util.arrays import Bytes, Floats, Indices, count_within, lengths, short_repr, starts
from orbitmc._util.loading import LateModule
from orbitmc.estimate.tally import PARTS, Tally, capacity, rows_of
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.log_weights import log_weights_of_parts

# What columns say of each row, some thousand rows at a time, so that little memory is needed.
#
# Do chains keep what they started with, or drift, though they look as if they agreed? R-hat
# compares the spread between chains with the spread of a value; a few stuck chains hardly change
# it. But what a chain keeps shows in every part of time. So the means of columns (groups of lanes)
# in parts of time are put through a two-way analysis of variance. If columns are independent and
# forget within a part, then
#
# - what columns keep: mean square between columns / residual mean square,
# - what all columns do together: mean square between parts of time / residual mean square,
#
# both follow Fisher's F distribution. `1 - 1 / F` of the columns is the share of the squared error
# that does not shrink with time.

special = LateModule("scipy.special")

LIMIT_ROUNDING = 1e-11  # differences below it come from 32-bit limits, not from the chains
UNIT = 2.0**-53  # of a sum is rounded away with each term at most
ROWS_AT_A_TIME = 2**11  # at a time: what a processor keeps close by

Pools = NDArray[np.int64]

FALSE_ALARM = 1e-6  # per run and question, if parts of time are independent
LARGEST_SHARE = 0.5  # of the squared error may be kept: F at most 2


class RowSummaries(NamedTuple):
    """Per row: mean and spread of all columns, R-hat, and whether columns forget.

    `spread` is the standard error that columns show; `persists` and `drifts` as in `Persistence`.
    """

    probability: Floats
    spread: Floats
    r_hat: Floats
    persists: NDArray[np.bool_]
    drifts: NDArray[np.bool_]


def row_summaries(
    tallies: Sequence[Tally],
    recorded: int,
    lanes: int,
    pools: Pools | None = None,
    looks: int = 1,
    *,
    rows_at_a_time: int = ROWS_AT_A_TIME,
) -> RowSummaries:
    """Summarise the tallies of packs that have each recorded as many samples in as many lanes.

    A sample has so many `looks` at each lane. Rows with the same number in `pools` are known to be
    equal (exact symmetries): their tallies are averaged, and all of them get what is found.
    """
    lengths = part_lengths(recorded)
    sums = [tally.sums[: len(lengths)] for tally in tallies]
    rows = sums[0].shape[1]
    if pools is not None:
        sums = [pool_rows(pack, pools) for pack in sums]
    means = _means(sums, lengths, lanes * looks, rows_at_a_time)
    terms = float(lengths.max(initial=0.0)) * (lanes * looks // COLUMNS)
    rounding = max(LIMIT_ROUNDING, UNIT * terms)
    summaries = [_summarise_rows(piece, lengths, lanes, rows, rounding) for piece in means]
    whole: list[Any] = [np.concatenate(column) for column in zip(*summaries, strict=True)]
    return RowSummaries(*(whole if pools is None else [column[pools] for column in whole]))


def pool_rows(sums: Floats, pools: Pools) -> Floats:
    """Mean sums of each pool: `sums[part, row, column]` has pools for rows then."""
    parts, _, columns = sums.shape
    sizes = np.bincount(pools)
    means = np.empty((parts, len(sizes), columns))
    for part in range(parts):
        for column in range(columns):
            means[part, :, column] = np.bincount(pools, weights=sums[part, :, column]) / sizes
    return means


def standard_errors(columns: Floats) -> Floats:
    """The standard error that columns show of each row, from their means `[row, column]`."""
    spread: Floats = columns.std(axis=1, ddof=1) / np.sqrt(columns.shape[1])
    return spread


def part_lengths(recorded: int) -> Floats:
    """How many samples lie in each part of time."""
    size = capacity(recorded)
    lengths = np.clip(recorded - size * np.arange(PARTS), 0, size)
    return lengths[lengths > 0].astype(np.float64)


def _means(sums: Sequence[Floats], lengths: Floats, lanes: int, rows: int) -> Iterator[Floats]:
    """Means of columns in parts of time, `[part, row, column]`, of some rows at a time.

    There is at least one such piece.
    """
    weights = lengths[:, None, None] * (lanes // COLUMNS)
    for first in range(0, max(1, sums[0].shape[1]), rows):
        piece = np.concatenate([pack[:, first : first + rows] for pack in sums], axis=2)
        piece /= weights
        yield piece


def _summarise_rows(
    means: Floats, lengths: Floats, lanes: int, rows: int, rounding: float
) -> RowSummaries:
    """Summaries of a piece of so many rows in all."""
    columns = _mean_of_parts(means, lengths)
    probability = np.clip(columns.mean(axis=1), 0.0, 1.0)
    r_hat = _r_hat(probability, _half_means(means, lengths), lanes // COLUMNS)
    forgets = persistence(means, lengths, rounding, rows)
    return RowSummaries(probability, standard_errors(columns), r_hat, *forgets)


def _mean_of_parts(means: Floats, lengths: Floats) -> Floats:
    """Means of all samples in some parts; not by a matrix product, which may take more threads."""
    total: Floats = means[0] * (lengths[0] / lengths.sum())
    for part in range(1, len(lengths)):
        total += means[part] * (lengths[part] / lengths.sum())
    return total


def _half_means(means: Floats, lengths: Floats) -> Floats:
    """Column means of the earlier and of the later samples, side by side."""
    cut = int(np.argmin(np.abs(np.cumsum(lengths) - lengths.sum() / 2))) + 1
    halves = [
        _mean_of_parts(means[parts], lengths[parts])
        for parts in (slice(0, cut), slice(cut, None))
        if len(lengths[parts])
    ]
    return np.concatenate(halves, axis=1)


def _r_hat(probability: Floats, halves: Floats, per_column: int) -> Floats:
    """Split R-hat of single lanes: a column is the mean of several, so it varies less."""
    between = per_column * halves.var(axis=1, ddof=1)
    between[between < LIMIT_ROUNDING**2] = 0.0
    within = np.maximum(probability * (1 - probability) - between, 1e-300)
    with np.errstate(over="ignore"):  # a range that is nearly nothing makes huge numbers of noise
        ratio = np.minimum(between / within, 1e6)
    return np.where(between == 0.0, 1.0, np.sqrt(1.0 + ratio))


class Persistence(NamedTuple):
    """For each row: whether columns keep something, and whether all of them drift."""

    persists: NDArray[np.bool_]
    drifts: NDArray[np.bool_]


def persistence(means: Floats, lengths: Floats, smallest: float, tested: int) -> Persistence:
    """Test `means[part, row, column]` of parts with so many samples.

    Differences below `smallest` come from rounding. The false-alarm rate is shared among all rows
    that are `tested`, here or elsewhere.
    """
    parts, _, columns = means.shape
    if parts < 2 or columns < 2:
        none = np.zeros(means.shape[1], dtype=np.bool_)
        return Persistence(none, none)
    between, together, residual = _mean_squares(means, lengths)
    floor = smallest**2 * float(lengths.mean())
    rest = (columns - 1) * (parts - 1)
    level = FALSE_ALARM / max(tested, 1)
    noise = np.maximum(residual, floor)
    least = max(critical_ratio(columns - 1, rest, level), 1.0 / (1.0 - LARGEST_SHARE))
    drift = critical_ratio(parts - 1, rest, level)
    return Persistence(between / noise > least, together / noise > drift)


@cache
def critical_ratio(first: int, second: int, level: float) -> float:
    """What F with so many degrees of freedom passes with a probability of `level`."""
    low, high = 0.0, 1.0
    while special.fdtrc(first, second, high) > level:
        low, high = high, 2.0 * high
    while low < (middle := 0.5 * (low + high)) < high:
        low, high = (
            (middle, high) if special.fdtrc(first, second, middle) > level else (low, middle)
        )
    return high


def _mean_squares(means: Floats, lengths: Floats) -> tuple[Floats, Floats, Floats]:
    """Mean squares between columns, between parts, and what neither explains, per row."""
    parts, _, columns = means.shape
    share = (lengths / lengths.sum())[:, None]
    of_part = means.mean(axis=2)
    overall = (share * of_part).sum(axis=0)
    centred = means - of_part[:, :, None]
    of_column = (share[:, :, None] * centred).sum(axis=0)
    centred -= of_column
    total, weights = float(lengths.sum()), lengths[:, None]
    between = total * (of_column**2).sum(axis=1) / (columns - 1)
    together = columns * (weights * (of_part - overall) ** 2).sum(axis=0) / (parts - 1)
    residual = (weights * (centred**2).sum(axis=2)).sum(axis=0)
    return between, together, residual / ((columns - 1) * (parts - 1))


LEVEL = 0.95
UNSEEN = 3.0  # / n is what n independent states may all have missed: -log(1 - LEVEL)
SAMPLES_APART = (
    10.0  # samples: so far apart, states of a chain count as independent for what is seldom
)
RARE_COUNT = 10.0  # / n is how often a value must occur to be known from n independent states


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
    may not have been seen at all. `persists` and `drifts` mark rows whose columns do not forget.
    Where recorded states are `independent` draws, none of these is asked: all states count.
    """

    probability: Floats
    spread: Floats
    standard_error: Floats
    low: Floats
    high: Floats
    ess: Floats
    r_hat: Floats
    states: Floats
    persists: NDArray[np.bool_]
    drifts: NDArray[np.bool_]
    open_lanes: NDArray[np.int64]
    lanes: int
    recorded: int
    independent: bool = False

    def __repr__(self) -> str:
        return short_repr(self)


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
    rows_at_a_time: int = ROWS_AT_A_TIME,
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
    summaries = row_summaries(tallies, recorded, lanes, pools, looks, rows_at_a_time=rows_at_a_time)
    chains, columns = lanes * len(tallies), COLUMNS * len(tallies)
    if independent:
        states = np.full(len(summaries.probability), float(chains * recorded))
        summaries = of_draws(summaries, states)
    else:
        together = np.zeros(len(summaries.probability), np.int64) if part_of is None else part_of
        states = states_seen(summaries.probability, summaries.spread, chains, recorded, together)
    probability, spread = summaries.probability, summaries.spread
    if sharper is not None:
        probability, spread = summarise_columns(sharper, tallies[0].row_start, pools)
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
        r_hat=summaries.r_hat,
        states=states,
        persists=summaries.persists,
        drifts=summaries.drifts,
        open_lanes=sum((t.open.sum(axis=1, dtype=np.int64) for t in tallies), np.int64(0)),  # type: ignore[arg-type]
        lanes=chains,
        recorded=recorded,
        independent=independent,
    )


def of_draws(summaries: RowSummaries, states: Floats) -> RowSummaries:
    """What is known of rows from so many independent draws: no doubt that they mix.

    An average of conditional probabilities varies no more than one of values does.
    """
    p, never = summaries.probability, np.zeros(len(summaries.probability), dtype=np.bool_)
    return RowSummaries(p, np.sqrt(p * (1.0 - p) / states), np.ones(len(p)), never, never)


def summarise_columns(
    columns: Floats, row_start: Indices, pools: NDArray[np.int64] | None
) -> tuple[Floats, Floats]:
    """Mean and spread of the estimates of columns; probabilities of a variable sum to one."""
    if pools is not None:
        columns = pool_rows(columns[None], pools)[0]
    spread, probability = standard_errors(columns), columns.mean(axis=1)
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
        size = np.where(spread > LIMIT_ROUNDING, variance / spread**2, np.inf)
    size = np.clip(size, 1.0, chains * max(recorded / SAMPLES_APART, 1.0))
    rare = is_rare(probability, size)
    least = np.full(int(part_of.max(initial=-1)) + 1, np.inf)
    np.minimum.at(least, part_of[~rare], size[~rare])
    least[np.isinf(least)] = chains
    return np.where(rare, np.minimum(size, least[part_of]), size)


def is_rare(probability: Floats, states: Floats) -> NDArray[np.bool_]:
    """Whether a value, or all others together, may have been seen too seldom to be known."""
    rare = np.empty(len(probability), dtype=np.bool_)
    for rows in _pieces(len(rare)):
        p = probability[rows]
        rare[rows] = np.minimum(p, 1.0 - p) < RARE_COUNT / states[rows]
    return rare


def _pieces(rows: int) -> Iterator[slice]:
    """Some rows at a time: what is computed on the way stays in the cache."""
    for first in range(0, rows, ROWS_AT_A_TIME):
        yield slice(first, first + ROWS_AT_A_TIME)


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
    quantile = float(special.stdtrit(degrees, 0.5 + LEVEL / 2))
    low, high = np.empty((2, len(probability)))
    for rows in _pieces(len(probability)):
        low[rows], high[rows] = _interval(probability[rows], size[rows], states[rows], quantile)
    return low, high


def _interval(
    probability: Floats, size: Floats, states: Floats, quantile: float
) -> tuple[Floats, Floats]:
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

    def expand(self, numbers: NDArray[Any], single: float) -> NDArray[Any]:
        """Give each value its row's number; `single` for variables with one value."""
        return np.append(numbers, numbers.dtype.type(single))[self.rows]

    def probabilities(self, numbers: Floats) -> Floats:
        numbers_of = self.expand(numbers, 1.0)
        return np.where(self.mirrored, 1.0 - numbers_of, numbers_of)

    def intervals(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """Both ends of each value's interval; a mirrored one is turned around."""
        below, above = self.expand(low, 1.0), self.expand(high, 1.0)
        return (
            np.where(self.mirrored, 1.0 - above, below),
            np.where(self.mirrored, 1.0 - below, above),
        )


def values_of(cardinality: Indices) -> Values:
    """Say which row serves each value: value 0 of a binary variable mirrors value 1."""
    sizes = cardinality.astype(np.int64)
    row_start = np.concatenate([[0], np.cumsum(rows_of(cardinality))])
    variable, value = np.repeat(np.arange(len(sizes)), sizes), count_within(sizes)
    binary, single = sizes[variable] == 2, sizes[variable] == 1
    rows = row_start[variable] + np.where(binary, 0, value)
    rows[single] = -1
    return Values(starts(sizes), rows, binary & (value == 0))


# A proof that marginals are wrong: a state that must be probable, and where no chain is.
#
# The entropies H of single variables add up to at least the entropy of all of them together. So
# marginals bound log Z from above: log Z <= E[log w] + sum of H. Then a state of weight w has a
# probability of at least exp(log w - E[log w] - sum of H). If that is more than chance can hide
# from so many chains, and none of them is there, then the marginals are wrong.

MISSED_MODE_FALSE_ALARM = (
    1e-6  # per run: how probable it is that no chain is in a state of that probability
)
ERRORS_OFF = 5.0  # by which log-weights and entropies may be off
MOST_STATES_COMPARED = (
    2**24
)  # variables times chains that are looked at, at most; 32 chains are always looked at


def missed_modes(
    graph: FactorGraph,
    heaviest: Bytes,
    values: Bytes,
    statistics: Statistics,
    part_of: NDArray[np.int64],
) -> NDArray[np.bool_]:
    """Say of each variable whether its component has missed the heaviest state that was found.

    `values[variable, lane]` are present states of all chains, from which log-weights are known.
    `part_of` numbers the component of each variable.
    """
    lanes = values.shape[1]
    here = log_weights_of_parts(graph, values, part_of)
    error = ERRORS_OFF * here.std(axis=1, ddof=1) / np.sqrt(lanes)
    there = log_weights_of_parts(graph, heaviest[:, None], part_of)[:, 0]
    entropy = np.bincount(part_of, largest_entropies(graph, statistics), minlength=len(there))
    bound = there - (here.mean(axis=1) + error) - entropy
    away = np.ones(len(there), dtype=np.bool_)
    for state in values.T:
        away &= np.bincount(part_of, state != heaviest, minlength=len(there)) > 0
    missed: NDArray[np.bool_] = (bound > np.log(-np.log(MISSED_MODE_FALSE_ALARM) / lanes)) & away
    return np.take(missed, part_of)


def largest_entropies(graph: FactorGraph, statistics: Statistics) -> Floats:
    """Entropy of each variable, its own error added."""
    layout = values_of(graph.cardinality)
    p = np.maximum(layout.probabilities(statistics.probability), 0.0)
    error = layout.expand(statistics.standard_error, 0.0)
    entropy = -special.xlogy(p, p) + ERRORS_OFF * error * np.abs(np.log(np.maximum(p, error)))
    entropies: Floats = np.add.reduceat(entropy, layout.start[:-1].astype(np.int64))
    return np.minimum(entropies, np.log(graph.cardinality))


def lanes_to_look_at(graph: FactorGraph, chains: int) -> int:
    """How many chains say where a run is; fewer in large models."""
    return min(chains, max(32, MOST_STATES_COMPARED // max(graph.variables, 1)))
