"""An elimination that waits for evidence: which variables are seen is known, their values are not.

Observed variables leave no axis in the tables of an elimination. What is left of a factor depends
on their values, so the tables have one more axis, the last: the joint values of those observed
variables that the factor reads. A row of evidence chooses one place on it.
"""

import functools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from orbitmc._util.arrays import Floats, Numbers
from orbitmc._util.interrupts import check_interrupt
from orbitmc.errors import LimitError
from orbitmc.exact.order import find_order
from orbitmc.exact.plan import ELIMINATION_OVERHEAD
from orbitmc.exact.problem import Problem, Scope
from orbitmc.exact.tree import ENTRY, MOST_SPAN, Tree, build_tree

Shape = tuple[int, ...]

FLOPS_PER_SECOND = 6e8
SECONDS_PER_STEP = 6e-5

WORTH = 2.0**23  # what an order may cost that is eliminated while a better one would be looked for


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
    order: tuple[int, ...] = field(repr=False)
    entries: int
    flops: int

    @property
    def width(self) -> int:
        return self.tree.width

    @property
    def in_words(self) -> str:
        return f"width {self.width}"

    @property
    def bytes(self) -> int:
        """About what one row takes."""
        tables = sum(table.size for table in self.problem.tables)
        return ENTRY * (3 * self.entries + tables) + ELIMINATION_OVERHEAD

    @property
    def seconds(self) -> float:
        """About how long a row takes when it is asked alone."""
        return self.flops / FLOPS_PER_SECOND + len(self.steps) * SECONDS_PER_STEP


def template(
    problem: Problem,
    observed: Sequence[int],
    soft: Sequence[int] = (),
    tied: Sequence[Scope] = (),
    *,
    seconds: float = 1.0,
    most: float = np.inf,
    order: Sequence[int] | None = None,
) -> Template:
    """Plan the elimination of all variables but the observed ones (numbers in the graph).

    Variables that are `tied` get into one table. The search for an order takes up to `seconds`, and
    gives up orders that cost more than `most`; the `order` of a template that differs only in the
    numbers of its tables saves the search.
    """
    problem = _tie_scopes(problem, tied)
    column_of = {
        problem.place[v]: column for column, v in enumerate(observed) if problem.place[v] >= 0
    }
    free = [variable for variable in range(len(problem.sizes)) if variable not in column_of]
    renumbered = {variable: number for number, variable in enumerate(free)}
    left = Problem(
        sizes=tuple([problem.sizes[variable] for variable in free]),
        scopes=tuple(dict.fromkeys(_free_scopes(problem.scopes, renumbered))),
        tables=(),
        constant=0.0,
        cardinality=(),
        possible=(),
        place=(),
    )
    order = _order(left, seconds, most) if order is None else order
    tree = build_tree(left, order)
    place = {
        variable: renumbered[number]
        for variable, number in enumerate(problem.place)
        if number in renumbered
    }
    softened = {place[v]: k for k, v in enumerate(soft) if v in place}
    decided, pieces = _pieces(problem, column_of, renumbered, tree, order)
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
        order=tuple(order),
        entries=sum(entries),
        flops=2 * sum(n * k for n, k in zip(entries, terms, strict=True)),
    )


def _tie_scopes(problem: Problem, scopes: Sequence[Scope]) -> Problem:
    """The same problem with factors that change nothing, and have some variables together."""
    free = [tuple(p for v in scope if (p := problem.place[v]) >= 0) for scope in scopes]
    new = [scope for scope in dict.fromkeys(free) if scope]
    if not new:
        return problem
    return replace(
        problem,
        scopes=(*problem.scopes, *new),
        tables=(*problem.tables, *(np.zeros([problem.sizes[v] for v in scope]) for scope in new)),
    )


def _order(left: Problem, seconds: float, most: float) -> list[int]:
    """A greedy order, or a better one if that takes long."""
    order = find_order(left.scopes, left.sizes, seconds=0.0, most=most)
    if seconds > 0 and WORTH < order.cost < np.inf:
        order = find_order(left.scopes, left.sizes, seconds=seconds)
    if len(order.variables) < len(left.sizes) or order.cost > most:
        raise LimitError("exact elimination would need tables that are too large")
    return order.variables


def _free_scopes(scopes: Sequence[Scope], renumbered: Mapping[int, int]) -> list[Scope]:
    free = [tuple([renumbered[v] for v in scope if v in renumbered]) for scope in scopes]
    return [scope for scope in free if scope]


def _numbers(problem: Problem, variable: int) -> Numbers:
    numbers = np.full(problem.cardinality[variable], -1, dtype=np.int64)
    numbers[problem.possible[variable]] = np.arange(len(problem.possible[variable]))
    return numbers


def _pieces(
    problem: Problem,
    column_of: Mapping[int, int],
    renumbered: Mapping[int, int],
    tree: Tree,
    order: Sequence[int],
) -> tuple[list[Piece], list[list[Piece]]]:
    """Hand every factor to the bucket that eliminates the first of its free variables."""
    position = {variable: place for place, variable in enumerate(order)}
    decided: list[Piece] = []
    pieces: list[list[Piece]] = [[] for _ in tree.sizes]
    for scope, table in zip(problem.scopes, problem.tables, strict=True):
        known = [axis for axis, variable in enumerate(scope) if variable in column_of]
        free = [axis for axis, variable in enumerate(scope) if variable not in column_of]
        free.sort(key=lambda axis: position[renumbered[scope[axis]]])
        shape = [table.shape[axis] for axis in known]
        ordered = np.ascontiguousarray(table.transpose(free + known))
        steps = tuple([math.prod(shape[k + 1 :]) for k in range(len(shape))])
        columns = tuple([column_of[scope[axis]] for axis in known])
        if not free:
            decided.append(Piece(ordered.reshape(-1), columns, steps))
            continue
        members = [renumbered[scope[axis]] for axis in free]
        bucket = members[0]
        axes = (bucket, *tree.shared[bucket])
        seen_as = [tree.sizes[axis] if axis in members else 1 for axis in axes]
        pieces[bucket].append(Piece(ordered.reshape(*seen_as, -1), columns, steps))
    return decided, [_together(members) or _nothing(tree, v) for v, members in enumerate(pieces)]


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


# Up and down through a template, all rows at once: weights upward, probabilities downward.
#
# Upward, each bucket multiplies its terms and sums its variable out. Downward, the products
# are multiplied with how probable what is shared is, over these sums: nothing overflows, and what
# is lost is below the smallest double. Sums are scaled where they might get out of hand. Where the
# terms of a bucket differ by more than doubles hold, it adds up their logarithms.

MOST_UNSCALED = 50.0  # nats by which the entries of a sum may differ that nobody has looked at


class Weights(NamedTuple):
    """A table, last axis rows: entries that are not 0 lie between exp(`low`) and exp(`high`).

    It holds logarithms if these are more than `MOST_SPAN` apart.
    """

    table: Floats
    low: float
    high: float = 0.0

    @property
    def is_wide(self) -> bool:
        return self.high - self.low > MOST_SPAN

    def logs(self) -> Floats:
        return self.table if self.is_wide else np.log(self.table)


class Bucket(NamedTuple):
    """What a bucket multiplies, [value, shared values, row], and what that sums to.

    Each column may be on a scale of its own; columns of zeros sum to 1.
    """

    product: Floats
    sums: Floats


@dataclass(frozen=True)
class Upward:
    """All buckets; and each row's log Z.

    The last axis of everything is rows, or has length 1 where rows make no difference. `parts`
    add up to log Z; it is minus infinity for rows that are impossible.
    """

    buckets: dict[int, Bucket]
    parts: list[Floats]

    def log_z(self) -> Floats:
        """What the parts add up to."""
        total = self.parts[0]
        for part in self.parts[1:]:
            total = total + part
        return total


class Elimination:
    """A template, with everything done that no row can change."""

    def __init__(self, template: Template) -> None:
        self.template = template
        self.messages: dict[int, Weights] = {}
        self.buckets: dict[int, Bucket] = {}
        self.scales: list[Floats] = []
        self.live: list[tuple[Step, list[tuple[Piece, float]]]] = []
        nothing = np.zeros((0, 1), np.int64)
        with np.errstate(divide="ignore"):
            for step in template.steps:
                pieces = [_load_piece(piece) for piece in step.pieces]
                if is_live(step, self.messages):
                    self.live.append((step, pieces))
                else:
                    terms = _terms(step, pieces, self.messages, nothing, ())
                    _send(step, terms, self.messages, self.buckets, self.scales)

    @property
    def bytes_held(self) -> int:
        """What is kept for all rows."""
        pieces = [piece.table for step in self.template.steps for piece in step.pieces]
        pieces += [piece.table for _, loaded in self.live for piece, _ in loaded]
        messages = (message.table for message in self.messages.values())
        buckets = (bucket.product for bucket in self.buckets.values())
        return sum(table.nbytes for table in (*messages, *buckets, *pieces))

    def upward(
        self,
        rows: Numbers,
        likelihoods: Sequence[Floats] = (),
        check: Callable[[], None] = check_interrupt,
    ) -> Upward:
        """Eliminate everything, for rows of numbers of possible values, one column each [k, row].

        `likelihoods` are log-weights [value, row] of the possible values of soft variables. Between
        tables, `check` may end it.
        """
        template, scales = self.template, list(self.scales)
        messages, buckets = dict(self.messages), dict(self.buckets)
        with np.errstate(divide="ignore"):
            likely = [_scale_logs(logs) for logs in likelihoods]
            for step, pieces in self.live:
                check()
                terms = _terms(step, pieces, messages, rows, [weights for weights, _ in likely])
                _send(step, terms, messages, buckets, scales)
            roots = [messages[root].logs() for root in template.tree.roots]
        parts = [np.full(1, template.problem.constant), *roots, *scales]
        parts += [piece.of_rows(rows) for piece in template.decided]
        parts += [scale for _, scale in likely]
        return Upward(buckets, parts)

    def marginals(self, upward: Upward, wanted: Iterable[int]) -> dict[int, Floats]:
        """Probabilities [value, row] of some variables of the tree; zeros in impossible rows."""
        tables: dict[int, Floats] = {}
        for step, joint in self._downward(upward, frozenset(wanted)):
            tables[step.variable] = np.add.reduce(joint, axis=step.axes) if step.axes else joint
        return tables

    def joints(self, upward: Upward, scopes: Sequence[Scope]) -> list[Floats]:
        """Joint probabilities [value, ..., row] of variables that are tied in the tree."""
        homes: dict[int, list[int]] = {}
        for number, scope in enumerate(scopes):
            homes.setdefault(self.template.tree.home_of(scope), []).append(number)
        tables = [np.ones(1)] * len(scopes)
        for step, joint in self._downward(upward, frozenset(homes) - {-1}):
            axes = (step.variable, *self.template.tree.shared[step.variable])
            for number in homes[step.variable]:
                axes_kept = [axis for axis in axes if axis in scopes[number]]
                others = tuple(place for place, axis in enumerate(axes) if axis not in axes_kept)
                order = [axes_kept.index(variable) for variable in scopes[number]]
                tables[number] = joint.sum(axis=others).transpose(*order, len(axes_kept))
        return tables

    def draw(
        self, upward: Upward, rows: int, copies: int, rng: np.random.Generator
    ) -> dict[int, Numbers]:
        """Independent states of the tree's variables [copy, row], by variable.

        Those of impossible rows mean nothing.
        """
        state: dict[int, Numbers] = {}
        for step in reversed(self.template.steps):
            check_interrupt()
            product = upward.buckets[step.variable].product
            row = np.arange(rows) if product.shape[-1] == rows else np.zeros(rows, np.int64)
            shared = (state[member] for member in self.template.tree.shared[step.variable])
            place: Any = (slice(None), *shared, np.broadcast_to(row, (copies, rows)))
            below = np.cumsum(product[place], axis=0)
            level = below[-1] * rng.random((copies, rows))
            state[step.variable] = (below[:-1] <= level).sum(axis=0)
        return state

    def likely_state(self, upward: Upward) -> dict[int, int]:
        """A possible state of the tree's variables in the first row, each likely given those above.

        Rows that are impossible have none.
        """
        state: dict[int, int] = {}
        for step in reversed(self.template.steps):
            shared = self.template.tree.shared[step.variable]
            place: Any = (slice(None), *(state[member] for member in shared), 0)
            state[step.variable] = int(upward.buckets[step.variable].product[place].argmax())
        return state

    def _downward(self, upward: Upward, wanted: Set[int]) -> Iterator[tuple[Step, Floats]]:
        """Buckets that are asked for, with the joint probabilities of all their axes."""
        needed = self.template.tree.above(wanted)
        beliefs: dict[int, Floats] = {}
        for step in reversed(self.template.steps):
            if step.variable not in needed:
                continue
            check_interrupt()
            product, sums = upward.buckets[step.variable]
            joint = product * (beliefs.pop(step.variable, 1.0) / sums)
            if step.variable in wanted:
                yield step, joint
            for child in step.children:
                if child.variable in needed:
                    beliefs[child.variable] = np.add.reduce(joint, axis=child.unknown)


def add_pieces(
    step: Step, messages: Mapping[int, Floats], rows: Numbers, likelihoods: Sequence[Floats]
) -> Floats:
    """What a bucket adds up, [value, shared values, row], before its variable is eliminated."""
    total: Floats | float = 0.0
    if step.likelihood >= 0:
        likelihood = likelihoods[step.likelihood]
        total = likelihood.reshape(len(likelihood), *(1 for _ in step.axes), -1)
    for child in step.children:
        total = total + messages[child.variable].reshape(*child.shape, -1)
    for piece in step.pieces:
        total = total + piece.of_rows(rows)
    return np.asarray(total)


def is_live(step: Step, done: Mapping[int, object]) -> bool:
    """Whether rows make a difference to a bucket."""
    reads_rows = step.likelihood >= 0 or any(piece.columns for piece in step.pieces)
    return reads_rows or any(child.variable not in done for child in step.children)


def _load_piece(piece: Piece) -> tuple[Piece, float]:
    """A piece as weights, and the logarithm of the smallest."""
    table, low, _ = _as_weights(piece.table)
    return Piece(table, piece.columns, piece.steps), low


def _as_weights(logs: Floats) -> Weights:
    """Weights, given as logarithms that are at most 0."""
    low = float(logs.min())
    if low == -np.inf:
        low = float(logs.min(where=logs > -np.inf, initial=0.0))
    return Weights(logs if -low > MOST_SPAN else np.exp(logs), low)


def _scale_logs(logs: Floats) -> tuple[Weights, Floats]:
    """Weights [..., row] given as logarithms, and what was subtracted in each row."""
    top: Floats = logs.max(axis=tuple(range(logs.ndim - 1)))
    return _as_weights(logs - np.where(np.isneginf(top), 0.0, top)), top


def _terms(
    step: Step,
    pieces: Iterable[tuple[Piece, float]],
    messages: Mapping[int, Weights],
    rows: Numbers,
    likelihoods: Sequence[Weights],
) -> list[Weights]:
    """What a bucket multiplies, [value, shared values, row]."""
    terms = []
    if step.likelihood >= 0:
        likely = likelihoods[step.likelihood]
        shaped = likely.table.reshape(len(likely.table), *(1 for _ in step.axes), -1)
        terms.append(likely._replace(table=shaped))
    for child in step.children:
        table, low, high = messages[child.variable]
        terms.append(Weights(table.reshape(*child.shape, -1), low, high))
    terms += [Weights(piece.of_rows(rows), low) for piece, low in pieces]
    return terms


def _send(
    step: Step,
    terms: Sequence[Weights],
    messages: dict[int, Weights],
    buckets: dict[int, Bucket],
    scales: list[Floats],
) -> None:
    """Multiply the terms of a bucket and sum its variable out; keep the scale of the message."""
    low, high = sum([term.low for term in terms]), sum([term.high for term in terms])
    if high - low > MOST_SPAN:
        bucket, logs = _sum_logs(terms)
        message, scale = _scale_logs(logs)
        scales.append(scale)
    else:
        bucket, sums = _sum_weights(terms)
        message = Weights(sums, low, high + math.log(len(bucket.product)))
        if message.high - low > MOST_UNSCALED:
            message, scale = _scale(sums)
            scales.append(scale)
    buckets[step.variable], messages[step.variable] = bucket, message


def _sum_weights(terms: Sequence[Weights]) -> tuple[Bucket, Floats]:
    product = terms[0].table
    for term in terms[1:]:
        product = product * term.table
    sums = np.add.reduce(product, axis=0)
    has_zeros = np.count_nonzero(sums) < sums.size
    return Bucket(product, np.where(sums == 0.0, 1.0, sums) if has_zeros else sums), sums


def _sum_logs(terms: Sequence[Weights]) -> tuple[Bucket, Floats]:
    """The same by logarithms; each column of the bucket is on a scale of its own."""
    total = terms[0].logs()
    for term in terms[1:]:
        total = total + term.logs()
    top = total.max(axis=0)
    shift = np.where(np.isneginf(top), 0.0, top)
    product = np.exp(total - shift)
    sums = np.add.reduce(product, axis=0)
    return Bucket(product, np.where(sums == 0.0, 1.0, sums)), np.log(sums) + shift


def _scale(sums: Floats) -> tuple[Weights, Floats]:
    """Weights [..., row] divided by the largest in each row, and the logarithms of these."""
    top = sums.max(axis=tuple(range(sums.ndim - 1)))
    top[top == 0.0] = 1.0
    table = sums / top
    low = float(table.min())
    if low == 0.0:
        low = float(table.min(where=table > 0.0, initial=1.0))
    return Weights(table, math.log(low)), np.log(top)


# Which rows are eliminated together: those that observe the same variables.

FEW_ROWS = 32  # rows that are not worth an elimination of their own
BYTES_TOGETHER = 2**22
"""Bytes of all tables of rows that are eliminated together: they stay in the cache."""


@dataclass(frozen=True)
class Batch:
    """Rows for one elimination: columns that all of them observe, and columns that some do."""

    rows: Numbers
    hard: tuple[int, ...]
    soft: tuple[int, ...]


def batches(
    observed: NDArray[np.bool_], soft: NDArray[np.bool_], few: int = FEW_ROWS
) -> list[Batch]:
    """Sort rows by which columns [column, row] they observe, softly or not.

    Patterns that `few` rows have are put together: what some of these rows do not observe has
    likelihoods there, the same for all values in rows that say nothing.
    """
    if not observed.shape[1]:
        return []
    code = observed.astype(np.int8) + soft
    which = np.unique(code, axis=1, return_inverse=True)[1].reshape(-1)
    order = np.argsort(which, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(which[order])) + 1)
    rest = [rows for rows in groups if len(rows) < few]
    large = [rows for rows in groups if len(rows) >= few or len(rest) == 1]
    batches = [_batch(code, rows) for rows in large]
    if len(rest) > 1:
        batches.append(_batch(code, np.sort(np.concatenate(rest))))
    return batches


def _batch(code: NDArray[np.int8], rows: NDArray[np.int64]) -> Batch:
    hard = (code[:, rows] == 1).all(axis=1)
    some = (code[:, rows] > 0).any(axis=1) & ~hard
    return Batch(rows, _batch_codes(hard), _batch_codes(some))


def _batch_codes(chosen: NDArray[np.bool_]) -> tuple[int, ...]:
    return tuple(np.flatnonzero(chosen).tolist())


def rows_at_once(template: Template, memory: int) -> int:
    """How many rows are eliminated together, so that their tables fit."""
    row = 8 * 3 * max(template.entries, 1)
    return max(1, min(max(BYTES_TOGETHER // row, 16), memory // (2 * row)))


class FromTemplate(Protocol):
    """What eliminates rows as a template says."""

    template: Template


def chunks(elimination: FromTemplate, rows: int, memory: int) -> Iterator[slice]:
    """Parts of so many rows that fit into memory."""
    size = rows_at_once(elimination.template, memory)
    for first in range(0, rows, size):
        yield slice(first, min(rows, first + size))
