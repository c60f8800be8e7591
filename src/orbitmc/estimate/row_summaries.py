"""What columns say of each row, some thousand rows at a time, so that little memory is needed.

Do chains keep what they started with, or drift, though they look as if they agreed? R-hat compares
the spread between chains with the spread of a value; a few stuck chains hardly change it. But what
a chain keeps shows in every part of time. So the means of columns (groups of lanes) in parts of
time are put through a two-way analysis of variance. If columns are independent and forget within a
part, then

- what columns keep: mean square between columns / residual mean square,
- what all columns do together: mean square between parts of time / residual mean square,

both follow Fisher's F distribution. `1 - 1 / F` of the columns is the share of the squared error
that does not shrink with time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import fdtrc

from orbitmc._simd.random import COLUMNS
from orbitmc._util.arrays import Floats
from orbitmc.estimate.tallies import PARTS, Tally, capacity

ROUNDING = 1e-11  # differences below it come from 32-bit limits, not from the chains
UNIT = 2.0**-53  # of a sum is rounded away with each term at most
ROWS = 2**11  # at a time: what a processor keeps close by

Pools = NDArray[np.int64]

FALSE_ALARM = 1e-6  # per run and question, if parts of time are independent
LARGEST_SHARE = 0.5  # of the squared error may be kept: F at most 2


class RowSummaries(NamedTuple):
    """Per row: mean and spread of all columns, R-hat, and whether columns forget.

    `spread` is the standard error that columns show; `kept` and `drifts` as in `Persistence`.
    """

    probability: Floats
    spread: Floats
    r_hat: Floats
    kept: NDArray[np.bool_]
    drifts: NDArray[np.bool_]


def row_summaries(
    tallies: Sequence[Tally],
    recorded: int,
    lanes: int,
    pools: Pools | None = None,
    looks: int = 1,
) -> RowSummaries:
    """Summarise the tallies of packs that have each recorded as many samples in as many lanes.

    A sample has so many `looks` at each lane. Rows with the same number in `pools` are known to be
    equal (exact symmetries): their tallies are averaged, and all of them get what is found.
    """
    lengths = part_lengths(recorded)
    sums = [tally.sums[: len(lengths)] for tally in tallies]
    rows = sums[0].shape[1]
    if pools is not None:
        sums = [pooled(own, pools) for own in sums]
    means = _means(sums, lengths, lanes * looks)
    terms = float(lengths.max(initial=0.0)) * (lanes * looks // COLUMNS)
    rounding = max(ROUNDING, UNIT * terms)
    found = [_summarised(piece, lengths, lanes, rows, rounding) for piece in means]
    whole: list[Any] = [np.concatenate(column) for column in zip(*found, strict=True)]
    return RowSummaries(*(whole if pools is None else [column[pools] for column in whole]))


def pooled(sums: Floats, pools: Pools) -> Floats:
    """Mean sums of each pool: `sums[part, row, column]` has pools for rows then."""
    parts, _, columns = sums.shape
    sizes = np.bincount(pools)
    means = np.empty((parts, len(sizes), columns))
    for part in range(parts):
        for column in range(columns):
            means[part, :, column] = np.bincount(pools, weights=sums[part, :, column]) / sizes
    return means


def spread_of(columns: Floats) -> Floats:
    """The standard error that columns show of each row, from their means `[row, column]`."""
    spread: Floats = columns.std(axis=1, ddof=1) / np.sqrt(columns.shape[1])
    return spread


def part_lengths(recorded: int) -> Floats:
    """How many samples lie in each part of time."""
    size = capacity(recorded)
    lengths = np.clip(recorded - size * np.arange(PARTS), 0, size)
    return lengths[lengths > 0].astype(np.float64)


def _means(sums: Sequence[Floats], lengths: Floats, lanes: int) -> Iterator[Floats]:
    """Means of columns in parts of time, `[part, row, column]`, of some rows at a time.

    There is at least one such piece.
    """
    weights = lengths[:, None, None] * (lanes // COLUMNS)
    for first in range(0, max(1, sums[0].shape[1]), ROWS):
        piece = np.concatenate([own[:, first : first + ROWS] for own in sums], axis=2)
        piece /= weights
        yield piece


def _summarised(
    means: Floats, lengths: Floats, lanes: int, rows: int, rounding: float
) -> RowSummaries:
    """Summaries of a piece of so many rows in all."""
    columns = _mean_of_parts(means, lengths)
    probability = np.clip(columns.mean(axis=1), 0.0, 1.0)
    r_hat = _r_hat(probability, _half_means(means, lengths), lanes // COLUMNS)
    forgets = persistence(means, lengths, rounding, rows)
    return RowSummaries(probability, spread_of(columns), r_hat, *forgets)


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
    between[between < ROUNDING**2] = 0.0
    within = np.maximum(probability * (1 - probability) - between, 1e-300)
    with np.errstate(over="ignore"):  # a range that is nearly nothing makes huge numbers of noise
        ratio = np.minimum(between / within, 1e6)
    return np.where(between == 0.0, 1.0, np.sqrt(1.0 + ratio))


class Persistence(NamedTuple):
    """For each row: whether columns keep something, and whether all of them drift."""

    kept: NDArray[np.bool_]
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
    while fdtrc(first, second, high) > level:
        low, high = high, 2.0 * high
    while low < (middle := 0.5 * (low + high)) < high:
        low, high = (middle, high) if fdtrc(first, second, middle) > level else (low, middle)
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
