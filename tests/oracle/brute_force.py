"""Distributions by listing every state and adding up every factor, in plain Python."""

import itertools

import numpy as np


def states(graph):
    """Every joint value, last variable fastest."""
    return list(itertools.product(*(range(int(size)) for size in graph.cardinality)))


def log_weight(graph, state):
    total = graph.constant
    for factor in range(graph.factors):
        scope = graph.scope_of(factor)
        if factor < graph.first_clause:
            total += graph.table_values(factor)[tuple(state[v] for v in scope)]
        else:
            first, last = graph.scope_start[factor], graph.scope_start[factor + 1]
            satisfied = any(
                state[v] == wanted
                for v, wanted in zip(scope, graph.satisfying[first:last], strict=True)
            )
            total += graph.table_values(factor)[int(satisfied)]
    return total


def distribution(graph):
    """Probability of every state, in the order of `states`."""
    logs = np.array([log_weight(graph, state) for state in states(graph)])
    weights = np.exp(logs - logs.max())
    return weights / weights.sum()


def marginals(graph):
    chances = distribution(graph)
    found = [np.zeros(int(size)) for size in graph.cardinality]
    for state, chance in zip(states(graph), chances, strict=True):
        for variable, value in enumerate(state):
            found[variable][value] += chance
    return found


def conditional(graph, state, variable):
    """Distribution of one variable given the others; None if no value is possible."""
    logs = []
    for value in range(int(graph.cardinality[variable])):
        changed = list(state)
        changed[variable] = value
        logs.append(log_weight(graph, changed))
    logs = np.array(logs)
    if np.isneginf(logs).all():
        return None
    weights = np.exp(logs - logs.max())
    return weights / weights.sum()
