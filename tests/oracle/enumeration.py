"""Marginals by adding up every state: the slow, obvious truth for small graphs."""

import math

import numpy as np
from numpy.typing import NDArray

from orbitmc._util.arrays import Floats, floats
from orbitmc.errors import ContradictionError
from orbitmc.exact.contraction import ExactAnswer
from orbitmc.graph.factor_graph import FactorGraph

BLOCK = 2**16  # states at a time, so that memory stays small


def enumerate_states(graph: FactorGraph) -> ExactAnswer:
    """Add up every state of a graph; exact, and exponential in the number of variables."""
    states = math.prod(graph.cardinality.tolist())
    largest = -np.inf
    totals = [np.zeros(size) for size in graph.cardinality]
    for first in range(0, states, BLOCK):
        values = _states(graph, np.arange(first, min(first + BLOCK, states)))
        log_weights = _log_weights(graph, values)
        peak = max(largest, float(log_weights.max()))
        if peak == -np.inf:
            continue
        weights = np.exp(log_weights - peak)
        for variable, total in enumerate(totals):
            total *= np.exp(largest - peak)
            total += np.bincount(values[variable], weights, minlength=len(total))
        largest = peak
    return _answer(graph, largest, totals)


def log_weights_of_all(graph: FactorGraph) -> Floats:
    """Log-weights of all states of a small graph, last variable fastest."""
    states = math.prod(graph.cardinality.tolist())
    return _log_weights(graph, _states(graph, np.arange(states)))


def _answer(graph: FactorGraph, largest: float, totals: list[Floats]) -> ExactAnswer:
    if largest == -np.inf:
        raise ContradictionError("no state is possible: every state has weight 0")
    log_z = largest
    if totals:
        log_z += float(np.log(totals[0].sum()))
    return ExactAnswer(log_z, tuple(floats(total / total.sum()) for total in totals))


def _states(graph: FactorGraph, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Values [variable, state] of states by number, last variable fastest."""
    values = np.empty((graph.variables, len(numbers)), dtype=np.int64)
    for variable in reversed(range(graph.variables)):
        numbers, values[variable] = np.divmod(numbers, int(graph.cardinality[variable]))
    return values


def _log_weights(graph: FactorGraph, values: NDArray[np.int64]) -> Floats:
    total = np.full(values.shape[1], graph.constant)
    for factor in range(graph.factors):
        scope = graph.scope_of(factor)
        entries = graph.table_values(factor)
        if factor < graph.first_clause:
            total += entries[tuple(values[scope])]
        else:
            wanted = graph.satisfying[graph.scope_start[factor] : graph.scope_start[factor + 1]]
            total += entries[(values[scope] == wanted[:, None]).any(axis=0).astype(np.int64)]
    return total
