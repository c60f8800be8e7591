"""How far estimated marginals are from the truth: both KL divergences and Hellinger's distance.

A count of zero is not a probability of zero, and one such value would make a KL divergence
infinite. So every probability, true or estimated, becomes `(p + s) / (1 + k s)` where a variable
has `k` values and `s` is tiny (`SMOOTHING`). Hellinger's distance needs no such thing and gets
none. Variables with a single value have nothing to be wrong about and are left out of all
means.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orbitmc._util.arrays import Floats, Indices, lengths
from orbitmc.errors import InputError

SMOOTHING = 1e-9


@dataclass(frozen=True)
class Divergence:
    """Means over variables; `of_estimate` is KL(estimate || truth), `of_truth` the other one."""

    of_estimate: float
    of_truth: float
    hellinger: float


def divergence(
    truth: Floats, estimate: Floats, start: Indices, *, smoothing: float = SMOOTHING
) -> Divergence:
    """Compare two lists of marginals, written one after the other.

    The probabilities of variable `v` are at `start[v]:start[v + 1]`.

    >>> half, sure = np.array([0.5, 0.5]), np.array([0.0, 1.0])
    >>> round(divergence(half, sure, np.array([0, 2])).of_estimate, 6)
    0.693147
    """
    sizes = _sizes(start, truth, estimate)
    p, q = (_smooth(marginals, sizes, smoothing) for marginals in (truth, estimate))
    apart = (np.sqrt(truth) - np.sqrt(estimate)) ** 2 / 2
    return Divergence(
        of_estimate=_mean(_sums(q * np.log(q / p), sizes), sizes),
        of_truth=_mean(_sums(p * np.log(p / q), sizes), sizes),
        hellinger=_mean(np.sqrt(_sums(apart, sizes)), sizes),
    )


def expected_divergence(probability: Floats, standard_error: Floats, start: Indices) -> Divergence:
    """What estimates with such errors are off by on average, to second order.

    It is the floor of any comparison with them: below it, nobody knows who is closer to the truth.
    The distance of Hellinger is that of the mean square.

    >>> half, error = np.array([0.5, 0.5]), np.array([0.1, 0.1])
    >>> round(expected_divergence(half, error, np.array([0, 2])).of_estimate, 6)
    0.02
    """
    sizes = _sizes(start, probability, standard_error)
    shares = np.zeros(len(probability))
    some = standard_error > 0
    shares[some] = standard_error[some] ** 2 / np.maximum(probability[some], SMOOTHING)
    squares = _sums(shares, sizes)
    each_way = _mean(squares / 2, sizes)
    return Divergence(each_way, each_way, _mean(np.sqrt(squares / 8), sizes))


def _sizes(start: Indices, *probabilities: Floats) -> NDArray[np.int64]:
    for chances in probabilities:
        if len(chances) != start[-1]:
            raise InputError(f"expected {start[-1]} probabilities, got {len(chances)}")
    return lengths(start)


def _smooth(probability: Floats, sizes: NDArray[np.int64], smoothing: float) -> Floats:
    return (probability + smoothing) / (1.0 + smoothing * np.repeat(sizes, sizes))


def _sums(numbers: Floats, sizes: NDArray[np.int64]) -> Floats:
    """Sum over the values of each variable."""
    variable = np.repeat(np.arange(len(sizes)), sizes)
    return np.bincount(variable, weights=numbers, minlength=len(sizes)).astype(np.float64)


def _mean(numbers: Floats, sizes: NDArray[np.int64]) -> float:
    free = numbers[sizes > 1]
    return max(0.0, float(free.mean())) if len(free) else 0.0
