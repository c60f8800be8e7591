"""Factors of one shape, and what they say of one or two of their variables in many states."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc._util.arrays import Bytes, Floats
from orbitmc.graph.factor_graph import FactorGraph

IMPOSSIBLE = -1e8  # stands for minus infinity: differences of such numbers stay numbers

Ints = NDArray[np.int64]


class FactorGroup(NamedTuple):
    """Factors whose variables have the same numbers of values; `scope[factor, position]`.

    Tables begin at `start[factor]` in `table`. Clauses are satisfied by `satisfying`, which tables
    lack.
    """

    shape: tuple[int, ...]
    scope: Ints
    start: Ints
    stride: Ints
    satisfying: Ints | None
    table: Floats

    def of_one(self, states: Bytes, own: int) -> Floats:
        """Log-potentials for the values of one variable: `[factor, own, lane]`."""
        return self.of_two(states, own, None)[:, :, 0]

    def of_two(self, states: Bytes, own: int, other: int | None) -> Floats:
        """Log-potentials for the values of two variables: `[factor, own, other, lane]`."""
        values = states[self.scope]  # [factor, position, lane]
        fixed = [k for k in range(len(self.shape)) if k not in (own, other)]
        if self.satisfying is None:
            return self._of_tables(values, fixed, own, other)
        return self._of_clauses(self.satisfying, values, fixed, own, other)

    def _of_tables(self, values: Bytes, fixed: list[int], own: int, other: int | None) -> Floats:
        place = self.start[:, None] + np.arange(self.shape[own]) * self.stride[:, own, None]
        found = place[:, :, None, None]
        if other is not None:
            steps = np.arange(self.shape[other]) * self.stride[:, other, None]
            found = found + steps[:, None, :, None]
        rest = np.zeros((len(values), values.shape[2]), dtype=np.int64)
        for k in fixed:
            rest += values[:, k] * self.stride[:, k, None]
        return self.table[found + rest[:, None, None, :]]

    def _of_clauses(
        self, wanted: Ints, values: Bytes, fixed: list[int], own: int, other: int | None
    ) -> Floats:
        met = (values[:, fixed] == wanted[:, fixed, None]).any(axis=1)[:, None, None, :]
        first = np.arange(self.shape[own]) == wanted[:, own, None]
        met = met | first[:, :, None, None]
        if other is not None:
            second = np.arange(self.shape[other]) == wanted[:, other, None]
            met = met | second[:, None, :, None]
        found: Floats = self.table[self.start[:, None, None, None] + met]
        return found


def factor_groups(graph: FactorGraph) -> Iterator[FactorGroup]:
    """All factors with variables, by shape; clauses apart from tables."""
    arities = graph.arities
    clauses = np.arange(graph.factors) >= graph.first_clause
    table = np.maximum(graph.table, IMPOSSIBLE)
    for arity in np.unique(arities[arities > 0]):
        for is_clause in (False, True):
            chosen = np.flatnonzero((arities == arity) & (clauses == is_clause))
            places = graph.edges_of(chosen, arity)
            yield from _by_shape(graph, chosen, places, table, is_clause)


def _by_shape(
    graph: FactorGraph, chosen: Any, places: Ints, table: Floats, is_clause: bool
) -> Iterator[FactorGroup]:
    scope = graph.scope[places].astype(np.int64)
    sizes = graph.cardinality[scope].astype(np.int64)
    order = np.lexsort(sizes.T)
    if not len(order):
        return
    changes = np.flatnonzero((np.diff(sizes[order], axis=0) != 0).any(axis=1)) + 1
    for same in np.split(order, changes):
        yield FactorGroup(
            shape=tuple(sizes[same[0]].tolist()),
            scope=scope[same],
            start=graph.table_start[graph.table_of[chosen[same]]].astype(np.int64),
            stride=graph.stride[places[same]].astype(np.int64),
            satisfying=graph.satisfying[places[same]].astype(np.int64) if is_clause else None,
            table=table,
        )
