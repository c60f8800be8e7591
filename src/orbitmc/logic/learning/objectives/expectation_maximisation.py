"""Hidden atoms: expect their truth, then maximise as if that had been seen (EM)."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from orbitmc._util.arrays import Floats
from orbitmc.logic.learning.objectives.ascent import ITERATIONS, first_step, maximise
from orbitmc.logic.learning.objectives.composite_likelihood import CompositeLikelihood
from orbitmc.logic.learning.objectives.prior import Prior
from orbitmc.logic.learning.step import Step

SLOW = 1e-3  # what an iteration of EM must gain: near the top, L-BFGS is faster
SMALL_STEP = 0.3  # of random starts: with all weights at 0, hidden predicates would stay alike


def random_start(prior: Prior, seed: int) -> Floats:
    """Weights near the written ones; where hidden predicates look alike, they must not begin so."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(2,)))
    away = rng.normal(scale=SMALL_STEP, size=int(prior.learned.sum()))
    return prior.complete(prior.mean[prior.learned] + away)


def expectation_maximisation(
    objective: CompositeLikelihood, start: Step, *, iterations: int = ITERATIONS
) -> Iterator[Step]:
    """Iterations of EM, none of which goes down, then L-BFGS on the same likelihood."""
    step = start
    while not step.finished and step.iteration < iterations:
        found = _iteration(objective, step)
        gain, step = found.objective - step.objective, found
        yield step
        if gain < SLOW:
            yield from maximise(objective, step, iterations=iterations)
            return


def _iteration(objective: CompositeLikelihood, step: Step) -> Step:
    completed = objective.completed(step.weights)
    *_, best = maximise(completed, first_step(completed, step.weights))
    return replace(first_step(objective, best.weights), iteration=step.iteration + 1)
