"""Pseudo-likelihood: the chance of every variable's value, given all the others' in the data.

Given evidence (conditional pseudo-likelihood) or all atoms (generative learning) differ only in
the training worlds. The logarithm is concave in the weights, and with the prior it has a single
maximum.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from orbitmc.logic.learning.changes import Changes
from orbitmc.logic.learning.objectives.prior import Prior
from orbitmc.logic.learning.step import Step
from orbitmc.machine.arrays import Floats

ROUND = 25  # iterations between two looks; each round starts afresh, so that any can be repeated
ITERATIONS = 1000
SMALLEST_SLOPE = 1e-6


@dataclass(frozen=True)
class PseudoLikelihood:
    """The logarithm of the pseudo-likelihood of data, with a prior on the weights."""

    changes: Changes
    prior: Prior

    def value_and_slope(self, weights: Floats) -> tuple[float, Floats]:
        """The objective and its gradient, which is 0 for weights that are not learned."""
        first = self.changes.first
        finite = np.where(np.isinf(weights), 0.0, weights)
        log_weights = np.where(self.changes.possible, self.changes.growth @ finite, -np.inf)
        sizes = np.diff(np.append(first, len(log_weights)))
        peaks = np.maximum.reduceat(log_weights, first)
        chances = np.exp(log_weights - np.repeat(peaks, sizes))
        totals = np.add.reduceat(chances, first)
        chances /= np.repeat(totals, sizes)
        # The data's own value gains nothing, so its log-weight is 0.
        value = -float((peaks + np.log(totals)).sum())
        slope = np.where(self.prior.learned, -(self.changes.growth.T @ chances), 0.0)
        return value + self.prior.log_density(weights), slope + self.prior.slope(weights)


def maximise(
    objective: PseudoLikelihood, start: Step | None = None, *, iterations: int = ITERATIONS
) -> Iterator[Step]:
    """Climb by L-BFGS in rounds; each round depends on the step before it and nothing else."""
    step = start or first_step(objective)
    while not step.finished and step.iteration < iterations:
        step = _round(objective, step, min(ROUND, iterations - step.iteration))
        yield step


def first_step(objective: PseudoLikelihood) -> Step:
    """Begin at the written weights."""
    weights = objective.prior.mean
    value, slope = objective.value_and_slope(weights)
    return Step(0, weights, value, float(np.abs(slope).max(initial=0.0)))


def _round(objective: PseudoLikelihood, step: Step, iterations: int) -> Step:
    prior = objective.prior

    def downwards(learned: Floats) -> tuple[float, Floats]:
        value, slope = objective.value_and_slope(prior.complete(learned))
        return -value, -slope[prior.learned]

    found = minimize(
        downwards,
        step.weights[prior.learned],
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": iterations, "maxcor": 20, "gtol": SMALLEST_SLOPE, "ftol": 1e-14},
    )
    return Step(
        step.iteration + int(found.nit),
        prior.complete(found.x),
        -float(found.fun),
        float(np.abs(found.jac).max(initial=0.0)),
        finished=int(found.nit) < iterations,
    )
