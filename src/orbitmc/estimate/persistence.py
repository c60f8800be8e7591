"""Do chains keep what they started with, or drift, though they look as if they agreed?

R-hat compares the spread between chains with the spread of a value; a few stuck chains hardly
change it. But what a chain keeps shows in every part of time. So the means of columns (groups of
lanes) in parts of time are put through a two-way analysis of variance. If columns are independent
and forget within a part, then

- what columns keep: mean square between columns / residual mean square,
- what all columns do together: mean square between parts of time / residual mean square,

both follow Fisher's F distribution. `1 - 1 / F` of the columns is the share of the squared error
that does not shrink with time.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import fdtrc

from orbitmc.machine.arrays import Floats

FALSE_ALARM = 1e-6  # per run and question, if parts of time are independent
LARGEST_SHARE = 0.5  # of the squared error may be kept: F at most 2


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
