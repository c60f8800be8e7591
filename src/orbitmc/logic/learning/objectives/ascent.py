"""Climb to the maximum of an objective whose slopes are exact."""

from collections.abc import Iterator

import numpy as np
from scipy.optimize import minimize

from orbitmc._util.arrays import Floats
from orbitmc.logic.learning.objectives.composite_likelihood import CompositeLikelihood
from orbitmc.logic.learning.step import Step

ROUND = 100  # iterations between two looks; each round starts afresh, so that any can be repeated
ITERATIONS = 1000
SMALLEST_SLOPE = 1e-6
FLAT = 1e-6
"""What a round must gain. A log-likelihood that is lower by `d` belongs to weights that are about
`sqrt(2 d)` standard errors away: 0.0014 for one such round."""


def maximise(
    objective: CompositeLikelihood, start: Step | None = None, *, iterations: int = ITERATIONS
) -> Iterator[Step]:
    """Climb by L-BFGS in rounds; each round depends on the step before it and nothing else.

    A step is finished if its slopes are next to nothing, or what a whole round gained.
    """
    step = start or first_step(objective)
    while not step.finished and step.iteration < iterations:
        step = _round(objective, step, min(ROUND, iterations - step.iteration))
        yield step


def first_step(objective: CompositeLikelihood, weights: Floats | None = None) -> Step:
    """Begin at the written weights, or at others."""
    chosen = objective.prior.mean if weights is None else weights
    value, slope = objective.value_and_slope(chosen)
    return Step(0, chosen, value, float(np.abs(slope).max(initial=0.0)))


def _round(objective: CompositeLikelihood, step: Step, iterations: int) -> Step:
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
    gain = -float(found.fun) - step.objective
    return Step(
        step.iteration + int(found.nit),
        prior.complete(found.x),
        -float(found.fun),
        float(np.abs(found.jac).max(initial=0.0)),
        finished=int(found.nit) < iterations or (iterations == ROUND and gain < FLAT),
    )
