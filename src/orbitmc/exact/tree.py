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

SMALL_TABLE = 2**12  # entries of a table that is cheaper made once than read in parts
MOST_SPAN = 600.0
"""Weights of one bucket may differ by so many nats: products of what is not 0 are doubles then,
and so are their inverses."""


class Group(NamedTuple):
    """Factors, and children whose messages, are added up to one table."""

    factors: tuple[int, ...]
    children: tuple[int, ...]


@dataclass(frozen=True)
class Tree:
    """One bucket per variable, by variable number.

    `shared[v]` are the variables that bucket `v` shares with its parent, in elimination order:
    its message is a table over them. Children come before parents in `upward`. `factors[v]` belong
    to the bucket of their first variable; their `scopes` are in elimination order too. A root has
    parent -1 and shares nothing.
    """

    sizes: tuple[int, ...]
    scopes: tuple[Scope, ...]
    factors: tuple[tuple[int, ...], ...]
    shared: tuple[Scope, ...]
    parent: tuple[int, ...]
    children: tuple[tuple[int, ...], ...]
    upward: tuple[int, ...]

    @cached_property
    def messages(self) -> tuple[int, ...]:
        """How many entries the message of each bucket has."""
        sizes = self.sizes
        return tuple(math.prod([sizes[member] for member in near]) for near in self.shared)

    @cached_property
    def roots(self) -> tuple[int, ...]:
        """Buckets whose messages are numbers."""
        return tuple(variable for variable, above in enumerate(self.parent) if above < 0)

    def message_entries(self, variable: int) -> int:
        return self.messages[variable]

    def table_entries(self, variable: int) -> int:
        return self.sizes[variable] * self.message_entries(variable)

    @property
    def width(self) -> int:
        return max(map(len, self.shared), default=0)

    def pieces(self, variable: int) -> list[tuple[Scope, Group]]:
        """What a bucket puts together, one by one: its factors, and messages of its children."""
        factors = [(self.scopes[factor], Group((factor,), ())) for factor in self.factors[variable]]
        return factors + [(self.shared[c], Group((), (c,))) for c in self.children[variable]]

    def groups(self, variable: int) -> list[tuple[Scope, Group]]:
        """The same, neighbours in the order put together while that stays small."""
        pieces = self.pieces(variable)
        axes = (variable, *self.shared[variable])
        together = group_scopes([scope for scope, _ in pieces], axes, self.sizes)
        return [(read, join_groups([pieces[k][1] for k in some])) for read, some in together]

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
    scopes = [tuple(sorted(scope, key=position.__getitem__)) for scope in problem.scopes]
    for factor, scope in enumerate(scopes):
        factors[scope[0]].append(factor)
    return Tree(
        sizes=problem.sizes,
        scopes=tuple(scopes),
        factors=tuple(map(tuple, factors)),
        shared=tuple(shared),
        parent=tuple(parent),
        children=tuple(map(tuple, children)),
        upward=_depth_first(parent, children),
    )


def group_scopes(
    scopes: Sequence[Scope], axes: Scope, sizes: Sequence[int]
) -> list[tuple[Scope, list[int]]]:
    """Numbers of scopes, neighbours in the order of axes together while their union is small."""
    place = {member: axis for axis, member in enumerate(axes)}
    ordered = sorted(range(len(scopes)), key=lambda k: sorted([place[v] for v in scopes[k]]))
    groups: list[tuple[set[int], list[int]]] = []
    for number in ordered:
        union = groups[-1][0].union(scopes[number]) if groups else set()
        if groups and math.prod([sizes[v] for v in union]) <= SMALL_TABLE:
            groups[-1] = union, [*groups[-1][1], number]
        else:
            groups.append((set(scopes[number]), [number]))
    return [(tuple(sorted(read, key=place.__getitem__)), members) for read, members in groups]


def join_groups(pieces: Sequence[Group]) -> Group:
    """All factors and children of some groups."""
    if not pieces:
        return Group((), ())
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
