"""What each value of a variable earns by itself: the unary part of a distribution."""

import numpy as np

from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.machine.arrays import Floats, Indices, sealed, starts
from orbitmc.machine.compiling import compiled, shared
from orbitmc.symmetry.detection.encoding.exchangeable import table_bounds

IMPOSSIBLE = -30.0
"""What stands for minus infinity where log-potentials are averaged."""


def fields(graph: FactorGraph) -> tuple[Floats, Indices]:
    """What each value of a variable earns by itself, averaged over everything else.

    The entries of variable `v` start at `start[v]` and are centred; their scale makes the squared
    distance of two binary variables the square of the difference of their log-odds.
    """
    start = starts(graph.cardinality)
    total = np.zeros(start[-1])
    _add_fields(graph, start, total)
    owner = np.repeat(np.arange(graph.variables), graph.cardinality)
    sums = np.bincount(owner, weights=total, minlength=graph.variables)
    centred = total - (sums / graph.cardinality)[owner]
    return sealed(np.sqrt(2) * centred), start


@compiled
def _add_fields(graph: FactorGraph, start: Indices, total: Floats) -> None:
    for factor in range(graph.first_clause):
        _add_table(graph, factor, start, total)
    for clause in range(graph.first_clause, len(graph.table_of)):
        _add_clause(graph, clause, start, total)


@shared
def _add_table(graph: FactorGraph, factor: int, start: Indices, total: Floats) -> None:
    entries, last = table_bounds(graph, factor)
    for edge in range(graph.scope_start[factor], graph.scope_start[factor + 1]):
        variable, stride = graph.scope[edge], np.int64(graph.stride[edge])
        size = np.int64(graph.cardinality[variable])
        share = size / (last - entries)
        for entry in range(last - entries):
            value = (entry // stride) % size
            earned = max(graph.table[entries + entry], IMPOSSIBLE)
            total[np.int64(start[variable]) + value] += share * earned


@shared
def _add_clause(graph: FactorGraph, clause: int, start: Indices, total: Floats) -> None:
    """A variable decides a clause when no other one satisfies it: the more others, the rarer."""
    entries, _ = table_bounds(graph, clause)
    gain = max(graph.table[entries + 1], IMPOSSIBLE) - max(graph.table[entries], IMPOSSIBLE)
    first, last = graph.scope_start[clause], graph.scope_start[clause + 1]
    log_open, always = 0.0, 0
    for edge in range(first, last):
        size = graph.cardinality[graph.scope[edge]]
        always += size == 1
        log_open += np.log1p(-1.0 / size) if size > 1 else 0.0
    for edge in range(first, last):
        variable = graph.scope[edge]
        size = graph.cardinality[variable]
        if always == 0:
            rest = np.exp(log_open - np.log1p(-1.0 / size))
            total[np.int64(start[variable]) + np.int64(graph.satisfying[edge])] += gain * rest
