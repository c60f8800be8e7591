"""A model as a sum of interactions, in one way that does not depend on how it was written.

Tables over few variables are split into their ANOVA terms: what a value earns by itself, what a
pair earns beyond that, and so on. Factors that are equal up to constants then have equal terms.
Impossible entries, longer clauses and larger tables are kept whole.
"""

import itertools
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from orbitmc.graph.anova import anova_term, completed
from orbitmc.graph.builder import Builder
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.model import Model
from orbitmc.graph.rewrite import copy_factors
from orbitmc.machine.arrays import Floats, lengths
from orbitmc.machine.equal_numbers import GAP, row_classes, snapped

Rows = NDArray[np.int64]

MOST_SPLIT = 4
"""Tables over more variables are not split: they would become too many terms."""

LONGEST_PAIR = 2
"""Clauses up to this length become tables; longer ones stay clauses."""


@dataclass(frozen=True)
class Terms:
    """Interactions of one shape, each over its own variables: a row of `scopes` and of `tables`.

    Impossible ones say by zero and minus infinity what may be; the others are centred.
    """

    shape: tuple[int, ...]
    scopes: Rows
    tables: Floats
    impossible: bool = False

    @property
    def is_field(self) -> bool:
        """Whether these are what values earn by themselves."""
        return len(self.shape) == 1 and not self.impossible

    @property
    def is_coupling(self) -> bool:
        """Whether these are what pairs earn beyond that."""
        return len(self.shape) == 2 and not self.impossible

    def with_tables(self, tables: Floats) -> "Terms":
        return replace(self, tables=tables)


@dataclass(frozen=True)
class Clauses:
    """Soft clauses of one length and what each earns when satisfied."""

    scopes: Rows
    satisfying: Rows
    weights: Floats


@dataclass(frozen=True)
class Energy:
    """All that a log-weight depends on: terms, long clauses, and hard clauses by their number."""

    terms: tuple[Terms, ...]
    clauses: tuple[Clauses, ...]
    hard_clauses: Rows


def energy_of(graph: FactorGraph) -> Energy:
    """Split a graph into terms; those that come to nothing are left out."""
    pools: dict[tuple[tuple[int, ...], bool], list[tuple[Rows, Floats]]] = defaultdict(list)
    for scopes, tables, read in _tables_by_shape(graph):
        for part, axes, impossible in _parts(tables):
            pools[part.shape[1:], impossible].append((scopes[:, axes], part[read]))
    summed = _by_sorted_shape(graph, pools)
    soft, hard = _long_clauses(graph)
    return Energy(tuple(term for term in summed if len(term.scopes)), tuple(soft), hard)


def _parts(tables: Floats) -> Iterator[tuple[Floats, list[int], bool]]:
    """Terms of tables of one shape, with the axes each reads."""
    arity = tables.ndim - 1
    everything = list(range(arity))
    impossible = np.isneginf(tables)
    if impossible.any():
        yield np.where(impossible, -np.inf, 0.0), everything, True
    finite = completed(tables, impossible)
    if arity > MOST_SPLIT:
        yield (
            finite - finite.mean(axis=tuple(range(1, arity + 1)), keepdims=True),
            everything,
            False,
        )
        return
    for size in range(1, arity + 1):
        for axes in itertools.combinations(range(arity), size):
            yield anova_term(finite, axes), list(axes), False


def _tables_by_shape(graph: FactorGraph) -> Iterator[tuple[Rows, Floats, Rows]]:
    """Scopes, the distinct tables of one shape, and which table each scope reads."""
    arities = lengths(graph.scope_start)
    for arity in np.unique(arities[: graph.first_clause]):
        factors = np.flatnonzero(arities[: graph.first_clause] == arity)
        scopes = _scopes(graph, factors, int(arity))
        for shape, chosen in _by_row(graph.cardinality[scopes].astype(np.int64)):
            used, read = np.unique(graph.table_of[factors[chosen]], return_inverse=True)
            first = graph.table_start[used].astype(np.int64)
            entries = graph.table[first[:, None] + np.arange(np.prod(shape, dtype=np.int64))]
            yield scopes[chosen], entries.reshape(-1, *shape), read.reshape(-1)
    for arity in range(1, LONGEST_PAIR + 1):
        yield from _short_clauses(graph, arity)


def _short_clauses(graph: FactorGraph, arity: int) -> Iterator[tuple[Rows, Floats, Rows]]:
    factors = np.flatnonzero(lengths(graph.scope_start) == arity)
    factors = factors[factors >= graph.first_clause]
    scopes = _scopes(graph, factors, arity)
    places = graph.scope_start[factors].astype(np.int64)[:, None] + np.arange(arity)
    wanted = graph.satisfying[places].astype(np.int64)
    kinds = np.hstack([graph.cardinality[scopes].astype(np.int64), wanted])
    for kind, chosen in _by_row(kinds):
        satisfied = np.zeros(kind[:arity], dtype=np.bool_)
        for axis, value in enumerate(kind[arity:]):
            satisfied[(slice(None),) * axis + (value,)] = True
        used, read = np.unique(graph.table_of[factors[chosen]], return_inverse=True)
        first = graph.table_start[used].astype(np.int64)
        tables = graph.table[first.reshape(-1, *[1] * arity) + satisfied]
        yield scopes[chosen], tables, read.reshape(-1)


def _scopes(graph: FactorGraph, factors: Rows, arity: int) -> Rows:
    places = graph.scope_start[factors].astype(np.int64)[:, None] + np.arange(arity)
    scopes: Rows = graph.scope[places].astype(np.int64)
    return scopes


def _by_row(rows: Rows) -> Iterator[tuple[tuple[int, ...], NDArray[np.bool_]]]:
    """Each distinct row, and where it stands."""
    first, which = row_classes(rows)
    for number, row in enumerate(rows[first].tolist()):
        yield tuple(row), which == number


def _by_sorted_shape(
    graph: FactorGraph, pools: dict[tuple[tuple[int, ...], bool], list[tuple[Rows, Floats]]]
) -> list[Terms]:
    """Bring scopes to one order (fewest values first, then by number) and add up equal ones."""
    ordered: dict[tuple[tuple[int, ...], bool], list[tuple[Rows, Floats]]] = defaultdict(list)
    sizes = graph.cardinality.astype(np.int64)
    for (_, impossible), parts in sorted(pools.items()):
        for scopes, tables in parts:
            rank = sizes[scopes] * graph.variables + scopes
            for order, chosen in _by_row(np.argsort(rank, axis=1)):
                turned = tables[chosen].transpose(0, *(axis + 1 for axis in order))
                key = (turned.shape[1:], impossible)
                ordered[key].append((scopes[chosen][:, order], turned))
    return [_summed(*key, parts) for key, parts in sorted(ordered.items())]


def _summed(shape: tuple[int, ...], impossible: bool, parts: list[tuple[Rows, Floats]]) -> Terms:
    rows = np.concatenate([scopes for scopes, _ in parts])
    tables = np.concatenate([tables.reshape(len(tables), -1) for _, tables in parts])
    first, which = row_classes(rows)
    total: Floats = np.stack(
        [np.bincount(which, weights=entry, minlength=len(first)) for entry in tables.T], axis=1
    )
    total = snapped(total)
    active = np.abs(total).max(axis=1) > GAP * (
        1 + np.abs(total[np.isfinite(total)]).max(initial=0)
    )
    scopes, total = rows[first][active], total[active].reshape(-1, *shape)
    return _oriented(Terms(shape, scopes, total, impossible))


def _oriented(terms: Terms) -> Terms:
    """Turn each table, and its scope, so that tables equal but for the order of axes agree."""
    arity = len(terms.shape)
    if arity > MOST_SPLIT or not len(terms.scopes):
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
    return replace(terms, scopes=scopes, tables=tables)


def _long_clauses(graph: FactorGraph) -> tuple[list[Clauses], Rows]:
    arities = lengths(graph.scope_start)
    arities[: graph.first_clause] = 0
    factors = np.flatnonzero(arities > LONGEST_PAIR)
    first = graph.table_start[graph.table_of[factors]].astype(np.int64)
    with np.errstate(invalid="ignore"):
        weights = graph.table[first + 1] - graph.table[first]
    soft = np.isfinite(weights)
    found = []
    for length in np.unique(arities[factors[soft]]):
        chosen = soft & (arities[factors] == length)
        places = graph.scope_start[factors[chosen]].astype(np.int64)[:, None] + np.arange(length)
        scopes, wanted = graph.scope[places], graph.satisfying[places]
        found.append(Clauses(scopes.astype(np.int64), wanted.astype(np.int64), weights[chosen]))
    return found, factors[~soft]


def rebuilt(model: Model, energy: Energy) -> Model:
    """The model of these terms over the variables of another; equal tables are shared."""
    builder = Builder(model.graph.cardinality)
    builder.constant = model.graph.constant
    for terms in energy.terms:
        if len(terms.scopes):
            rows = snapped(terms.tables.reshape(len(terms.tables), -1))
            first, which = row_classes(rows)
            active = (rows[first] != 0).any(axis=1)[which]
            numbers = builder.add_tables(rows[first])[which]
            if active.any():
                builder.add_factors(terms.scopes[active], numbers[active])
    for clauses in energy.clauses:
        weights, which = np.unique(clauses.weights, return_inverse=True)
        numbers = builder.add_tables(np.stack([np.zeros(len(weights)), weights], axis=1))
        builder.add_clauses(clauses.scopes, clauses.satisfying, numbers[which])
    copy_factors(model.graph, energy.hard_clauses, builder, np.arange(model.graph.variables))
    return replace(model, graph=builder.build())
