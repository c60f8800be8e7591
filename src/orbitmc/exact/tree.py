"""The shape of an elimination: which table is built when, over what, and who waits for it."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import NamedTuple

import numpy as np

from orbitmc._util.arrays import Floats
from orbitmc.exact.order import eliminate, neighbours_of
from orbitmc.exact.problem import Problem, Scope

Position = dict[int, int]

SMALL_TABLE = 2**12  # entries of a table that is cheaper made once than read in parts


class Group(NamedTuple):
    """Factors, and children whose messages, are added up to one table."""

    factors: tuple[int, ...]
    children: tuple[int, ...]


@dataclass(frozen=True)
class Tree:
    """One bucket per variable, by variable number.

    `shared[v]` are the variables that bucket `v` shares with its parent, in elimination order:
    its message is a table over them. Children come before parents in `upward`. Factors belong to
    the bucket of their first variable; `groups` says which of them, and which small messages, are
    worth adding up beforehand. A root has parent -1 and shares nothing.
    """

    sizes: tuple[int, ...]
    shared: tuple[Scope, ...]
    parent: tuple[int, ...]
    children: tuple[tuple[int, ...], ...]
    groups: tuple[tuple[Group, ...], ...]
    upward: tuple[int, ...]

    @cached_property
    def messages(self) -> tuple[int, ...]:
        """How many entries the message of each bucket has."""
        sizes = self.sizes
        return tuple(math.prod([sizes[member] for member in near]) for near in self.shared)

    def message_entries(self, variable: int) -> int:
        return self.messages[variable]

    def table_entries(self, variable: int) -> int:
        return self.sizes[variable] * self.message_entries(variable)

    @property
    def width(self) -> int:
        return max(map(len, self.shared), default=0)

    def home_of(self, scope: Scope) -> int:
        """The bucket that has all of some variables, which must be tied; -1 if there are none."""
        return next(v for v in scope if {*scope} <= {v, *self.shared[v]}) if scope else -1

    def above(self, wanted: Iterable[int]) -> set[int]:
        """Buckets from the roots to those that are wanted; -1, a decided variable, has none."""
        buckets: set[int] = set()
        for variable in wanted:
            while variable >= 0 and variable not in buckets:
                buckets.add(variable)
                variable = self.parent[variable]
        return buckets


def build_tree(problem: Problem, order: Sequence[int]) -> Tree:
    """Follow an elimination order through the scopes of a problem."""
    position = {variable: place for place, variable in enumerate(order)}
    shared: list[Scope] = [()] * len(order)
    parent = [-1] * len(order)
    children: list[list[int]] = [[] for _ in order]
    neighbours = neighbours_of(len(order), problem.scopes)
    for variable in order:
        near = sorted(eliminate(neighbours, variable), key=position.__getitem__)
        shared[variable] = tuple(near)
        if near:
            parent[variable] = near[0]
            children[near[0]].append(variable)
    factors: list[list[int]] = [[] for _ in order]
    for factor, scope in enumerate(problem.scopes):
        factors[min(scope, key=position.__getitem__)].append(factor)
    return Tree(
        sizes=problem.sizes,
        shared=tuple(shared),
        parent=tuple(parent),
        children=tuple(map(tuple, children)),
        groups=tuple(
            _groups(
                {factor: problem.scopes[factor] for factor in factors[variable]},
                {child: shared[child] for child in children[variable]},
                problem.sizes,
                position,
            )
            for variable in range(len(order))
        ),
        upward=_depth_first(parent, children),
    )


def _groups(
    factors: dict[int, Scope], messages: dict[int, Scope], sizes: Sequence[int], position: Position
) -> tuple[Group, ...]:
    """Put what a bucket reads together, neighbours in the order first, while it stays small."""
    pieces = [(scope, Group((factor,), ())) for factor, scope in factors.items()]
    pieces += [(scope, Group((), (child,))) for child, scope in messages.items()]
    pieces.sort(key=lambda piece: sorted(position[variable] for variable in piece[0]))
    groups: list[list[Group]] = []
    read: set[int] = set()
    for scope, piece in pieces:
        union = read.union(scope)
        if groups and math.prod(sizes[variable] for variable in union) <= SMALL_TABLE:
            groups[-1].append(piece)
            read = union
        else:
            groups.append([piece])
            read = set(scope)
    return tuple(map(_together, groups))


def _together(pieces: Sequence[Group]) -> Group:
    factors, children = (chain.from_iterable(parts) for parts in zip(*pieces, strict=True))
    return Group(tuple(factors), tuple(children))


def _depth_first(parent: Sequence[int], children: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """Children before parents, one branch after the other, so that few messages wait."""
    downward: list[int] = []
    waiting = [variable for variable, above in enumerate(parent) if above < 0]
    while waiting:
        variable = waiting.pop()
        downward.append(variable)
        waiting.extend(children[variable])
    return tuple(reversed(downward))


# More time for less memory: hold a few variables in turn, and compute messages twice.

ENTRY = 8  # bytes

MOST_CUTS = 2**12  # regions so small that more of them save nothing

LARGEST_MESSAGE = 2**40  # bytes of a message


def best_cutset_variable(tree: Tree) -> int:
    """The variable without which all tables together would be smallest."""
    relief = np.zeros(len(tree.sizes))
    for variable, shared in enumerate(tree.shared):
        entries = tree.table_entries(variable)
        for member in (variable, *shared):
            relief[member] += entries * (1 - 1 / tree.sizes[member])
    return int(relief.argmax())


def condition(problem: Problem, values: Mapping[int, int]) -> Problem:
    """Fix variables at values; they stay, with one value each, but no factor reads them."""
    if not values:
        return problem
    sizes = [1 if variable in values else size for variable, size in enumerate(problem.sizes)]
    scopes, tables, constant = [], [], problem.constant
    for scope, table in zip(problem.scopes, problem.tables, strict=True):
        table = np.asarray(table[tuple(values.get(variable, slice(None)) for variable in scope)])
        if table.ndim:
            scopes.append(tuple(variable for variable in scope if variable not in values))
            tables.append(table)
        else:
            constant += float(table)
    return replace(
        problem, sizes=tuple(sizes), scopes=tuple(scopes), tables=tuple(tables), constant=constant
    )


@dataclass(frozen=True)
class Part:
    """The answer while some variables are held."""

    fixed: Mapping[int, int]
    log_z: float
    marginals: list[Floats]


def combine_cutset(parts: Sequence[Part], sizes: Sequence[int]) -> tuple[float, list[Floats]]:
    """Put the answers for all held values together, each by its share of the weight."""
    log_z = float(np.logaddexp.reduce([part.log_z for part in parts]))
    total = [np.zeros(size) for size in sizes]
    for part in parts:
        share = np.exp(part.log_z - log_z)
        for variable, marginal in enumerate(part.marginals):
            if variable in part.fixed:
                total[variable][part.fixed[variable]] += share
            else:
                total[variable] += share * marginal
    return log_z, total


@dataclass(frozen=True)
class Region:
    """Buckets, children first, whose messages are alive together on the way down.

    `below` are children outside: their messages are kept from the way up, all others are
    computed a second time.
    """

    buckets: tuple[int, ...]
    below: tuple[int, ...]


def regions_within(tree: Tree, memory: int) -> tuple[tuple[Region, ...], int]:
    """Cut the tree into as few regions as keep the peak below `memory`, or as near as can be.

    Where one message alone is beyond any machine, no cut helps.
    """
    total = ENTRY * sum(tree.messages)
    if ENTRY * max(tree.messages, default=0) > LARGEST_MESSAGE:
        whole = cut_regions(tree, total)
        return whole, peak_bytes(tree, whole)
    budget = float(total)
    best: tuple[tuple[Region, ...], int] | None = None
    while True:
        regions = cut_regions(tree, budget)
        peak = peak_bytes(tree, regions)
        if best is None or peak < best[1]:
            best = regions, peak
        if peak <= memory or len(regions) >= len(tree.upward) or budget < total / MOST_CUTS:
            return best
        budget /= 2


def cut_regions(tree: Tree, budget: float) -> tuple[Region, ...]:
    """Cut a region off whenever its messages take more than `budget` bytes; roots come first."""
    carried = [ENTRY * entries for entries in tree.messages]
    if sum(carried) <= budget:
        return (Region(tree.upward, ()),)
    top = set()
    for variable in tree.upward:
        above = tree.parent[variable]
        if above < 0 or carried[variable] > budget:
            top.add(variable)
        else:
            carried[above] += carried[variable]
    return _regions(tree, top)


def _regions(tree: Tree, top: set[int]) -> tuple[Region, ...]:
    home: dict[int, int] = {}
    members: dict[int, list[int]] = {}
    below: dict[int, list[int]] = {}
    for variable in reversed(tree.upward):
        home[variable] = variable if variable in top else home[tree.parent[variable]]
        members.setdefault(home[variable], []).append(variable)
        if variable in top and tree.parent[variable] >= 0:
            below.setdefault(home[tree.parent[variable]], []).append(variable)
    return tuple(
        Region(tuple(reversed(buckets)), tuple(below.get(root, ())))
        for root, buckets in members.items()
    )


def peak_bytes(tree: Tree, regions: tuple[Region, ...]) -> int:
    """Follow the messages of both passes and give the most bytes that are alive at once."""
    size = [ENTRY * entries for entries in tree.messages]
    boundary = {child for region in regions for child in region.below}
    alive: set[int] = set()
    now = peak = 0
    for region in reversed(regions):
        for variable in region.buckets:
            alive.add(variable)
            now += size[variable]
            peak = max(peak, now)
            if len(regions) > 1:
                gone = [child for child in tree.children[variable] if child not in boundary]
                alive.difference_update(gone)
                now -= sum(size[child] for child in gone)
    for region in regions:
        fresh = [variable for variable in region.buckets if variable not in alive]
        alive.update(fresh)
        now += sum(size[variable] for variable in fresh)
        for variable in reversed(region.buckets):
            now += sum(size[child] for child in tree.children[variable])
            peak = max(peak, now)
            now -= 2 * size[variable] if tree.parent[variable] >= 0 else size[variable]
    return peak
