"""The canonical form of a log-weight: its terms, with classes of equal numbers for numbers.

A permutation of variables and values preserves a positive distribution exactly when it preserves
its ANOVA terms. Long tables, clauses and impossible entries are kept as they are: sound, maybe
incomplete.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from orbitmc._numba.time_limits import timed
from orbitmc._util.arrays import distinct_rows, float_classes, row_classes
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.symmetry.terms import Clauses, Rows, Terms, long_clauses, terms_of

MOST_SPLIT = 6
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
    terms = _in_classes(list(terms_of(graph, most_split=MOST_SPLIT)))
    return EnergyForm(graph.cardinality.astype(np.int64), tuple(terms), tuple(_clauses(graph)))


def _in_classes(found: list[Terms]) -> Iterator[Terms]:
    """Put nearly equal entries of all tables into classes, 0 for nothing; leave nothings out."""
    numbers = [terms.tables.reshape(-1) for terms in found]
    classes = float_classes(np.concatenate([[0.0], *numbers]))
    ends = np.cumsum([1, *map(len, numbers)])
    for terms, begin, end in timed(zip(found, ends, ends[1:], strict=False)):
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
