"""Sums over counts where constants are told apart: by soft evidence, or by observed pairs.

Only how many constants of a group are in each cell meets the weights of open pairs. So a class is
a polynomial in the counts of cells, and a tree multiplies them. Classes of one constant may be
linked, because something was observed of them as a pair: they are eliminated in turn, and what
is left is a polynomial for each joint cell of those that were linked to them. The way back down
gives the marginals of all classes. Everything is a sum of positive terms on the log scale: a
coefficient far below the largest one may belong to the largest state in the end.
"""

import heapq
import itertools
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from orbitmc._numba.jit import compiled
from orbitmc._util.arrays import Floats
from orbitmc._util.interrupts import check_interrupt
from orbitmc.errors import ContradictionError, LimitError
from orbitmc.lifted.cells import Add, log_max, log_sum
from orbitmc.mln.data.database import Ints

IMPOSSIBLE = "no world satisfies all hard rules and the evidence"
NEGLIGIBLE = -45.0  # nats: what is smaller adds nothing
MOST_COEFFICIENTS = 4e6  # of a table
MOST_ENTRIES = 6e7  # of all tables together
SECONDS_PER_TERM = 6e-9
LONG = 20.0  # seconds: a sum that takes so long is not planned before it is asked for
SECONDS_PER_TABLE = 2e-5  # and joint cell


class Link(NamedTuple):
    """Two classes of one constant each: what their cells weigh more than those of open pairs."""

    one: int
    two: int
    log: Floats


class _Step(NamedTuple):
    """A table of the plan: of a class, of what is left without its cell, or a product of two.

    It depends on the cells of the classes in `scope`; `sizes` are its constants, by group.
    """

    number: int
    parts: tuple[int, ...]
    scope: tuple[int, ...]
    sizes: tuple[int, ...]


@dataclass(frozen=True)
class TreeProblem:
    """Classes of constants: `sizes`, the `group` of each, and log-weights `log_h[c, m]` of cells.

    Groups have `widths` cells; `log_r` has what pairs weigh, by cells of all groups in a row.
    """

    sizes: Ints
    group: Ints
    log_h: Floats
    widths: tuple[int, ...]
    log_r: Floats
    links: tuple[Link, ...] = ()

    @property
    def seconds(self) -> float:
        """About how long the sum takes, or at least; infinite if tables are too large."""
        total = float(self.sizes.sum())
        least = 3.0 * SECONDS_PER_TERM * total * total  # each two constants meet once
        return least if least > LONG else self.plan.seconds

    @property
    def width(self) -> int:
        """The most classes whose cells a table depends on."""
        return self.plan.width

    @cached_property
    def plan(self) -> "_Plan":
        return _Planner(self).plan()

    @cached_property
    def first_cell(self) -> Ints:
        """Where the cells of each group begin in `log_r`."""
        return np.cumsum([0, *self.widths])

    @cached_property
    def links_of(self) -> Mapping[int, Sequence[tuple[int, Floats]]]:
        """The partners of each class that is linked, with the table that its own cell begins."""
        links: dict[int, list[tuple[int, Floats]]] = {}
        for one, two, log in self.links:
            links.setdefault(one, []).append((two, log))
            links.setdefault(two, []).append((one, log.T))
        return links

    def cells_of(self, number: int) -> int:
        """How many cells the constants of a class may be in."""
        return self.widths[int(self.group[number])]

    def in_cell(self, number: int, cell: int) -> Ints:
        """The counts of one constant of a class that is in a cell."""
        counts = np.zeros(len(self.log_r), np.int64)
        counts[self.first_cell[self.group[number]] + cell] = 1
        return counts

    def without(self, number: int, cell: int) -> "TreeProblem":
        """The problem of all others, if one constant of a class is known to be in a cell."""
        sizes, log_h = self.sizes.copy(), self.log_h.copy()
        sizes[number] -= 1
        for partner, log in self.links_of.get(number, ()):
            log_h[partner, : log.shape[1]] += log[cell]
        links = tuple(link for link in self.links if number not in (link.one, link.two))
        return TreeProblem(sizes, self.group, log_h, self.widths, self.log_r, links)


# The plan: which tables are made in turn.


class _Plan(NamedTuple):
    """Tables in turn; none, and infinitely many `seconds`, if one of this width is too large."""

    steps: tuple[_Step, ...]
    seconds: float
    width: int


class _Planner:
    """Eliminates linked classes, whichever makes the smallest table; then multiplies the rest."""

    def __init__(self, problem: TreeProblem) -> None:
        self.problem = problem
        self.steps: list[_Step] = []
        self.terms, self.tables, self.entries = 0.0, 0.0, 0.0
        self.near = {
            number: {partner for partner, _ in links} for number, links in problem.links_of.items()
        }
        self.holding: dict[int, set[int]] = {number: set() for number in self.near}

    def plan(self) -> _Plan:
        problem, groups = self.problem, len(self.problem.widths)
        roots = []
        for number, size in enumerate(problem.sizes.tolist()):
            if number not in self.near:
                sizes = [0] * groups
                sizes[problem.group[number]] = size
                roots.append(self._add(number, (), (), tuple(sizes)))
        waiting = [(self._price(number), number) for number in self.near]
        heapq.heapify(waiting)
        while waiting:
            price, number = heapq.heappop(waiting)
            if number not in self.near or price != self._price(number):
                continue  # it is gone, or waits with another price
            if price > MOST_COEFFICIENTS or self.entries > MOST_ENTRIES:
                return _Plan((), math.inf, len(self.near[number]))
            table, scope = self._eliminate(number)
            if not scope:
                roots.append(table)
            for other in scope:
                heapq.heappush(waiting, (self._price(other), other))
        self._multiply(roots)
        width = max((len(step.scope) for step in self.steps), default=0)
        if self.entries > MOST_ENTRIES or self._largest() > MOST_COEFFICIENTS:
            return _Plan((), math.inf, width)
        seconds = SECONDS_PER_TERM * self.terms + SECONDS_PER_TABLE * self.tables
        return _Plan(tuple(self.steps), seconds, width)

    def _largest(self) -> float:
        return max((self._entries(step.scope, step.sizes) for step in self.steps), default=0.0)

    def _coefficients(self, sizes: Sequence[int]) -> float:
        pairs = zip(sizes, self.problem.widths, strict=True)
        return float(math.prod(math.comb(size + width - 1, width - 1) for size, width in pairs))

    def _entries(self, scope: Collection[int], sizes: Sequence[int]) -> float:
        return self._joint_cells(scope) * self._coefficients(sizes)

    def _joint_cells(self, scope: Collection[int]) -> int:
        """How many joint cells some classes have."""
        widths = self.problem.widths
        if len(widths) == 1:
            return int(widths[0] ** len(scope))
        return math.prod(self.problem.cells_of(number) for number in scope)

    def _sizes(self, number: int) -> tuple[int, ...]:
        """The constants of all tables that depend on a class, and its own."""
        total = [0] * len(self.problem.widths)
        total[self.problem.group[number]] = 1
        for table in self.holding[number]:
            total = [a + b for a, b in zip(total, self.steps[table].sizes, strict=True)]
        return tuple(total)

    def _price(self, number: int) -> float:
        return self._entries((number, *self.near[number]), self._sizes(number))

    def _add(
        self, number: int, parts: tuple[int, ...], scope: tuple[int, ...], sizes: tuple[int, ...]
    ) -> int:
        entries = self._entries(scope, sizes)
        self.steps.append(_Step(number, parts, scope, sizes))
        self.entries += entries
        self.tables += entries / self._coefficients(sizes)
        return len(self.steps) - 1

    def _eliminate(self, number: int) -> tuple[int, tuple[int, ...]]:
        """Multiply the tables that depend on a class, and sum over its cells."""
        sizes, scope = self._sizes(number), tuple(sorted(self.near.pop(number)))
        held = self.holding.pop(number)
        parts = () if not held else (self._multiply(held),)
        table = self._add(number, parts, scope, sizes)
        self.terms += 10.0 * self._entries((number, *scope), sizes)
        for other in scope:
            self.near[other] = (self.near[other] | set(scope)) - {number, other}
            self.holding[other] = (self.holding[other] - held) | {table}
        return table, scope

    def _multiply(self, tables: Iterable[int]) -> int:
        """The product of some tables, the smallest first; -1 if there is none."""
        steps = self.steps
        waiting = [(self._entries(steps[t].scope, steps[t].sizes), t) for t in tables]
        heapq.heapify(waiting)
        while len(waiting) > 1:
            one, two = heapq.heappop(waiting)[1], heapq.heappop(waiting)[1]
            scope = tuple(sorted({*steps[one].scope, *steps[two].scope}))
            pairs = zip(steps[one].sizes, steps[two].sizes, strict=True)
            sizes = tuple(a + b for a, b in pairs)
            cells = self._joint_cells(scope)
            lengths = [self._coefficients(steps[part].sizes) for part in (one, two)]
            self.terms += 6.0 * cells * math.prod(lengths)
            table = self._add(-1, (one, two), scope, sizes)
            heapq.heappush(waiting, (self._entries(scope, sizes), table))
        return waiting[0][1] if waiting else -1


# Tables.


class _Space:
    """All counts of cells that so many constants of each group can have, a row each."""

    def __init__(self, sizes: Sequence[int], widths: Sequence[int]) -> None:
        counts = np.zeros((1, 0), np.int64)
        for size, width in zip(sizes, widths, strict=True):
            more = _compositions(size, width)
            left = np.repeat(counts, len(more), axis=0)
            counts = np.concatenate([left, np.tile(more, (len(counts), 1))], axis=1)
        self.counts = counts
        self.strides, self.room = _strides(sizes, widths)

    def place(self, counts: Ints) -> Ints:
        """Where counts are in a dense table of this space."""
        return np.asarray(counts @ self.strides)

    @cached_property
    def index(self) -> Ints:
        """The row of each place of a dense table."""
        index = np.full(self.room, -1)
        index[self.place(self.counts)] = np.arange(len(self.counts))
        return index


def _strides(sizes: Sequence[int], widths: Sequence[int]) -> tuple[Ints, int]:
    """How far counts of a cell are apart in a dense table; the first of a group says nothing."""
    strides: list[int] = []
    room = 1
    for size, width in zip(sizes, widths, strict=True):
        strides.append(0)
        for _ in range(width - 1):
            strides.append(room)
            room *= size + 1
    return np.array(strides, dtype=np.int64), room


def _compositions(size: int, cells: int) -> Ints:
    """All counts of cells that add up to a size, a row each."""
    if cells == 1:
        return np.full((1, 1), size)
    if cells == 2:
        return np.column_stack([size - np.arange(size + 1), np.arange(size + 1)])
    parts = [
        np.column_stack([np.full(len(rest), first), rest])
        for first in range(size + 1)
        for rest in [_compositions(size - first, cells - 1)]
    ]
    return np.concatenate(parts)


@dataclass(frozen=True)
class _Table:
    """Log-coefficients: an axis for the cell of each class in `scope`, the last one for counts."""

    number: int
    scope: tuple[int, ...]
    space: _Space
    log: Floats
    parts: tuple["_Table", ...] = ()


class _Elimination:
    """The tables of a problem; `add` sums them up, or takes the largest terms."""

    def __init__(self, problem: TreeProblem, add: Add = log_sum) -> None:
        self.problem, self.add = problem, add
        self._spaces: dict[tuple[int, ...], _Space] = {}
        tables: list[_Table] = []
        if not math.isfinite(problem.plan.seconds):
            raise LimitError("to count observed pairs takes tables that are too large")
        for step in problem.plan.steps:
            parts = tuple(tables[part] for part in step.parts)
            space = self._space(step.sizes)
            if step.number < 0:
                log = self._product(parts[0], parts[1], step.scope, space)
            elif step.number in problem.links_of:
                terms = self._terms(step.number, step.scope, space, *parts)
                log = add(np.stack(list(terms)), 0)
            else:
                log = self._leaf(step.number, space)
            tables.append(_Table(step.number, step.scope, space, log, parts))
            check_interrupt()
        self.root = tables[-1]

    def _space(self, sizes: tuple[int, ...]) -> _Space:
        if sizes not in self._spaces:
            self._spaces[sizes] = _Space(sizes, self.problem.widths)
        return self._spaces[sizes]

    def _leaf(self, number: int, space: _Space) -> Floats:
        """The polynomial of a class."""
        begin, width = (
            self.problem.first_cell[self.problem.group[number]],
            self.problem.cells_of(number),
        )
        counts, log_h = space.counts[:, begin : begin + width], self.problem.log_h[number, :width]
        possible = (counts[:, ~np.isfinite(log_h)] == 0).all(axis=1)
        log = counts @ np.where(np.isfinite(log_h), log_h, 0.0)
        if self.add is not log_max:
            ways = gammaln(int(self.problem.sizes[number]) + 1.0) - gammaln(counts + 1.0).sum(
                axis=1
            )
            log = log + ways
        return np.where(possible, log, -np.inf)

    def _product(self, one: _Table, two: _Table, scope: tuple[int, ...], space: _Space) -> Floats:
        """The product of two polynomials, for all cells of their scope."""
        shape = self._shape(scope)
        left, right = (np.broadcast_to(self._spread(t, scope), (*shape, t.log.shape[-1]))
                       for t in (one, two))  # fmt: skip
        one_place, two_place = space.place(one.space.counts), space.place(two.space.counts)
        places = space.place(space.counts)
        log = np.empty((*shape, len(places)))
        for cells in np.ndindex(shape):
            dense = np.full(space.room, -np.inf)
            _find_largest(one_place, left[cells], two_place, right[cells], dense)
            if self.add is not log_max:
                sums = np.zeros(space.room)
                _convolve(one_place, left[cells], two_place, right[cells], dense, sums)
            log[cells] = dense[places]
        return log

    def _shape(self, scope: Iterable[int]) -> tuple[int, ...]:
        return tuple(map(self.problem.cells_of, scope))

    def _spread(self, table: _Table, scope: Sequence[int]) -> Floats:
        """A table with an axis for each class of a larger scope."""
        shape = [self.problem.cells_of(c) if c in table.scope else 1 for c in scope]
        return table.log.reshape(*shape, -1)

    def _terms(
        self, number: int, scope: tuple[int, ...], space: _Space, below: _Table | None = None
    ) -> Iterator[Floats]:
        """For each cell of a linked class: the table that it is summed out of."""
        for cell in range(self.problem.cells_of(number)):
            log = np.full((*self._shape(scope), len(space.counts)), -np.inf)
            weight = self._weight(number, cell, scope)
            if below is None:
                log[..., self._moved(number, cell, space, None)] = weight[..., None]
            else:
                part = self._at(below, number, cell, scope)
                log[..., self._moved(number, cell, space, below)] = part + weight[..., None]
            yield log

    def _weight(self, number: int, cell: int, scope: Sequence[int]) -> Floats:
        """What a cell of a linked class weighs, in all cells of a scope."""
        total = np.full(self._shape(scope), self.problem.log_h[number, cell])
        for partner, log in self.problem.links_of[number]:
            if partner in scope:
                shape = [-1 if c == partner else 1 for c in scope]
                total = total + log[cell].reshape(shape)
        return np.asarray(total)

    def _at(self, table: _Table, number: int, cell: int, scope: Sequence[int]) -> Floats:
        """A table if a class of its scope is in a cell, with an axis for each class of a scope."""
        axis = table.scope.index(number)
        shape = [self.problem.cells_of(c) if c in table.scope else 1 for c in scope]
        return np.asarray(np.take(table.log, cell, axis=axis).reshape(*shape, -1))

    def _moved(self, number: int, cell: int, space: _Space, below: _Table | None) -> Ints:
        """The rows of a space that those of a table become if a constant in a cell is counted."""
        one = self.problem.in_cell(number, cell)
        counts = one[None] if below is None else below.space.counts + one
        return space.index[space.place(counts)]

    def means(self, outside: Floats, log_total: float) -> Floats:
        """The mean counts of the cells of each class; `outside` is what counts weigh beside."""
        mean = np.zeros(self.problem.log_h.shape)
        waiting = [(self.root, outside)]
        while waiting:
            table, outside = waiting.pop()
            if len(table.parts) == 2:
                waiting += self._divide(table, outside)
            elif table.number in self.problem.links_of:
                waiting += self._restore(table, outside, log_total, mean)
            else:
                begin = self.problem.first_cell[self.problem.group[table.number]]
                width = self.problem.cells_of(table.number)
                law = np.exp(table.log + outside - log_total)
                mean[table.number, :width] = law @ table.space.counts[:, begin : begin + width]
            check_interrupt()
        return mean

    def _divide(self, table: _Table, outside: Floats) -> Iterator[tuple[_Table, Floats]]:
        """What all else weighs, for both factors of a product."""
        shape, space = self._shape(table.scope), table.space
        above = np.full(space.room, -np.inf)
        places = space.place(space.counts)
        for one, two in (table.parts, table.parts[::-1]):
            mine, theirs = space.place(one.space.counts), space.place(two.space.counts)
            right = np.broadcast_to(self._spread(two, table.scope), (*shape, two.log.shape[-1]))
            log = np.empty((*shape, len(mine)))
            for cells in np.ndindex(shape):
                above[places] = outside[cells]
                _correlate(mine, theirs, right[cells], above, log[cells])
            yield one, self._gather(log, table.scope, one.scope)

    def _gather(self, log: Floats, scope: Sequence[int], onto: Sequence[int]) -> Floats:
        """Add up over the cells of all classes that a smaller scope has not."""
        for axis in reversed(range(len(scope))):
            if scope[axis] not in onto:
                log = log_sum(log, axis)
        return log

    def _restore(
        self, table: _Table, outside: Floats, log_total: float, mean: Floats
    ) -> Iterator[tuple[_Table, Floats]]:
        """What all else weighs for the table before a class was summed out, and its marginal."""
        below = table.parts[0] if table.parts else None
        rows = []
        for cell in range(self.problem.cells_of(table.number)):
            moved = self._moved(table.number, cell, table.space, below)
            weight = self._weight(table.number, cell, table.scope)[..., None]
            above = outside[..., moved] + weight
            if below is None:
                law = np.exp(above - log_total)
            else:
                part = self._at(below, table.number, cell, table.scope)
                law = np.exp(part + above - log_total)
                rows.append(self._gather(above, table.scope, below.scope))
            mean[table.number, cell] = law.sum()
        if below is not None:
            yield below, np.stack(rows, axis=below.scope.index(table.number))

    def descend(self, total: Ints, choose: Callable[[Floats], int], state: Ints) -> None:
        """Divide counts among the parts of each table, down to the classes."""
        waiting: list[tuple[_Table, Ints]] = [(self.root, total)]
        cell_of: dict[int, int] = {}
        while waiting:
            table, counts = waiting.pop()
            if len(table.parts) == 2:
                one, two = table.parts
                rest = counts - one.space.counts
                fits = np.flatnonzero((rest >= 0).all(axis=1))
                index = two.space.index[two.space.place(rest[fits])]
                left, right = (part.log[self._cells(part, cell_of)] for part in (one, two))
                chosen = int(fits[choose(left[fits] + right[index])])
                waiting += [(one, one.space.counts[chosen]), (two, rest[chosen])]
            elif table.number in self.problem.links_of:
                waiting += self._choose_cell(table, counts, choose, cell_of)
                state[table.number, cell_of[table.number]] = 1
            else:
                begin = self.problem.first_cell[self.problem.group[table.number]]
                width = self.problem.cells_of(table.number)
                state[table.number, :width] = counts[begin : begin + width]

    def _cells(self, table: _Table, cell_of: Mapping[int, int]) -> tuple[int, ...]:
        return tuple(cell_of[number] for number in table.scope)

    def _choose_cell(
        self, table: _Table, counts: Ints, choose: Callable[[Floats], int], cell_of: dict[int, int]
    ) -> Iterator[tuple[_Table, Ints]]:
        """Choose the cell of a linked class, and go on with what it was summed out of."""
        number, below = table.number, table.parts[0] if table.parts else None
        log = np.full(self.problem.cells_of(number), -np.inf)
        at = self._cells(table, cell_of)
        for cell in range(len(log)):
            rest = counts - self.problem.in_cell(number, cell)
            if (rest >= 0).all():
                log[cell] = self._weight(number, cell, table.scope)[at]
                if below is not None:
                    row = below.space.index[below.space.place(rest)]
                    log[cell] += below.log[self._cells(below, {**cell_of, number: cell})][row]
        cell_of[number] = cell = choose(log)
        if below is not None:
            yield below, counts - self.problem.in_cell(number, cell)


# Answers.


@dataclass(frozen=True)
class TreeMoments:
    """The log of the sum, and for each class the mean counts of its cells."""

    problem: TreeProblem
    log_sum: float
    mean: Floats
    dropped: float = 0.0
    states: float = 1.0
    _clamped: dict[int, Floats] = field(default_factory=dict, repr=False, compare=False)

    def pair_law(self, first: int, second: int) -> Floats:
        """How probable the cells of two different constants of two classes are."""
        if first not in self._clamped and second in self._clamped:
            return self.pair_law(second, first).T
        if first not in self._clamped:
            self._clamped[first] = self._clamp(first)
        problem = self.problem
        law = self._clamped[first][: problem.cells_of(first), second, : problem.cells_of(second)]
        others = problem.sizes[second] - (first == second)
        return np.asarray(law / others)

    def _clamp(self, number: int) -> Floats:
        """For each cell of one constant of a class: its probability, times all mean counts."""
        problem, cells = self.problem, self.problem.cells_of(number)
        law = np.zeros((cells, *problem.log_h.shape))
        for cell in np.flatnonzero(np.isfinite(problem.log_h[number, :cells])).tolist():
            try:
                moments = sum_tree(problem.without(number, cell), problem.in_cell(number, cell))
            except ContradictionError:
                continue
            log_share = moments.log_sum + problem.log_h[number, cell] - self.log_sum
            law[cell] = math.exp(log_share) * moments.mean
        return law


def sum_tree(problem: TreeProblem, offset: Ints | None = None) -> TreeMoments:
    """Add up all states; `offset` are further constants, whose cells are known."""
    fixed = np.zeros(len(problem.log_r), np.int64) if offset is None else offset
    tables = _Elimination(problem)
    root = tables.root
    outside = _interaction(root.space.counts + fixed, problem.log_r)
    joint = root.log + outside
    top = float(joint.max(initial=-np.inf))
    if not math.isfinite(top):
        raise ContradictionError(IMPOSSIBLE)
    log_total = top + math.log(np.exp(joint - top).sum())
    mean = tables.means(outside, log_total)
    return TreeMoments(problem, log_total, mean, states=float(len(joint)))


def draw_tree(problem: TreeProblem, rng: np.random.Generator, count: int) -> Ints:
    """Independent states: counts of the cells of each class, `[state, class, cell]`."""

    def draw(log: Floats) -> int:
        chances = np.cumsum(np.exp(log - log.max()))
        return int(np.searchsorted(chances, rng.random() * chances[-1], side="right"))

    tables = _Elimination(problem)
    joint = _whole(tables)
    states = np.zeros((count, *problem.log_h.shape), np.int64)
    for state in states:
        tables.descend(tables.root.space.counts[draw(joint)], draw, state)
        check_interrupt()
    return states


def best_tree(problem: TreeProblem) -> tuple[Ints, float]:
    """A largest state, and its log-weight."""

    def choose(log: Floats) -> int:
        return int(np.argmax(log))

    tables = _Elimination(problem, log_max)
    joint = _whole(tables)
    state = np.zeros(problem.log_h.shape, np.int64)
    tables.descend(tables.root.space.counts[choose(joint)], choose, state)
    return state, float(joint.max())


def _whole(tables: _Elimination) -> Floats:
    """The log-weights of all counts together."""
    joint = tables.root.log + _interaction(tables.root.space.counts, tables.problem.log_r)
    if not math.isfinite(joint.max(initial=-np.inf)):
        raise ContradictionError(IMPOSSIBLE)
    return np.asarray(joint)


def _interaction(counts: Ints, log_r: Floats) -> Floats:
    """What all pairs weigh, for each row of counts."""
    total = np.zeros(len(counts))
    for i, j in itertools.combinations_with_replacement(range(len(log_r)), 2):
        pairs = counts[:, i] * counts[:, j] if i != j else counts[:, i] * (counts[:, i] - 1) / 2
        if np.isfinite(log_r[i, j]):
            total += pairs * log_r[i, j]
        else:
            total[pairs > 0] = -np.inf
    return total


@compiled
def _find_largest(
    left: Ints, left_log: Floats, right: Ints, right_log: Floats, top: Floats
) -> None:
    """The largest term of each coefficient of a product; `top` begins at minus infinity."""
    for p in range(len(left)):
        for q in range(len(right)):
            term = left_log[p] + right_log[q]
            if term > top[left[p] + right[q]]:
                top[left[p] + right[q]] = term


@compiled
def _convolve(
    left: Ints, left_log: Floats, right: Ints, right_log: Floats, top: Floats, sums: Floats
) -> None:
    """Log-coefficients of a product, by place: `top` has its largest terms, `sums` are zero."""
    for p in range(len(left)):
        for q in range(len(right)):
            term = left_log[p] + right_log[q] - top[left[p] + right[q]]
            if term > NEGLIGIBLE:
                sums[left[p] + right[q]] += math.exp(term)
    for place in range(len(top)):
        if top[place] > -math.inf:
            top[place] += math.log(sums[place])


@compiled
def _correlate(child: Ints, other: Ints, other_log: Floats, above: Floats, log: Floats) -> None:
    """What all else weighs, for each coefficient of a child."""
    for p in range(len(child)):
        top = -math.inf
        for q in range(len(other)):
            term = other_log[q] + above[child[p] + other[q]]
            if term > top:
                top = term
        total = 0.0
        if top > -math.inf:
            for q in range(len(other)):
                term = other_log[q] + above[child[p] + other[q]] - top
                if term > NEGLIGIBLE:
                    total += math.exp(term)
        log[p] = top + math.log(total) if total > 0.0 else -math.inf
