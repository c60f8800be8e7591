"""The energy of states, minus their log-weight, as a feature: its mean and its variance."""

from __future__ import annotations

import threading

import numpy as np

from orbitmc._util.arrays import Bytes, Floats
from orbitmc.estimate.features import by_column, column_means
from orbitmc.estimate.statistics import spread_of
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.log_weights import extremes, partial_log_weight

POWERS = 4
ROUNDING = 1e-12  # of the sum of all log-potentials: energies that differ by less are the same


class EnergyFeature:
    """Sums of the first four powers of the energy, less a constant near its mean."""

    averaged = -1
    rows = POWERS

    def __init__(self, graph: FactorGraph, near: float) -> None:
        self.graph, self.near = graph, near
        self.variables = np.arange(graph.variables)
        self.factors = np.arange(graph.factors, dtype=np.uint32)
        self.low, self.high = np.inf, -np.inf
        self.alone = threading.Lock()  # packs work in threads

    def energies(self, states: Bytes) -> Floats:
        """Minus the log-weight of each state, less the constant."""
        log_weight = partial_log_weight(self.graph, self.factors, np.ascontiguousarray(states))
        found: Floats = -log_weight - self.graph.constant - self.near
        return found

    def sums(self, states: Bytes, chances: Floats | None) -> Floats:
        own = self.energies(states)
        with self.alone:
            self.low = min(self.low, float(own.min()))
            self.high = max(self.high, float(own.max()))
        return by_column(np.stack([own**power for power in range(1, POWERS + 1)]))

    def errors(self, means: Floats) -> Floats:
        return spread_of(means[:1])

    def moments(self, every: list[Floats], recorded: int, lanes: int) -> list[Floats]:
        """Sums of the energy, its square, its squared deviation, and the square of that."""
        mean = float(column_means(every, recorded, lanes)[0].mean())
        return [_moments(own, mean, counts) for own, counts in _counted(every, recorded, lanes)]

    def ends(self, mean: float) -> tuple[Floats, Floats]:
        """The least and largest energy and squared deviation that were seen.

        If all energies were the same, those of states that were not seen may still differ by what
        tables allow.
        """
        low, high = self.low, self.high
        least, most = (own[self.graph.table_of] for own in extremes(self.graph))
        if high - low <= ROUNDING * float(np.maximum(np.abs(least), np.abs(most)).sum()):
            low = min(low, -float(most.sum()) - self.graph.constant - self.near)
            high = max(high, -float(least.sum()) - self.graph.constant - self.near)
        furthest = max(mean - low, high - mean) ** 2
        return np.array([low, 0.0]), np.array([high, furthest])


def _counted(every: list[Floats], recorded: int, lanes: int) -> list[tuple[Floats, Floats]]:
    """Sums with how many states each column has in each part of time."""
    from orbitmc._simd.random import COLUMNS
    from orbitmc.estimate.statistics import part_lengths
    from orbitmc.estimate.tally import PARTS

    counts = np.zeros(PARTS)
    lengths = part_lengths(recorded)
    counts[: len(lengths)] = lengths * (lanes // COLUMNS)
    return [(own, counts[:, None]) for own in every]


def _moments(own: Floats, mean: float, count: Floats) -> Floats:
    first, second, third, fourth = (own[:, row] for row in range(POWERS))
    deviation = second - 2 * mean * first + mean**2 * count
    squared = (
        fourth - 4 * mean * third + 6 * mean**2 * second - 4 * mean**3 * first + mean**4 * count
    )
    return np.stack([first, second, deviation, squared], axis=1)
