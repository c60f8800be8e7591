"""Tables of a one-hot group's conditional, one row for each joint value of what surrounds it."""

import numpy as np
from numpy.typing import NDArray

from orbitmc._util.arrays import Floats
from orbitmc.graph.factor_graph import FactorGraph

MOST_ENTRIES = 4096  # of a group's table: a few tens of KiB at most while it is made


def surroundings(
    graph: FactorGraph, group: NDArray[np.int64], factors: NDArray[np.uint32]
) -> NDArray[np.int64]:
    """The variables outside a group that share a factor with it, each once."""
    scopes = [graph.scope_of(int(factor)) for factor in factors]
    near = np.unique(np.concatenate([np.zeros(0, dtype=np.uint32), *scopes]))
    return np.setdiff1d(near.astype(np.int64), group)


def fits(graph: FactorGraph, group: NDArray[np.int64], outside: NDArray[np.int64]) -> bool:
    """Whether a table stays small."""
    entries = np.log(len(group) + 1) + np.log(graph.cardinality[outside]).sum()
    return bool(entries <= np.log(MOST_ENTRIES) + 1e-9)


def cumulative_probabilities(
    graph: FactorGraph,
    group: NDArray[np.int64],
    factors: NDArray[np.uint32],
    outside: NDArray[np.int64],
) -> Floats:
    """Chances of each candidate but the last, or an earlier one; candidates vary fastest.

    Candidates are "no member is 1", "the first is", and so on. Rows follow the joint values of
    the surroundings, last variable fastest; where no candidate is possible the row is 1.
    """
    sizes = graph.cardinality[outside].astype(np.int64)
    logs = np.zeros((len(group) + 1, *sizes))
    for factor in factors:
        for candidate in range(len(group) + 1):
            logs[candidate] += _seen_from(graph, int(factor), group, candidate, outside)
    rows = np.moveaxis(logs, 0, -1).reshape(-1, len(group) + 1)
    best = rows.max(axis=1, keepdims=True)
    weights = np.exp(rows - np.where(np.isneginf(best), 0.0, best))
    upto = np.cumsum(weights, axis=1)
    possible_later = upto[:, :-1] < upto[:, -1:]
    chances = np.divide(upto, upto[:, -1:], out=np.ones_like(upto), where=upto[:, -1:] > 0)
    found: Floats = np.where(possible_later, chances[:, :-1], 1.0)
    return found


def _seen_from(
    graph: FactorGraph,
    factor: int,
    group: NDArray[np.int64],
    candidate: int,
    outside: NDArray[np.int64],
) -> Floats:
    """A factor's log-potentials given one candidate, with an axis for each outside variable."""
    table = graph.expanded(factor)
    scope = graph.scope_of(factor).astype(np.int64)
    inside = np.isin(scope, group)
    one = group[candidate - 1] if candidate else -1
    where = tuple(
        int(variable == one) if member else slice(None)
        for variable, member in zip(scope, inside, strict=True)
    )
    left = np.asarray(table[where])
    places = np.searchsorted(outside, scope[~inside])
    shape = np.ones(len(outside), dtype=np.int64)
    shape[places] = left.shape
    return left.transpose(np.argsort(places)).reshape(shape)
