"""What is stored of all conditionals, and what drawing from one of them overwrites."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc._util.arrays import Bytes, Floats, Indices, Numbers, indices, lengths, readonly, starts
from orbitmc.conditionals.classify import FACTORS
from orbitmc.graph.factor_graph import FactorGraph

# Factors around a binary variable that earn the same: their sum is a count.
#
# Ground formulas share weights, so a variable with many factors has few different ones. A member of
# a group earns its `gain` for value 1 where no other literal of its clause holds, or where its
# neighbour is 1; so bytes are counted, and one number per group is multiplied. A table of three
# variables that others share is several members: what each neighbour earns that is 1, and what both
# do. Of long clauses, the literals that hold are counted once, and the counts are kept while
# variables change in turn.

LONG_CLAUSE = 16  # literals: counts of shorter clauses would take more room than the clauses
LONGEST_CLAUSE = 2**16 - 1  # literals: a count has 16 bits
LEAST_SHARED_TABLES = (
    4  # tables of three that are alike around a variable: fewer are read one by one
)
NEGLIGIBLE_SHARE = 1e-14  # of a number: what is left of it comes from rounding


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


def factor_groups(graph: FactorGraph, path: Bytes, *, long: int = LONG_CLAUSE) -> FactorGroups:
    """Sort the factors around every variable whose conditional is a sum over factors.

    Clauses of `long` literals or more are long.
    """
    edges = _Edges(graph, path, long)
    members = edges.members()
    owner, width, gain = edges.variable[members.edge], members.width, members.gain
    new = np.ones(len(owner), dtype=bool)
    new[1:] = (np.diff(owner) != 0) | (np.diff(width) != 0) | (gain[1:] != gain[:-1])
    literal, unwanted = edges.literals(members)
    literals = np.concatenate([np.zeros(1, np.int64), np.cumsum(width, dtype=np.int64)])
    clauses, places = edges.long_clauses(), np.flatnonzero(edges.is_long)
    return FactorGroups(
        smooth=readonly(edges.smooth()),
        offset=readonly(edges.offset()),
        start=starts(np.bincount(owner[new], minlength=graph.variables)),
        gain=readonly(gain[new]),
        width=indices(width[new]),
        first=indices(np.append(literals[:-1][new], literals[-1])),
        literal=indices(literal),
        unwanted=readonly(unwanted),
        rest_start=starts(np.bincount(edges.variable[edges.rest], minlength=graph.variables)),
        rest=indices(edges.by_variable(edges.factor, edges.rest)),
        long_start=starts(np.bincount(edges.variable[places], minlength=graph.variables)),
        long=indices(np.searchsorted(clauses, edges.by_variable(edges.factor, places))),
        long_wanted=readonly(edges.by_variable(edges.wanted, places).astype(np.uint8)),
        long_gain=readonly(edges.by_variable(edges.clause_gain, places).astype(np.float64)),
        long_factor=indices(clauses),
    )


class _Members(NamedTuple):
    """What factors of edges earn for some others of their scopes: `width`, from the `first` on."""

    edge: Indices
    first: Bytes
    width: Indices
    gain: Floats


class _Edges:
    """The places of variables in scopes, and what each means there; only those that are needed.

    An edge is needed if its variable is of the path FACTORS, or in a long clause.
    """

    def __init__(self, graph: FactorGraph, path: Bytes, long: int) -> None:
        self.graph = graph
        arity = lengths(graph.scope_start)
        factor = np.repeat(np.arange(graph.factors, dtype=np.uint32), arity)
        many = (
            (arity >= long)
            & (arity <= LONGEST_CLAUSE)
            & (np.arange(len(arity)) >= graph.first_clause)
        )
        chosen = (path == FACTORS)[graph.scope]
        self.place = np.flatnonzero(chosen | many[factor] if many.any() else chosen)
        self.variable = graph.scope[self.place].astype(np.int64)
        self.factor = factor[self.place].astype(np.int64)
        self.arity = arity[self.factor]
        self.wanted = graph.satisfying[self.place].astype(np.int64)
        self.table = graph.table_start[graph.table_of[self.factor]].astype(np.int64)
        chosen = chosen[self.place]
        summed = chosen & (graph.cardinality == 2)[self.variable]
        self.is_clause = (self.factor >= graph.first_clause) & self._may_hold()
        self.is_long = self.is_clause & many[self.factor]
        self.clause_gain = self._clause_gain()
        finite = summed & self._are_finite_tables(factor)
        single = self.is_clause & (self.arity == 1) & np.isfinite(self.clause_gain)
        self.field = (finite & (self.arity == 1)) | (summed & single)
        self.pair = finite & (self.arity == 2)
        self.triple = self._mark_shared(finite & (self.arity == 3))
        self.short = summed & self.is_clause & ~self.is_long & (self.arity > 1)
        counted = self.field | self.pair | self.triple | self.short | (summed & self.is_long)
        self.rest = np.flatnonzero(chosen & ~counted)

    def by_variable(self, numbers: NDArray[Any], edges: Numbers) -> NDArray[Any]:
        """What some edges have, in the order of their variables."""
        return numbers[edges[np.argsort(self.variable[edges], kind="stable")]]

    def members(self) -> _Members:
        """The members in the order of their groups."""
        short, pair, triple = map(np.flatnonzero, (self.short, self.pair, self.triple))
        parts = [
            _members(short, 0, self.arity[short] - 1, self.clause_gain[short]),
            _members(pair, 0, 1, self._rises(pair)[0]),
            *(
                self._nonzero_members(triple, k, 1, gain)
                for k, gain in enumerate(self._rises(triple))
            ),
            self._nonzero_members(triple, 0, 2, self._bend(triple)),
        ]
        edge, first, width, gain = map(np.concatenate, zip(*parts, strict=True))
        del parts
        order = np.lexsort((gain, width, self.variable[edge]))
        return _Members(edge[order], first[order], width[order], gain[order])

    def _nonzero_members(self, edges: Numbers, first: int, width: int, gain: Floats) -> _Members:
        """Members that do earn something."""
        some = gain != 0.0
        return _members(edges[some], first, width, gain[some])

    def literals(self, members: _Members) -> tuple[Indices, Bytes]:
        """The other variables of each member, and the values that keep it from earning."""
        begin = np.cumsum(members.width, dtype=np.int64) - members.width
        member = np.repeat(np.arange(len(begin), dtype=np.uint32), members.width)
        start = self.graph.scope_start[self.factor[members.edge]] + members.first - begin
        other = start[member]
        other += np.arange(len(member))
        other += other >= self.place[members.edge][member]
        unwanted = self.graph.satisfying[other].astype(np.uint8)
        unwanted[~self.short[members.edge][member]] = 0
        return self.graph.scope[other], unwanted

    def offset(self) -> Floats:
        """What value 1 earns anyway."""
        edges = np.flatnonzero(self.field | self.pair | self.triple)
        earned = self._rise(edges, np.int64(0))
        clause = self.is_clause[edges]
        earned[clause] = self.clause_gain[edges][clause]
        sums = np.bincount(self.variable[edges], earned, minlength=self.graph.variables)
        return sums.astype(np.float64)

    def smooth(self) -> Bytes:
        """Whether all factors around each variable are counted, and none is hard."""
        smooth = np.asarray(self.graph.cardinality == 2)
        smooth[self.variable[self.rest]] = False
        smooth[self.variable[self.is_clause & np.isinf(self.clause_gain)]] = False
        return np.asarray(smooth, dtype=np.uint8)

    def long_clauses(self) -> Numbers:
        """Factors that are long clauses, ascending."""
        return np.unique(self.factor[self.is_long])

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

    def _are_finite_tables(self, factor: Indices) -> NDArray[np.bool_]:
        """Tables of binary variables without zeros; `factor` belongs to all scopes."""
        graph = self.graph
        plain = np.arange(graph.factors) < graph.first_clause
        plain[factor[(graph.cardinality != 2)[graph.scope]]] = False
        table_of = np.repeat(np.arange(len(graph.table_start) - 1), lengths(graph.table_start))
        finite = np.ones(len(graph.table_start) - 1, dtype=bool)
        finite[table_of[graph.table == -np.inf]] = False
        return (plain & finite[graph.table_of])[self.factor]

    def _mark_shared(self, triple: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Those tables of three that enough factors around the same variable share."""
        edges = np.flatnonzero(triple)
        number = self.graph.table_of[self.factor[edges]].astype(np.int64)
        stride = self.graph.stride[self.place[edges]].astype(np.int64)
        order = np.lexsort((stride, number, self.variable[edges]))
        keys = (self.variable[edges][order], number[order], stride[order])
        new = np.ones(len(order), dtype=bool)
        new[1:] = np.any([np.diff(key) != 0 for key in keys], axis=0)
        alike = np.diff(np.append(np.flatnonzero(new), len(order)))
        shared = np.zeros_like(triple)
        shared[edges[order]] = np.repeat(alike >= LEAST_SHARED_TABLES, alike)
        return shared

    def _rise(self, edges: Numbers, shift: Any) -> Floats:
        """What value 1 earns beside value 0, so far behind the first entry of a table."""
        start = self.table[edges] + shift
        stride = np.where(self.is_clause[edges], 0, self.graph.stride[self.place[edges]])
        return np.asarray(self.graph.table[start + stride] - self.graph.table[start])

    def _strides(self, edges: Numbers) -> tuple[Numbers, Numbers]:
        """How far the others of a table move in it: the first, and the last."""
        first = self.graph.scope_start[self.factor[edges]].astype(np.int64)
        last = first + self.arity[edges] - 1
        first += first == self.place[edges]
        last -= last == self.place[edges]
        stride = self.graph.stride
        return stride[first].astype(np.int64), stride[last].astype(np.int64)

    def _rises(self, edges: Numbers) -> list[Floats]:
        """What the first and the last of the others earn where they alone are 1."""
        alone = self._rise(edges, np.int64(0))
        return [_sum(self._rise(edges, far), -alone) for far in self._strides(edges)]

    def _bend(self, edges: Numbers) -> Floats:
        """What two others earn together beside what each of them does."""
        first, last = self._strides(edges)
        each = self._rise(edges, first) + self._rise(edges, last)
        return _sum(self._rise(edges, first + last) + self._rise(edges, np.int64(0)), -each)


def _members(edges: Numbers, first: int, width: Any, gain: Floats) -> _Members:
    """Members in few bytes: large programs have many millions."""
    edge, begin = edges.astype(np.uint32), np.full(len(edges), first, dtype=np.uint8)
    return _Members(edge, begin, np.zeros_like(edge) + np.uint32(width), gain)


def _sum(first: Floats, second: Floats) -> Floats:
    """A sum, but for what rounding leaves of it."""
    total = first + second
    total[np.abs(total) <= NEGLIGIBLE_SHARE * np.abs(first)] = 0.0
    return total


class Conditionals(NamedTuple):
    """How to draw each variable: its way, its neighbours, and their limits or couplings.

    `affine` variables have finite log-odds that are `bias` plus the `coupling` of each neighbour
    that is 1. `pairwise` ones, all affine ones among them, have finite factors with at most one
    other variable, and few values. `ladder` has the log-odds of a COUNT variable when no neighbour
    agrees, and what each that agrees adds. `role` belongs to `neighbour`: whether a COUNT
    neighbour counts when it is 0, or the stride of a TABLE neighbour. `start` is where a
    variable's limits begin. `sextet` sums the couplings of six neighbours at a time, by the
    patterns of the first and the last three. `curve` has the numbers of `curves` for pairwise
    variables that are not affine. `groups` belong to FACTORS variables.
    """

    path: Bytes
    affine: Bytes
    pairwise: Bytes
    neighbour_start: Indices
    neighbour: Indices
    role: Indices
    coupling: NDArray[Any]
    bias: NDArray[Any]
    ladder: NDArray[Any]
    start: Indices
    limit: NDArray[Any]
    sextet_start: Indices
    sextet: NDArray[np.float32]
    curve_start: Indices
    curve: NDArray[Any]
    groups: FactorGroups


class Scratch(NamedTuple):
    """Arrays that one conditional overwrites, one entry per lane.

    `counts` has the literals of each long clause that hold, if `counted` says that it was in this
    `turn`: while nothing else than `draw_in_turn` changes values.
    """

    pattern: Bytes
    place: NDArray[np.uint32]
    field: NDArray[Any]
    bend: NDArray[Any]
    log_weights: Floats
    others: Bytes
    saved: Bytes
    counts: NDArray[np.uint16]
    counted: NDArray[np.int64]
    turn: NDArray[np.int64]
    width: tuple[int, ...]
