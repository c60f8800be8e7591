"""From tallies to numbers: probabilities, errors, intervals, effective sizes, R-hat."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from orbitmc.arrays import Floats, Indices
from orbitmc.estimate.orbit_tally import OrbitTally
from orbitmc.estimate.tallies import PARTS, Tally, capacity, rows_of
from orbitmc.random import COLUMNS

LEVEL = 0.95
ROUNDING = 1e-11  # differences below it come from 32-bit limits, not from the chains


@dataclass(frozen=True)
class Statistics:
    """One number per tallied row; `open_lanes` says, per variable, how many lanes had a choice."""

    probability: Floats
    standard_error: Floats
    low: Floats
    high: Floats
    ess: Floats
    r_hat: Floats
    open_lanes: NDArray[np.int64]
    lanes: int


def statistics(
    tallies: Sequence[Tally | OrbitTally],
    recorded: int,
    lanes: int,
    pools: NDArray[np.int64] | None = None,
) -> Statistics:
    """Combine the tallies of packs that have each recorded as many samples in as many lanes.

    Rows with the same number in `pools` are known to be equal (exact symmetries) and averaged.
    """
    per_column = lanes // COLUMNS
    halves = _half_means(tallies, recorded, per_column)
    columns = np.concatenate([t.sums.sum(axis=0) for t in tallies], axis=1)
    columns /= recorded * per_column
    if pools is not None:
        columns, halves = pooled(columns, pools), pooled(halves, pools)
    probability = np.clip(columns.mean(axis=1), 0.0, 1.0)
    count = columns.shape[1]
    standard_error = columns.std(axis=1, ddof=1) / np.sqrt(count)
    standard_error[standard_error < ROUNDING] = 0.0
    chains = lanes * len(tallies)
    ess = effective_size(probability, standard_error, chains, recorded)
    low, high = interval(probability, ess, degrees=count - 1)
    return Statistics(
        probability=probability,
        standard_error=standard_error,
        low=low,
        high=high,
        ess=ess,
        r_hat=_r_hat(probability, halves, per_column),
        open_lanes=sum((t.open.astype(np.int64).sum(axis=1) for t in tallies), np.int64(0)),  # type: ignore[arg-type]
        lanes=chains,
    )


def pooled(rows: Floats, pools: NDArray[np.int64]) -> Floats:
    """Replace each row by the mean of its pool."""
    sums = np.zeros((int(pools.max(initial=-1)) + 1, rows.shape[1]))
    np.add.at(sums, pools, rows)
    means: Floats = sums / np.bincount(pools, minlength=len(sums))[:, None]
    return means[pools]


def effective_size(
    probability: Floats, standard_error: Floats, chains: int, recorded: int
) -> Floats:
    """How many independent draws would have this error.

    A value that never occurred, or always did, tells as much as one draw per chain; a conditional
    that never varied tells as much as all recorded states.
    """
    variance = probability * (1.0 - probability)
    constant = variance <= ROUNDING
    with np.errstate(divide="ignore", invalid="ignore"):
        size = variance / standard_error**2
    size[standard_error == 0.0] = chains * recorded
    size[constant & (standard_error == 0.0)] = chains
    return size


def interval(probability: Floats, size: Floats, degrees: int) -> tuple[Floats, Floats]:
    """Wilson's score interval with Student's quantile; honest near 0 and 1."""
    quantile = float(stdtrit(degrees, 0.5 + LEVEL / 2))
    shrink = quantile**2 / size
    centre = (probability + shrink / 2) / (1 + shrink)
    spread = np.sqrt(probability * (1 - probability) / size + shrink / (4 * size))
    half = quantile * spread / (1 + shrink)
    low = np.clip(np.minimum(centre - half, probability), 0.0, 1.0)
    high = np.clip(np.maximum(centre + half, probability), 0.0, 1.0)
    return np.where(probability <= 0.0, 0.0, low), np.where(probability >= 1.0, 1.0, high)


def _half_means(tallies: Sequence[Tally | OrbitTally], recorded: int, per_column: int) -> Floats:
    """Column means of the earlier and of the later samples, side by side."""
    size = capacity(recorded)
    lengths = np.clip(recorded - size * np.arange(PARTS), 0, size)
    before = np.cumsum(lengths)
    cut = int(np.argmin(np.abs(before - recorded / 2))) + 1
    halves = []
    for parts in (slice(0, cut), slice(cut, PARTS)):
        length = int(lengths[parts].sum())
        if length:
            sums = [t.sums[parts].sum(axis=0) for t in tallies]
            halves.append(np.concatenate(sums, axis=1) / (length * per_column))
    return np.concatenate(halves, axis=1)


def _r_hat(probability: Floats, halves: Floats, per_column: int) -> Floats:
    """Split R-hat of single lanes: a column is the mean of several, so it varies less."""
    between = per_column * halves.var(axis=1, ddof=1)
    between[between < ROUNDING**2] = 0.0
    within = np.maximum(probability * (1 - probability) - between, 1e-300)
    return np.where(between == 0.0, 1.0, np.sqrt(1.0 + np.minimum(between / within, 1e6)))


@dataclass(frozen=True)
class Values:
    """Statistics spread out to one entry per value, binary variables completed."""

    start: Indices
    rows: NDArray[np.int64]
    mirrored: NDArray[np.bool_]

    def spread(self, numbers: Floats, single: float) -> Floats:
        """Give each value its row's number; `single` for variables with one value."""
        return np.append(numbers, single)[self.rows]

    def probabilities(self, numbers: Floats) -> Floats:
        found = self.spread(numbers, 1.0)
        return np.where(self.mirrored, 1.0 - found, found)


def values_of(cardinality: Indices) -> Values:
    """Say which row serves each value: value 0 of a binary variable mirrors value 1."""
    sizes = cardinality.astype(np.int64)
    row_start = np.concatenate([[0], np.cumsum(rows_of(cardinality))])
    start = np.concatenate([[0], np.cumsum(sizes)])
    variable = np.repeat(np.arange(len(sizes)), sizes)
    value = np.arange(start[-1]) - start[variable]
    binary, single = sizes[variable] == 2, sizes[variable] == 1
    rows = row_start[variable] + np.where(binary, 0, value)
    rows[single] = -1
    return Values(start.astype(np.uint32), rows, binary & (value == 0))
