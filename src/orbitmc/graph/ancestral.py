"""Read a factor graph as a directed network: each variable drawn given some that were drawn before.

A Bayesian network is one, and stays one with evidence: tables of unobserved variables still sum to
one, those of observed ones are left over and say how well a state fits the evidence. Where both are
one table, what it sums to is left over. Any order and any choice of tables is right as long as what
is left over is accounted for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc._numba.jit import shared
from orbitmc._numba.tiers import tier
from orbitmc._util.arrays import (
    Bytes,
    Floats,
    Index,
    Indices,
    Numbers,
    floats,
    indices,
    lengths,
    starts,
)
from orbitmc.graph.builder import MOST_CARDINALITY
from orbitmc.graph.factor_graph import FactorGraph, strides
from orbitmc.graph.log_weights import partial_log_weight
from orbitmc.graph.transforms import Factor

MOST_FACTORS_PER_VARIABLE = 2  # for each variable, beside a few: graphs with more are no networks
FEW_FACTORS = 64
LOG_SUM_TOLERANCE = 1e-9  # of a sum of probabilities, as a logarithm
VARIABLES_TOGETHER = 4096  # variables whose random numbers are drawn at once

Flags = NDArray[np.bool_]


class AncestralNetwork(NamedTuple):
    """Variables in the order in which they are drawn, and the factors that are left over.

    `graph` has all factors, and such sums; each variable meets only what it is drawn by.
    """

    graph: FactorGraph
    order: Indices
    rest: Indices


def network_of(graph: FactorGraph, most_left: float = np.inf) -> AncestralNetwork | None:
    """A directed network over all variables, if there is one that leaves no more factors over.

    >>> import orbitmc as om
    >>> model = om.read("examples/sprinkler.bif").given({"grass": "wet"})
    >>> found = network_of(model.graph)
    >>> [model.names[variable] for variable in found.order], len(found.rest)
    (['season', 'sprinkler', 'rain'], 1)
    """
    most = MOST_FACTORS_PER_VARIABLE * graph.variables + FEW_FACTORS
    if graph.factors > most or graph.first_clause < graph.factors:
        return None
    sums = sums_are_equal(graph)
    order, edges = _draw_order(
        graph.scope_start, graph.scope, graph.incident_start, graph.incident, sums
    )
    if len(order) < graph.variables:
        return None
    drawn_factors = graph.factor_of_edge[edges]
    owner, drawn_by = _owners(graph, drawn_factors)
    rest = np.setdiff1d(np.arange(graph.factors), drawn_by, assume_unique=True)
    uneven = order[((graph.arities[drawn_factors] > 1) & ~sums[edges])[order]].tolist()
    if len(rest) + len(uneven) > most_left:
        return None
    whole = _with_tables(graph, [_sums_of(graph, drawn_factors[v], v) for v in uneven])
    directed = whole._replace(
        incident_start=starts(np.bincount(owner, minlength=graph.variables)),
        incident=indices(drawn_by),
    )
    added = np.arange(graph.factors, whole.factors)
    return AncestralNetwork(directed, indices(order), indices(np.concatenate([rest, added])))


def variables_below(network: AncestralNetwork) -> Indices:
    """Variables from which nothing that is left over descends, in the order in which to draw them.

    Given all others, they are as the network draws them.
    """
    graph = network.graph
    above = np.zeros(graph.variables, dtype=np.bool_)
    left = np.flatnonzero(np.isin(graph.factor_of_edge, network.rest))
    above[graph.scope[left]] = True
    for variable in network.order[::-1].tolist():
        if above[variable]:
            for factor in graph.factors_of(variable).tolist():
                above[graph.scope_of(factor)] = True
    return indices(network.order[~above[network.order]])


def sums_are_equal(graph: FactorGraph, within: float = LOG_SUM_TOLERANCE) -> Flags:
    """For each entry of `scope` whether its factor's table sums to the same over that variable.

    Factors of one shape are looked at together, and each of their tables once; clauses never do.
    """
    normalised = np.zeros(len(graph.scope), dtype=np.bool_)
    for factors, shape in _shapes(graph):
        tables, number = np.unique(graph.table_of[factors], return_inverse=True)
        size = int(np.prod(shape))
        rows = graph.table_start[tables].astype(np.int64)[:, None] + np.arange(size)
        entries = graph.table[rows].reshape(-1, *shape)
        even = np.column_stack([_is_even(entries, 1 + axis, within) for axis in range(len(shape))])
        normalised[graph.edges_of(factors, len(shape))] = even[number.reshape(-1)]
    return normalised


def _shapes(graph: FactorGraph) -> list[tuple[Numbers, list[int]]]:
    """The factors of each shape: how many values their variables have, in order."""
    arities = graph.arities[: graph.first_clause]
    key = np.zeros(len(arities), dtype=np.int64)
    for place in range(int(arities.max(initial=0))):
        sizes, longer = np.zeros_like(key), np.flatnonzero(arities > place)
        sizes[longer] = graph.cardinality[graph.scope[graph.scope_start[longer] + place]]
        key = np.unique(key * MOST_CARDINALITY + sizes, return_inverse=True)[1].reshape(-1)
    if not len(key):
        return []
    order = np.argsort(key, kind="stable")
    groups = np.split(order, np.cumsum(np.bincount(key))[:-1])
    shapes = [graph.cardinality[graph.scope_of(group[0])].tolist() for group in groups]
    return [(group, shape) for group, shape in zip(groups, shapes, strict=True) if shape]


def _is_even(tables: Floats, axis: int, within: float) -> Flags:
    """Which tables, one for each entry of the first axis, sum to the same over an axis."""
    sums = _log_sums(tables, axis).reshape(len(tables), -1)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.isfinite(sums).all(axis=1) & (np.ptp(sums, axis=1) <= within))


def _log_sums(tables: Floats, axis: int) -> Floats:
    """What tables, one for each entry of the first axis, sum to over an axis, as logarithms.

    Each up to a constant.
    """
    most = tables.max(axis=tuple(range(1, tables.ndim)), keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.log(np.exp(tables - most).sum(axis=axis)))


def _work(scope_start: Indices, scope: Indices, *rest: object) -> int:
    return len(scope_start) + 2 * len(scope)


@tier(_work)
def _draw_order(
    scope_start: Indices, scope: Indices, incident_start: Indices, incident: Indices, sums: Flags
) -> tuple[Numbers, Numbers]:
    """In which order variables can be drawn, and for each where it stands in what it is drawn by.

    A factor is ready when one of its variables is left. Those that are probabilities of that
    variable come first, whether others wait or not; so each is looked at once.
    """
    variables, factors = len(incident_start) - 1, len(scope_start) - 1
    left = np.empty(factors, dtype=np.int64)
    queues, ends = np.empty((2, factors), dtype=np.int64), np.zeros((2, 2), dtype=np.int64)
    edges = np.full(variables, -1, dtype=np.int64)
    order = np.empty(variables, dtype=np.int64)
    for factor in range(factors):
        left[factor] = np.int64(scope_start[factor + 1]) - np.int64(scope_start[factor])
        if left[factor] == 1:
            _enqueue(scope_start, scope, edges, sums, queues, ends, factor)
    count = 0
    while ends[0, 0] < ends[0, 1] or ends[1, 0] < ends[1, 1]:
        queue = 0 if ends[0, 0] < ends[0, 1] else 1
        edge = queues[queue, ends[queue, 0]]
        ends[queue, 0] += 1
        variable = scope[edge]
        if edges[variable] >= 0:
            continue
        edges[variable] = edge
        order[count] = variable
        count += 1
        for place in range(incident_start[variable], incident_start[variable + 1]):
            other = incident[place]
            left[other] -= 1
            if left[other] == 1:
                _enqueue(scope_start, scope, edges, sums, queues, ends, other)
    return order[:count], edges


@shared
def _enqueue(
    scope_start: Indices,
    scope: Indices,
    edges: Numbers,
    sums: Flags,
    queues: Numbers,
    ends: Numbers,
    factor: Index,
) -> None:
    """Let a factor wait with which one variable can be drawn, by where that stands in `scope`."""
    for edge in range(scope_start[factor], scope_start[factor + 1]):
        if edges[scope[edge]] < 0:
            queue = 0 if sums[edge] else 1
            queues[queue, ends[queue, 1]] = edge
            ends[queue, 1] += 1


def _owners(graph: FactorGraph, factors: Numbers) -> tuple[Numbers, Numbers]:
    """Variables, in order, beside the factors that each is drawn by.

    One that is drawn first is drawn by all that is known of it alone.
    """
    alone = graph.arities == 1
    first = alone[factors]
    known = np.flatnonzero(alone)
    known = known[first[graph.scope[graph.scope_start[known]]]]
    drawn_by = np.concatenate([factors[~first], known])
    owner = np.concatenate([np.flatnonzero(~first), graph.scope[graph.scope_start[known]]])
    together = np.lexsort((drawn_by, owner))
    return owner[together], drawn_by[together]


def _sums_of(graph: FactorGraph, factor: Index, variable: int) -> Factor:
    """What a table sums to that is no probability: drawing from it leaves that over."""
    scope = graph.scope_of(int(factor)).tolist()
    place = scope.index(variable)
    table = graph.table_values(int(factor))
    return (*scope[:place], *scope[place + 1 :]), _log_sums(table[None], 1 + place)[0]


def _with_tables(graph: FactorGraph, factors: Sequence[Factor]) -> FactorGraph:
    """The graph, which has no clauses, with factors behind its own; incidence is left alone."""
    if not factors:
        return graph
    sizes = np.concatenate([lengths(graph.table_start), [table.size for _, table in factors]])
    arities = np.concatenate([graph.arities, [len(scope) for scope, _ in factors]])
    scope = indices(np.concatenate([graph.scope, *(scope for scope, _ in factors)]))
    tables = len(graph.table_start) - 1 + np.arange(len(factors))
    scope_start, count = starts(arities), len(arities)
    return graph._replace(
        scope_start=scope_start,
        scope=scope,
        stride=strides(graph.cardinality, scope_start, scope, count),
        table_of=indices(np.concatenate([graph.table_of, tables])),
        table_start=starts(sizes),
        table=floats(np.concatenate([graph.table, *(table.ravel() for _, table in factors)])),
        first_clause=count,
        satisfying=indices(np.zeros(len(scope))),
    )


def forward_draws(network: AncestralNetwork, lanes: int, rng: np.random.Generator) -> Bytes:
    """States drawn from the network alone, one for each lane."""
    graph = network.graph
    values = np.zeros((graph.variables, lanes), dtype=np.uint8)
    weights = _weights(graph)
    for first in range(0, graph.variables, VARIABLES_TOGETHER):
        piece = network.order[first : first + VARIABLES_TOGETHER]
        _draw_forward(graph, weights, piece, rng.random((len(piece), lanes)), values)
    return values


def _weights(graph: FactorGraph) -> Floats:
    """Weights of all tables, their largest one."""
    sizes = lengths(graph.table_start)
    full = np.flatnonzero(sizes)
    most = np.zeros(len(sizes))
    most[full] = np.maximum.reduceat(graph.table, graph.table_start[full].astype(np.int64))
    most[~np.isfinite(most)] = 0.0
    return np.exp(graph.table - np.repeat(most, sizes))


def _draws(
    graph: FactorGraph, weights: Floats, order: Indices, points: Floats, values: Bytes
) -> int:
    return 4 * points.size


@tier(_draws)
def _draw_forward(
    graph: FactorGraph, weights: Floats, order: Indices, points: Floats, values: Bytes
) -> None:
    """Draw some variables in each lane, given what was drawn before."""
    most = 0
    for variable in order:
        most = max(most, int(graph.cardinality[variable]))
    limits = np.empty(most, dtype=np.float64)
    for place in range(len(order)):
        variable = order[place]
        for lane in range(points.shape[1]):
            _add_up(graph, weights, variable, values, lane, limits)
            point = points[place, lane] * limits[graph.cardinality[variable] - 1]
            value = 0
            while point > limits[value]:
                value += 1
            values[variable, lane] = value


@shared
def _add_up(
    graph: FactorGraph, weights: Floats, variable: Index, values: Bytes, lane: int, limits: Floats
) -> None:
    """Write the sums of weights of a variable's values up to each of them."""
    size = np.int64(graph.cardinality[variable])
    for value in range(size):
        limits[value] = 1.0
    for spot in range(graph.incident_start[variable], graph.incident_start[variable + 1]):
        factor = graph.incident[spot]
        entry, step = np.int64(graph.table_start[graph.table_of[factor]]), np.int64(0)
        for edge in range(graph.scope_start[factor], graph.scope_start[factor + 1]):
            if graph.scope[edge] == variable:
                step = np.int64(graph.stride[edge])
            else:
                entry += np.int64(graph.stride[edge]) * np.int64(values[graph.scope[edge], lane])
        for value in range(size):
            limits[value] *= weights[entry + value * step]
    for value in range(1, size):
        limits[value] += limits[value - 1]


def ancestral_acceptance(network: AncestralNetwork, lanes: int, rng: np.random.Generator) -> float:
    """How often a state of the network is accepted in place of another that fits the evidence.

    From states of the network, weighed by how well they fit.
    """
    if not len(network.rest):
        return 1.0
    fits = [
        partial_log_weight(network.graph, network.rest, forward_draws(network, lanes, rng))
        for _ in range(2)
    ]
    first, second = (np.exp(fit - max(np.max(fits), -1e300)) for fit in fits)
    total = float(first.sum())
    return float(np.minimum(first[:, None], second).mean() * lanes / total) if total > 0.0 else 0.0
