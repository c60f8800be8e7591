"""Sets of variables that want to be treated together, read off the model itself."""

import numpy as np
from numpy.typing import NDArray

from orbitmc.graph.conditionals import Conditionals, fields_in_double
from orbitmc.graph.factor_graph import FactorGraph

EXCLUSIVE = -2.0  # log-odds: a neighbour at 1 makes a 1 at least seven times less likely
MOST_MEMBERS = 64

Numbers = NDArray[np.int64]


def exclusive_groups(graph: FactorGraph, prepared: Conditionals) -> list[Numbers]:
    """Disjoint groups of binary variables of which each keeps the others from being 1."""
    coupling, _ = fields_in_double(graph, prepared)
    rivals: dict[int, set[int]] = {}
    for variable in np.flatnonzero(prepared.affine).tolist():
        first, last = prepared.neighbour_start[variable : variable + 2].astype(np.int64)
        around = prepared.neighbour[first:last][coupling[first:last] <= EXCLUSIVE]
        if len(around):
            rivals[variable] = {int(other) for other in around}
    groups: list[Numbers] = []
    left = set(rivals)
    for variable in sorted(rivals, key=lambda one: (-len(rivals[one]), one)):
        if variable in left:
            group = _clique(variable, rivals, left)
            if len(group) > 1:
                groups.append(np.array(sorted(group), dtype=np.int64))
                left -= group
    return groups


def _clique(first: int, rivals: dict[int, set[int]], left: set[int]) -> set[int]:
    """Grow a set of mutual rivals, those with most rivals in common first."""
    group = {first}
    candidates = rivals[first] & left
    while candidates and len(group) < MOST_MEMBERS:
        best = max(candidates, key=lambda one: (len(rivals[one] & candidates), -one))
        group.add(best)
        candidates &= rivals[best]
    return group
