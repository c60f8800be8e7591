"""A discrete distribution as flat, read-only arrays."""

from typing import NamedTuple

import numpy as np

from orbitmc._util.arrays import (
    Floats,
    Index,
    Indices,
    Numbers,
    lengths,
    readonly,
    short_repr,
    starts,
)


class FactorGraph(NamedTuple):
    """A distribution proportional to the exponential of summed log-potentials.

    Factor `f` reads the variables `scope[scope_start[f]:scope_start[f + 1]]`. Its log-potentials
    are `table[table_start[t]:table_start[t + 1]]` with `t = table_of[f]`, last variable fastest;
    many factors may share a table. `stride` belongs to `scope`: how far a step of that variable's
    value moves in the table.

    From factor `first_clause` on, factors are clauses: they are satisfied when any variable of
    the scope has its `satisfying` value (aligned with `scope`), and their table has two entries,
    the log-potential when not satisfied and when satisfied. A long clause stays linear in size.

    `incident[incident_start[v]:incident_start[v + 1]]` are the factors that read variable `v`.
    `constant` is what evidence has already decided of the log-weight.
    """

    cardinality: Indices
    scope_start: Indices
    scope: Indices
    stride: Indices
    table_of: Indices
    table_start: Indices
    table: Floats
    first_clause: int
    satisfying: Indices
    incident_start: Indices
    incident: Indices
    constant: float

    def __repr__(self) -> str:
        return short_repr(self)

    @property
    def variables(self) -> int:
        return len(self.cardinality)

    @property
    def factors(self) -> int:
        return len(self.table_of)

    @property
    def arities(self) -> Numbers:
        """How many variables each factor reads."""
        return lengths(self.scope_start)

    @property
    def factor_of_edge(self) -> Numbers:
        """The factor that each entry of `scope` belongs to."""
        return np.repeat(np.arange(self.factors), self.arities)

    def edges_of(self, factors: Numbers, arity: int) -> Numbers:
        """Where in `scope` factors that read so many variables each have theirs, a row each."""
        return self.scope_start[factors].astype(np.int64)[:, None] + np.arange(arity)

    def factors_of(self, variable: Index) -> Indices:
        """The factors that read a variable."""
        return self.incident[self.incident_start[variable] : self.incident_start[variable + 1]]

    def satisfying_of(self, factor: int) -> Indices:
        return self.satisfying[self.scope_start[factor] : self.scope_start[factor + 1]]

    def scope_of(self, factor: int) -> Indices:
        return self.scope[self.scope_start[factor] : self.scope_start[factor + 1]]

    def table_values(self, factor: int) -> Floats:
        """Log-potentials of a factor, shaped by its scope; of a clause: unsatisfied, satisfied."""
        number = self.table_of[factor]
        entries = self.table[self.table_start[number] : self.table_start[number + 1]]
        if factor >= self.first_clause:
            return entries
        return entries.reshape(self.cardinality[self.scope_of(factor)])

    def full_table(self, factor: int) -> Floats:
        """Log-potentials of any factor as a full table; exponential in the length of a clause."""
        entries = self.table_values(factor)
        if factor < self.first_clause:
            return entries
        scope = self.scope_of(factor)
        full = np.full(self.cardinality[scope], entries[1])
        rejected = [
            np.flatnonzero(np.arange(self.cardinality[variable]) != value)
            for variable, value in zip(scope, self.satisfying_of(factor), strict=True)
        ]
        full[np.ix_(*rejected)] = entries[0]
        return full

    def has_zeros(self) -> bool:
        """Whether some states are impossible (a log-potential of minus infinity)."""
        zeros = np.isneginf(self.table)
        first = int(zeros.argmax()) if len(zeros) else 0
        if not len(zeros) or not zeros[first]:
            return False
        number = np.searchsorted(self.table_start, first, side="right") - 1
        if bool((self.table_of == number).any()):
            return True
        before = np.concatenate([[0], np.cumsum(zeros)])[self.table_start]
        return bool(np.any((np.diff(before) > 0)[self.table_of]))


def incidence(variables: int, scope_start: Indices, scope: Indices) -> tuple[Indices, Indices]:
    """Turn "which variables does a factor read" around: which factors read a variable."""
    arities = lengths(scope_start)
    factor_of = np.repeat(np.arange(len(arities), dtype=np.uint32), arities)
    order = np.argsort(scope, kind="stable")
    counts = np.bincount(scope, minlength=variables)
    return starts(counts), readonly(factor_of[order])


def strides(
    cardinality: Indices, scope_start: Indices, scope: Indices, first_clause: int
) -> Indices:
    """How far a step of each scoped variable moves in its factor's table; 0 in clauses."""
    result = np.zeros(len(scope), dtype=np.uint32)
    arities = lengths(scope_start[: first_clause + 1])
    for length in np.flatnonzero(np.bincount(arities)).tolist():
        first = scope_start[np.flatnonzero(arities == length)].astype(np.int64)
        stride = np.ones(len(first), dtype=np.uint32)
        for place in reversed(range(length)):
            result[first + place] = stride
            stride = stride * cardinality[scope[first + place]]
    return readonly(result)
