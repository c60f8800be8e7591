"""How much the conditional of a variable changes with the value of a neighbour, on average.

The noise of an average of conditional probabilities is mostly linear in the neighbours' values.
The matrix here says how: entry `(i, j)` is the mean of P(i | rest, j = 1) - P(i | rest, j = 0) over
some states. A variable with more values has a row for each; the change of a row with the value of
a neighbour is taken from the mean over that neighbour's values, since values sum to one.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.special import expit

from orbitmc._util.arrays import Bytes, Floats
from orbitmc.estimate.control.costs import is_affine, secant_entries
from orbitmc.estimate.control.factor_groups import (
    IMPOSSIBLE,
    FactorGroup,
    Ints,
    factor_groups,
)
from orbitmc.estimate.tallies import rows_of
from orbitmc.graph.factor_graph import FactorGraph

STATES = 32  # to average over: the mean of a bounded change needs no more
AT_ONCE = 2**22  # log-weights

PAIRS_AT_ONCE = 2**15  # pairs of neighbours: what a processor keeps close by


class Pairs(NamedTuple):
    """Pairs of neighbours with so many values each, and the factors that make them neighbours.

    `sources` has the group and the positions of the pair within it; `adds` sums up what they say.
    """

    own: Ints
    other: Ints
    shape: tuple[int, int]
    sources: Sequence[tuple[FactorGroup, int, int]]
    adds: csr_array


def secants(graph: FactorGraph, states: Bytes) -> csr_array:
    """The matrix of mean changes, over `states[variable, lane]`; its rows are those of a tally.

    A change that leaves a variable no value counts as none.
    """
    if is_affine(graph):
        return affine_secants(graph, states)
    return secants_of_factors(graph, states)


def secants_of_factors(graph: FactorGraph, states: Bytes) -> csr_array:
    """Do what `secants` does, for any factors."""
    groups = list(factor_groups(graph))
    pairs = list(_pairs(graph.variables, groups))
    means = [np.zeros((len(one.own), _height(one), one.shape[1])) for one in pairs]
    chances = _chances if graph.has_zeros() else _finite_chances
    value_start = np.concatenate([[0], np.cumsum(graph.cardinality, dtype=np.int64)])
    lanes = states.shape[1]
    step = int(np.clip(AT_ONCE / max(secant_entries(graph), 1.0), 1, lanes))
    for first in range(0, lanes, step):
        some = states[:, first : first + step]
        weights = _log_weights(value_start, groups, some)
        for one, mean in zip(pairs, means, strict=True):
            mean += chances(one, weights, value_start, some).sum(axis=3) / lanes
    return _matrix(graph, pairs, means)


def _pairs(variables: int, groups: Sequence[FactorGroup]) -> list[Pairs]:
    sources: dict[tuple[int, int], list[tuple[FactorGroup, int, int]]] = {}
    for group in groups:
        arity = len(group.shape)
        for own in range(arity):
            for other in range(arity):
                if own != other and min(group.shape[own], group.shape[other]) > 1:
                    shape = group.shape[own], group.shape[other]
                    sources.setdefault(shape, []).append((group, own, other))
    return [_joined(variables, shape, found) for shape, found in sources.items()]


def _joined(
    variables: int, shape: tuple[int, int], sources: list[tuple[FactorGroup, int, int]]
) -> Pairs:
    """Pairs of variables of one shape; those of several factors are one pair."""
    keys = np.concatenate([g.scope[:, own] * variables + g.scope[:, k] for g, own, k in sources])
    unique, pair = np.unique(keys, return_inverse=True)
    places = (pair.reshape(-1), np.arange(len(keys)))
    adds = csr_array((np.ones(len(keys)), places), shape=(len(unique), len(keys)))
    return Pairs(unique // variables, unique % variables, shape, sources, adds)


def _log_weights(start: Ints, groups: Sequence[FactorGroup], states: Bytes) -> Floats:
    """Log-weights of each value of each variable, all others as they are: `[value, lane]`."""
    total = np.zeros((int(start[-1]), states.shape[1]))
    for group in groups:
        for own, size in enumerate(group.shape):
            found = group.of_one(states, own).reshape(-1, states.shape[1])
            rows = (start[group.scope[:, own]][:, None] + np.arange(size)).reshape(-1)
            shape = (len(total), len(rows))
            total += csr_array((np.ones(len(rows)), (rows, np.arange(len(rows)))), shape) @ found
    return total


def _height(pairs: Pairs) -> int:
    """Rows of a tally that the first variable of a pair has."""
    return 1 if pairs.shape[0] == 2 else pairs.shape[0]


def _finite_chances(pairs: Pairs, weights: Floats, first: Ints, states: Bytes) -> Floats:
    """Do what `_chances` does where nothing is impossible: log-odds are enough for two values."""
    if pairs.shape[0] != 2:
        return _chances(pairs, weights, first, states)
    rows = first[pairs.own]
    present = (weights[rows + 1] - weights[rows])[:, None]
    changes = [
        _odds(group.of_two(states, own, other)) - _odds(group.of_one(states, own))[:, None]
        for group, own, other in pairs.sources
    ]
    flat = np.concatenate([change.reshape(len(change), -1) for change in changes])
    odds = (pairs.adds @ flat).reshape(len(rows), pairs.shape[1], -1) + present
    found: Floats = expit(odds)[:, None]
    return found


def _odds(log_potentials: Floats) -> Floats:
    found: Floats = log_potentials[:, 1] - log_potentials[:, 0]
    return found


def _chances(pairs: Pairs, weights: Floats, first: Ints, states: Bytes) -> Floats:
    """Chances of one variable for each value of the other: `[pair, row, other, lane]`."""
    rows = first[pairs.own][:, None] + np.arange(pairs.shape[0])
    present = weights[rows][:, :, None]
    changes = [
        group.of_two(states, own, other) - group.of_one(states, own)[:, :, None]
        for group, own, other in pairs.sources
    ]
    flat = np.concatenate([change.reshape(len(change), -1) for change in changes])
    found = (pairs.adds @ flat).reshape(len(rows), *pairs.shape, -1) + present
    chances = _normalised(found, present)
    return chances[:, 1:] if pairs.shape[0] == 2 else chances


def _normalised(log_weights: Floats, present: Floats) -> Floats:
    """Turn log-weights of `own` into chances; where all are impossible, the present ones count."""
    best = log_weights.max(axis=1, keepdims=True)
    if best.min(initial=0.0) < 0.5 * IMPOSSIBLE:
        log_weights = np.where(best < 0.5 * IMPOSSIBLE, present, log_weights)
        best = log_weights.max(axis=1, keepdims=True)
    log_weights -= best
    np.exp(log_weights, out=log_weights)
    log_weights /= log_weights.sum(axis=1, keepdims=True)
    return log_weights


def _matrix(graph: FactorGraph, pairs: Sequence[Pairs], means: Sequence[Floats]) -> csr_array:
    """Put the mean chances of pairs of variables into their places, as changes."""
    start = np.concatenate([[0], np.cumsum(rows_of(graph.cardinality))])
    data, row, column = [np.zeros(0)], [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for one, mean in zip(pairs, means, strict=True):
        change = _changes(mean)
        rows = start[one.own][:, None, None] + np.arange(change.shape[1])[:, None]
        columns = start[one.other][:, None, None] + np.arange(change.shape[2])
        data.append(change.reshape(-1))
        row.append(np.broadcast_to(rows, change.shape).reshape(-1))
        column.append(np.broadcast_to(columns, change.shape).reshape(-1))
    places = (np.concatenate(row), np.concatenate(column))
    return csr_array((np.concatenate(data), places), shape=(int(start[-1]), int(start[-1])))


def _changes(chances: Floats) -> Floats:
    """Changes of chances with the other's value."""
    binary = chances.shape[2] == 2
    base = chances[:, :, :1] if binary else chances.mean(axis=2, keepdims=True)
    changes: Floats = chances - base
    return changes[:, :, 1:] if binary else changes


def affine_secants(graph: FactorGraph, states: Bytes) -> csr_array:
    """Mean changes of chances with the value of each neighbour."""
    bias, coupling = _fields(graph)
    values = states.astype(np.float64)
    fields = coupling @ values + bias[:, None]
    own = np.repeat(np.arange(len(bias)), np.diff(coupling.indptr))
    other, change = coupling.indices, np.zeros(coupling.nnz)
    for first in range(0, len(other), PAIRS_AT_ONCE):
        some = slice(first, first + PAIRS_AT_ONCE)
        strength = coupling.data[some, None]
        low = fields[own[some]] - strength * values[other[some]]
        change[some] = (expit(low + strength) - expit(low)).mean(axis=1)
    return csr_array((change, other, coupling.indptr), shape=coupling.shape)


def _fields(graph: FactorGraph) -> tuple[Floats, csr_array]:
    """Log-odds of each variable if its neighbours are 0, and what each neighbour adds."""
    bias, nothing = np.zeros(graph.variables), np.zeros((graph.variables, 1), dtype=np.uint8)
    found: list[tuple[Any, Any, Any]] = []
    for group in factor_groups(graph):
        for own in range(len(group.shape)):
            other = 1 - own if len(group.shape) == 2 else None
            table = group.of_two(nothing, own, other)[..., 0]
            odds = table[:, 1] - table[:, 0]
            np.add.at(bias, group.scope[:, own], odds[:, 0])
            if other is not None:
                found.append((odds[:, 1] - odds[:, 0], group.scope[:, own], group.scope[:, other]))
    data, row, column = (np.concatenate([one[k] for one in found]) for k in range(3))
    shape = (graph.variables, graph.variables)
    return bias, csr_array((data, (row, column)), shape=shape)
