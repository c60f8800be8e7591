"""Which hard constraints contradict each other: a few, none of which can be left out."""

import numpy as np
from numpy.typing import NDArray

from orbitmc.errors import ContradictionError
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.model import Model
from orbitmc.graph.possible.state_search import contradicts
from orbitmc.graph.possible.support import hard_factors

MOST_NAMED = 5  # constraints in a message; more would not be read


def conflict(graph: FactorGraph) -> NDArray[np.int64] | None:
    """Factors whose zeros leave no state, though any smaller choice of them leaves some.

    None if there is no contradiction, or none that a short search can prove.
    """
    core = np.flatnonzero(hard_factors(graph))
    if not contradicts(graph, core):
        return None
    size = max(1, len(core) // 2)
    while True:
        core = _thinned(graph, core, size)
        if size == 1:
            return core
        size //= 2


def _thinned(graph: FactorGraph, core: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Leave out pieces of the given size that the contradiction does not need."""
    first = 0
    while first < len(core):
        rest = np.delete(core, slice(first, first + size))
        if contradicts(graph, rest):
            core = rest
        else:
            first += size
    return core


def explained(model: Model, error: ContradictionError) -> ContradictionError:
    """Add to an error which constraints contradict each other, where that can be proven."""
    core = conflict(model.graph)
    if core is None:
        return error
    scopes = [", ".join(model.names[v] for v in model.graph.scope_of(int(f))) for f in core]
    named = "; ".join(f"({scope})" for scope in scopes[:MOST_NAMED])
    more = f" and {len(core) - MOST_NAMED} more" if len(core) > MOST_NAMED else ""
    if len(core) == 1:
        return ContradictionError(f"{error}: the constraint on {named} allows nothing")
    return ContradictionError(f"{error}: the constraints on {named}{more} contradict each other")
