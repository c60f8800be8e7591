"""Columns of estimates from which control variates have taken most of the noise.

For every variable, its value minus its conditional probability has mean zero, so any fixed linear
combination of such differences may be subtracted. The one here would remove all noise of a model
whose conditionals are linear in the neighbours' values. How much of it to subtract, `theta`, is
fitted to one half of the columns and used on the other: what corrects a column never depends on it.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from orbitmc._util.arrays import Floats, Indices, lengths
from orbitmc.estimate.tallies import RaoBlackwellTally

MAX_SHARE = 1.5  # of the correction that is subtracted
PRIOR = 8.0  # columns that the common share of all variables is worth, beside a variable's own
SMALLEST = 1e-22  # squares below it are rounding

POWER_STEPS = 40  # to find the largest eigenvalue
LARGEST = 0.95  # eigenvalue of the matrix; a larger one is scaled down to it
STRETCHES = (1.0, 1.05, 1.1)  # of a matrix, that are tried out
SLOW = 0.6  # largest eigenvalues below it need no stretching
LEFT_OUT = 0.02  # of the slowest component, by ending the series


class Controls(NamedTuple):
    """A matrix of secants, and how many terms of its series are added up."""

    matrix: csr_array
    terms: int


def corrected(tallies: Sequence[RaoBlackwellTally], records: int, controls: Controls) -> Floats:
    """Estimates of columns, `[row, column]`; each column of a tally sums up so many records."""
    chances = np.concatenate([tally.sums.sum(axis=0) / records for tally in tallies], axis=1)
    values = np.concatenate([tally.values.sum(axis=0) / records for tally in tallies], axis=1)
    return subtracted(chances, values, tallies[0].row_start, controls)


def subtracted(chances: Floats, values: Floats, row_start: Indices, controls: Controls) -> Floats:
    """Conditional probabilities, corrected by the differences of values from them."""
    excess = series(controls.matrix, values - chances, controls.terms)
    halves = np.arange(chances.shape[1]) % 2 == 0
    result = chances.copy()
    for half in (halves, ~halves):
        theta = shares(chances[:, ~half], excess[:, ~half], row_start)
        result[:, half] -= theta[:, None] * excess[:, half]
    return result


def shares(chances: Floats, excess: Floats, row_start: Indices) -> Floats:
    """How much of the excess to subtract, per row; the rows of a variable have one share.

    Each variable's own regression is drawn towards the common one of all.
    """
    own, other = _centred(chances), _centred(excess)
    total, both, square = (
        _by_variable((one * two).sum(axis=1), row_start)
        for one, two in ((own, own), (own, other), (other, other))
    )
    noisy = (total > SMALLEST) & (square > SMALLEST)
    scale = np.where(noisy, total, 1.0)
    one, two = (both / scale)[noisy].sum(), (square / scale)[noisy].sum()
    common = min(max(one / two, 0.0), MAX_SHARE) if two > 0.0 else 0.0
    prior = PRIOR / max(chances.shape[1] - 1, 1) * square
    share = np.zeros(len(total))
    share[noisy] = ((both + prior * common) / np.maximum(square + prior, SMALLEST))[noisy]
    return np.repeat(np.clip(share, 0.0, MAX_SHARE), lengths(row_start))


def _centred(columns: Floats) -> Floats:
    deviations: Floats = columns - columns.mean(axis=1, keepdims=True)
    return deviations


def _by_variable(numbers: Floats, row_start: Indices) -> Floats:
    variable: NDArray[np.int64] = np.repeat(np.arange(len(row_start) - 1), lengths(row_start))
    sums: Floats = np.bincount(variable, numbers, minlength=len(row_start) - 1).astype(np.float64)
    return sums


def radii_for(matrix: csr_array) -> list[float]:
    """Largest eigenvalues that a matrix may be scaled to, its own first unless its series diverges.

    Neighbours that change together change a variable by more than the sum of what each of them
    does alone; where many do, near a critical point, a larger matrix says better what follows.
    """
    own = min(spectral_radius(matrix), LARGEST)
    stretches = STRETCHES if own > SLOW else STRETCHES[:1]
    return sorted({min(own * stretch, LARGEST) for stretch in stretches})


def scaled(matrix: csr_array, radius: float) -> csr_array:
    """The same matrix with another largest eigenvalue."""
    own = spectral_radius(matrix)
    return matrix * (radius / own) if own > 0.0 else matrix


def spectral_radius(matrix: csr_array) -> float:
    """About the largest absolute eigenvalue, by powers of the matrix."""
    vector: Floats = np.random.default_rng(0).normal(size=matrix.shape[0])
    growth = []
    for _ in range(POWER_STEPS):
        size = float(np.linalg.norm(vector))
        if size == 0.0:
            return 0.0
        vector = matrix @ (vector / size)
        growth.append(float(np.linalg.norm(vector)))
    return float(np.exp(np.log(np.maximum(growth[POWER_STEPS // 2 :], 1e-300)).mean()))


def terms_for(radius: float) -> int:
    """How many terms of the series to add up."""
    if radius <= LEFT_OUT:
        return 1
    return math.ceil(math.log(LEFT_OUT) / math.log(radius))


def series(matrix: csr_array, start: Floats, terms: int) -> Floats:
    """Sum of so many powers of a matrix, from the first on, times each column of `start`.

    So (I - A) u = A d is solved by u = A d + A A d + …, the same for every d: a fixed number of
    terms is a fixed linear map, and that is all that an unbiased estimate needs.
    """
    total: Floats = matrix @ start
    for _ in range(terms - 1):
        total = matrix @ (start + total)
    return total
