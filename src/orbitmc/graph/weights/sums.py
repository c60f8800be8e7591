"""Sums that keep their last digits, however many terms they have, log-weights among them."""

import functools
import math
from collections.abc import Iterable, Sequence

import numpy as np

from orbitmc._util.arrays import Floats, Numbers
from orbitmc.graph.factor_graph import FactorGraph

FEW = 8  # terms whose roundings are as small as that of their sum


def exact_sum(terms: Iterable[float]) -> float:
    """Add numbers with one rounding; not a number if the sum is beyond doubles.

    >>> exact_sum([1e16, 1.0, -1e16]), exact_sum([1e308, 1e308])
    (1.0, nan)
    """
    try:
        return math.fsum(terms)
    except OverflowError:
        return math.nan


def sum_of_tables(tables: Sequence[Floats]) -> Floats:
    """Add log-tables with compensation (Neumaier 1974); minus infinity stays."""
    if len(tables) <= FEW:
        return functools.reduce(np.add, tables)
    possible = ~np.isneginf(tables[0])
    total, lost = np.where(possible, tables[0], 0.0), np.zeros(())
    for table in tables[1:]:
        possible = possible & ~np.isneginf(table)
        term = np.where(np.isneginf(table), 0.0, table)
        together = total + term
        lost = lost + np.where(
            np.abs(total) >= np.abs(term), (total - together) + term, (term - together) + total
        )
        total = together
    return np.where(possible, total + lost, -np.inf)


def maxima_taken_off(tables: Sequence[Floats]) -> tuple[list[Floats], list[float]]:
    """Log-tables with maximum 0, so that many of them lose no digits, and what was taken off."""
    highest = [float(table.max()) for table in tables]
    tops = [top if top > -np.inf else 0.0 for top in highest]
    return [table - top for table, top in zip(tables, tops, strict=True)], tops


def exact_log_weight(graph: FactorGraph, state: Numbers) -> float:
    """What all factors and the constant add up to; minus infinity if one of them is.

    >>> import numpy as np, orbitmc as om
    >>> exact_log_weight(om.ising_grid(2, 2, 0.5).graph, np.array([1, 1, 1, 1]))
    2.0
    """
    found = log_potentials(graph, state)
    if np.isneginf(found).any():
        return -np.inf
    return exact_sum([graph.constant, *found.tolist()])


def log_potentials(graph: FactorGraph, state: Numbers) -> Floats:
    """The entry of each factor's table in a state."""
    factor_of = graph.factor_of_edge
    value = np.asarray(state, dtype=np.int64)[graph.scope]
    entry = graph.table_start[graph.table_of].astype(np.int64)
    np.add.at(entry, factor_of, graph.stride.astype(np.int64) * value)
    satisfied = np.bincount(factor_of[value == graph.satisfying], minlength=graph.factors) > 0
    entry[graph.first_clause :] += satisfied[graph.first_clause :]
    found: Floats = graph.table[entry]
    return found
