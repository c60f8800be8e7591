"""How often every family of a Bayesian network has each of its values, given rows of evidence.

A family is a variable with its parents; its table has the probabilities of the variable given them.
Expected counts of families are what tables are learned from, and what says how an answer changes
with a table.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.sparse import csr_array

from orbitmc._numba.compile_log import latest_time, require_time, working_time
from orbitmc._util.arrays import Floats, Numbers
from orbitmc._util.interrupts import check_interrupt
from orbitmc.exact.problem import Problem, Scope
from orbitmc.exact.templates import (
    Batch,
    Elimination,
    Template,
    Upward,
    batches,
    chunks,
    template,
)
from orbitmc.graph.factor_graph import FactorGraph

FEW_ROWS = 256  # with the same holes: an elimination of their own would take longer to plan
MOST_ENTRIES = 1e7  # of tables for one row
ORDER_SECONDS, ORDER_SHARE = 1.0, 0.05  # of the time that is left
FEWEST_COPIES = 8  # of a row, in each of which what it leaves open is drawn

Likelihood = Callable[[int, Numbers], Floats]
"""Log-weights [value, row] of what a column says in some rows."""


class Family(NamedTuple):
    """A factor that holds the probabilities of one variable, at `axis` of its scope."""

    factor: int
    scope: Scope
    axis: int


def families_of(graph: FactorGraph) -> tuple[Family, ...] | None:
    """The family of every variable; None if the graph is no Bayesian network by its scopes.

    Every factor belongs to one variable, so that no variable is its own ancestor. There is at most
    one such way: a variable that only one factor can belong to is found at every step.

    >>> import orbitmc as om
    >>> [family.scope for family in families_of(om.read("examples/sprinkler.bif").graph)]
    [(0,), (0, 1), (0, 2), (1, 2, 3)]
    """
    scopes = [tuple(graph.scope_of(factor).tolist()) for factor in range(graph.factors)]
    if graph.factors != graph.variables or graph.first_clause < graph.factors:
        return None
    left = [len(scope) for scope in scopes]
    open_sum = [sum(scope) for scope in scopes]
    readers: list[list[int]] = [[] for _ in range(graph.variables)]
    for factor, scope in enumerate(scopes):
        for variable in scope:
            readers[variable].append(factor)
    families: list[Family | None] = [None] * graph.variables
    ready = [factor for factor, count in enumerate(left) if count == 1]
    while ready:
        factor = ready.pop()
        if left[factor] != 1:
            return None  # two factors belong to one variable
        child = open_sum[factor]
        families[child] = Family(factor, scopes[factor], scopes[factor].index(child))
        for reader in readers[child]:
            left[reader] -= 1
            open_sum[reader] -= child
            if left[reader] == 1:
                ready.append(reader)
    known = tuple(family for family in families if family is not None)
    return known if len(known) == graph.variables else None


@dataclass(frozen=True)
class Counts:
    """Expected counts of each family, as its table; and the log-probability of every row."""

    tables: list[Floats]
    log_likelihood: Floats


@dataclass(frozen=True)
class EvidenceRows:
    """What rows say of some `variables`: numbers of values [column, row], -1 where nothing.

    What is marked as `soft` [column, row] has log-weights instead. A row counts by its `weight`.
    """

    variables: tuple[int, ...]
    value: Numbers
    soft: NDArray[np.bool_]
    weight: Floats
    likelihood: Likelihood


def by_row_of_table(table: Floats, axis: int) -> Floats:
    """A table as [values of the parents, value of the variable]."""
    last = np.moveaxis(table, axis, -1)
    return last.reshape(-1, last.shape[-1])


class FreeEntries:
    """The entries of some tables whose log-odds are free, in one list.

    Of a row of a table one entry follows from the others: the largest. Entries of probability 0
    stay there. Tables that are the same (`same_as`) have their entries once; given ones (-1) have
    none.
    """

    def __init__(
        self, families: Sequence[Family], log_tables: Sequence[Floats], same_as: Sequence[int]
    ) -> None:
        self.families, self.same_as = tuple(families), tuple(same_as)
        self.sizes = [log_tables[v].shape[family.axis] for v, family in enumerate(families)]
        self.tables = {
            v: by_row_of_table(np.exp(log_tables[v]), families[v].axis)
            for v, first in enumerate(same_as)
            if v == first
        }
        self.free = {}
        for v, table in self.tables.items():
            free = table > 0.0
            free[np.arange(len(table)), table.argmax(axis=1)] = False
            self.free[v] = free
        ends = np.cumsum([0, *(int(free.sum()) for free in self.free.values())])
        self.first = dict(zip(self.free, ends.tolist(), strict=False))
        self.count = int(ends[-1])

    def scores(self, counts: Sequence[Floats | None], rows: int) -> Floats:
        """Derivatives [free entry, row] by log-odds, from counts [values of a family, row].

        Families without counts do not matter.
        """
        derivative = np.zeros((self.count, rows))
        for v, (first, by_value) in enumerate(zip(self.same_as, counts, strict=True)):
            if first >= 0 and by_value is not None:
                by_row = np.moveaxis(by_value, self.families[v].axis, -2)
                by_row = by_row.reshape(*self.tables[first].shape, rows)
                total = by_row.sum(axis=1, keepdims=True)
                score = by_row - total * self.tables[first][:, :, None]
                part = score[self.free[first]]
                derivative[self.first[first] : self.first[first] + len(part)] += part
        return derivative

    def of_table(self, variable: int, derivative: Floats) -> Floats:
        """Derivatives [free entry, number] by all log-odds of a table [parents, value, number].

        Those of a row sum to 0.
        """
        table, free, place = self.tables[variable], self.free[variable], self.first[variable]
        whole = np.zeros((*table.shape, derivative.shape[1]))
        whole[free] = derivative[place : place + int(free.sum())]
        whole[np.arange(len(table)), table.argmax(axis=1)] = -whole.sum(axis=1)
        return whole

    def information(self, counts: Mapping[int, Floats]) -> Floats:
        """The information matrix of complete rows, so many behind each row of a table."""
        matrix = np.zeros((self.count, self.count))
        for v, table in self.tables.items():
            place = self.first[v]
            for shares, free, count in zip(table, self.free[v], counts[v], strict=True):
                theta = shares[free]
                end = place + len(theta)
                matrix[place:end, place:end] = count * (np.diag(theta) - np.outer(theta, theta))
                place = end
        return matrix

    def places(self, value: Mapping[int, Numbers]) -> list[Numbers]:
        """Where the values of each learned family stand among all entries of all of them."""
        places, offset = [], 0
        for family, first in zip(self.families, self.same_as, strict=True):
            if first < 0:
                continue
            size = self.tables[first].shape[1]
            parents = np.zeros_like(value[family.scope[family.axis]])
            for k, v in enumerate(family.scope):
                if k != family.axis:
                    parents = parents * self.sizes[v] + value[v]
            places.append(offset + parents * size + value[family.scope[family.axis]])
            offset += self.tables[first].size
        return places

    def from_counts(self) -> csr_array:
        """What makes scores of counts [free entry, all entries of all families]."""
        rows: list[int] = []
        columns: list[int] = []
        numbers: list[float] = []
        offset = 0
        for first in self.same_as:
            if first < 0:
                continue
            table = self.tables[first]
            number = np.cumsum(self.free[first]).reshape(table.shape) - 1 + self.first[first]
            for parents, value in np.argwhere(self.free[first]).tolist():
                size = table.shape[1]
                rows += [int(number[parents, value])] * size
                columns += range(offset + parents * size, offset + (parents + 1) * size)
                numbers += ((np.arange(size) == value) - table[parents, value]).tolist()
            offset += table.size
        return csr_array((numbers, (rows, columns)), shape=(self.count, offset))


class FamilyCounter:
    """Counts families in the same rows again and again, as their tables change."""

    def __init__(
        self, sizes: Sequence[int], scopes: Sequence[Scope], rows: EvidenceRows, memory: int
    ) -> None:
        self.sizes, self.scopes, self.rows, self.memory = tuple(sizes), tuple(scopes), rows, memory
        self.column = {variable: k for k, variable in enumerate(rows.variables)}
        self.is_complete = len(self.column) == len(self.sizes) and bool((rows.value >= 0).all())
        observed = (rows.value >= 0) | rows.soft
        self.batches = [] if self.is_complete else batches(observed, rows.soft, FEW_ROWS)
        self.stopped = False
        unknown = [np.zeros([self.sizes[v] for v in scope]) for scope in self.scopes]
        self.orders: dict[int, tuple[int, ...]] = {}
        for number in range(len(self.batches)):
            self._require_going_on()
            self.orders[number] = self._template(number, unknown).order  # refuses what is too wide

    def stop(self) -> None:
        """Let counting end with a `KeyboardInterrupt`."""
        self.stopped = True

    def complete_counts(self, number: int) -> Floats:
        """Counts of one family in rows that have all of it."""
        scope = self.scopes[number]
        shape = [self.sizes[v] for v in scope]
        if any(v not in self.column for v in scope):
            return np.zeros(shape)
        values = self.rows.value[[self.column[v] for v in scope]]
        self._require_going_on()
        weight = self.rows.weight
        if not self.is_complete:
            chosen = (values >= 0).all(axis=0)
            values, weight = values[:, chosen], weight[chosen]
        place = np.ravel_multi_index(tuple(values), shape)
        counts = np.bincount(place, weights=weight, minlength=math.prod(shape))
        return counts.astype(np.float64).reshape(shape)

    def counts(self, log_tables: Sequence[Floats]) -> Counts:
        """Expected counts of all families where these are their tables."""
        if self.is_complete:
            complete = [self.complete_counts(number) for number in range(len(self.scopes))]
            return Counts(complete, self.complete_log_likelihood(log_tables))
        tables = [np.zeros([self.sizes[v] for v in scope]) for scope in self.scopes]
        log_likelihood = np.empty(self.rows.value.shape[1])
        for number, batch in enumerate(self.batches):
            elimination = Elimination(self._template(number, log_tables))
            for part in chunks(elimination, len(batch.rows), self.memory):
                self._require_going_on()
                rows = batch.rows[part]
                log_likelihood[rows] = self._add(tables, elimination, batch, rows)
        return Counts(tables, log_likelihood)

    def hidden_covariance(
        self, entries: FreeEntries, log_tables: Sequence[Floats], draws: int, rng: Generator
    ) -> Floats:
        """The covariance of scores given what rows say, summed over rows, from so many `draws`.

        What a row leaves open is drawn several times; of many rows, some stand for all.
        """
        count = self.rows.value.shape[1]
        copies = max(FEWEST_COPIES, -(-draws // count))
        share = min(1.0, draws / (FEWEST_COPIES * count))
        to_scores = entries.from_counts()
        total = csr_array((to_scores.shape[1], to_scores.shape[1]))
        for number, batch in enumerate(self.batches):
            elimination = Elimination(self._template(number, log_tables))
            chosen = batch.rows[rng.random(len(batch.rows)) < share]
            for part in chunks(elimination, len(chosen), self.memory):
                self._require_going_on()
                rows = chosen[part]
                known, upward, log_z = self._upward(elimination, batch, rows)
                drawn = elimination.draw(upward, len(rows), copies, rng)
                place = elimination.template.place
                value = {v: drawn[place[v]] for v in range(len(self.sizes)) if v in place}
                for k, column in zip(batch.hard, known, strict=True):
                    value[self.rows.variables[k]] = np.broadcast_to(column, (copies, len(rows)))
                weight = np.where(log_z > -np.inf, self.rows.weight[rows], 0.0)
                total = total + _covariance(entries.places(value), weight, to_scores.shape[1])
        summed: Floats = (to_scores @ total @ to_scores.T).toarray() / share
        return summed

    def _require_going_on(self) -> None:
        _require_time()
        if self.stopped:
            raise KeyboardInterrupt

    def _upward(
        self, elimination: Elimination, batch: Batch, rows: Numbers
    ) -> tuple[Numbers, Upward, Floats]:
        """Values that some rows observe [column, row], their elimination, log-probabilities."""
        known = self.rows.value[np.ix_(np.array(batch.hard, np.int64), rows)]
        likelihoods = [self.rows.likelihood(k, rows) for k in batch.soft]
        upward = elimination.upward(known, likelihoods, self._require_going_on)
        return known, upward, np.broadcast_to(upward.log_z(), len(rows))

    def complete_log_likelihood(self, log_tables: Sequence[Floats]) -> Floats:
        """The log-probability of every row, where rows leave nothing open."""
        log_likelihood = np.zeros(self.rows.value.shape[1])
        for scope, table in zip(self.scopes, log_tables, strict=True):
            values = self.rows.value[[self.column[v] for v in scope]]
            log_likelihood += table.reshape(-1)[np.ravel_multi_index(tuple(values), table.shape)]
        return log_likelihood

    def _template(self, number: int, log_tables: Sequence[Floats]) -> Template:
        """An elimination for the rows of a batch."""
        batch = self.batches[number]
        hard, soft = ([self.rows.variables[k] for k in some] for some in (batch.hard, batch.soft))
        problem = _problem(self.sizes, self.scopes, log_tables)
        return template(
            problem,
            hard,
            soft,
            seconds=_order_seconds(),
            most=MOST_ENTRIES,
            order=self.orders.get(number),
        )

    def _add(
        self, tables: Sequence[Floats], elimination: Elimination, batch: Batch, rows: Numbers
    ) -> Floats:
        """Add the families of some rows to the tables; gives the rows' log-probabilities."""
        known, upward, log_z = self._upward(elimination, batch, rows)
        weight = np.where(log_z > -np.inf, self.rows.weight[rows], 0.0)
        place, column = elimination.template.place, {}
        for number, k in enumerate(batch.hard):
            column[self.rows.variables[k]] = number
        free = [tuple(v for v in scope if v in place) for scope in self.scopes]
        open_scopes = [tuple(place[v] for v in scope) for scope in free]
        joints = elimination.joints(upward, open_scopes)
        for table, scope, open_variables, joint in zip(
            tables, self.scopes, free, joints, strict=True
        ):
            seen = [v for v in scope if v in column]
            counts = _spread(joint, [known[column[v]] for v in seen],
                             [self.sizes[v] for v in seen], weight)  # fmt: skip
            order = [(*open_variables, *seen).index(v) for v in scope]
            shape = [self.sizes[v] for v in (*open_variables, *seen)]
            table += counts.reshape(shape).transpose(order)
        return log_z


def _problem(
    sizes: tuple[int, ...], scopes: Sequence[Scope], log_tables: Sequence[Floats]
) -> Problem:
    """An elimination of all variables, each with all its values."""
    return Problem(
        sizes=sizes,
        scopes=tuple(scopes),
        tables=tuple(log_tables),
        constant=0.0,
        cardinality=sizes,
        possible=tuple(np.arange(size) for size in sizes),
        place=tuple(range(len(sizes))),
    )


def _order_seconds() -> float:
    """How long to look for an order: not long, where there is little time."""
    return max(0.0, min(ORDER_SECONDS, ORDER_SHARE * (latest_time() - working_time())))


def _require_time() -> None:
    check_interrupt()
    require_time()


class FamilyJoints:
    """The joint probabilities of every family, row by row, where tables stay as they are."""

    def __init__(
        self,
        sizes: Sequence[int],
        scopes: Sequence[Scope],
        log_tables: Sequence[Floats],
        seen: Sequence[int],
        order: Sequence[int] | None = None,
    ) -> None:
        """`seen` are the variables of which rows bring log-weights.

        The `order` of others that differ only in the numbers of their tables saves a search.
        """
        self.scopes = tuple(scopes)
        problem = _problem(tuple(sizes), scopes, log_tables)
        chosen = template(
            problem, (), seen, seconds=_order_seconds(), most=MOST_ENTRIES, order=order
        )
        self.elimination = Elimination(chosen)

    @property
    def order(self) -> tuple[int, ...]:
        """In which order variables are eliminated."""
        return self.elimination.template.order

    def of_rows(self, likelihoods: Sequence[Floats], rows: int) -> tuple[list[Floats], Floats]:
        """Joints [values of a family, row], zeros where impossible; and the rows' log Z.

        `likelihoods` are log-weights [value, row] of the variables that rows say something of.
        """
        nothing = np.zeros((0, rows), np.int64)
        upward = self.elimination.upward(nothing, likelihoods, _require_time)
        place = self.elimination.template.place
        scopes = [tuple(place[v] for v in scope) for scope in self.scopes]
        joints = [
            np.broadcast_to(joint, (*joint.shape[:-1], rows))
            for joint in self.elimination.joints(upward, scopes)
        ]
        return joints, np.broadcast_to(upward.log_z(), rows)


def _covariance(places: Sequence[Numbers], weight: Floats, entries: int) -> csr_array:
    """The covariance over copies of what stands at places [copy, row], summed over rows."""
    copies, rows = places[0].shape
    column = np.stack(places).reshape(-1)
    row = np.tile(np.tile(np.arange(rows), copies), len(places))
    sample = np.tile(np.arange(copies * rows), len(places))
    root = np.sqrt(weight)[row]
    alone = csr_array((root, (sample, column)), shape=(copies * rows, entries))
    together = csr_array((root, (row, column)), shape=(rows, entries))
    products = alone.T @ alone - (together.T @ together) / copies
    return csr_array(products / (copies - 1.0))


def _spread(
    joint: Floats, values: Sequence[Numbers], sizes: Sequence[int], weight: Floats
) -> Floats:
    """Sum [free values, row] over rows, for every joint value of what the rows observe."""
    flat = joint.reshape(-1, joint.shape[-1])
    if not values:
        return flat @ weight if flat.shape[1] == len(weight) else flat[:, 0] * weight.sum()
    place = np.ravel_multi_index(list(values), list(sizes))
    count = math.prod(sizes)
    rows = np.broadcast_to(flat, (len(flat), len(weight))) * weight
    return np.stack([np.bincount(place, weights=row, minlength=count) for row in rows])
