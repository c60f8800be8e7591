"""Read a factor graph as a directed network, slowly: each step looks at all ready factors."""

import numpy as np

ROUNDING = 1e-9


def drawn_by(graph):
    """Which factor each variable is drawn by, in the order of drawing, as far as that goes."""
    waiting = [set(graph.scope_of(factor).tolist()) for factor in range(graph.factors)]
    ready = [factor for factor, left in enumerate(waiting) if len(left) == 1]
    found = {}
    while ready:
        factor = next((one for one in ready if is_probability(graph, one, waiting[one])), ready[0])
        ready.remove(factor)
        if not waiting[factor]:
            continue
        (variable,) = waiting[factor]
        found[variable] = factor
        for other in graph.factors_of(variable).tolist():
            waiting[other].discard(variable)
            if len(waiting[other]) == 1:
                ready.append(other)
    return found


def is_probability(graph, factor, left):
    """Whether a table sums to the same over the variable that is left, if there still is one."""
    if not left:
        return True
    (variable,) = left
    weights = np.exp(graph.table_values(factor))
    sums = weights.sum(axis=graph.scope_of(factor).tolist().index(variable))
    if not (sums > 0).all():
        return False
    return bool(np.ptp(np.log(sums)) <= ROUNDING)
