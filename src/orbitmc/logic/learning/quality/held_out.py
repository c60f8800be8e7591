"""How well learned weights predict databases that they were not learned from."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from orbitmc._util.arrays import Floats
from orbitmc.conditionals.prepared import prepare
from orbitmc.errors import InputError
from orbitmc.kernels._gibbs import SystematicScan
from orbitmc.logic.grounding.assembly import graph_of
from orbitmc.logic.learning.changes import changes, joined
from orbitmc.logic.learning.objectives.composite_likelihood import CompositeLikelihood
from orbitmc.logic.learning.objectives.prior import Prior
from orbitmc.logic.learning.worlds import TrainingWorld
from orbitmc.sampling.sampler import sample
from orbitmc.sampling.schedule import Schedule

SAMPLES = 200  # in each of some hundred chains
SURE = 1e-6  # nothing is held more certain than this: chains could not tell


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
        known = joined([changes(world) for world in worlds])
        others = CompositeLikelihood(known, prior).without_prior(weights) / atoms
    return Score(atoms, others, float(np.concatenate(logs).mean()))


def _log_chances(world: TrainingWorld, weights: Floats, seed: int) -> Floats:
    """The log-probability of each variable's value, given the evidence of its world."""
    graph = graph_of(world.ground, weights)
    run = sample(prepare(graph), SystematicScan(), Schedule(samples=SAMPLES), seed=seed)
    found = run.statistics().probability
    rows = np.where(graph.cardinality > 2, graph.cardinality, graph.cardinality - 1)
    first = np.cumsum(np.append(0, rows[:-1]))
    binary = graph.cardinality == 2
    chance = found[np.minimum(first + np.where(binary, 0, world.values), len(found) - 1)]
    chance = np.where(binary & (world.values == 0), 1.0 - chance, chance)
    chance = np.where(graph.cardinality == 1, 1.0, chance)
    return np.asarray(np.log(np.clip(chance, SURE, 1.0 - SURE)))
