"""A log-weight as a sum of terms, in one way that does not depend on how it was written.

Tables over few variables are split into their ANOVA terms: what a value earns by itself, what a
pair earns beyond that, and so on. Those are unique, so factors that are equal up to constants have
equal terms. Impossible entries, longer clauses and larger tables are kept whole.
"""

import itertools
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orbitmc._numba.compile_log import timed
from orbitmc._util.arrays import (
    CLASS_GAP,
    Floats,
    distinct,
    distinct_rows,
    float_classes,
    row_classes,
    snap,
)
from orbitmc.graph.factor_graph import FactorGraph

Rows = NDArray[np.int64]
Shape = tuple[int, ...]

LONGEST_PAIR = 2
"""Clauses up to this length become tables; longer ones stay clauses, linear in size."""


@dataclass(frozen=True)
class Terms:
    """Terms of one shape: a row of variables each, and the table it reads.

    Impossible ones say by zero and minus infinity what may be; the others are centred.
    """

    shape: Shape
    impossible: bool
    scopes: Rows
    table_of: Rows
    tables: NDArray[Any]

    @property
    def is_field(self) -> bool:
        """Whether these are what values earn by themselves."""
        return len(self.shape) == 1 and not self.impossible

    @property
    def is_coupling(self) -> bool:
        """Whether these are what pairs earn beyond that."""
        return len(self.shape) == 2 and not self.impossible

    def with_tables(self, tables: Floats) -> "Terms":
        """The same terms with a table each."""
        return replace(self, table_of=np.arange(len(tables)), tables=tables)


@dataclass(frozen=True)
class Clauses:
    """Clauses of one length: a row of variables and of satisfying values each, and a weight.

    The weight is what a clause earns, or the class of that.
    """

    scopes: Rows
    satisfying: Rows
    weights: NDArray[Any]


def terms_of(graph: FactorGraph, *, most_split: int) -> Iterator[Terms]:
    """Split a graph into terms, no two over the same variables; equal tables may be shared.

    Variables with fewer values come first, then those with lower numbers. Tables over more than
    `most_split` variables are kept whole.
    """
    pool = _Pool(graph.cardinality.astype(np.int64))
    for scopes, tables, table_of in _tables_by_shape(graph):
        impossible = np.isneginf(tables)
        if impossible.any():
            pool.put(scopes, np.where(impossible, -np.inf, 0.0), table_of, 0.0, impossible=True)
        finite = fill_impossible(tables, impossible)
        noise = CLASS_GAP * (1.0 + _largest(finite))
        if scopes.shape[1] > most_split:
            means = finite.mean(axis=tuple(range(1, finite.ndim)), keepdims=True)
            pool.put(scopes, finite - means, table_of, noise)
            continue
        for size in range(1, scopes.shape[1] + 1):
            for axes in timed(itertools.combinations(range(scopes.shape[1]), size)):
                pool.put(scopes[:, axes], anova_term(finite, axes), table_of, noise)
    return pool.terms()


class _Pool:
    """Terms by shape while they are being collected."""

    def __init__(self, cardinality: Rows) -> None:
        self.cardinality = cardinality
        self._parts: dict[tuple[Shape, bool], list[tuple[Rows, Floats, Rows]]]
        self._parts = defaultdict(list)

    def put(
        self,
        scopes: Rows,
        tables: Floats,
        table_of: Rows,
        noise: Floats | float,
        impossible: bool = False,
    ) -> None:
        """Keep what is above the noise of its table, with variables in their usual order."""
        chosen_rows = (_largest(tables) > noise)[table_of]
        rank = self.cardinality[scopes[chosen_rows]] * len(self.cardinality) + scopes[chosen_rows]
        orders, which = distinct_rows(np.argsort(rank, axis=1))
        for number, order in enumerate(orders):
            chosen = which == number
            rows = scopes[chosen_rows][chosen][:, order]
            turned = tables.transpose(0, *(order + 1))
            key = (turned.shape[1:], impossible)
            self._parts[key].append((rows, turned, table_of[chosen_rows][chosen]))

    def terms(self) -> Iterator[Terms]:
        for (shape, impossible), parts in timed(sorted(self._parts.items())):
            scopes, tables, table_of = _add_equal_scopes(parts)
            yield Terms(shape, impossible, scopes, table_of, tables.reshape(-1, *shape))


def _largest(tables: Floats) -> Floats:
    """The largest size of an entry, for each table."""
    largest: Floats = np.abs(tables).reshape(len(tables), -1).max(axis=1, initial=0.0)
    return largest


def _add_equal_scopes(parts: list[tuple[Rows, Floats, Rows]]) -> tuple[Rows, Floats, Rows]:
    """Sum the tables of equal scopes; scopes that occur once keep sharing theirs."""
    firsts = np.cumsum([0] + [len(tables) for _, tables, _ in parts])
    pool = np.concatenate([tables.reshape(len(tables), -1) for _, tables, _ in parts])
    rows = np.concatenate([scopes for scopes, _, _ in parts])
    number = np.concatenate([n + first for (_, _, n), first in zip(parts, firsts, strict=False)])
    scopes, which = distinct_rows(rows)
    counts = np.bincount(which, minlength=len(scopes))
    table_of = np.zeros(len(scopes), dtype=np.int64)
    table_of[which] = number
    repeated = np.flatnonzero(counts > 1)
    if not len(repeated):
        return scopes, pool, table_of
    table_of[repeated] = len(pool) + np.arange(len(repeated))
    among = np.flatnonzero(counts[which] > 1)
    among = among[np.argsort(which[among], kind="stable")]
    ends = np.concatenate([[0], np.cumsum(counts[repeated])[:-1]])
    sums = np.add.reduceat(pool[number[among]], ends, axis=0)
    return scopes, np.concatenate([pool, sums]), table_of


def _tables_by_shape(graph: FactorGraph) -> Iterator[tuple[Rows, Floats, Rows]]:
    """Table factors and short clauses: scopes, distinct tables of one shape, which each reads."""
    arities = graph.arities
    is_clause = np.arange(graph.factors) >= graph.first_clause
    wanted = (arities > 0) & (~is_clause | (arities <= LONGEST_PAIR))
    for arity in distinct(arities[wanted]).tolist():
        factors = np.flatnonzero(wanted & (arities == arity))
        scopes, satisfying = _arguments(graph, factors, arity)
        signs = np.where(is_clause[factors][:, None], satisfying, -1)
        sizes = graph.cardinality[scopes].astype(np.int64)
        read = graph.table_of[factors].astype(np.int64)
        kinds, kind_of = distinct_rows(np.column_stack([sizes, signs, read]))
        by_kind = np.argsort(kind_of, kind="stable")
        ends = np.cumsum(np.bincount(kind_of, minlength=len(kinds)))
        for first, last in _runs(np.column_stack([kinds[:, :arity], kinds[:, arity] >= 0])):
            chosen = np.sort(by_kind[ends[first - 1] if first else 0 : ends[last - 1]])
            clauses = bool(kinds[first, arity] >= 0)
            tables = _expand_tables(graph, kinds[first:last], clauses=clauses)
            yield scopes[chosen], tables, kind_of[chosen] - first


def _runs(rows: Rows) -> Iterator[tuple[int, int]]:
    """Where equal rows, which stand together, begin and end."""
    new = np.flatnonzero((rows[1:] != rows[:-1]).any(axis=1)) + 1
    yield from itertools.pairwise([0, *new.tolist(), len(rows)])


def _expand_tables(graph: FactorGraph, kinds: Rows, *, clauses: bool) -> Floats:
    """Full tables of one shape; each row has the shape, the satisfying values and the number."""
    arity = kinds.shape[1] // 2
    shape = kinds[0, :arity]
    first = graph.table_start[kinds[:, -1]].astype(np.int64)
    if not clauses:
        entries: Floats = graph.table[first[:, None] + np.arange(np.prod(shape))]
        return entries.reshape(-1, *shape)
    satisfied = np.zeros((len(kinds), *shape), dtype=bool)
    for axis, wanted in enumerate(kinds[:, arity:-1].T):
        literal = wanted[:, None] == np.arange(shape[axis])
        satisfied |= literal.reshape(
            -1, *(size if k == axis else 1 for k, size in enumerate(shape))
        )
    full: Floats = graph.table[first.reshape(-1, *[1] * arity) + satisfied]
    return full


def long_clauses(graph: FactorGraph) -> Iterator[tuple[Rows, Rows, Rows]]:
    """Clauses that are no terms, by length: their numbers, variables and satisfying values."""
    arities = graph.arities
    arities[: graph.first_clause] = 0
    for length in distinct(arities[arities > LONGEST_PAIR]).tolist():
        factors = np.flatnonzero(arities == length)
        yield factors, *_arguments(graph, factors, length)


def _arguments(graph: FactorGraph, factors: Rows, arity: int) -> tuple[Rows, Rows]:
    """Variables and satisfying values of factors over equally many variables."""
    places = graph.edges_of(factors, arity)
    return graph.scope[places].astype(np.int64), graph.satisfying[places].astype(np.int64)


def anova_term(tables: Floats, axes: tuple[int, ...]) -> Floats:
    """The part of each table that needs all variables of `axes`, and no others, to be known."""
    others = tuple(axis + 1 for axis in range(tables.ndim - 1) if axis not in axes)
    term = tables.mean(axis=others) if others else tables
    for axis in range(1, term.ndim):
        term = term - term.mean(axis=axis, keepdims=True)
    return term


def fill_impossible(tables: Floats, impossible: NDArray[np.bool_]) -> Floats:
    """Put the mean of the possible entries where entries are impossible."""
    if not impossible.any():
        return tables
    axes = tuple(range(1, tables.ndim))
    possible = np.maximum((~impossible).sum(axis=axes, keepdims=True), 1)
    means = np.where(impossible, 0.0, tables).sum(axis=axes, keepdims=True) / possible
    return np.where(impossible, means, tables)


# The canonical form of a log-weight: its terms, with classes of equal numbers for numbers.
#
# A permutation of variables and values preserves a positive distribution exactly when it preserves
# its ANOVA terms. Long tables, clauses and impossible entries are kept as they are: sound, maybe
# incomplete.

MOST_SPLIT_CANONICAL = 6
"""Tables over more variables are not split: a table has two to this power of ANOVA terms."""


@dataclass(frozen=True)
class EnergyForm:
    """A log-weight up to a constant; equal numbers in tables stand for equal log-potentials.

    The tables of terms are rows, the last variable fastest. No two clauses are the same.
    """

    cardinality: Rows
    terms: tuple[Terms, ...]
    clauses: tuple[Clauses, ...]


def energy_form(graph: FactorGraph) -> EnergyForm:
    """Write the log-weight of a graph in its canonical form, as far as that is affordable."""
    terms = _in_classes(list(terms_of(graph, most_split=MOST_SPLIT_CANONICAL)))
    return EnergyForm(graph.cardinality.astype(np.int64), tuple(terms), tuple(_clauses(graph)))


def _in_classes(groups: list[Terms]) -> Iterator[Terms]:
    """Put nearly equal entries of all tables into classes, 0 for nothing; leave nothings out."""
    numbers = [terms.tables.reshape(-1) for terms in groups]
    classes = float_classes(np.concatenate([[0.0], *numbers]))
    ends = np.cumsum([1, *map(len, numbers)])
    for terms, begin, end in timed(zip(groups, ends, ends[1:], strict=False)):
        rows = (classes[begin:end] - classes[0]).reshape(len(terms.tables), -1)
        tables, which = distinct_rows(rows)
        table_of = which[terms.table_of]
        active = (tables != 0).any(axis=1)[table_of]
        if active.any():
            scopes = terms.scopes[active]
            yield replace(terms, scopes=scopes, table_of=table_of[active], tables=tables)


def _clauses(graph: FactorGraph) -> Iterator[Clauses]:
    for factors, variables, satisfying in long_clauses(graph):
        length = variables.shape[1]
        order = np.argsort(variables, axis=1)
        scopes = np.take_along_axis(variables, order, axis=1)
        wanted = np.take_along_axis(satisfying, order, axis=1)
        rows, which = distinct_rows(np.hstack([scopes, wanted]))
        weight = _clause_weights(graph, factors, which, len(rows))
        active = weight != 0
        yield Clauses(rows[active, :length], rows[active, length:], weight[active])


def _clause_weights(graph: FactorGraph, factors: Rows, which: Rows, distinct: int) -> Rows:
    """Classes of what equal clauses earn together, or of which side is impossible; 0: nothing."""
    first = graph.table_start[graph.table_of[factors]].astype(np.int64)
    unsatisfied, satisfied = graph.table[first], graph.table[first + 1]
    with np.errstate(invalid="ignore"):
        gain = np.where(np.isfinite(satisfied - unsatisfied), satisfied - unsatisfied, 0.0)
    total = np.bincount(which, weights=gain, minlength=distinct)
    hard = np.zeros((distinct, 2), dtype=np.int64)
    np.maximum.at(hard[:, 0], which, np.isneginf(unsatisfied))
    np.maximum.at(hard[:, 1], which, np.isneginf(satisfied))
    # What a clause earns beside a hard one that it repeats is decided already.
    total[hard.any(axis=1)] = 0.0
    classes = float_classes(np.append(total, 0.0))
    kinds = np.column_stack([classes - classes[-1], np.append(hard, [[0, 0]], axis=0)])
    _, numbers = row_classes(kinds)
    weights: Rows = numbers[:-1] - numbers[-1]
    return weights


# The terms that approximations change, each with a table of its own.

MOST_SPLIT_APPROXIMATE = 4
"""Tables over more variables are not split: they would become too many terms."""


@dataclass(frozen=True)
class Energy:
    """All that a log-weight depends on: terms, long clauses, and hard clauses by their number.

    Each term has a table of its own.
    """

    terms: tuple[Terms, ...]
    clauses: tuple[Clauses, ...]
    hard_clauses: Rows


def energy_of(graph: FactorGraph) -> Energy:
    """Split a graph into terms; those that come to nothing are left out."""
    terms = map(_with_own_tables, terms_of(graph, most_split=MOST_SPLIT_APPROXIMATE))
    soft, hard = _long_clauses(graph)
    return Energy(tuple(term for term in terms if len(term.scopes)), tuple(soft), hard)


def _with_own_tables(terms: Terms) -> Terms:
    """Give every term that is something a table, turned so that equal ones agree."""
    tables = snap(terms.tables)
    sizes = np.abs(tables).reshape(len(tables), -1).max(axis=1, initial=0.0)
    noise = CLASS_GAP * (1 + np.abs(tables[np.isfinite(tables)]).max(initial=0.0))
    active = (sizes > noise)[terms.table_of]
    chosen = replace(terms, scopes=terms.scopes[active])
    return _orient(chosen.with_tables(tables[terms.table_of[active]]))


def _orient(terms: Terms) -> Terms:
    """Turn each table, and its scope, so that tables equal but for the order of axes agree."""
    arity = len(terms.shape)
    if arity > MOST_SPLIT_APPROXIMATE or not len(terms.scopes):
        return terms
    turns = [
        turn
        for turn in itertools.permutations(range(arity))
        if tuple(terms.shape[axis] for axis in turn) == terms.shape
    ]
    if len(turns) == 1:
        return terms
    # Any fixed weights without symmetry of their own will do; noise rarely changes the winner.
    weights = np.cos(np.arange(1.0, 1.0 + np.prod(terms.shape)) ** 2).reshape(terms.shape)
    finite = np.where(np.isneginf(terms.tables), -1.0, terms.tables)
    turned = [finite.transpose(0, *(axis + 1 for axis in turn)) for turn in turns]
    scores = np.stack([(table * weights).reshape(len(table), -1).sum(axis=1) for table in turned])
    # of equal scores the first turn, so that symmetric tables stay as they are
    best = (scores > scores.max(axis=0) - 1e-9 * (1 + np.abs(scores).max(axis=0))).argmax(axis=0)
    scopes, tables = terms.scopes.copy(), terms.tables.copy()
    for number, turn in enumerate(turns):
        chosen = best == number
        scopes[chosen] = terms.scopes[chosen][:, turn]
        tables[chosen] = terms.tables[chosen].transpose(0, *(axis + 1 for axis in turn))
    return replace(terms.with_tables(tables), scopes=scopes)


def _long_clauses(graph: FactorGraph) -> tuple[list[Clauses], Rows]:
    clauses, hard = [], [np.zeros(0, dtype=np.int64)]
    for factors, scopes, satisfying in long_clauses(graph):
        first = graph.table_start[graph.table_of[factors]].astype(np.int64)
        with np.errstate(invalid="ignore"):
            weights = graph.table[first + 1] - graph.table[first]
        soft = np.isfinite(weights)
        hard.append(factors[~soft])
        if soft.any():
            clauses.append(Clauses(scopes[soft], satisfying[soft], weights[soft]))
    return clauses, np.sort(np.concatenate(hard))
