"""Climb to the maximum of an objective whose slopes are exact."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize

from orbitmc._util.arrays import Floats
from orbitmc.mln.learning.counted_likelihood import CountedLikelihood
from orbitmc.mln.learning.expectations import Chains
from orbitmc.mln.learning.objectives import Arrays, CompositeLikelihood, Prior, Step, require_like
from orbitmc.mln.learning.worlds import States, TrainingWorld, TrueCounts

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


def first_step(
    objective: CompositeLikelihood | CountedLikelihood, weights: Floats | None = None
) -> Step:
    """Begin at the written weights, or at others."""
    chosen = objective.prior.mean if weights is None else weights
    value, slope = objective.value_and_slope(chosen)
    return Step(0, chosen, value, float(np.abs(slope).max(initial=0.0)))


def _round(objective: CompositeLikelihood, step: Step, iterations: int) -> Step:
    prior = objective.prior

    def negate(learned: Floats) -> tuple[float, Floats]:
        value, slope = objective.value_and_slope(prior.complete(learned))
        return -value, -slope[prior.learned]

    result = minimize(
        negate,
        step.weights[prior.learned],
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": iterations, "maxcor": 20, "gtol": SMALLEST_SLOPE, "ftol": 1e-14},
    )
    gain = -float(result.fun) - step.objective
    return Step(
        step.iteration + int(result.nit),
        prior.complete(result.x),
        -float(result.fun),
        float(np.abs(result.jac).max(initial=0.0)),
        finished=int(result.nit) < iterations or (iterations == ROUND and gain < FLAT),
    )


# Two ways to climb with noisy slopes: Adam, and Newton's method with a diagonal matrix.

RATE = 0.1
COOLING = 25  # iterations until steps begin to shrink
MEMORY, SQUARE_MEMORY, SMALL = 0.9, 0.999, 1e-8  # as usual for Adam (Kingma & Ba 2015)
LONGEST_STEP = 0.5  # how far one step may move a weight


class Adam:
    """Steps of similar length for all weights, in the direction of recent slopes.

    `arrays` is all that later moves need to know of earlier ones; iterations count from 1.
    """

    def __init__(self, weights: int) -> None:
        self.arrays: Arrays = {"mean": np.zeros(weights), "square": np.zeros(weights)}

    def move(self, iteration: int, slope: Floats, worlds: Sequence[States], prior: Prior) -> Floats:
        mean = MEMORY * self.arrays["mean"] + (1 - MEMORY) * slope
        square = SQUARE_MEMORY * self.arrays["square"] + (1 - SQUARE_MEMORY) * slope**2
        self.arrays = {"mean": mean, "square": square}
        mean = mean / (1 - MEMORY**iteration)
        square = square / (1 - SQUARE_MEMORY**iteration)
        rate = RATE / np.sqrt(1 + iteration / COOLING)
        return np.asarray(rate * mean / (np.sqrt(square) + SMALL))


class DiagonalNewton:
    """Each slope is divided by its own curvature, the variance of the weight's counts.

    The whole step is as long as the curvature along it allows (Lowd & Domingos 2007).
    """

    def __init__(self) -> None:
        self.arrays: Arrays = {}

    def move(self, iteration: int, slope: Floats, worlds: Sequence[States], prior: Prior) -> Floats:
        precision = prior.deviation**-2
        curvature = np.sum([states.variance for states in worlds], axis=0) + precision
        direction = np.where(prior.learned, slope / curvature, 0.0)
        along = sum(states.variance_along(direction) for states in worlds)
        along += precision * float(direction @ direction)
        length = float(slope @ direction) / along if along > 0 else 0.0
        step = length * direction / (1 + iteration / COOLING)
        return np.asarray(step * min(1.0, LONGEST_STEP / max(np.abs(step).max(initial=0.0), SMALL)))


Optimiser = Adam | DiagonalNewton


# Conditional likelihood: climb along true groundings in the data less those expected.
#
# The expectation comes from our own chains, so slopes are noisy; the answer is an average of the
# later weights.

SAMPLED_ITERATIONS = 200
SWEEPS_PER_STEP = 5
WARM_UP_SWEEPS = 50
LATENESS = 3  # how much more later weights count in the average (Shamir & Zhang 2013)


@dataclass(frozen=True)
class ConditionalLikelihood:
    """The conditional likelihood of data, of which only the slopes are known, with a prior.

    `proxy` is the pseudo-likelihood: what is shown of the objective, because it can be computed;
    with hidden atoms there is none. `completing` are the chains that are given the data of worlds
    with hidden atoms, and count there instead of `observed`.
    """

    observed: Floats
    expecting: Sequence[Chains]
    prior: Prior
    proxy: CompositeLikelihood | None
    completing: Sequence[Chains] = ()

    def slope(
        self, weights: Floats, *, sweeps: int = SWEEPS_PER_STEP
    ) -> tuple[Floats, list[States]]:
        """The gradient, 0 for weights that are not learned, and the states that it came from."""
        worlds = [chains.sample(weights, sweeps=sweeps) for chains in self.expecting]
        surplus = self.observed - np.sum([states.mean for states in worlds], axis=0)
        for chains in self.completing:
            surplus = surplus + chains.sample(weights, sweeps=sweeps).mean
        surplus = np.where(self.prior.learned, surplus, 0.0)
        return surplus + self.prior.slope(weights), worlds

    def visible_value(self, weights: Floats) -> float:
        """What can be shown of the objective; not a number if nothing can."""
        return np.nan if self.proxy is None else self.proxy.value_and_slope(weights)[0]

    @property
    def chains(self) -> Sequence[Chains]:
        """All chains, those that are given data last."""
        return (*self.expecting, *self.completing)


def observed_counts(worlds: Sequence[TrainingWorld]) -> Floats:
    """True groundings of each weight in the data, but for those that evidence decides.

    Worlds with hidden atoms are left out.
    """
    counts = [
        TrueCounts(world.ground)(world.values[:, None])[:, 0]
        for world in worlds
        if not world.hidden.any()
    ]
    return np.asarray(np.sum(counts, axis=0)) if counts else np.zeros(len(worlds[0].ground.weights))


def climb(
    objective: ConditionalLikelihood,
    optimiser: Optimiser,
    start: Step,
    *,
    iterations: int = SAMPLED_ITERATIONS,
) -> Iterator[Step]:
    """Take noisy steps; each keeps what another climb needs to go on from it."""
    step, weights, prior = start, start.weights, objective.prior
    if start.arrays:
        weights = _restore(objective, optimiser, start)
    while step.iteration < iterations:
        number = step.iteration + 1
        sweeps = SWEEPS_PER_STEP if step.iteration else WARM_UP_SWEEPS
        slope, worlds = objective.slope(weights, sweeps=sweeps)
        weights = weights + optimiser.move(number, slope, worlds, prior)
        share = (LATENESS + 1) / (number + LATENESS)
        before, now = step.weights[prior.learned], weights[prior.learned]
        average = prior.complete((1 - share) * before + share * now)
        step = Step(
            number,
            average,
            objective.visible_value(average),
            float(np.abs(slope).max(initial=0.0)),
            finished=number == iterations,
            arrays={"weights": weights, **_arrays_to_keep(objective, optimiser)},
        )
        yield step


def _arrays_to_keep(objective: ConditionalLikelihood, optimiser: Optimiser) -> Arrays:
    arrays = {f"optimiser/{name}": array for name, array in optimiser.arrays.items()}
    for number, chains in enumerate(objective.chains):
        arrays |= {f"chains/{number}/{name}": array for name, array in chains.arrays.items()}
    return arrays


def _restore(objective: ConditionalLikelihood, optimiser: Optimiser, step: Step) -> Floats:
    """Bring optimiser and chains to where they were after a step; gives the weights there."""
    optimiser_arrays = _with_prefix("optimiser/", step.arrays)
    require_like(optimiser_arrays, optimiser.arrays)
    optimiser.arrays = optimiser_arrays
    for number, chains in enumerate(objective.chains):
        chains.restore(_with_prefix(f"chains/{number}/", step.arrays))
    weights = {name: array for name, array in step.arrays.items() if name == "weights"}
    require_like(weights, {"weights": objective.prior.mean})
    return weights["weights"]


def _with_prefix(prefix: str, arrays: Arrays) -> Arrays:
    return {name.removeprefix(prefix): arrays[name] for name in arrays if name.startswith(prefix)}


# Hidden atoms: expect their truth, then maximise as if that had been seen (EM).

LEAST_EM_GAIN = 1e-3  # what an iteration of EM must gain: near the top, L-BFGS is faster
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
        following = _iteration(objective, step)
        gain, step = following.objective - step.objective, following
        yield step
        if gain < LEAST_EM_GAIN:
            yield from maximise(objective, step, iterations=iterations)
            return


def _iteration(objective: CompositeLikelihood, step: Step) -> Step:
    completed = objective.complete(step.weights)
    *_, best = maximise(completed, first_step(completed, step.weights))
    return replace(first_step(objective, best.weights), iteration=step.iteration + 1)
