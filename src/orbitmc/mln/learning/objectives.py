"""Composite likelihood: the chance of every block's values, given all that is outside the block.

With blocks of single variables it is the pseudo-likelihood; with blocks that depend on nothing
outside, the likelihood itself. Given evidence or all atoms (generative learning) differ only in
the training worlds. Without hidden atoms the logarithm is concave in the weights, and with the
prior it has a single maximum.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array

from orbitmc._util.arrays import Floats
from orbitmc.errors import InputError
from orbitmc.mln.grounding.grounding import Ground, NumberedWeights
from orbitmc.mln.learning.worlds import Changes

# What is believed of weights before data are seen, and which of them are learned.

DEVIATION = 2.0  # a formula seldom makes odds more than fifty times as large


@dataclass(frozen=True)
class Prior:
    """Normal distributions of equal width around the written weights, or around 0.

    Weights that are not `learned` (hard, or fixed by the program) keep their mean.
    """

    mean: Floats
    learned: NDArray[np.bool_]
    deviation: float

    def log_density(self, weights: Floats) -> float:
        """The logarithm, but for a constant."""
        away = (weights[self.learned] - self.mean[self.learned]) / self.deviation
        return float(-0.5 * (away @ away))

    def slope(self, weights: Floats) -> Floats:
        """The gradient of the log-density; 0 for weights that are not learned."""
        slope = np.zeros(len(weights))
        away = self.mean[self.learned] - weights[self.learned]
        slope[self.learned] = away / self.deviation**2
        return slope

    def complete(self, learned: Floats) -> Floats:
        """All weights, from those that are learned."""
        weights = self.mean.copy()
        weights[self.learned] = learned
        return weights


def prior(ground: Ground | NumberedWeights, *, deviation: float = DEVIATION) -> Prior:
    """Believe what is written; a fixed formula without a weight makes no sense."""
    if not deviation > 0 or not np.isfinite(deviation):
        raise InputError(f"the standard deviation of weights must be above 0, not {deviation}")
    rules = ground.program.rules
    copies = np.diff(ground.first_weight)
    fixed = np.repeat(np.array([rule.fixed for rule in rules], dtype=bool), copies)
    written = ~np.isnan(ground.weights)
    if (fixed & ~written).any():
        place = next(rule.place for rule in rules if rule.fixed and rule.weight is None)
        raise InputError(f"{place}: a weight that is fixed must be written")
    learned = ~fixed & ~np.isinf(ground.weights)
    if not learned.any():
        raise InputError("the program has no weight to learn: all formulas are hard or fixed")
    return Prior(np.where(written, ground.weights, 0.0), learned, deviation)


@dataclass(frozen=True)
class CompositeLikelihood:
    """The logarithm of the composite likelihood of data, with a prior on the weights.

    `expected` has the true groundings that the data are credited with, beyond those in the states
    that `changes` compare others with: 0 unless atoms are hidden.
    """

    changes: Changes
    prior: Prior
    expected: Floats | float = 0.0

    def value_and_slope(self, weights: Floats) -> tuple[float, Floats]:
        """The objective and its gradient, which is 0 for weights that are not learned."""
        finite = np.where(np.isinf(weights), 0.0, weights)
        log_totals, chances = self._sums(finite, self.changes.possible)
        counts = np.broadcast_to(self.expected, finite.shape)
        value, slope = (
            float(counts @ finite) - float(log_totals.sum()),
            counts - self._mean(chances),
        )
        if self.changes.shown is not None:
            log_totals, chances = self._sums(finite, self.changes.shown)
            value, slope = value + float(log_totals.sum()), slope + self._mean(chances)
        slope = np.where(self.prior.learned, slope, 0.0)
        return value + self.prior.log_density(weights), slope + self.prior.slope(weights)

    def without_prior(self, weights: Floats) -> float:
        """The log-likelihood alone."""
        return self.value_and_slope(weights)[0] - self.prior.log_density(weights)

    def complete(self, weights: Floats) -> Self:
        """Credit the data with what hidden atoms probably are under these weights."""
        assert self.changes.shown is not None
        finite = np.where(np.isinf(weights), 0.0, weights)
        _, chances = self._sums(finite, self.changes.shown)
        return replace(
            self, changes=replace(self.changes, shown=None), expected=self._mean(chances)
        )

    def information(self, weights: Floats) -> Floats:
        """Minus the second derivatives in the learned weights, those of the prior included."""
        finite = np.where(np.isinf(weights), 0.0, weights)
        matrix = self._covariance(self._sums(finite, self.changes.possible)[1])
        if self.changes.shown is not None:
            matrix = matrix - self._covariance(self._sums(finite, self.changes.shown)[1])
        return matrix + np.eye(len(matrix)) * self.prior.deviation**-2

    def _sums(
        self, weights: Floats, possible: np.typing.NDArray[np.bool_]
    ) -> tuple[Floats, Floats]:
        """The logarithm of each block's sum over possible states, and the states' chances."""
        first = self.changes.first
        log_weights = np.where(possible, self.changes.growth @ weights, -np.inf)
        sizes = np.diff(np.append(first, len(log_weights)))
        peaks = np.maximum.reduceat(log_weights, first)
        chances = np.exp(log_weights - np.repeat(peaks, sizes))
        totals = np.add.reduceat(chances, first)
        return peaks + np.log(totals), chances / np.repeat(totals, sizes)

    def _mean(self, chances: Floats) -> Floats:
        return np.asarray(self.changes.growth.T @ chances)

    def _covariance(self, chances: Floats) -> Floats:
        """How true groundings of learned weights vary together, summed over blocks."""
        growth = csr_array(self.changes.growth[:, np.flatnonzero(self.prior.learned)])
        first, rows = self.changes.first, growth.shape[0]
        block = np.repeat(np.arange(len(first)), np.diff(np.append(first, rows)))
        means = csr_array((chances, (block, np.arange(rows))), shape=(len(first), rows)) @ growth
        return np.asarray((growth.T @ (diags_array(chances) @ growth) - means.T @ means).toarray())


# Where learning stands.

Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class Step:
    """Weights after some iterations, the objective there, and the largest of its slopes.

    The objective is a log-likelihood with the logarithm of the prior; `arrays` is what else is
    needed to go on as if nothing had happened.
    """

    iteration: int
    weights: Floats
    objective: float
    slope: float
    finished: bool = False
    arrays: Arrays = field(default_factory=dict)


def require_like(arrays: Arrays, wanted: Arrays) -> None:
    """Refuse arrays that were kept unless names, shapes and types are those wanted.

    Numbers are finite where those wanted are, and the same elsewhere.
    """
    wrong = "" if arrays.keys() == wanted.keys() else f"it keeps {', '.join(arrays) or 'nothing'}"
    for name, array in () if wrong else wanted.items():
        array_kept = arrays[name]
        if array_kept.shape != array.shape or array_kept.dtype != array.dtype:
            wrong = f"{name} has another shape or type"
        elif not np.where(np.isfinite(array), np.isfinite(array_kept), array_kept == array).all():
            wrong = f"{name} is not finite"
    if wrong:
        raise InputError(
            f"the checkpoint of learning does not fit this program and its databases: {wrong}; "
            "remove it, or name another file"
        )
