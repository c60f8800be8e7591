"""Weights of all states by the definition, one state and one factor at a time."""

import itertools
import math

import numpy as np


def log_weight(graph, values):
    """Add up what each factor gives to one state."""
    total = graph.constant
    for factor in range(graph.factors):
        first, last = graph.scope_start[factor], graph.scope_start[factor + 1]
        seen = [values[variable] for variable in graph.scope[first:last]]
        entries = graph.table_values(factor)
        if factor < graph.first_clause:
            total += float(entries[tuple(seen)])
        else:
            satisfied = any(
                value == wanted
                for value, wanted in zip(seen, graph.satisfying[first:last], strict=True)
            )
            total += float(entries[int(satisfied)])
    return total


def sum_of_weights(graph):
    """Give the sum of all weights, and per variable and value the sum where it holds."""
    weights = [np.zeros(size) for size in graph.cardinality]
    z = 0.0
    for values in itertools.product(*(range(size) for size in graph.cardinality)):
        weight = math.exp(log_weight(graph, values))
        z += weight
        for variable, value in enumerate(values):
            weights[variable][value] += weight
    return z, weights
