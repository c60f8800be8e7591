"""Read a factor graph as a directed network: each variable drawn given some that were drawn before.

A Bayesian network is one, and stays one with evidence: tables of unobserved variables still sum to
one, those of observed ones are left over and say how well a state fits the evidence. Where both are
one table, what it sums to is left over. Any order and any choice of tables is right as long as what
is left over is accounted for.
"""

from typing import NamedTuple

import numpy as np

from orbitmc.graph.builder import Builder
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.weights.potentials import partial_log_weight
from orbitmc.machine.arrays import Bytes, Floats, Indices, indices, starts

MOST_FACTORS = 2  # for each variable, beside a few: graphs with more are no networks
FEW_FACTORS = 64
ROUNDING = 1e-9  # of a sum of probabilities, as a logarithm


class Network(NamedTuple):
    """Variables in the order in which they are drawn, and the factors that are left over.

    `graph` has all factors, and such sums; each variable meets only what it is drawn by.
    """

    graph: FactorGraph
    order: Indices
    rest: Indices


def network_of(graph: FactorGraph) -> Network | None:
    """A directed network over all variables, if there is one.

    >>> import orbitmc as om
    >>> model = om.read("examples/sprinkler.bif").given({"grass": "wet"})
    >>> found = network_of(model.graph)
    >>> [model.names[variable] for variable in found.order], len(found.rest)
    (['season', 'sprinkler', 'rain'], 1)
    """
    most = MOST_FACTORS * graph.variables + FEW_FACTORS
    if graph.factors > most or graph.first_clause < graph.factors:
        return None
    waiting = [set(graph.scope_of(factor).tolist()) for factor in range(graph.factors)]
    drawn_by: dict[int, list[int]] = {}
    ready = [factor for factor, left in enumerate(waiting) if len(left) == 1]
    while ready:
        factor = next((one for one in ready if _is_normalised(graph, one, waiting[one])), ready[0])
        ready.remove(factor)
        if not waiting[factor]:
            continue
        (variable,) = waiting[factor]
        drawn_by[variable] = _factors_of(graph, factor, variable)
        for other in graph.factors_of(variable).tolist():
            waiting[other].discard(variable)
            if len(waiting[other]) == 1:
                ready.append(other)
    return _network(graph, drawn_by) if len(drawn_by) == graph.variables else None


def _is_normalised(graph: FactorGraph, factor: int, left: set[int]) -> bool:
    """Whether a table sums to the same over the variable that is left, if there still is one."""
    if not left:
        return True
    (variable,) = left
    sums = _log_sums(graph, factor, variable)
    return bool(np.ptp(sums) <= ROUNDING) if np.isfinite(sums).all() else False


def _log_sums(graph: FactorGraph, factor: int, variable: int) -> Floats:
    """What a table sums to over a variable, for all values of the others, as logarithms."""
    table = graph.table_values(factor)
    axis = graph.scope_of(factor).tolist().index(variable)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.exp(table - table.max()).sum(axis=axis)))


def _factors_of(graph: FactorGraph, factor: int, variable: int) -> list[int]:
    """What a variable is drawn by; one that is drawn first, by all that is known of it alone."""
    if len(graph.scope_of(factor)) > 1:
        return [factor]
    return [one for one in graph.factors_of(variable).tolist() if len(graph.scope_of(one)) == 1]


def _network(graph: FactorGraph, drawn_by: dict[int, list[int]]) -> Network:
    own = [drawn_by[variable] for variable in range(graph.variables)]
    used = {factor for factors in own for factor in factors}
    rest = [factor for factor in range(graph.factors) if factor not in used]
    whole, sums = _with_sums(graph, drawn_by)
    directed = whole._replace(
        incident_start=starts(np.array([len(factors) for factors in own])),
        incident=indices([factor for factors in own for factor in factors]),
    )
    return Network(directed, indices(list(drawn_by)), indices([*rest, *sums]))


def _with_sums(graph: FactorGraph, drawn_by: dict[int, list[int]]) -> tuple[FactorGraph, range]:
    """Add what tables sum to that are no probabilities: drawing from them leaves that over."""
    several = {v: own[0] for v, own in drawn_by.items() if len(graph.scope_of(own[0])) > 1}
    open_ = {v: one for v, one in several.items() if not _is_normalised(graph, one, {v})}
    if not open_:
        return graph, range(0)
    builder = Builder(graph.cardinality)
    for factor in range(graph.factors):
        builder.add_factor(graph.scope_of(factor).tolist(), graph.table_values(factor))
    for variable, factor in open_.items():
        scope = [other for other in graph.scope_of(factor).tolist() if other != variable]
        builder.add_factor(scope, _log_sums(graph, factor, variable))
    return builder.build(), range(graph.factors, graph.factors + len(open_))


def forward_draws(network: Network, lanes: int, rng: np.random.Generator) -> Bytes:
    """States drawn from the network alone, one for each lane."""
    graph = network.graph
    values = np.zeros((graph.variables, lanes), dtype=np.uint8)
    for variable in network.order.tolist():
        weights = np.exp(_log_weights(graph, variable, values))
        limits = np.cumsum(weights, axis=1)
        points = rng.random((lanes, 1)) * limits[:, -1:]
        values[variable] = (points > limits).sum(axis=1)
    return values


def _log_weights(graph: FactorGraph, variable: int, values: Bytes) -> Floats:
    """How heavy each value is in each lane, given what was drawn before."""
    total = np.zeros((values.shape[1], int(graph.cardinality[variable])))
    for factor in graph.factors_of(variable).tolist():
        scope = graph.scope_of(factor).tolist()
        table = np.moveaxis(graph.table_values(factor), scope.index(variable), -1)
        total += table[tuple(values[other] for other in scope if other != variable)]
    return total


def acceptance(network: Network, lanes: int, rng: np.random.Generator) -> float:
    """How often a state of the network is accepted in place of another that fits the evidence.

    From states of the network, weighed by how well they fit.
    """
    if not len(network.rest):
        return 1.0
    fits = [
        partial_log_weight(network.graph, network.rest, forward_draws(network, lanes, rng))
        for _ in range(2)
    ]
    one, other = (np.exp(fit - max(np.max(fits), -1e300)) for fit in fits)
    total = float(one.sum())
    return float(np.minimum(one[:, None], other).mean() * lanes / total) if total > 0.0 else 0.0
