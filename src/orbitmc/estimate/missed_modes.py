"""A proof that marginals are wrong: a state that must be probable, and where no chain is.

The entropies H of single variables add up to at least the entropy of all of them together. So
marginals bound log Z from above: log Z <= E[log w] + sum of H. Then a state of weight w has a
probability of at least exp(log w - E[log w] - sum of H). If that is more than chance can hide from
so many chains, and none of them is there, then the marginals are wrong.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from orbitmc._util.arrays import Bytes, Floats
from orbitmc.estimate.statistics import Statistics, values_of
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.log_weights import log_weights_of_parts

MISSED_MODE_FALSE_ALARM = (
    1e-6  # per run: how probable it is that no chain is in a state of that probability
)
ERRORS = 5.0  # by which log-weights and entropies may be off
STATES = 2**24  # variables times chains that are looked at, at most; 32 chains are always looked at


def missed_modes(
    graph: FactorGraph,
    heaviest: Bytes,
    values: Bytes,
    statistics: Statistics,
    part_of: NDArray[np.int64],
) -> NDArray[np.bool_]:
    """Say of each variable whether its component has missed the heaviest state that was found.

    `values[variable, lane]` are present states of all chains, from which log-weights are known.
    `part_of` numbers the component of each variable.
    """
    lanes = values.shape[1]
    here = log_weights_of_parts(graph, values, part_of)
    error = ERRORS * here.std(axis=1, ddof=1) / np.sqrt(lanes)
    there = log_weights_of_parts(graph, heaviest[:, None], part_of)[:, 0]
    entropy = np.bincount(part_of, largest_entropies(graph, statistics), minlength=len(there))
    bound = there - (here.mean(axis=1) + error) - entropy
    away = np.ones(len(there), dtype=np.bool_)
    for state in values.T:
        away &= np.bincount(part_of, state != heaviest, minlength=len(there)) > 0
    missed: NDArray[np.bool_] = (bound > np.log(-np.log(MISSED_MODE_FALSE_ALARM) / lanes)) & away
    return np.take(missed, part_of)


def largest_entropies(graph: FactorGraph, statistics: Statistics) -> Floats:
    """Entropy of each variable, its own error added."""
    spread = values_of(graph.cardinality)
    p = np.maximum(spread.probabilities(statistics.probability), 0.0)
    error = spread.spread(statistics.standard_error, 0.0)
    entropy = -xlogy(p, p) + ERRORS * error * np.abs(np.log(np.maximum(p, error)))
    found: Floats = np.add.reduceat(entropy, spread.start[:-1].astype(np.int64))
    return np.minimum(found, np.log(graph.cardinality))


def lanes_to_look_at(graph: FactorGraph, chains: int) -> int:
    """How many chains say where a run is; fewer in large models."""
    return min(chains, max(32, STATES // max(graph.variables, 1)))
