"""Standard errors of learned weights: how much other data of the same kind would move them.

A likelihood has its curvature for that. A pseudo-likelihood counts atoms that depend on each other
as if they did not, so its curvature alone is too sharp; between two of its inverses stands how
much its slopes vary in states of the model (Godambe's sandwich, 1960). The prior counts as one
more observation of each weight.
"""

from dataclasses import replace

import numpy as np

from orbitmc._util.arrays import Floats
from orbitmc._util.interrupts import heed
from orbitmc.errors import LimitError
from orbitmc.logic.learning.chains import LANES, Chains
from orbitmc.logic.learning.changes import changes
from orbitmc.logic.learning.learning import Task
from orbitmc.logic.learning.objectives.composite_likelihood import CompositeLikelihood

MOST_WEIGHTS = 4096  # their matrix takes 128 MiB
ROUNDS = 8  # of 64 states each: an error from 512 states is itself off by 3 %
ROUNDS_PER_WEIGHT = 20 / 64  # 20 states for each weight
FIRST_SWEEPS, SWEEPS = 100, 10


def standard_errors(task: Task, weights: Floats) -> Floats:
    """The standard error of each weight; 0 for those that are not learned.

    Not a number where the data leave a direction open that the prior does not close.
    """
    learned = task.prior.learned
    if learned.sum() > MOST_WEIGHTS:
        raise LimitError(
            f"standard errors are computed for up to {MOST_WEIGHTS:,} weights, and "
            f"{learned.sum():,} are learned"
        )
    found = np.zeros(len(weights))
    found[learned] = np.sqrt(_variances(task, weights))
    return found


def _variances(task: Task, weights: Floats) -> Floats:
    if task.exact is None:
        return _positive(np.diag(np.linalg.inv(_sampled_information(task, weights))))
    inverse = np.linalg.inv(task.exact.information(weights))
    if task.settings.objective == "discriminative":
        return _positive(np.diag(inverse))
    slopes = _sampled_slopes(task, weights) @ inverse
    believed = task.prior.deviation**-2 * (inverse * inverse).sum(axis=0)
    return np.asarray((slopes * slopes).mean(axis=0) + believed)


def _positive(variances: Floats) -> Floats:
    return np.where(variances > 0.0, variances, np.nan)


def _sampled_information(task: Task, weights: Floats) -> Floats:
    """How true groundings vary together in states of chains, and the prior's precision."""
    learned = task.prior.learned
    rounds = max(ROUNDS, int(np.ceil(ROUNDS_PER_WEIGHT * learned.sum())))
    found = np.eye(int(learned.sum())) * task.prior.deviation**-2
    for given, sign in ((False, 1.0), (True, -1.0)):
        for chains in _chains(task, given):
            chains.states(weights, sweeps=FIRST_SWEEPS)
            counts = np.concatenate(
                [chains.sample(weights, sweeps=SWEEPS).counts[learned] for _ in range(rounds)],
                axis=1,
            )
            found += sign * np.atleast_2d(np.cov(counts))
            heed()
    return found


def _sampled_slopes(task: Task, weights: Floats) -> Floats:
    """Slopes of the pseudo-likelihood, the prior aside, in states [state, weight] of the model."""
    learned = task.prior.learned
    total = np.zeros((ROUNDS * LANES, int(learned.sum())))
    for chains in _chains(task, given=False):
        chains.states(weights, sweeps=FIRST_SWEEPS)
        states = np.concatenate(
            [chains.states(weights, sweeps=SWEEPS).copy() for _ in range(ROUNDS)], axis=1
        )
        for place, values in enumerate(states.T.astype(np.int64)):
            known = changes(replace(chains.world, values=values))
            slope = CompositeLikelihood(known, task.prior).value_and_slope(weights)[1]
            total[place] += (slope - task.prior.slope(weights))[learned]
            heed()
    return total


def _chains(task: Task, given: bool) -> list[Chains]:
    """Chains on all worlds; if they are to be given data, on those with hidden atoms."""
    first = (2 + given) * len(task.worlds)  # other numbers than those of learning
    return [
        Chains(world, seed=task.settings.seed, number=first + number, given=given)
        for number, world in enumerate(task.worlds)
        if world.hidden.any() or not given
    ]
