"""Conditional likelihood: climb along true groundings in the data less those expected.

The expectation comes from our own chains, so slopes are noisy; the answer is an average of the
later weights.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from orbitmc._util.arrays import Floats
from orbitmc.logic.learning.chains import Chains
from orbitmc.logic.learning.counts import States, TrueCounts
from orbitmc.logic.learning.objectives.composite_likelihood import CompositeLikelihood
from orbitmc.logic.learning.objectives.optimisers import Optimiser
from orbitmc.logic.learning.objectives.prior import Prior
from orbitmc.logic.learning.step import Arrays, Step, require_like
from orbitmc.logic.learning.worlds import TrainingWorld

SAMPLED_ITERATIONS = 200
SWEEPS = 5
FIRST_SWEEPS = 50
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

    def slope(self, weights: Floats, *, sweeps: int = SWEEPS) -> tuple[Floats, list[States]]:
        """The gradient, 0 for weights that are not learned, and the states that it came from."""
        worlds = [chains.sample(weights, sweeps=sweeps) for chains in self.expecting]
        surplus = self.observed - np.sum([states.mean for states in worlds], axis=0)
        for chains in self.completing:
            surplus = surplus + chains.sample(weights, sweeps=sweeps).mean
        surplus = np.where(self.prior.learned, surplus, 0.0)
        return surplus + self.prior.slope(weights), worlds

    def shown(self, weights: Floats) -> float:
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
    if start.kept:
        weights = _restored(objective, optimiser, start)
    while step.iteration < iterations:
        number = step.iteration + 1
        sweeps = SWEEPS if step.iteration else FIRST_SWEEPS
        slope, worlds = objective.slope(weights, sweeps=sweeps)
        weights = weights + optimiser.move(number, slope, worlds, prior)
        share = (LATENESS + 1) / (number + LATENESS)
        before, now = step.weights[prior.learned], weights[prior.learned]
        average = prior.complete((1 - share) * before + share * now)
        step = Step(
            number,
            average,
            objective.shown(average),
            float(np.abs(slope).max(initial=0.0)),
            finished=number == iterations,
            kept={"weights": weights, **_kept(objective, optimiser)},
        )
        yield step


def _kept(objective: ConditionalLikelihood, optimiser: Optimiser) -> Arrays:
    found = {f"optimiser/{name}": array for name, array in optimiser.kept.items()}
    for number, chains in enumerate(objective.chains):
        found |= {f"chains/{number}/{name}": array for name, array in chains.kept.items()}
    return found


def _restored(objective: ConditionalLikelihood, optimiser: Optimiser, step: Step) -> Floats:
    """Bring optimiser and chains to where they were after a step; gives the weights there."""
    kept = _below("optimiser/", step.kept)
    require_like(kept, optimiser.kept)
    optimiser.kept = kept
    for number, chains in enumerate(objective.chains):
        chains.restore(_below(f"chains/{number}/", step.kept))
    own = {name: array for name, array in step.kept.items() if name == "weights"}
    require_like(own, {"weights": objective.prior.mean})
    return own["weights"]


def _below(prefix: str, kept: Arrays) -> Arrays:
    return {name.removeprefix(prefix): kept[name] for name in kept if name.startswith(prefix)}
