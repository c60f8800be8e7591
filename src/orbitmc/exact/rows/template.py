"""An elimination that waits for evidence: which variables are seen is known, their values are not.

Observed variables leave no axis in the tables of an elimination. What is left of a factor depends
on their values, so the tables have one more axis, the last: the joint values of those observed
variables that the factor reads. A row of evidence chooses one place on it.
"""

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from orbitmc._util.arrays import Floats, Numbers
from orbitmc.errors import LimitError
from orbitmc.exact.orders.cutset import ENTRY
from orbitmc.exact.orders.order import find_order
from orbitmc.exact.orders.tree import Tree, build_tree
from orbitmc.exact.plan import FLOPS_PER_SECOND, OVERHEAD, SECONDS_PER_BUCKET
from orbitmc.exact.problem import Problem, Scope

Shape = tuple[int, ...]

WORTH = 2.0**23
"""What an order may cost that is eliminated while a better one would be looked for."""

HOPELESS = 16.0
"""How many times too much a greedy order may cost if a search is to find a better one."""


class Piece(NamedTuple):
    """A log-table over axes of a bucket, last the joint values of `columns` of a row.

    A row is at the sum of its values in these columns, each times its step.
    """

    table: Floats
    columns: tuple[int, ...]
    steps: tuple[int, ...]

    def of_rows(self, rows: Numbers) -> Floats:
        """The entries that belong to each row, along the last axis."""
        if not self.columns:
            return self.table
        place = rows[self.columns[0]] * self.steps[0]
        for column, step in zip(self.columns[1:], self.steps[1:], strict=True):
            place = place + rows[column] * step
        chosen: Floats = self.table.take(place, axis=-1)
        return chosen


class Child(NamedTuple):
    """A bucket below: how its message is seen here, and which axes it knows nothing of."""

    variable: int
    shape: Shape
    unknown: Shape


class Step(NamedTuple):
    """One bucket; its axes are its variable and what it shares, then rows.

    `likelihood` is the number of its soft evidence, or -1.
    """

    variable: int
    pieces: tuple[Piece, ...]
    children: tuple[Child, ...]
    likelihood: int
    axes: Shape


@dataclass(frozen=True)
class Template:
    """An elimination of everything but `observed`, for any values of these.

    `number[k]` has the place of each value of `observed[k]` among those that are possible at all,
    or -1; `soft` are variables of which rows bring likelihoods. `decided` are pieces without any
    free variable, `decided_soft` the numbers of likelihoods of variables with one value left.
    `steps` go upward.
    """

    problem: Problem
    observed: tuple[int, ...]
    soft: tuple[int, ...]
    number: tuple[Numbers, ...] = field(repr=False)
    place: Mapping[int, int] = field(repr=False)
    decided: tuple[Piece, ...] = field(repr=False)
    decided_soft: tuple[int, ...] = field(repr=False)
    steps: tuple[Step, ...] = field(repr=False)
    tree: Tree = field(repr=False)
    entries: int
    flops: int

    @property
    def width(self) -> int:
        return self.tree.width

    @property
    def bytes(self) -> int:
        """About what one row takes."""
        tables = sum(table.size for table in self.problem.tables)
        return ENTRY * (3 * self.entries + tables) + OVERHEAD

    @property
    def seconds(self) -> float:
        """About how long a row takes when it is asked alone."""
        return self.flops / FLOPS_PER_SECOND + len(self.steps) * SECONDS_PER_BUCKET


def template(
    problem: Problem,
    observed: Sequence[int],
    soft: Sequence[int] = (),
    tied: Sequence[Scope] = (),
    *,
    seconds: float = 1.0,
    most: float = np.inf,
) -> Template:
    """Plan the elimination of all variables but the observed ones (numbers in the graph).

    Variables that are `tied` get into one table. The search for an order takes up to `seconds`, and
    gives up orders that cost more than `most`.
    """
    problem = _tied(problem, tied)
    seen = {problem.place[v]: column for column, v in enumerate(observed) if problem.place[v] >= 0}
    free = [variable for variable in range(len(problem.sizes)) if variable not in seen]
    renumbered = {variable: number for number, variable in enumerate(free)}
    left = replace(
        problem,
        sizes=tuple(problem.sizes[variable] for variable in free),
        scopes=tuple(dict.fromkeys(_free_scopes(problem.scopes, renumbered))),
        tables=(),
    )
    order = _order(left, seconds, most)
    tree = build_tree(left, order)
    place = {
        variable: renumbered[number]
        for variable, number in enumerate(problem.place)
        if number in renumbered
    }
    softened = {place[v]: k for k, v in enumerate(soft) if v in place}
    decided, pieces = _pieces(problem, seen, renumbered, tree, order)
    entries = [tree.table_entries(variable) for variable in order]
    terms = [2 + len(pieces[variable]) + len(tree.children[variable]) for variable in order]
    return Template(
        problem=problem,
        observed=tuple(observed),
        soft=tuple(soft),
        number=tuple(_numbers(problem, variable) for variable in observed),
        place=place,
        decided=tuple(decided),
        decided_soft=tuple(k for k, v in enumerate(soft) if v not in place),
        steps=tuple(_step(v, tree, pieces[v], softened.get(v, -1)) for v in tree.upward),
        tree=tree,
        entries=sum(entries),
        flops=2 * sum(n * k for n, k in zip(entries, terms, strict=True)),
    )


def _tied(problem: Problem, scopes: Sequence[Scope]) -> Problem:
    """The same problem with factors that change nothing, and have some variables together."""
    free = [tuple(p for v in scope if (p := problem.place[v]) >= 0) for scope in scopes]
    new = [scope for scope in dict.fromkeys(free) if scope]
    return replace(
        problem,
        scopes=(*problem.scopes, *new),
        tables=(*problem.tables, *(np.zeros([problem.sizes[v] for v in own]) for own in new)),
    )


def _order(left: Problem, seconds: float, most: float) -> list[int]:
    """A greedy order, or a better one if it costs too much and is not hopeless."""
    found = find_order(left.scopes, left.sizes, seconds=0.0, most=HOPELESS * most)
    if seconds > 0 and WORTH < found.cost < np.inf:
        found = find_order(left.scopes, left.sizes, seconds=seconds)
    if len(found.variables) < len(left.sizes) or found.cost > most:
        raise LimitError("exact elimination would need tables that are too large")
    return found.variables


def _free_scopes(scopes: Sequence[Scope], renumbered: Mapping[int, int]) -> list[Scope]:
    found = (
        tuple(renumbered[variable] for variable in scope if variable in renumbered)
        for scope in scopes
    )
    return [scope for scope in found if scope]


def _numbers(problem: Problem, variable: int) -> Numbers:
    numbers = np.full(problem.cardinality[variable], -1, dtype=np.int64)
    numbers[problem.possible[variable]] = np.arange(len(problem.possible[variable]))
    return numbers


def _pieces(
    problem: Problem,
    seen: Mapping[int, int],
    renumbered: Mapping[int, int],
    tree: Tree,
    order: Sequence[int],
) -> tuple[list[Piece], list[list[Piece]]]:
    """Hand every factor to the bucket that eliminates the first of its free variables."""
    position = {variable: place for place, variable in enumerate(order)}
    decided: list[Piece] = []
    pieces: list[list[Piece]] = [[] for _ in tree.sizes]
    for scope, table in zip(problem.scopes, problem.tables, strict=True):
        known = [axis for axis, variable in enumerate(scope) if variable in seen]
        free = [axis for axis, variable in enumerate(scope) if variable not in seen]
        own = {axis: renumbered[scope[axis]] for axis in free}
        free.sort(key=lambda axis: position[own[axis]])
        shape = [table.shape[axis] for axis in known]
        flat = table.transpose(free + known).reshape([table.shape[axis] for axis in free] + [-1])
        steps = [math.prod(shape[k + 1 :]) for k in range(len(shape))]
        columns = tuple(seen[scope[axis]] for axis in known)
        if not free:
            decided.append(Piece(np.ascontiguousarray(flat), columns, tuple(steps)))
            continue
        bucket = own[free[0]]
        axes = (bucket, *tree.shared[bucket])
        members = {own[axis] for axis in free}
        seen_as = [tree.sizes[axis] if axis in members else 1 for axis in axes]
        shaped = np.ascontiguousarray(flat.reshape([*seen_as, flat.shape[-1]]))
        pieces[bucket].append(Piece(shaped, columns, tuple(steps)))
    return decided, [_together(own) or _nothing(tree, v) for v, own in enumerate(pieces)]


def _nothing(tree: Tree, variable: int) -> list[Piece]:
    """What a bucket adds up that neither factors nor messages belong to."""
    if tree.children[variable]:
        return []
    return [Piece(np.zeros((tree.sizes[variable], 1)), (), ())]


def _together(pieces: list[Piece]) -> list[Piece]:
    """Add up what no row changes."""
    same = [piece.table for piece in pieces if not piece.columns]
    others = [piece for piece in pieces if piece.columns]
    if not same:
        return others
    return [Piece(functools.reduce(np.add, same), (), ()), *others]


def _step(variable: int, tree: Tree, pieces: list[Piece], likelihood: int) -> Step:
    axes = (variable, *tree.shared[variable])
    children = []
    for child in tree.children[variable]:
        known = set(tree.shared[child])
        shape = tuple(tree.sizes[axis] if axis in known else 1 for axis in axes)
        unknown = tuple(place for place, axis in enumerate(axes) if axis not in known)
        children.append(Child(child, shape, unknown))
    children.sort(key=lambda child: math.prod(child.shape))
    return Step(variable, tuple(pieces), tuple(children), likelihood, tuple(range(1, len(axes))))
