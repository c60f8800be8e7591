"""From columns of atoms to features: clauses row by row, other formulas by their patterns.

The rows of a chunk are groundings, its columns the atoms of the formula. Every atom is false,
true, or "variable v has value a"; formulas whose atoms look alike share one truth table.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import and_, or_
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc._util.arrays import row_classes
from orbitmc.errors import LimitError
from orbitmc.mln.data.database import FALSE, TRUE, UNKNOWN, Ints
from orbitmc.mln.grounding.atoms import Pair
from orbitmc.mln.language.syntax import (
    And,
    Atom,
    Comparison,
    Count,
    Exist,
    Forall,
    Formula,
    Iff,
    Implies,
    Not,
    Or,
    Truth,
)

# Ground formulas as features of variables: true or false in each state, with a weight each.


@dataclass(frozen=True)
class TableFeatures:
    """Features with one truth table: true where `truth[values of the scope]` is.

    `scope` has a row of variables for each feature, `weight` the number of its weight.
    """

    scope: Ints
    truth: NDArray[np.bool_]
    weight: Ints


@dataclass(frozen=True)
class ClauseFeatures:
    """Features that are clauses, or negated ones: see `holds`.

    A clause is satisfied when any variable of its row in `scope` has its `satisfying` value; the
    feature is true when that is `holds`.
    """

    scope: Ints
    satisfying: Ints
    holds: bool
    weight: Ints


Features = TableFeatures | ClauseFeatures


def truth_in(part: Features, values: Ints) -> NDArray[np.bool_]:
    """The features that are true in a state, or in each of several if `values` has columns."""
    if isinstance(part, ClauseFeatures):
        wanted = part.satisfying.reshape(part.satisfying.shape + (1,) * (values.ndim - 1))
        return np.asarray((values[part.scope] == wanted).any(axis=1) == part.holds)
    return np.asarray(part.truth[tuple(values[column] for column in part.scope.T)])


def take_features(features: Features, rows: slice | NDArray[np.bool_] | Ints) -> Features:
    """Some of the features."""
    scope, weight = features.scope[rows], features.weight[rows]
    if isinstance(features, ClauseFeatures):
        return replace(features, scope=scope, satisfying=features.satisfying[rows], weight=weight)
    return replace(features, scope=scope, weight=weight)


Part = Atom | Comparison
Bools = NDArray[np.bool_]
Clause = tuple[list[tuple[Part, bool]], bool]
TruthOf = Callable[[Sequence[Bools]], Bools]
"""The truth of groundings, from the truth of their columns."""

COUNT_COMPARISONS = {
    "=": np.equal,
    "!=": np.not_equal,
    "<=": np.less_equal,
    ">=": np.greater_equal,
    "<": np.less,
    ">": np.greater,
}
MOST_TRUTH_ENTRIES = 2**16  # of a truth table
FEW_PAIRS = 4  # for each column: they are compared faster than rows are sorted
SHORT_CLAUSE = 2  # clauses up to this length become tables, which add up when they meet


class Columns(NamedTuple):
    """The atoms of some groundings: truth, and for unknown ones a variable and its value.

    `size` says how many values the variable has, 0 where there is none. Several columns may be
    the same atom.
    """

    status: NDArray[np.int8]
    variable: Ints
    value: Ints
    size: Ints
    weight: Ints

    def take(self, rows: Bools) -> "Columns":
        if rows.all():
            return self
        return Columns._make(column[rows] for column in self)

    def of(self, atoms: list[int]) -> "Columns":
        """The same groundings with some of their atoms."""
        parts = (self.status, self.variable, self.value, self.size)
        return Columns._make([*(part[:, atoms] for part in parts), self.weight])


@dataclass(frozen=True)
class Decided:
    """Groundings that evidence decides: their truth and weights."""

    holds: bool
    weight: Ints


def literals(formula: Formula) -> Clause | None:
    """Parts and signs of a clause, if the formula is one (True) or a negated one (False)."""
    signed = _literal(formula)
    if signed is not None:
        return [signed], True
    if isinstance(formula, And | Or):
        pairs = [_literal(part) for part in formula.parts]
        if all(pair is not None for pair in pairs):
            clause = isinstance(formula, Or)
            return [(pair[0], pair[1] == clause) for pair in pairs if pair is not None], clause
    return None


def _literal(formula: Formula) -> tuple[Part, bool] | None:
    match formula:
        case Atom() | Comparison():
            return formula, True
        case Not(Atom() | Comparison() as body):
            return body, False
    return None


def clause_features(
    columns: Columns, signs: Sequence[bool], holds: bool, pairs: Sequence[Pair]
) -> Iterator[Features | Decided]:
    """Features of clauses: one column for each literal; `pairs` of them may meet."""
    columns = _without_repeats(columns, np.asarray(signs), pairs)
    wanted = np.where(signs, TRUE, FALSE)
    satisfied = (columns.status == wanted).any(axis=1)
    yield Decided(holds, columns.weight[satisfied])
    rest = columns.take(~satisfied)
    unknown = rest.status == UNKNOWN
    length = unknown.sum(axis=1)
    yield Decided(not holds, rest.weight[length == 0])
    for count in np.flatnonzero(np.bincount(length)[1:]).tolist():
        some = rest.take(length == count + 1)
        scope, value, size, sign = _unknown_literals(some, count + 1, np.asarray(signs))
        odd = _needs_table(scope, sign, size) | (count < SHORT_CLAUSE)
        yield from table_features(some.take(odd), clause_truth(signs, holds), pairs)
        satisfying = np.where(sign, value, 1 - value)
        if not odd.all():
            yield ClauseFeatures(scope[~odd], satisfying[~odd], holds, some.weight[~odd])


def _unknown_literals(columns: Columns, count: int, signs: Bools) -> tuple[Ints, Ints, Ints, Bools]:
    """Variable, value, size and sign of the literals that are unknown, so many in each row."""
    parts = columns.variable, columns.value, columns.size
    if count == len(signs):
        return *parts, np.broadcast_to(signs, columns.variable.shape)
    unknown = columns.status == UNKNOWN
    variable, value, size, sign = (
        column[unknown].reshape(-1, count)
        for column in (*parts, np.broadcast_to(signs, unknown.shape))
    )
    return variable, value, size, sign


def _without_repeats(columns: Columns, signs: Bools, pairs: Sequence[Pair]) -> Columns:
    """Settle repeated literals of binary variables: the second of two equal ones adds nothing.

    A literal beside its negation makes the clause true.
    """
    if not pairs or not len(columns.weight):
        return columns
    if len(pairs) > FEW_PAIRS * len(signs):
        return _merge_repeated_literals(columns, signs)
    twice = np.zeros(len(columns.weight), dtype=bool)
    for column, other in pairs:
        both = (columns.size[:, column] == 2) & (columns.size[:, other] == 2)
        twice |= both & (columns.variable[:, column] == columns.variable[:, other])
    if not twice.any():
        return columns
    status = columns.status.copy()
    status[twice] = _merge_repeated_literals(columns.take(twice), signs).status
    return columns._replace(status=status)


def _merge_repeated_literals(columns: Columns, signs: Bools) -> Columns:
    """Settle repeated literals in rows that may have some."""
    binary = columns.size == 2
    satisfying = np.where(signs, columns.value, 1 - columns.value)
    alone = -1 - np.arange(len(signs))  # differ from each other and from all variables
    order = np.argsort(np.where(binary, 2 * columns.variable + satisfying, alone), axis=1)
    key = np.where(binary, columns.variable, alone)
    before, after = (np.take_along_axis(key, part, 1) for part in (order[:, :-1], order[:, 1:]))
    rows, places = np.nonzero(before == after)
    if not len(rows):
        return columns
    first, second = order[rows, places], order[rows, places + 1]
    equal = satisfying[rows, first] == satisfying[rows, second]
    status = columns.status.copy()
    status[rows, second] = np.where(signs[second] == equal, FALSE, TRUE)
    return columns._replace(status=status)


def _needs_table(scope: Ints, sign: Bools, size: Ints) -> Bools:
    """Rows that read a variable twice, or want "not this value" of one with several.

    Of binary variables, literals that were repeated are settled already.
    """
    if (size == 2).all():
        return np.zeros(len(scope), dtype=bool)
    ordered = np.sort(scope, axis=1)
    repeated = (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
    return np.asarray(repeated | ((size > 2) & ~sign).any(axis=1))


def clause_truth(signs: Sequence[bool], holds: bool) -> TruthOf:
    """The truth of a clause, or of a negated one, with a column for each literal."""

    def truth(columns: Sequence[Bools]) -> Bools:
        signed = [column == sign for column, sign in zip(columns, signs, strict=True)]
        return np.asarray(np.logical_or.reduce(signed) == holds)

    return truth


def formula_truth(formula: Formula, parts: Sequence[Part]) -> TruthOf:
    """The truth of a formula with a column for each of its parts, none of them twice."""
    return lambda columns: evaluate(formula, dict(zip(parts, columns, strict=True)))


def table_features(
    columns: Columns, truth_of: TruthOf, pairs: Sequence[Pair]
) -> Iterator[Features | Decided]:
    """Features of any formula: rows whose atoms look alike share a truth table."""
    if not len(columns.weight):
        return
    slot = _slots(columns, pairs)
    value = np.where(slot >= 0, columns.value, 0)
    looks = [
        part[:, (part != part[0]).any(axis=0)].astype(np.int64)
        for part in (columns.status, slot, value, columns.size)
    ]
    first, labels = row_classes(np.concatenate(looks, axis=1))
    for label, row in enumerate(first):
        same = columns.take(labels == label)
        places = np.unique(slot[row][slot[row] >= 0])
        truth = _truth_table(columns, int(row), slot[row], places, truth_of)
        scope = same.variable[:, places]
        truth, scope = _without_idle(truth, scope)
        if truth.ndim:
            yield TableFeatures(scope, truth, same.weight)
        else:
            yield Decided(bool(truth), same.weight)


def _slots(columns: Columns, pairs: Sequence[Pair]) -> Ints:
    """For every unknown atom, the first column that reads the same variable; else -1."""
    unknown = columns.status == UNKNOWN
    slot = np.where(unknown, np.arange(columns.status.shape[1]), -1)
    for earlier, column in sorted(pairs, reverse=True):
        same = columns.variable[:, earlier] == columns.variable[:, column]
        slot[same & unknown[:, earlier] & unknown[:, column], column] = earlier
    return slot


def _truth_table(columns: Columns, row: int, slot: Ints, places: Ints, truth_of: TruthOf) -> Bools:
    """The truth of the formula for all values of the variables of one row."""
    shape = tuple(int(columns.size[row, place]) for place in places)
    if math.prod(map(float, shape)) > MOST_TRUTH_ENTRIES:
        raise LimitError(
            f"a grounding of this formula is a table over {len(shape)} unknown atoms, with more "
            f"than {MOST_TRUTH_ENTRIES} entries; a disjunction or conjunction of atoms needs none, "
            "and the weight meaning `alchemy` splits formulas into disjunctions"
        )
    axis = {int(place): number for number, place in enumerate(places)}
    grid = np.indices(shape) if shape else np.zeros((0,))
    truths = [
        grid[axis[int(slot[column])]] == columns.value[row, column]
        if status == UNKNOWN
        else np.full(shape, status == TRUE)
        for column, status in enumerate(columns.status[row])
    ]
    return np.broadcast_to(truth_of(truths), shape)


def evaluate(formula: Formula, truth: Mapping[Part, Bools]) -> Bools:
    """The truth of a formula without quantifiers, from the truth of its parts."""
    match formula:
        case Atom() | Comparison():
            return truth[formula]
        case Truth(holds):
            return np.asarray(holds)
        case Not(body):
            return ~evaluate(body, truth)
        case And(parts):
            truths = (evaluate(part, truth) for part in parts)
            return np.asarray(reduce(and_, truths, np.asarray(True)))
        case Or(parts):
            truths = (evaluate(part, truth) for part in parts)
            return np.asarray(reduce(or_, truths, np.asarray(False)))
        case Implies(left, right):
            return ~evaluate(left, truth) | evaluate(right, truth)
        case Iff(left, right):
            return np.asarray(evaluate(left, truth) == evaluate(right, truth))
        case Count(_, parts, operator, number):
            count = sum((evaluate(part, truth).astype(np.int64) for part in parts), np.int64(0))
            return np.asarray(COUNT_COMPARISONS[operator](count, number))
        case Exist() | Forall():
            raise AssertionError("quantifiers are replaced before")


def _without_idle(truth: Bools, scope: Ints) -> tuple[Bools, Ints]:
    """Drop variables that do not matter."""
    for axis in reversed(range(truth.ndim)):
        if (truth == truth.take([0], axis=axis)).all():
            truth = np.asarray(truth.take(0, axis=axis))
            scope = np.delete(scope, axis, axis=1)
    return truth, scope
