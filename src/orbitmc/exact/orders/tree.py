"""The shape of an elimination: which table is built when, over what, and who waits for it."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import NamedTuple

from orbitmc.exact.orders.neighbours import eliminate, neighbours_of
from orbitmc.exact.problem import Problem, Scope

Position = dict[int, int]

SMALL = 2**12  # entries of a table that is cheaper made once than read in parts


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
        found: set[int] = set()
        for variable in wanted:
            while variable >= 0 and variable not in found:
                found.add(variable)
                variable = self.parent[variable]
        return found


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
        if groups and math.prod(sizes[variable] for variable in union) <= SMALL:
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
