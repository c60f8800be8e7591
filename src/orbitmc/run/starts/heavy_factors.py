"""Factors whose best entry is hard to come by when one variable changes at a time.

A table over many variables, or a conjunction of many literals, may pay for one state only. Until
all its variables but one agree with that state, no single step sees a gain.
"""

import numpy as np
from numpy.typing import NDArray

from orbitmc._util.arrays import lengths
from orbitmc.graph.factor_graph import FactorGraph

WIDE = 3  # variables at least
MOST = 256
LEAST_GAIN = 1.0  # over the mean entry; less is no mode


def hidden_factors(graph: FactorGraph) -> NDArray[np.int64]:
    """Wide factors that gain much at their best, those that gain most first."""
    gain = _gains(graph)[graph.table_of]
    gain[lengths(graph.scope_start) < WIDE] = 0.0
    clauses = slice(graph.first_clause, graph.factors)
    start = graph.table_start[graph.table_of[clauses]]
    unsatisfied, satisfied = graph.table[start], graph.table[start + 1]
    gain[clauses] = np.where(unsatisfied > satisfied, gain[clauses], 0.0)
    order = np.argsort(-gain, kind="stable")[:MOST].astype(np.int64)
    return order[gain[order] > LEAST_GAIN]


def best_values(
    graph: FactorGraph, factors: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int16]:
    """Values at which the first factor is best, then the others, as far as they agree; else -1."""
    wanted = np.full(graph.variables, -1, dtype=np.int16)
    for factor in [factors[0], *rng.permutation(factors[1:])]:
        scope, best = graph.scope_of(factor), _best_entry(graph, int(factor), rng)
        held = wanted[scope]
        if ((held < 0) | (held == best)).all():
            wanted[scope] = best
    return wanted


def _gains(graph: FactorGraph) -> NDArray[np.float64]:
    """How far the best entry of each table lies above its mean, impossible ones left out."""
    sizes = lengths(graph.table_start)
    table_of = np.repeat(np.arange(len(sizes)), sizes)
    finite = np.isfinite(graph.table)
    count = np.bincount(table_of, finite, minlength=len(sizes))
    total = np.bincount(table_of[finite], graph.table[finite], minlength=len(sizes))
    best = np.full(len(sizes), -np.inf)
    np.maximum.at(best, table_of, graph.table)
    gains: NDArray[np.float64] = np.where(count > 0, best - total / np.maximum(count, 1), 0.0)
    return gains


def _best_entry(graph: FactorGraph, factor: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Values at which a factor is best; of a clause, some that do not satisfy it."""
    table = graph.table_values(factor)
    if factor < graph.first_clause:
        return np.array(np.unravel_index(int(table.argmax()), table.shape))
    avoided = graph.satisfying[graph.scope_start[factor] : graph.scope_start[factor + 1]]
    size = graph.cardinality[graph.scope_of(factor)].astype(np.int64)
    return (avoided + rng.integers(1, np.maximum(size, 2))) % size
