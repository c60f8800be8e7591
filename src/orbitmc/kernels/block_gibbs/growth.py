"""Choose blocks of variables that are cheap to draw together.

A block has all variables but those that would make its tables too large. The next one wants the
variables that no block has had together with all that zeros tie them to. The newest member of a
block is eliminated first, so a new one changes the tables along one path only.

What is outside of a block holds its members fast, and the same few variables would be outside of
most blocks. So all variables are covered several times, with other variables outside each time.

Where many hard factors share variables, hardly any variable has all that zeros tie it to in one
block, and covering them takes almost as many blocks as there are variables. So growing ends after
some work, which is counted and not timed: the same graph and the same limit give the same blocks.
Variables that are in no block by then are drawn alone.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from copy import copy
from functools import reduce
from heapq import heapify, heappop, heappush
from operator import or_
from typing import NamedTuple

import numpy as np

from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.support import Domains, hard_factors

# What growing blocks asks about a graph.

LONGEST_FACTOR = 32  # variables of a factor whose others are looked at as neighbours


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
        self.tied = {v: self._find_tied(v) for v in self.free}
        self.near = {v: self._near(v) for v in self.free}

    def _find_tied(self, variable: int) -> set[int]:
        """The variables that zeros tie to one, itself among them."""
        near = (self.scope[f] for f in self.factors[variable] if self.tying[f])
        return {variable}.union(*near)

    def _near(self, variable: int) -> set[int]:
        """The others in the factors of a variable that are not long."""
        scopes = (self.scope[f] for f in self.factors[variable])
        return set[int]().union(*(scope for scope in scopes if len(scope) <= LONGEST_FACTOR)) - {
            variable
        }


# In which order variables are eliminated, and which are left out where tables become too large.
#
# Greedy: always the variable whose table is smallest. When even that is too large, the remaining
# variable with most neighbours is left out, and so cuts the model where it is densest. Neighbours
# count by the weight of their variable, so other weights cut elsewhere.

Dense = tuple[bool, float, int, int]
"""Whether it is wanted, its weighted neighbours below 0, how many they were, and the variable."""


def elimination_order(
    known: Neighbours,
    wanted: Set[int],
    most_entries: int,
    most_in_all: int,
    weight: Sequence[float],
) -> tuple[list[int], int]:
    """The variables that are eliminated, in order; those that are wanted are left out last.

    If all tables together are too large, smaller ones are tried. Also gives how many neighbours
    were visited.
    """
    visits = 0
    while True:
        order, total, visited = _greedy(known, wanted, most_entries, weight)
        visits += visited
        if total <= most_in_all or most_entries <= 1:
            return order, visits
        most_entries //= 2


def _greedy(
    known: Neighbours, wanted: Set[int], most_entries: int, weight: Sequence[float]
) -> tuple[list[int], int, int]:
    """An order in which no table is too large, the entries of all of them, and visits."""
    near = {v: set(others) for v, others in known.near.items()}
    order, total, visits = list[int](), 0, len(near)
    waiting = [(_entries(known, near, v), v) for v in near]
    dense = [_density(v, near, wanted, weight) for v in near]
    heapify(waiting)
    heapify(dense)
    while near:
        entries, variable = heappop(waiting)
        if variable not in near or entries != _entries(known, near, variable):
            continue
        if entries <= most_entries:
            order.append(variable)
            total += entries
            touched = _eliminate(near, variable)
        else:
            heappush(waiting, (entries, variable))
            touched = _leave_out(near, _densest(near, dense))
        visits += len(touched) + 1
        for other in touched:
            visits += len(near[other])
            heappush(waiting, (_entries(known, near, other), other))
            heappush(dense, _density(other, near, wanted, weight))
    return order, total, visits


def _entries(known: Neighbours, near: Mapping[int, set[int]], variable: int) -> int:
    entries = known.sizes[variable]
    for other in near[variable]:
        entries *= known.sizes[other]
    return entries


def _density(
    variable: int, near: Mapping[int, set[int]], wanted: Set[int], weight: Sequence[float]
) -> Dense:
    count = len(near[variable])
    return variable in wanted, -count * weight[variable], count, variable


def _densest(near: Mapping[int, set[int]], dense: list[Dense]) -> int:
    """The variable with most neighbours; entries of earlier times are skipped."""
    while True:
        *_, count, variable = heappop(dense)
        if variable in near and count == len(near[variable]):
            return variable


def _eliminate(near: dict[int, set[int]], variable: int) -> set[int]:
    """Connect the neighbours of a variable with each other; gives them."""
    others = near.pop(variable)
    for other in others:
        near[other] |= others
        near[other] -= {other, variable}
    return others


def _leave_out(near: dict[int, set[int]], variable: int) -> set[int]:
    others = near.pop(variable)
    for other in others:
        near[other].discard(variable)
    return others


MOST_BLOCK_ENTRIES = 2**12  # of a table: smaller ones leave variables of pedigrees frozen
TABLES = 32  # as many entries as so many largest tables, all tables of a block have at most

MOST_BLOCKS, MOST_MEMBERS = 64, 60_000  # of all blocks: growing more of them takes too long
SEEDS = 16  # of a block; each may bring those that it is tied to, before others are let in
SEEDS_NEARBY = 2 * SEEDS
"""How urgent candidates are that are neither seeds nor tied to one: they come last."""

Candidate = tuple[int, int, int]
"""Its urgency, how many entries it brought when that was last looked at, and the variable."""


class Work:
    """Counts what growing blocks takes: visits of factors, and tables that are looked at."""

    def __init__(self, most: float) -> None:
        self.left = most

    def spend(self, visits: int) -> None:
        self.left -= visits

    @property
    def is_done(self) -> bool:
        return self.left <= 0


class Changes(NamedTuple):
    """Places, scopes and entries of tables as they would be, and how many entries are added."""

    tables: list[tuple[int, int, int]]
    added: int


class Block:
    """Members in the order in which they came, and the scope and entries of the table of each.

    A scope is a number whose bits say which places it has. Members of the `interior` are tied by
    zeros to other members only.
    """

    def __init__(self, sizes: list[int], most_entries: int) -> None:
        self.sizes, self.most = sizes, most_entries
        self.place: dict[int, int] = {}
        self.order: list[int] = []
        self.scope: list[int] = []
        self.entries: list[int] = []
        self.total = 0
        self.interior: set[int] = set()

    def shift(self, by: int) -> "Block":
        """The same block of a copy of the graph, whose variables come so much later."""
        other = copy(self)
        other.order = [member + by for member in self.order]
        other.place = {member + by: place for member, place in self.place.items()}
        other.interior = {member + by for member in self.interior}
        return other

    def scope_of(self, member: int) -> list[int]:
        """The scope of a member's table, in the order in which they came."""
        scope, members = self.scope[self.place[member]], list[int]()
        while scope:
            place = scope.bit_length() - 1
            members.append(self.order[place])
            scope ^= 1 << place
        return members[::-1]

    def changes(self, new: int, near: int, room: int) -> Changes | None:
        """What a new member brings; None if a table becomes too large, or all by more than `room`.

        The first member always fits.
        """
        place, scope, missing = len(self.order), near, near
        entries, before, tables, added = self.sizes[new], 0, [], 0
        while True:
            while missing:
                last = missing.bit_length() - 1
                entries *= self.sizes[self.order[last]]
                missing ^= 1 << last
            added += entries - before
            if (entries > self.most or added > room) and self.order:
                return None
            tables.append((place, scope, entries))
            place = scope.bit_length() - 1  # the newest of the scope comes next
            missing = scope & ~self.scope[place] & ~(1 << place) if scope else 0
            if not missing:
                return Changes(tables, added)
            scope = self.scope[place] | missing
            entries = before = self.entries[place]

    def add(self, new: int, changes: Changes) -> None:
        self.place[new] = len(self.order)
        self.order.append(new)
        self.scope.append(0)
        self.entries.append(0)
        self.total += changes.added
        for place, scope, entries in changes.tables:
            self.scope[place], self.entries[place] = scope, entries


def block_of(
    graph: FactorGraph, sizes: list[int], group: Sequence[int], most_entries: int
) -> Block:
    """A block of given variables, in their order; those that make a table too large are left out.

    `sizes` has the number of possible values of each variable. Those with one have no choice.
    """
    block, members = Block(sizes, most_entries), defaultdict[int, int](int)
    for new in group:
        factors = graph.factors_of(new).tolist()
        near = reduce(or_, (members[factor] for factor in factors), 0)
        changes = block.changes(new, near, TABLES * most_entries - block.total)
        if sizes[new] > 1 and changes is not None:
            block.add(new, changes)
            for factor in factors:
                members[factor] |= 1 << block.place[new]
    block.interior = set(block.place)
    return block


def grow_blocks(
    graph: FactorGraph, domains: Domains, most_entries: int, most_work: float = math.inf
) -> list[Block]:
    """Blocks that cover all variables with a choice, several times if there is work left for it.

    The same graph and limits give the same blocks.
    """
    known, work = Neighbours(graph, domains), Work(most_work)
    first = _covering(known, most_entries, [1.0] * graph.variables, work)
    first += _alone(known, first, most_entries)
    members = sum(len(block.order) for block in first)
    times = min(MOST_BLOCKS // max(len(first), 1), MOST_MEMBERS // max(members, 1))
    if any(len(block.order) == len(known.free) for block in first):
        return first
    different = {frozenset(block.place): block for block in first}
    rng = np.random.default_rng(0)
    for _ in range(times - 1):
        if work.is_done:
            break
        weight = np.exp(rng.normal(size=graph.variables)).tolist()
        for block in _covering(known, most_entries, weight, work):
            different.setdefault(frozenset(block.place), block)
    return list(different.values())[: max(MOST_BLOCKS, len(first))]


def _covering(
    known: Neighbours, most_entries: int, weight: Sequence[float], work: Work
) -> list[Block]:
    """Blocks that cover all variables with a choice, each with all those it is tied to if it fits.

    Variables that no block has had in its interior are the seeds of the next ones. Those of large
    weight are outside rather than others. There are fewer blocks if the work is done before.
    """
    blocks, left = list[Block](), known.free
    while left and not work.is_done:
        seeds = left[:: -(-len(left) // SEEDS)]
        block = _order_and_fill(known, seeds, most_entries, weight, work)
        if seeds[0] not in block.place:
            block = _grow(known, seeds, most_entries, work)
        block.interior = {v for v in block.place if known.tied[v] <= block.place.keys()}
        left = [v for v in left if v not in block.interior and v != seeds[0]]
        blocks.append(block)
    return blocks


def _alone(known: Neighbours, blocks: Sequence[Block], most_entries: int) -> list[Block]:
    """A block of its own for each variable that is in none."""
    covered = set[int]().union(*(block.place for block in blocks))
    alone = []
    for v in known.free:
        if v not in covered:
            block = Block(known.sizes, most_entries)
            block.add(v, Changes([(0, 0, known.sizes[v])], known.sizes[v]))
            alone.append(block)
    return alone


class _Growing:
    """A block, its members in each factor, and who may come next."""

    def __init__(self, known: Neighbours, seeds: list[int], most_entries: int, work: Work) -> None:
        self.known, self.most, self.work = known, TABLES * most_entries, work
        self.block = Block(known.sizes, most_entries)
        self.members: defaultdict[int, int] = defaultdict(int)
        self.turn = {seed: 2 * k for k, seed in enumerate(seeds)}
        self.candidates: list[Candidate] = [(turn, 0, seed) for seed, turn in self.turn.items()]

    def consider(self, urgency: int, price: int, new: int) -> None:
        """Let a candidate in if its tables fit, or put it back if it became more expensive."""
        block, factors = self.block, self.known.factors[new]
        near = reduce(or_, (self.members[f] for f in factors), 0)
        most = self.most // 2 if urgency < SEEDS_NEARBY else self.most
        changes = block.changes(new, near, most - block.total)
        self.work.spend(len(factors) + 1)
        if changes is None:
            return
        self.work.spend(len(changes.tables))
        if changes.added > price and urgency >= SEEDS_NEARBY:
            heappush(self.candidates, (urgency, changes.added, new))
            return
        block.add(new, changes)
        for factor in factors:
            self.members[factor] |= 1 << block.place[new]
            self._invite(new, factor)

    def fill(self) -> Block:
        """Add candidates as long as there are any."""
        while self.candidates:
            urgency, price, new = heappop(self.candidates)
            if new not in self.block.place:
                self.consider(urgency, price, new)
        return self.block

    def _invite(self, new: int, factor: int) -> None:
        """The others of a factor are the next candidates."""
        scope, urgency = self.known.scope[factor], SEEDS_NEARBY
        if len(scope) > LONGEST_FACTOR:
            return
        if self.known.tying[factor] and new in self.turn:
            urgency = self.turn[new] + 1
        for other in scope:
            if other not in self.block.place:
                heappush(self.candidates, (urgency, 0, other))


def _order_and_fill(
    known: Neighbours, seeds: list[int], most_entries: int, weight: Sequence[float], work: Work
) -> Block:
    """Eliminate all variables but those that make tables too large, then fill up what is left.

    Seeds, and those that they are tied to, are left out last.
    """
    wanted = set[int]().union(*(known.tied[seed] for seed in seeds))
    growing = _Growing(known, [], most_entries, work)
    order, visits = elimination_order(known, wanted, most_entries, growing.most, weight)
    work.spend(visits)
    for new in reversed(order):
        growing.consider(SEEDS_NEARBY, growing.most, new)
    return growing.fill()


def _grow(known: Neighbours, seeds: list[int], most_entries: int, work: Work) -> Block:
    """Add candidates, the cheapest of the most urgent first, as long as their tables fit."""
    return _Growing(known, seeds, most_entries, work).fill()
