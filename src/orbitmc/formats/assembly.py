"""From what a file lists, in its order, to a factor graph with shared tables."""

import itertools
from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import TypeVar

import numpy as np

from orbitmc._util.arrays import Floats
from orbitmc.errors import said_of
from orbitmc.graph.builder import Builder
from orbitmc.graph.factor_graph import FactorGraph

Piece = TypeVar("Piece", bound=Sized)


class Assembly:
    """Collects factors in the order of a file; equal tables are stored once."""

    def __init__(self, cardinality: Sequence[int], source: str) -> None:
        self._source = source
        self._builder = Builder(cardinality)
        self._tables: dict[bytes, int] = {}
        self._scopes: list[Sequence[int]] = []
        self._table_of: list[int] = []

    def table(self, weights: Sequence[float] | Floats) -> int:
        """Give the number of the table that holds these weights."""
        with np.errstate(divide="ignore"):
            log_weights = np.log(np.asarray(weights, dtype=np.float64).reshape(-1))
        return self._tables.setdefault(log_weights.tobytes(), len(self._tables))

    def add_factor(self, scope: Sequence[int], table: int) -> None:
        self._scopes.append(scope)
        self._table_of.append(table)

    def add_constant(self, weight: float) -> None:
        """Multiply all weights by a number that is not zero."""
        self._builder.constant += float(np.log(weight))

    def build(self) -> FactorGraph:
        with said_of(self._source):
            for rows in runs(np.frombuffer(entries) for entries in self._tables):
                self._builder.add_tables(rows)
            first = 0
            for scopes in runs(self._scopes):
                tables = self._table_of[first : first + len(scopes)]
                self._builder.add_factors(scopes, tables)
                first += len(scopes)
            return self._builder.build()


def runs(pieces: Iterable[Piece]) -> Iterator[list[Piece]]:
    """Group neighbours of one length, so that each group is added in one call.

    >>> list(runs(["a", "b", "cd", "e"]))
    [['a', 'b'], ['cd'], ['e']]
    """
    return (list(group) for _, group in itertools.groupby(pieces, key=len))
