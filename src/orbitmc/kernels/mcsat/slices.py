"""Slices: the states in which no factor falls below a threshold drawn under its present value.

Given a state, a factor with log-potential t draws the threshold t + log(u), u uniform. Only the
order of a table's entries matters then, so a threshold is kept as a level: the lowest rank that
stays allowed. Level 0 allows everything. A slice is a level per factor; the state it was drawn
from lies in it, and all of its states are equally probable given the levels.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc._numba.jit import shared
from orbitmc._simd.random import lane_bernoulli
from orbitmc._util.arrays import Bytes, Floats, Index, Indices, indices, lengths, readonly, starts
from orbitmc.graph.factor_graph import FactorGraph

Integers = NDArray[np.int32]


class Ranks(NamedTuple):
    """The entries of all tables in order, factors of one variable or more, where values begin.

    `rank` belongs to the graph's `table`: how many distinct smaller entries a table has. `lower`
    belongs to a table's ranks, stored from the table's start on: the chance that a threshold
    that is not above rank r is not above rank r - 1 either.
    """

    rank: Indices
    lower: Floats
    single: Indices
    several: Indices
    value_start: Indices


class SliceMemory(NamedTuple):
    """One lane's state, its slice, what the slice leaves open, and lists on the way.

    `level[factor]` is 0 as soon as a constraint is decided. `allowed` holds the values that are
    left, `left` how many each variable has. `woken` is a stack of factors to look at again.
    `member` are the variables of one component in the order they were found, `place` where (from
    1 on); `first` and `following` list its constraints by the last of their members. What the
    slice leaves of constraints is numbered in `active`; from `near_start` on, each open variable
    has the numbers of those `near` it, and the values that satisfy clauses there. `satisfied` is
    how many open literals of each clause hold.
    """

    state: Bytes
    level: Integers
    allowed: Bytes
    left: Integers
    supported: Bytes
    seen: Bytes
    woken: Integers
    member: Integers
    place: Integers
    saved: Bytes
    trial: Integers
    first: Integers
    following: Integers
    broken: Integers
    broken_place: Integers
    near_start: Integers
    near: Integers
    near_wanted: NDArray[np.int16]
    active: Integers
    satisfied: Integers
    due: NDArray[np.int64]


def ranks_of(graph: FactorGraph) -> Ranks:
    """Rank the entries of every table."""
    rank = np.zeros(len(graph.table), dtype=np.uint32)
    lower = np.zeros(len(graph.table))
    sizes = lengths(graph.table_start)
    for size in np.unique(sizes[sizes > 0]):
        first = graph.table_start[:-1][sizes == size].astype(np.int64)
        entries = graph.table[first[:, None] + np.arange(size)]
        order = np.argsort(entries, axis=1, kind="stable")
        ordered = np.take_along_axis(entries, order, axis=1)
        above = ordered[:, 1:] != ordered[:, :-1]
        ranks = np.cumsum(np.pad(above, ((0, 0), (1, 0))), axis=1)
        rank[first[:, None] + order] = ranks
        places = (first[:, None] + ranks[:, 1:])[above]
        lower[places] = np.exp(ordered[:, :-1][above] - ordered[:, 1:][above])
    alone = lengths(graph.scope_start) == 1
    single, several = indices(np.flatnonzero(alone)), indices(np.flatnonzero(~alone))
    return Ranks(readonly(rank), readonly(lower), single, several, starts(graph.cardinality))


def slice_memory(graph: FactorGraph) -> SliceMemory:
    variables, factors = graph.variables, graph.factors
    values = int(graph.cardinality.astype(np.int64).sum())
    return SliceMemory(
        state=np.zeros(variables, dtype=np.uint8),
        level=_integers(factors),
        allowed=np.zeros(values, dtype=np.uint8),
        left=_integers(variables),
        supported=np.zeros(_widest(graph), dtype=np.uint8),
        seen=np.zeros(factors, dtype=np.uint8),
        woken=_integers(factors + 1),
        member=_integers(variables),
        place=_integers(variables),
        saved=np.zeros(variables, dtype=np.uint8),
        trial=_integers(variables),
        first=_integers(variables),
        following=_integers(factors),
        broken=_integers(factors),
        broken_place=_integers(factors),
        near_start=_integers(variables + 1),
        near=_integers(len(graph.scope)),
        near_wanted=np.zeros(len(graph.scope), dtype=np.int16),
        active=_integers(factors),
        satisfied=_integers(factors),
        due=np.zeros(1, dtype=np.int64),
    )


def slice_bytes(graph: FactorGraph) -> int:
    """How much memory that is."""
    return sum(array.nbytes for array in slice_memory(graph))


def _integers(size: int) -> Integers:
    return np.zeros(size, dtype=np.int32)


def _widest(graph: FactorGraph) -> int:
    """The most values that the variables of one table have together."""
    owner = np.repeat(np.arange(graph.factors), lengths(graph.scope_start))
    sums = np.bincount(owner, weights=graph.cardinality[graph.scope], minlength=graph.factors)
    return int(sums[: graph.first_clause].max(initial=0))


@shared
def entry_of(graph: FactorGraph, state: Bytes, factor: Index) -> Index:
    """Which entry of its table a factor reads in a state."""
    first, last = graph.scope_start[factor], graph.scope_start[factor + 1]
    if factor < graph.first_clause:
        entry = np.int64(0)
        for edge in range(first, last):
            entry += np.int64(graph.stride[edge]) * np.int64(state[graph.scope[edge]])
        return entry
    for edge in range(first, last):
        if state[graph.scope[edge]] == graph.satisfying[edge]:
            return np.int64(1)
    return np.int64(0)


@shared
def is_satisfied(graph: FactorGraph, ranks: Ranks, memory: SliceMemory, factor: Index) -> bool:
    """Whether the state obeys the level of a factor."""
    start = np.int64(graph.table_start[graph.table_of[factor]])
    entry = entry_of(graph, memory.state, factor)
    return bool(np.int64(ranks.rank[start + entry]) >= memory.level[factor])


@shared
def next_allowed(
    graph: FactorGraph, ranks: Ranks, memory: SliceMemory, variable: Index, value: Index
) -> Index:
    """The first value from a given one on that the slice leaves, or -1."""
    first = np.int64(ranks.value_start[variable])
    for candidate in range(value, np.int64(graph.cardinality[variable])):
        if memory.allowed[first + candidate]:
            return candidate
    return np.int64(-1)


@shared
def draw_level(
    graph: FactorGraph, ranks: Ranks, memory: SliceMemory, factor: Index, rng: Any
) -> None:
    """Draw the level of a factor under its value in the present state."""
    start = np.int64(graph.table_start[graph.table_of[factor]])
    level = np.int64(ranks.rank[start + entry_of(graph, memory.state, factor)])
    while level > 0 and lane_bernoulli(rng, ranks.lower[start + level]):
        level -= 1
    memory.level[factor] = level
