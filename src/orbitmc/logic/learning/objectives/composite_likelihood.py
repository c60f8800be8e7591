"""Composite likelihood: the chance of every block's values, given all that is outside the block.

With blocks of single variables it is the pseudo-likelihood; with blocks that depend on nothing
outside, the likelihood itself. Given evidence or all atoms (generative learning) differ only in
the training worlds. Without hidden atoms the logarithm is concave in the weights, and with the
prior it has a single maximum.
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from scipy.sparse import csr_array, diags_array

from orbitmc._util.arrays import Floats
from orbitmc.logic.learning.changes import Changes
from orbitmc.logic.learning.objectives.prior import Prior


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
        log_totals, chances = self._summed(finite, self.changes.possible)
        seen = np.broadcast_to(self.expected, finite.shape)
        value, slope = float(seen @ finite) - float(log_totals.sum()), seen - self._mean(chances)
        if self.changes.shown is not None:
            log_totals, chances = self._summed(finite, self.changes.shown)
            value, slope = value + float(log_totals.sum()), slope + self._mean(chances)
        slope = np.where(self.prior.learned, slope, 0.0)
        return value + self.prior.log_density(weights), slope + self.prior.slope(weights)

    def without_prior(self, weights: Floats) -> float:
        """The log-likelihood alone."""
        return self.value_and_slope(weights)[0] - self.prior.log_density(weights)

    def completed(self, weights: Floats) -> Self:
        """Credit the data with what hidden atoms probably are under these weights."""
        assert self.changes.shown is not None
        finite = np.where(np.isinf(weights), 0.0, weights)
        _, chances = self._summed(finite, self.changes.shown)
        return replace(
            self, changes=replace(self.changes, shown=None), expected=self._mean(chances)
        )

    def information(self, weights: Floats) -> Floats:
        """Minus the second derivatives in the learned weights, those of the prior included."""
        finite = np.where(np.isinf(weights), 0.0, weights)
        found = self._covariance(self._summed(finite, self.changes.possible)[1])
        if self.changes.shown is not None:
            found = found - self._covariance(self._summed(finite, self.changes.shown)[1])
        return found + np.eye(len(found)) * self.prior.deviation**-2

    def _summed(
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
