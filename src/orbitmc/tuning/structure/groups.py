"""Sets of variables that want to be treated together, read off the model itself."""

import numpy as np

from orbitmc._util.arrays import Floats, Numbers, lengths
from orbitmc.graph.factor_graph import FactorGraph

EXCLUSIVE = -2.0  # log-odds: a neighbour at 1 makes a 1 at least seven times less likely
LEAST_MEMBERS, MOST_MEMBERS = 3, 64  # two that exclude each other are a coupling like others


def exclusive_groups(graph: FactorGraph) -> list[Numbers]:
    """Disjoint groups of binary variables of which each keeps the others from being 1."""
    rivals: dict[int, set[int]] = {}
    for first, second in _exclusive_pairs(graph).tolist():
        rivals.setdefault(first, set()).add(second)
        rivals.setdefault(second, set()).add(first)
    groups: list[Numbers] = []
    left = set(rivals)
    for variable in sorted(rivals, key=lambda one: (-len(rivals[one]), one)):
        if variable in left:
            group = _clique(variable, rivals, left)
            if len(group) >= LEAST_MEMBERS:
                groups.append(np.array(sorted(group), dtype=np.int64))
                left -= group
    return groups


def _exclusive_pairs(graph: FactorGraph) -> Numbers:
    """Pairs of binary variables that factors of two keep from both being 1, or nearly so."""
    factor = np.flatnonzero(lengths(graph.scope_start) == 2)
    place = graph.scope_start[factor].astype(np.int64)
    pair = np.stack([graph.scope[place], graph.scope[place + 1]], axis=1).astype(np.int64)
    binary = (graph.cardinality[pair] == 2).all(axis=1)
    factor, place, pair = factor[binary], place[binary], np.sort(pair[binary], axis=1)
    clause = factor >= graph.first_clause
    forbids = (graph.satisfying[place] == 0) & (graph.satisfying[place + 1] == 0)
    start = graph.table_start[graph.table_of[factor]].astype(np.int64)
    strength = np.zeros(len(factor))
    strength[~clause] = _coupling(graph.table, start[~clause])
    told = clause & forbids
    strength[told] = graph.table[start[told]] - graph.table[start[told] + 1]
    pairs, which = np.unique(pair, axis=0, return_inverse=True)
    total = np.zeros(len(pairs))
    np.add.at(total, which.reshape(-1), strength)
    return pairs[total <= EXCLUSIVE]


def _coupling(table: Floats, start: Numbers) -> Floats:
    """How much a table of two binary variables likes both at 1, beside one of them alone."""
    entries = table[start[:, None] + np.arange(4)]
    finite = np.isfinite(entries[:, :3]).all(axis=1)
    found = np.zeros(len(start))
    found[finite] = entries[finite] @ np.array([1.0, -1.0, -1.0, 1.0])
    return found


def _clique(first: int, rivals: dict[int, set[int]], left: set[int]) -> set[int]:
    """Grow a set of mutual rivals, those with most rivals in common first."""
    group = {first}
    candidates = rivals[first] & left
    while candidates and len(group) < MOST_MEMBERS:
        best = max(candidates, key=lambda one: (len(rivals[one] & candidates), -one))
        group.add(best)
        candidates &= rivals[best]
    return group
