"""Marginals in exact arithmetic: sums of log-weights are fractions, exponentials have 60 digits."""

import itertools
from decimal import Decimal, localcontext
from fractions import Fraction

DIGITS = 60
NEGLIGIBLE = 10_000  # below the best by so much, a weight is under 1e-4000 of it


def log_weight(graph, state):
    """The sum of log-potentials as a fraction; None if the state is impossible."""
    total = Fraction(0)
    for factor in range(graph.factors):
        entry = float(_entry(graph, factor, state))
        if entry == float("-inf"):
            return None
        total += Fraction(entry)
    return total


def _entry(graph, factor, state):
    first, last = graph.scope_start[factor], graph.scope_start[factor + 1]
    seen = [state[variable] for variable in graph.scope[first:last]]
    table = graph.table_values(factor)
    if factor < graph.first_clause:
        return table[tuple(seen)]
    wanted = graph.satisfying[first:last]
    return table[int(any(a == b for a, b in zip(seen, wanted, strict=True)))]


def exponential(log):
    """The exponential of a fraction that is not above 0."""
    if log < -NEGLIGIBLE:
        return Decimal(0)
    return (Decimal(log.numerator) / Decimal(log.denominator)).exp()


def probabilities(logs):
    """Probabilities of states from their log-weights; None if all are impossible."""
    possible = [log for log in logs if log is not None]
    if not possible:
        return None
    best = max(possible)
    with localcontext() as context:
        context.prec = DIGITS
        weights = [Decimal(0) if log is None else exponential(log - best) for log in logs]
        total = sum(weights)
        return [weight / total for weight in weights]


def marginals(graph, observed=None):
    """A list of probabilities per variable, or None if every state is impossible."""
    sizes = [int(size) for size in graph.cardinality]
    seen = (observed or {}).items()
    every = itertools.product(*(range(size) for size in sizes))
    states = [state for state in every if all(state[v] == value for v, value in seen)]
    chances = probabilities([log_weight(graph, state) for state in states])
    if chances is None:
        return None
    found = [[Decimal(0)] * size for size in sizes]
    for state, chance in zip(states, chances, strict=True):
        for variable, value in enumerate(state):
            found[variable][value] += chance
    return [[float(chance) for chance in own] for own in found]
