"""How good learned weights are: standard errors, and scores on databases they have not seen.

The standard errors of a likelihood come from its curvature. A pseudo-likelihood counts atoms that
depend on each other as if they did not, so its curvature alone is too sharp; between two of its
inverses stands how much its slopes vary in states of the model (Godambe's sandwich, 1960). The
prior counts as one more observation of each weight.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from orbitmc._util.arrays import Floats
from orbitmc._util.interrupts import check_interrupt
from orbitmc.conditionals.prepared import prepare
from orbitmc.errors import InputError, LimitError
from orbitmc.kernels._gibbs import SystematicScan
from orbitmc.mln.grounding.ground_model import graph_of
from orbitmc.mln.learning.expectations import Chains
from orbitmc.mln.learning.learner import Task
from orbitmc.mln.learning.objectives import CompositeLikelihood, Prior
from orbitmc.mln.learning.worlds import TrainingWorld, changes, concatenate_changes
from orbitmc.sampling.sampler import sample
from orbitmc.sampling.schedule import LANES, Schedule

# How well learned weights predict databases that they were not learned from.

SAMPLES = 200  # in each of some hundred chains
LEAST_CHANCE = 1e-6  # nothing is held more certain than this: chains could not tell


@dataclass(frozen=True)
class Score:
    """Mean log-probabilities of what the data say of an atom, or of a block of them.

    `given_others` is exact and knows all other atoms; it is not a number where some are hidden.
    `given_evidence` is sampled and knows only what is not explained.
    """

    atoms: int
    given_others: float
    given_evidence: float


def score(
    worlds: Sequence[TrainingWorld], prior: Prior, weights: Floats, *, seed: int = 0
) -> Score:
    """Score weights on worlds; hidden atoms are not scored."""
    logs = [_log_chances(world, weights, seed)[~world.hidden] for world in worlds]
    atoms = sum(map(len, logs))
    if not atoms:
        raise InputError("the held-out databases show no atom that could be scored")
    others = np.nan
    if not any(world.hidden.any() for world in worlds):
        known = concatenate_changes([changes(world) for world in worlds])
        others = CompositeLikelihood(known, prior).without_prior(weights) / atoms
    return Score(atoms, others, float(np.concatenate(logs).mean()))


def _log_chances(world: TrainingWorld, weights: Floats, seed: int) -> Floats:
    """The log-probability of each variable's value, given the evidence of its world."""
    graph = graph_of(world.ground, weights)
    run = sample(prepare(graph), SystematicScan(), Schedule(samples=SAMPLES), seed=seed)
    probability = run.statistics().probability
    rows = np.where(graph.cardinality > 2, graph.cardinality, graph.cardinality - 1)
    first = np.cumsum(np.append(0, rows[:-1]))
    binary = graph.cardinality == 2
    chance = probability[
        np.minimum(first + np.where(binary, 0, world.values), len(probability) - 1)
    ]
    chance = np.where(binary & (world.values == 0), 1.0 - chance, chance)
    chance = np.where(graph.cardinality == 1, 1.0, chance)
    return np.asarray(np.log(np.clip(chance, LEAST_CHANCE, 1.0 - LEAST_CHANCE)))


MOST_WEIGHTS = 4096  # their matrix takes 128 MiB
STATE_ROUNDS = 8  # of 64 states each: an error from 512 states is itself off by 3 %
ROUNDS_PER_WEIGHT = 20 / 64  # 20 states for each weight
FIRST_SWEEPS, SWEEPS = 100, 10


def standard_errors(task: Task, weights: Floats, *, most_weights: int = MOST_WEIGHTS) -> Floats:
    """The standard error of each weight; 0 for those that are not learned.

    Not a number where the data leave a direction open that the prior does not close.
    """
    learned = task.prior.learned
    if learned.sum() > most_weights:
        raise LimitError(
            f"standard errors are computed for up to {most_weights:,} weights, and "
            f"{learned.sum():,} are learned"
        )
    errors = np.zeros(len(weights))
    errors[learned] = np.sqrt(_variances(task, weights))
    return errors


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
    rounds = max(STATE_ROUNDS, int(np.ceil(ROUNDS_PER_WEIGHT * learned.sum())))
    information = np.eye(int(learned.sum())) * task.prior.deviation**-2
    for given, sign in ((False, 1.0), (True, -1.0)):
        for chains in _chains(task, given):
            chains.states(weights, sweeps=FIRST_SWEEPS)
            counts = np.concatenate(
                [chains.sample(weights, sweeps=SWEEPS).counts[learned] for _ in range(rounds)],
                axis=1,
            )
            information += sign * np.atleast_2d(np.cov(counts))
            check_interrupt()
    return information


def _sampled_slopes(task: Task, weights: Floats) -> Floats:
    """Slopes of the pseudo-likelihood, the prior aside, in states [state, weight] of the model."""
    learned = task.prior.learned
    total = np.zeros((STATE_ROUNDS * LANES, int(learned.sum())))
    for chains in _chains(task, given=False):
        chains.states(weights, sweeps=FIRST_SWEEPS)
        states = np.concatenate(
            [chains.states(weights, sweeps=SWEEPS).copy() for _ in range(STATE_ROUNDS)], axis=1
        )
        for place, values in enumerate(states.T.astype(np.int64)):
            known = changes(replace(chains.world, values=values))
            slope = CompositeLikelihood(known, task.prior).value_and_slope(weights)[1]
            total[place] += (slope - task.prior.slope(weights))[learned]
            check_interrupt()
    return total


def _chains(task: Task, given: bool) -> list[Chains]:
    """Chains on all worlds; if they are to be given data, on those with hidden atoms."""
    first = (2 + given) * len(task.worlds)  # other numbers than those of learning
    return [
        Chains(world, seed=task.settings.seed, number=first + number, given=given)
        for number, world in enumerate(task.worlds)
        if world.hidden.any() or not given
    ]
