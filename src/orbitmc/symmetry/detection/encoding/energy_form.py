"""One way to write a log-weight: terms that depend on how it was written before are gone.

The same distribution can be split into factors in many ways. Its ANOVA terms are unique, and a
permutation of variables and values preserves a positive distribution exactly when it preserves
them. Long tables, clauses and impossible entries are kept as they are: sound, maybe incomplete.
"""

import itertools
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orbitmc.graph.anova import anova_term, completed
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.machine.arrays import Floats, lengths
from orbitmc.machine.equal_numbers import GAP, distinct_rows, float_classes, row_classes

Rows = NDArray[np.int64]

MOST_ARGUMENTS = 6
"""Tables over more variables are not split: a table has two to this power of ANOVA terms."""

MOST_CLAUSE_ARGUMENTS = 2
"""Clauses up to this length become tables; longer ones stay linear in size."""


@dataclass(frozen=True)
class Terms:
    """Terms of one shape: a row of variables each, and the table it reads.

    Variables with fewer values come first, then those with lower numbers. Equal numbers in
    `tables` (a row per table, last variable fastest) stand for equal log-potentials. Hard terms
    say which entries are impossible.
    """

    shape: tuple[int, ...]
    hard: bool
    scopes: Rows
    table_of: Rows
    tables: Rows


@dataclass(frozen=True)
class Clauses:
    """Clauses of one length, each with the class of what it earns; no two are the same."""

    scopes: Rows
    satisfying: Rows
    weight: Rows


@dataclass(frozen=True)
class EnergyForm:
    """A log-weight up to a constant, with classes of equal numbers in place of numbers."""

    cardinality: NDArray[np.int64]
    terms: tuple[Terms, ...]
    clauses: tuple[Clauses, ...]


def energy_form(graph: FactorGraph) -> EnergyForm:
    """Write the log-weight of a graph in its canonical form, as far as that is affordable."""
    pool = _Pool(graph.cardinality.astype(np.int64))
    for scopes, tables, table_of in _tables_by_shape(graph):
        pool.add(scopes, tables, table_of)
    return EnergyForm(pool.cardinality, tuple(pool.terms()), tuple(_long_clauses(graph)))


class _Pool:
    """Terms by shape while they are being collected."""

    def __init__(self, cardinality: NDArray[np.int64]) -> None:
        self.cardinality = cardinality
        self._parts: dict[tuple[tuple[int, ...], bool], list[tuple[Rows, Floats, Rows]]]
        self._parts = defaultdict(list)

    def add(self, scopes: Rows, tables: Floats, table_of: Rows) -> None:
        """Split tables of one shape into terms; impossible entries become hard terms."""
        impossible = np.isneginf(tables)
        if impossible.any():
            self._put(scopes, impossible.astype(np.float64), table_of, 0.0, hard=True)
        finite = completed(tables, impossible)
        noise = GAP * (1.0 + _largest(finite))
        if scopes.shape[1] > MOST_ARGUMENTS:
            self._put(scopes, finite, table_of, noise)
            return
        for axes in _subsets(scopes.shape[1]):
            self._put(scopes[:, axes], anova_term(finite, axes), table_of, noise)

    def _put(
        self,
        scopes: Rows,
        tables: Floats,
        table_of: Rows,
        noise: Floats | float,
        hard: bool = False,
    ) -> None:
        """Keep what is above the noise of its table, with variables in their usual order."""
        kept = (_largest(tables) > noise)[table_of]
        rank = self.cardinality[scopes[kept]] * len(self.cardinality) + scopes[kept]
        orders, which = distinct_rows(np.argsort(rank, axis=1))
        for number, order in enumerate(orders):
            chosen = which == number
            rows = scopes[kept][chosen][:, order]
            turned = tables.transpose(0, *(order + 1))
            shape = (turned.shape[1:], hard)
            self._parts[shape].append((rows, turned, table_of[kept][chosen]))

    def terms(self) -> Iterator[Terms]:
        """Add up terms over the same variables, and put numbers of equal entries into classes."""
        added = {key: _added_up(parts, hard=key[1]) for key, parts in sorted(self._parts.items())}
        sizes = [tables.size for _, tables, _ in added.values()]
        numbers = [tables.reshape(-1) for _, tables, _ in added.values()]
        classes = float_classes(np.concatenate([[0.0], *numbers]))
        pieces = np.split(classes[1:] - classes[0], np.cumsum(sizes)[:-1]) if sizes else []
        for ((shape, hard), (scopes, _, table_of)), piece in zip(
            added.items(), pieces, strict=True
        ):
            tables, which = distinct_rows(piece.reshape(-1, int(np.prod(shape))))
            table_of = which[table_of]
            active = (tables != 0).any(axis=1)[table_of]
            if active.any():
                yield Terms(shape, hard, scopes[active], table_of[active], tables)


def _largest(tables: Floats) -> Floats:
    """The largest size of an entry, for each table."""
    found: Floats = np.abs(tables).reshape(len(tables), -1).max(axis=1, initial=0.0)
    return found


def _subsets(arity: int) -> Iterator[tuple[int, ...]]:
    for size in range(1, arity + 1):
        yield from itertools.combinations(range(arity), size)


def _added_up(parts: list[tuple[Rows, Floats, Rows]], *, hard: bool) -> tuple[Rows, Floats, Rows]:
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
    return scopes, np.concatenate([pool, np.minimum(sums, 1.0) if hard else sums]), table_of


def _tables_by_shape(graph: FactorGraph) -> Iterator[tuple[Rows, Floats, Rows]]:
    """Table factors and short clauses: scopes, distinct tables of one shape, which each reads."""
    arities = lengths(graph.scope_start)
    is_clause = np.arange(graph.factors) >= graph.first_clause
    wanted = (arities > 0) & (~is_clause | (arities <= MOST_CLAUSE_ARGUMENTS))
    for arity in np.unique(arities[wanted]):
        factors = np.flatnonzero(wanted & (arities == arity))
        places = graph.scope_start[factors].astype(np.int64)[:, None] + np.arange(arity)
        scopes = graph.scope[places].astype(np.int64)
        signs = np.where(is_clause[factors][:, None], graph.satisfying[places].astype(np.int64), -1)
        sizes = graph.cardinality[scopes].astype(np.int64)
        read = graph.table_of[factors].astype(np.int64)
        kinds, kind_of = distinct_rows(np.column_stack([sizes, signs, read]))
        for shape in np.unique(kinds[:, :arity], axis=0):
            for clauses in (False, True):
                same = (kinds[:, :arity] == shape).all(axis=1)
                same &= (kinds[:, arity] >= 0) == clauses
                if not same.any():
                    continue
                chosen = same[kind_of]
                tables = _expanded(graph, kinds[same], clauses=clauses)
                renumbered = np.cumsum(same)[kind_of[chosen]] - 1
                yield scopes[chosen], tables, renumbered


def _expanded(graph: FactorGraph, kinds: Rows, *, clauses: bool) -> Floats:
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


def _long_clauses(graph: FactorGraph) -> Iterator[Clauses]:
    arities = lengths(graph.scope_start)
    arities[: graph.first_clause] = 0
    for length in np.unique(arities[arities > MOST_CLAUSE_ARGUMENTS]):
        factors = np.flatnonzero(arities == length)
        places = graph.scope_start[factors].astype(np.int64)[:, None] + np.arange(length)
        scopes = graph.scope[places].astype(np.int64)
        order = np.argsort(scopes, axis=1)
        scopes = np.take_along_axis(scopes, order, axis=1)
        wanted = np.take_along_axis(graph.satisfying[places].astype(np.int64), order, axis=1)
        rows, which = distinct_rows(np.hstack([scopes, wanted]))
        weight = _clause_weights(graph, factors, which, len(rows))
        active = weight != 0
        yield Clauses(rows[active, :length], rows[active, length:], weight[active])


def _clause_weights(
    graph: FactorGraph, factors: NDArray[np.int64], which: Rows, distinct: int
) -> Rows:
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
