"""Factors around a binary variable that earn the same: their sum is a count.

Ground formulas share weights, so a variable with many factors has few different ones. A member of
a group earns its `gain` for value 1 where no other literal of its clause holds, or where its
neighbour is 1; so bytes are counted, and one number per group is multiplied. Of long clauses, the
literals that hold are counted once, and the counts are kept while variables change in turn.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc.graph.conditionals.paths import FACTORS
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.machine.arrays import Bytes, Floats, Indices, indices, lengths, sealed, starts

LONG = 16  # literals: counts of shorter clauses would take more room than the clauses
LONGEST = 2**16 - 1  # literals: a count has 16 bits

Numbers = NDArray[np.int64]


class FactorGroups(NamedTuple):
    """What the factors around each variable of the path FACTORS earn for its value 1.

    Variable `v` has `offset[v]` anyway, the groups from `start[v]` on, the long clauses from
    `long_start[v]` on, and the other factors from `rest_start[v]` on. A member of group `g` has
    `width[g]` literals, from `first[g]` on: it earns `gain[g]` where none has its `unwanted`
    value. A long clause is satisfied by the value `long_wanted`, and earns `long_gain` where no
    other variable satisfies it; `long_factor` is the factor that it is. All variables of long
    clauses list them. What the factors around a `smooth` variable earn is finite.
    """

    smooth: Bytes
    offset: Floats
    start: Indices
    gain: Floats
    width: Indices
    first: Indices
    literal: Indices
    unwanted: Bytes
    rest_start: Indices
    rest: Indices
    long_start: Indices
    long: Indices
    long_wanted: Bytes
    long_gain: Floats
    long_factor: Indices


def factor_groups(graph: FactorGraph, path: Bytes, *, long: int = LONG) -> FactorGroups:
    """Sort the factors around every variable whose conditional is a sum over factors.

    Clauses of `long` literals or more are long.
    """
    edges = _Edges(graph, path, long)
    order, width, gain = edges.grouped()
    owner = edges.variable[order]
    new = np.ones(len(order), dtype=bool)
    new[1:] = (np.diff(owner) != 0) | (np.diff(width) != 0) | (gain[1:] != gain[:-1])
    literal, unwanted = edges.literals(order, width)
    literals = np.concatenate([np.zeros(1, np.int64), np.cumsum(width)])
    clauses, places = edges.long_clauses(), np.flatnonzero(edges.is_long)
    return FactorGroups(
        smooth=sealed(edges.smooth()),
        offset=sealed(edges.offset()),
        start=starts(np.bincount(owner[new], minlength=graph.variables)),
        gain=sealed(gain[new]),
        width=indices(width[new]),
        first=indices(np.append(literals[:-1][new], literals[-1])),
        literal=indices(literal),
        unwanted=sealed(unwanted),
        rest_start=starts(np.bincount(edges.variable[edges.rest], minlength=graph.variables)),
        rest=indices(edges.by_variable(edges.factor, edges.rest)),
        long_start=starts(np.bincount(edges.variable[places], minlength=graph.variables)),
        long=indices(np.searchsorted(clauses, edges.by_variable(edges.factor, places))),
        long_wanted=sealed(edges.by_variable(edges.wanted, places).astype(np.uint8)),
        long_gain=sealed(edges.by_variable(edges.clause_gain, places).astype(np.float64)),
        long_factor=indices(clauses),
    )


class _Edges:
    """The places of variables in scopes, and what each means there."""

    def __init__(self, graph: FactorGraph, path: Bytes, long: int) -> None:
        self.graph = graph
        arity = lengths(graph.scope_start).astype(np.int64)
        self.variable = graph.scope.astype(np.int64)
        self.factor = np.repeat(np.arange(graph.factors), arity)
        self.arity = arity[self.factor]
        self.wanted = graph.satisfying.astype(np.int64)
        self.table = graph.table_start[graph.table_of].astype(np.int64)[self.factor]
        chosen = (path == FACTORS)[self.variable]
        summed = chosen & (graph.cardinality == 2)[self.variable]
        self.is_clause = (self.factor >= graph.first_clause) & self._may_hold()
        self.is_long = self.is_clause & (self.arity >= long) & (self.arity <= LONGEST)
        self.clause_gain = self._clause_gain()
        self.is_field, self.is_pair = self._are_tables()
        self.is_field |= self.is_clause & (self.arity == 1) & np.isfinite(self.clause_gain)
        self.field = summed & self.is_field
        self.pair = summed & self.is_pair
        short = self.is_clause & ~self.is_long & (self.arity > 1)
        self.short = summed & short
        counted = self.field | self.pair | self.short | (summed & self.is_long)
        self.rest = np.flatnonzero(chosen & ~counted)

    def by_variable(self, numbers: NDArray[Any], places: Numbers) -> NDArray[Any]:
        """What some places have, in the order of their variables."""
        return numbers[places[np.argsort(self.variable[places], kind="stable")]]

    def grouped(self) -> tuple[Numbers, Numbers, Floats]:
        """The places of members in the order of their groups, with widths and gains."""
        places = np.flatnonzero(self.pair | self.short)
        gain = np.where(self.pair[places], self._coupling(places), self.clause_gain[places])
        width = self.arity[places] - 1
        order = np.lexsort((gain, width, self.variable[places]))
        return places[order], width[order], gain[order]

    def literals(self, places: Numbers, width: Numbers) -> tuple[Numbers, Bytes]:
        """The other variables of each member, and the values that keep it from earning."""
        begin = np.cumsum(width) - width
        member = np.repeat(np.arange(len(places)), width)
        first = self.graph.scope_start[self.factor[places]].astype(np.int64)
        other = first[member] + np.arange(len(member)) - begin[member]
        other += other >= places[member]
        unwanted = np.where(self.pair[places][member], 0, self.wanted[other])
        return self.variable[other], unwanted.astype(np.uint8)

    def offset(self) -> Floats:
        places = np.flatnonzero(self.field | self.pair)
        table = self.graph.table[self.table[places] + self._own_stride(places)]
        earned = table - self.graph.table[self.table[places]]
        clause = self.is_clause[places]
        earned[clause] = self.clause_gain[places][clause]
        sums = np.bincount(self.variable[places], earned, minlength=self.graph.variables)
        return sums.astype(np.float64)

    def smooth(self) -> Bytes:
        """Whether all factors around each variable are counted, and none is hard."""
        found = np.asarray(self.graph.cardinality == 2)
        found[self.variable[self.rest]] = False
        found[self.variable[self.is_clause & np.isinf(self.clause_gain)]] = False
        return np.asarray(found, dtype=np.uint8)

    def long_clauses(self) -> Numbers:
        """Factors that are long clauses, ascending."""
        return np.unique(self.factor[self.is_long])

    def _own_stride(self, places: Numbers) -> Numbers:
        stride = self.graph.stride[places].astype(np.int64)
        return np.where(self.is_clause[places], 0, stride)

    def _may_hold(self) -> NDArray[np.bool_]:
        """Whether a clause may be satisfied; hard negated ones may not."""
        place = np.minimum(self.table + 1, max(len(self.graph.table) - 1, 0))
        return np.asarray(self.graph.table[place] > -np.inf)

    def _clause_gain(self) -> Floats:
        """What value 1 earns beside value 0 where no other variable satisfies a clause."""
        gain = np.zeros(len(self.factor))
        table = self.table[self.is_clause]
        rise = self.graph.table[table + 1] - self.graph.table[table]
        gain[self.is_clause] = np.where(self.wanted[self.is_clause] == 1, rise, -rise)
        return gain

    def _are_tables(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Finite tables of one binary variable, and of two."""
        binary = np.ones(self.graph.factors, dtype=bool)
        np.logical_and.at(binary, self.factor, self.graph.cardinality[self.variable] == 2)
        plain = binary[self.factor] & (self.factor < self.graph.first_clause)
        found = []
        for arity in (1, 2):
            some = plain & (self.arity == arity)
            entries = self.table[some][:, None] + np.arange(2**arity)
            some[some] = (self.graph.table[entries] > -np.inf).all(axis=1)
            found.append(some)
        return found[0], found[1]

    def _coupling(self, places: Numbers) -> Floats:
        """What value 1 of both variables earns beside all else; 0 where there is no pair."""
        coupling = np.zeros(len(places))
        pair = self.pair[places]
        entries = self.graph.table[self.table[places][pair][:, None] + np.arange(4)]
        coupling[pair] = entries[:, 3] - entries[:, 2] - entries[:, 1] + entries[:, 0]
        return coupling
