"""What growing blocks asks about a graph."""

import numpy as np

from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.support import Domains, hard_factors

LONGEST = 32  # variables of a factor whose others are looked at as neighbours


class Neighbours:
    """Variables with a choice, their factors, and whom they share these with."""

    def __init__(self, graph: FactorGraph, domains: Domains) -> None:
        allowed = np.concatenate([[0], np.cumsum(domains.allowed)])
        left = np.diff(allowed[domains.value_start])
        self.sizes: list[int] = left.tolist()
        self.free: list[int] = np.flatnonzero(left > 1).tolist()
        is_free = set(self.free)
        tying = hard_factors(graph)
        self.scope = [
            [int(v) for v in graph.scope_of(factor) if int(v) in is_free]
            for factor in range(graph.factors)
        ]
        self.factors: dict[int, list[int]] = {v: [] for v in self.free}
        for factor, scope in enumerate(self.scope):
            for v in set(scope):
                self.factors[v].append(factor)
        self.tying = [bool(tying[f]) and len(s) > 1 for f, s in enumerate(self.scope)]
        self.tied = {v: self._tied(v) for v in self.free}
        self.near = {v: self._near(v) for v in self.free}

    def _tied(self, variable: int) -> set[int]:
        """The variables that zeros tie to one, itself among them."""
        near = (self.scope[f] for f in self.factors[variable] if self.tying[f])
        return {variable}.union(*near)

    def _near(self, variable: int) -> set[int]:
        """The others in the factors of a variable that are not long."""
        scopes = (self.scope[f] for f in self.factors[variable])
        return set[int]().union(*(one for one in scopes if len(one) <= LONGEST)) - {variable}
