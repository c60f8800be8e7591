"""Eliminate by taking maxima instead of sums: the weight of the best state, and that state.

A message says how heavy the best values of everything below are, given what is shared. Read from
the roots down, the messages tell how good each value of a variable can still become.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from orbitmc._util.arrays import Floats
from orbitmc.errors import ContradictionError
from orbitmc.exact.bucket import Bucket, strides_of
from orbitmc.exact.elimination import terms_in
from orbitmc.exact.orders.cutset import ENTRY
from orbitmc.exact.orders.tree import Tree
from orbitmc.exact.problem import Problem, Scope

State = list[int]
"""A value for each variable of a problem."""


def message_bytes(tree: Tree) -> int:
    """What all messages take; none of them can be let go."""
    return ENTRY * sum(map(tree.message_entries, tree.upward))


@dataclass(frozen=True)
class Entry:
    """A flat table that scores the values of a variable, and how far each other one moves in it."""

    table: Floats
    own: int
    others: tuple[tuple[int, int], ...]


class MaxElimination:
    """All messages of one elimination by maxima."""

    def __init__(self, problem: Problem, tree: Tree) -> None:
        self.problem, self.tree = problem, tree
        self.downward = tuple(reversed(tree.upward))
        self.messages: dict[int, Floats] = {}
        for variable in tree.upward:
            self._send(variable)
        self.entries = [self._entries(variable) for variable in range(len(tree.sizes))]

    def _send(self, variable: int) -> None:
        bucket = Bucket(variable, self.tree.shared[variable], self.tree.sizes)
        message = np.empty(bucket.slabs * bucket.places)
        for slab, sums in bucket.sums(terms_in(bucket, self.tree, self.problem, self.messages)):
            message[slab * bucket.places : (slab + 1) * bucket.places] = sums.max(axis=0)
        if message.max() == -np.inf:
            raise ContradictionError("no state is possible: every state has weight 0")
        self.messages[variable] = message

    def _entries(self, variable: int) -> tuple[Entry, ...]:
        tree, problem = self.tree, self.problem
        pieces: list[tuple[Scope, Floats]] = []
        for factors, children in tree.groups[variable]:
            pieces += [(problem.scopes[one], problem.tables[one]) for one in factors]
            pieces += [(tree.shared[child], self.messages[child]) for child in children]
        return tuple(_entry(variable, scope, table, tree.sizes) for scope, table in pieces)

    def scores(self, variable: int, state: Sequence[int]) -> Floats:
        """How heavy the best states are for each value, given what the bucket shares.

        Counted is what this bucket and those below add.
        """
        total = np.zeros(self.tree.sizes[variable])
        for table, own, others in ((e.table, e.own, e.others) for e in self.entries[variable]):
            first = sum(state[other] * step for other, step in others)
            total += table[first : first + own * (len(total) - 1) + 1 : own]
        return total

    def best(self) -> float:
        """The weight of the best state, without the constant."""
        roots = [v for v, above in enumerate(self.tree.parent) if above < 0]
        return math.fsum(float(self.messages[root][0]) for root in roots)


def _entry(variable: int, scope: Scope, table: Floats, sizes: Sequence[int]) -> Entry:
    """How the values of a variable are found in a table; last of its scope fastest."""
    steps = strides_of(scope, sizes)
    own = steps.pop(variable)
    return Entry(np.ascontiguousarray(table).reshape(-1), own, tuple(steps.items()))
