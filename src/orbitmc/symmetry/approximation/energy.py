"""A model as terms with a table each, which approximations change, and a model of them again."""

import itertools
from dataclasses import dataclass, replace

import numpy as np

from orbitmc._util.arrays import GAP, row_classes, snapped
from orbitmc.graph.builder import Builder
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.model import Model
from orbitmc.graph.transforms import copy_factors
from orbitmc.symmetry.terms import Clauses, Rows, Terms, long_clauses, terms_of

MOST_SPLIT = 4
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
    terms = map(_each, terms_of(graph, most_split=MOST_SPLIT))
    soft, hard = _long_clauses(graph)
    return Energy(tuple(term for term in terms if len(term.scopes)), tuple(soft), hard)


def _each(terms: Terms) -> Terms:
    """Give every term that is something a table, turned so that equal ones agree."""
    tables = snapped(terms.tables)
    sizes = np.abs(tables).reshape(len(tables), -1).max(axis=1, initial=0.0)
    noise = GAP * (1 + np.abs(tables[np.isfinite(tables)]).max(initial=0.0))
    active = (sizes > noise)[terms.table_of]
    found = replace(terms, scopes=terms.scopes[active])
    return _oriented(found.with_tables(tables[terms.table_of[active]]))


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
    return replace(terms.with_tables(tables), scopes=scopes)


def _long_clauses(graph: FactorGraph) -> tuple[list[Clauses], Rows]:
    found, hard = [], [np.zeros(0, dtype=np.int64)]
    for factors, scopes, satisfying in long_clauses(graph):
        first = graph.table_start[graph.table_of[factors]].astype(np.int64)
        with np.errstate(invalid="ignore"):
            weights = graph.table[first + 1] - graph.table[first]
        soft = np.isfinite(weights)
        hard.append(factors[~soft])
        if soft.any():
            found.append(Clauses(scopes[soft], satisfying[soft], weights[soft]))
    return found, np.sort(np.concatenate(hard))


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
