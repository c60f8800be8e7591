"""How sure an exact answer is whose tables were learned from data: the delta method.

An answer is a smooth function of the log-odds of all entries of the tables. Its derivatives come
from expected counts of families, given the evidence with and without what is asked about; the
spread of the log-odds comes from the rows behind the tables. Where no row left anything open, the
rows of tables are independent and have the covariance of their Dirichlet posterior; elsewhere the
information of the counts, less what the rows hide, is inverted. Intervals are taken on the scale of
log-odds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cholesky, eigh, solve_triangular

from orbitmc._numba.compile_log import require_time, spent_before, time_limit
from orbitmc._util.arrays import Floats, Numbers
from orbitmc._util.interrupts import check_interrupt
from orbitmc.errors import InputError, LimitError
from orbitmc.estimate.answers import Estimate, Joint
from orbitmc.estimate.marginals import About, Marginals
from orbitmc.estimate.verdicts import CODE, EXACT
from orbitmc.exact.families import (
    Family,
    FamilyJoints,
    FreeEntries,
    by_row_of_table,
    families_of,
)
from orbitmc.graph.evidence import Evidence, as_mapping, resolve
from orbitmc.graph.model import Model, TablePrecision
from orbitmc.inference.cache import KEPT
from orbitmc.inference.settings import Settings

Z = 1.959963984540054  # standard errors in half an interval of 95 %
DIRICHLET = 1.0  # what is added to counts: the variance of a Dirichlet share is p(1 - p) / (n + 1)
MOST_WORK = 4e9  # entries of tables in all eliminations: about twenty seconds
LEAST_LEFT = 1e-3  # of the information of complete rows, where others say next to nothing
MOST_CELLS = 2**12  # joint values that an event may tell apart
BYTES_TOGETHER = 2**24  # of counts that are held at a time

Weights = Mapping[int, Floats]
"""What each value of some variables weighs; of the others all weigh 1."""

Answer = TypeVar("Answer", Marginals, Joint, Estimate)


class Spread(NamedTuple):
    """Standard errors of probabilities, and intervals of 95 %."""

    standard_error: Floats
    low: Floats
    high: Floats


class Derivatives(NamedTuple):
    """Probabilities, and their derivatives [free entry, number] by the log-odds of the tables."""

    probability: Floats
    by_entry: Floats


def _finish(
    model: Model, evidence: Evidence | None, add: Callable[[Answer, Weights], Answer]
) -> Callable[[Answer, Settings], Answer]:
    """What is done with an answer: `add` its errors; a sampled one only says which it has."""
    assert model.precision is not None
    source = f"tables learned from {model.precision.rows:,} rows"

    def finish(answer: Answer, settings: Settings) -> Answer:
        about: About = answer.about
        if not about.is_exact:
            reason = f"{about.reason}; ± is that of sampling, that of {source} is not in it"
            return replace(answer, about=replace(about, reason=reason))
        left = math.inf if settings.seconds is None else settings.seconds - spent_before()
        try:
            with time_limit(left):
                errors = add(answer, _weights(model, evidence))
        except LimitError as error:
            warning = f"the error that comes from {source} is not known: {error}"
            return replace(answer, about=replace(about, warnings=(*about.warnings, warning)))
        reason = f"{about.reason}; ± from {source}"
        return replace(errors, about=replace(about, reason=reason, errors_from=source))

    return finish


def _weights(model: Model, evidence: Evidence | None) -> Weights:
    """What evidence says of each value."""
    findings = resolve(as_mapping(evidence), model.domains())
    return {
        **{model.index[n]: np.eye(len(model.domains()[n]))[v] for n, v in findings.hard.items()},
        **{model.index[n]: np.asarray(w, np.float64) for n, w in findings.soft.items()},
    }


def marginal_errors(
    model: Model, evidence: Evidence | None
) -> Callable[[Marginals, Settings], Marginals]:
    """Adds to marginals of a learned network how sure they are."""

    def add(answer: Marginals, given: Weights) -> Marginals:
        columns = answer.columns
        asked: list[Weights] = []
        rows, mirrored = [], []
        for place in np.flatnonzero(columns.verdict == CODE[EXACT]).tolist():
            size, first = len(columns.values[place]), int(columns.start[place])
            variable = model.index[columns.names[place]]
            for value in range(1, 2) if size == 2 else range(size):
                asked.append({variable: np.eye(size)[value]})
                rows.append(first + value)
                mirrored.append(first if size == 2 else first + value)
        spread = spread_of(model, *derivatives(model, given, asked))
        error, low, high = columns.standard_error.copy(), columns.low.copy(), columns.high.copy()
        for to, lower, upper in (
            (np.array(mirrored, np.int64), 1.0 - spread.high, 1.0 - spread.low),
            (np.array(rows, np.int64), spread.low, spread.high),
        ):
            unsure = spread.standard_error > 0.0
            error[to], low[to[unsure]] = spread.standard_error, lower[unsure]
            high[to[unsure]] = upper[unsure]
        return replace(answer, columns=replace(columns, standard_error=error, low=low, high=high))

    return _finish(model, evidence, add)


def joint_errors(model: Model, evidence: Evidence | None) -> Callable[[Joint, Settings], Joint]:
    """Adds to joint probabilities of a learned network how sure they are."""

    def add(answer: Joint, given: Weights) -> Joint:
        spread = spread_of(model, *derivatives(model, given, _cells(model, answer.names)))
        error, low, high = (column.reshape(answer.probability.shape) for column in spread)
        return replace(answer, standard_error=error, low=low, high=high)

    return _finish(model, evidence, add)


def _cells(model: Model, names: Sequence[str]) -> list[Weights]:
    """All joint values of some variables."""
    variables = [model.index[name] for name in names]
    eyes = [np.eye(int(model.graph.cardinality[v])) for v in variables]
    return [
        {v: eye[k] for v, eye, k in zip(variables, eyes, cell, strict=True)}
        for cell in np.ndindex(*map(len, eyes))
    ]


Holds = Callable[[Mapping[int, Numbers]], tuple[NDArray[np.bool_], NDArray[np.bool_]]]
"""Whether an event holds, and whether what is given does, by the values of variables."""


def event_errors(
    model: Model, evidence: Evidence | None, scope: Sequence[int], holds: Holds
) -> Callable[[Estimate, Settings], Estimate]:
    """Adds to the probability of an event how sure it is; the event is about a `scope`."""

    def add(answer: Estimate, given: Weights) -> Estimate:
        sizes = [int(model.graph.cardinality[v]) for v in scope]
        if math.prod(sizes) > MOST_CELLS:
            raise LimitError("the event is about too many variables")
        cells = np.indices(sizes).reshape(len(sizes), -1)
        event, condition = (
            np.broadcast_to(truth, cells.shape[1])
            for truth in holds(dict(zip(scope, cells, strict=True)))
        )
        every = _cells(model, [model.names[v] for v in scope])
        asked = [every[k] for k in np.flatnonzero(condition)]
        probability, by_entry = derivatives(model, given, asked)
        chosen = event[condition]
        both, total = probability[chosen].sum(), probability.sum()
        share = both / total
        slope = (by_entry[:, chosen].sum(axis=1) - share * by_entry.sum(axis=1)) / total
        error, low, high = spread_of(model, np.array([share]), slope[:, None])
        return replace(
            answer, standard_error=float(error[0]), low=float(low[0]), high=float(high[0])
        )

    return _finish(model, evidence, add)


@dataclass(frozen=True)
class _Network:
    """The part of a network that an answer depends on: all ancestors of what it names."""

    model: Model
    entries: FreeEntries
    named: tuple[int, ...]
    inside: tuple[int, ...]
    joints: FamilyJoints

    @classmethod
    def of(cls, model: Model, named: Sequence[int]) -> _Network:
        entries = free_entries(model)
        families = entries.families
        inside = _ancestors(families, named)
        place = {v: k for k, v in enumerate(inside)}

        def plan() -> FamilyJoints:
            return FamilyJoints(
                [int(model.graph.cardinality[v]) for v in inside],
                [tuple(place[member] for member in families[v].scope) for v in inside],
                [model.graph.table_values(families[v].factor) for v in inside],
                [place[v] for v in named],
            )

        joints = KEPT.of(
            model, ("families", *named), plan, lambda joints: joints.elimination.bytes_held
        )
        return cls(model, entries, tuple(named), inside, joints)

    @property
    def work(self) -> float:
        """Entries of tables in the elimination of one row."""
        return float(self.joints.elimination.template.entries)

    def scores(self, rows: Sequence[Weights]) -> tuple[Floats, Floats]:
        """Derivatives [free entry, row] of the log-probabilities of weights, and these."""
        likelihoods = []
        for variable in self.named:
            ones = np.ones(int(self.model.graph.cardinality[variable]))
            with np.errstate(divide="ignore"):
                columns = [np.log(row.get(variable, ones)) for row in rows]
            likelihoods.append(np.stack(columns, axis=-1))
        counts, log_z = self.joints.of_rows(likelihoods, len(rows))
        by_variable: list[Floats | None] = [None] * len(self.entries.families)
        for variable, table in zip(self.inside, counts, strict=True):
            by_variable[variable] = table
        return self.entries.scores(by_variable, len(rows)), log_z

    def rows_together(self) -> int:
        """How many rows are counted at a time."""
        return max(1, int(BYTES_TOGETHER / (8.0 * (self.entries.count + self.work + 1.0))))


def _ancestors(families: Sequence[Family], named: Iterable[int]) -> tuple[int, ...]:
    reached = set(named)
    waiting = list(reached)
    while waiting:
        for parent in families[waiting.pop()].scope:
            if parent not in reached:
                reached.add(parent)
                waiting.append(parent)
    return tuple(sorted(reached))


def derivatives(model: Model, evidence: Weights, asked: Sequence[Weights]) -> Derivatives:
    """How probable each thing asked about is given the evidence, and how that depends on tables.

    Things that are asked about are weights 0 and 1 of values; several variables mean all of them.
    """
    named = sorted({*evidence, *(v for row in asked for v in row)})
    network = _Network.of(model, named)
    if network.work * (1 + len(asked)) > MOST_WORK:
        raise LimitError(f"{len(asked):,} numbers depend on large tables; ask for fewer")
    before, log_z = network.scores([evidence])
    probability = np.zeros(len(asked))
    by_entry = np.zeros((network.entries.count, len(asked)))
    together = network.rows_together()
    for first in range(0, len(asked), together):
        check_interrupt()
        require_time()
        rows = [_both(evidence, row) for row in asked[first : first + together]]
        after, log_both = network.scores(rows)
        places = slice(first, first + len(rows))
        probability[places] = np.minimum(1.0, np.exp(log_both - log_z))
        by_entry[:, places] = probability[places] * (after - before)
    return Derivatives(probability, by_entry)


def _both(evidence: Weights, more: Weights) -> Weights:
    return {**evidence, **{v: w * evidence[v] if v in evidence else w for v, w in more.items()}}


def spread_of(model: Model, probability: Floats, by_entry: Floats) -> Spread:
    """Standard errors and intervals of probabilities with these derivatives."""
    error = np.sqrt(variances(model, by_entry))
    sure = (probability <= 0.0) | (probability >= 1.0) | (error == 0.0)
    error[sure] = 0.0
    chance = np.where(sure, 0.5, probability)
    log_odds = np.log(chance) - np.log1p(-chance)
    width = Z * error / (chance * (1.0 - chance))
    with np.errstate(over="ignore"):
        low, high = (1.0 / (1.0 + np.exp(-(log_odds + side * width))) for side in (-1.0, 1.0))
    return Spread(error, np.where(sure, probability, low), np.where(sure, probability, high))


def variances(model: Model, by_entry: Floats) -> Floats:
    """The variances of numbers with these derivatives [free entry, number]."""
    precision, entries = model.precision, free_entries(model)
    assert precision is not None
    if precision.information is not None:
        scale, root = KEPT.of(precision, "root", lambda: _root(precision))
        solved = solve_triangular(root, by_entry * scale[:, None], lower=True)
        total: Floats = (solved**2).sum(axis=0)
        return total
    total = np.zeros(by_entry.shape[1])
    for variable, table in entries.tables.items():
        derivative = entries.of_table(variable, by_entry)
        share = np.where(table > 0.0, table, 1.0)[:, :, None]
        rows = (precision.counts[variable] + DIRICHLET)[:, None, None]
        total += (derivative**2 / (share * rows)).sum(axis=(0, 1))
    return total


def information_left(complete: Floats, hidden: Floats) -> Floats:
    """The information of complete rows, less what they hide (Louis 1982).

    What they hide is known from draws: of no combination of entries a share is left that is
    smaller than `LEAST_LEFT`.
    """
    left = complete - hidden
    try:
        cholesky(left - LEAST_LEFT * complete)
        return left
    except LinAlgError:
        shares, along = eigh(left, complete)
        towards = complete @ along
        clipped: Floats = (towards * np.maximum(shares, LEAST_LEFT)) @ towards.T
        return clipped


def _root(precision: TablePrecision) -> tuple[Floats, Floats]:
    """A scale of each entry, and the Cholesky root of the information matrix so scaled."""
    assert precision.information is not None
    diagonal = np.diag(precision.information)
    scale = 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
    try:
        return scale, cholesky(precision.information * np.outer(scale, scale), lower=True)
    except LinAlgError:
        raise InputError("precision: the information is not positive definite") from None


def free_entries(model: Model) -> FreeEntries:
    """The free entries of a network's tables."""
    precision = model.precision
    assert precision is not None

    def find() -> FreeEntries:
        families = families_of(model.graph)
        if families is None:
            raise InputError("precision: this model is no Bayesian network, so it has none")
        tables = [model.graph.table_values(family.factor) for family in families]
        _require_fitting(families, tables, precision)
        entries = FreeEntries(families, tables, precision.same_as)
        size = None if precision.information is None else len(precision.information)
        if size not in (None, entries.count):
            raise InputError(f"precision: the tables have {entries.count} free entries, not {size}")
        return entries

    return KEPT.of(model, "free entries", find)


def _require_fitting(
    families: Sequence[Family], tables: Sequence[Floats], precision: TablePrecision
) -> None:
    """Refuse counts of other tables."""
    for v, first in enumerate(precision.same_as):
        own = by_row_of_table(tables[v], families[v].axis)
        rows = len(own) if first == v else 0
        if len(precision.counts[v]) != rows:
            raise InputError(f"precision: counts of variable {v} should be {rows} numbers")
        if first not in (-1, v) and (
            precision.same_as[first] != first
            or own.shape != by_row_of_table(tables[first], families[first].axis).shape
        ):
            raise InputError(f"precision: variable {v} has not the table of variable {first}")


def entry_errors(model: Model, variable: int) -> Floats:
    """The standard errors of the entries of a table [parents, value]; zeros if it was given."""
    precision, entries = model.precision, free_entries(model)
    assert precision is not None
    first = precision.same_as[variable]
    if first < 0:
        family = entries.families[variable]
        shape = model.graph.table_values(family.factor).shape
        size = shape[family.axis]
        return np.zeros((math.prod(shape) // size, size))
    table = entries.tables[first]
    errors = np.empty_like(table)
    place = entries.first[first]
    for row, (shares, free) in enumerate(zip(table, entries.free[first], strict=True)):
        end = place + int(free.sum())
        by_entry = np.zeros((entries.count, len(shares)))
        by_entry[place:end] = (np.diag(shares) - np.outer(shares, shares))[free]
        errors[row] = np.sqrt(variances(model, by_entry))
        place = end
    return errors
