"""How probable the values of one variable are, given all others, in many states at once."""

from collections.abc import Mapping

import numpy as np

from orbitmc._util.arrays import Bytes, Floats, Numbers
from orbitmc.graph.factor_graph import FactorGraph


class Conditional:
    """The factors that read a variable, and the other variables that they read."""

    def __init__(self, graph: FactorGraph, variable: int) -> None:
        self.graph, self.variable = graph, variable
        self.size = int(graph.cardinality[variable])
        self.factors: list[int] = graph.factors_of(variable).tolist()
        scopes = [graph.scope_of(factor).tolist() for factor in self.factors]
        self.neighbours = sorted({near for scope in scopes for near in scope} - {variable})

    def chances(self, states: Mapping[int, Bytes], count: int) -> Floats:
        """The probability of each value in each of so many states, `[value, state]`.

        `states` has the values of every neighbour.

        >>> import numpy as np
        >>> import orbitmc as om
        >>> graph = om.ising_grid(1, 2, 0.5).graph
        >>> Conditional(graph, 0).chances({1: np.array([1])}, 1)[:, 0].round(4).tolist()
        [0.2689, 0.7311]
        """
        weights = np.zeros((self.size, count))
        for factor in self.factors:
            self._add(factor, states, weights)
        weights -= weights.max(axis=0)
        np.exp(weights, out=weights)
        weights /= weights.sum(axis=0)
        return weights

    def _add(self, factor: int, states: Mapping[int, Bytes], weights: Floats) -> None:
        """Add a factor's log-potentials to those of each value."""
        graph, entries = self.graph, self.graph.table_values(factor).reshape(-1)
        places = range(int(graph.scope_start[factor]), int(graph.scope_start[factor + 1]))
        if factor < graph.first_clause:
            step = {int(graph.scope[place]): int(graph.stride[place]) for place in places}
            offset: Numbers = np.zeros(weights.shape[1], dtype=np.int64)
            for near in step.keys() - {self.variable}:
                offset += step[near] * states[near].astype(np.int64)
            for value in range(self.size):
                weights[value] += entries[offset + value * step[self.variable]]
            return
        wanted = {int(graph.scope[place]): int(graph.satisfying[place]) for place in places}
        satisfied = np.zeros(weights.shape[1], dtype=np.bool_)
        for near in wanted.keys() - {self.variable}:
            satisfied |= states[near] == wanted[near]
        for value in range(self.size):
            by_itself = value == wanted[self.variable]
            weights[value] += entries[1] if by_itself else entries[satisfied.astype(np.int64)]
