"""Expectations by listing every state, in place of chains."""

import numpy as np

from orbitmc.mln.grounding.ground_model import graph_of
from orbitmc.mln.learning.worlds import States, TrueCounts
from tests.oracle.brute_force import states
from tests.oracle.enumeration import log_weights_of_all


class Enumerated:
    """All states of a world with their chances; some state must satisfy all hard formulas."""

    def __init__(self, ground):
        self.ground, self.arrays = ground, {}
        graph = graph_of(ground, np.zeros(len(ground.weights)))
        self.counts = TrueCounts(ground)(np.array(states(graph)).T)

    def sample(self, weights, *, sweeps):
        hard = np.isinf(weights)
        logs = np.where(hard, 0.0, weights) @ self.counts
        most = self.counts[hard].sum(axis=0)
        chances = np.where(most == most.max(), np.exp(logs - logs.max()), 0.0)
        return States(self.counts, chances / chances.sum())

    def restore(self, arrays):
        pass

    def log_z(self, weights):
        """The logarithm of the normalising constant, but for what evidence decides."""
        finite = np.where(np.isinf(weights), 0.0, weights)
        logs = log_weights_of_all(graph_of(self.ground, weights))
        return float(np.logaddexp.reduce(logs) - self.ground.decided @ finite)
