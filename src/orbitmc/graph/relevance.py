"""What a question about some variables needs of a model.

A variable that meets one factor, whose table sums to the same over it whatever the others are, says
nothing about them: a leaf of a Bayesian network, for example. It is dropped with its factor, and
then perhaps its parents are such leaves (Shachter 1986). What is not connected to the question is
dropped, too. Evidence is part of the model by then, so what it cuts off goes with it.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc._numba.tiers import tier
from orbitmc._util.arrays import Indices, Numbers
from orbitmc.graph.ancestral import Flags, sums_are_equal
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.log_weights import exact_sum
from orbitmc.graph.model import Model
from orbitmc.graph.transforms import select

SAME_SUM = 1e-12  # sums of a table that differ by less, as logarithms, are the same


def components(graph: FactorGraph, chosen: NDArray[np.bool_] | None = None) -> NDArray[np.int64]:
    """Number the connected components; gives the number of each variable's.

    With `chosen` only those factors connect.
    """
    edges = slice(None) if chosen is None else np.flatnonzero(chosen[graph.factor_of_edge])
    variables, factors = graph.scope[edges], graph.factor_of_edge[edges] + graph.variables
    root = np.arange(graph.variables + graph.factors)
    while True:
        ends = root[variables], root[factors]
        apart = ends[0] != ends[1]
        if not apart.any():
            break
        np.minimum.at(root, np.maximum(*ends)[apart], np.minimum(*ends)[apart])
        while not np.array_equal(further := root[root], root):
            root = further
    first = root[: graph.variables] == np.arange(graph.variables)  # of each component
    return (np.cumsum(first) - 1)[root[: graph.variables]]


def relevant(model: Model, targets: Sequence[int]) -> tuple[Model, FactorGraph | None]:
    """The part of a model that says something about some of its variables.

    Beside it, what is left out although zeros may exclude all its states; None if they do not.

    >>> import orbitmc as om
    >>> model = om.read("examples/sprinkler.bif").given({"rain": "none"})
    >>> part, left_out = relevant(model, [model.index["season"]])
    >>> part.names, left_out
    (('season',), None)
    """
    graph = model.graph
    asked = np.zeros(graph.variables, dtype=np.bool_)
    asked[list(targets)] = True
    relevant_variables = ~barren_variables(graph, asked)
    factors = _factors_within(graph, relevant_variables)
    part_of = components(graph, factors)
    near = np.zeros(part_of.max(initial=-1) + 1, dtype=np.bool_)
    near[part_of[asked]] = True
    variables = relevant_variables & near[part_of]
    if variables.all():
        return model, None
    part = select_variables(model, np.flatnonzero(variables), factors)
    left = np.flatnonzero(relevant_variables & ~variables)
    left_out = select(graph, left, np.flatnonzero(_factors_within(graph, ~variables) & factors))
    return part, left_out if left_out.has_zeros() else None


def select_variables(model: Model, variables: Numbers, factors: Flags | None = None) -> Model:
    """The model of some variables, and of all factors, or of those marked, that read only these."""
    model.require_all_factors()
    graph = model.graph
    within = np.zeros(graph.variables, dtype=np.bool_)
    within[variables] = True
    chosen = _factors_within(graph, within)
    if factors is not None:
        chosen &= factors
    names = {model.names[variable] for variable in variables.tolist()}
    return Model(
        graph=select(graph, variables, np.flatnonzero(chosen)),
        names=tuple(model.names[variable] for variable in variables.tolist()),
        values=tuple(model.values[variable] for variable in variables.tolist()),
        observed=model.observed,
        order=tuple(name for name in model.order if name in names or name in model.observed),
        doubts=model.doubts,
    )


def select_component(graph: FactorGraph, within: Flags) -> FactorGraph:
    """The graph of the marked variables, and of all factors that read only these."""
    return select(graph, np.flatnonzero(within), np.flatnonzero(_factors_within(graph, within)))


def _factors_within(graph: FactorGraph, variables: Flags) -> Flags:
    """Which factors read only such variables, and some."""
    outside = np.bincount(graph.factor_of_edge, ~variables[graph.scope], minlength=graph.factors)
    return np.asarray((outside == 0) & (graph.arities > 0))


def barren_variables(graph: FactorGraph, asked: Flags) -> Flags:
    """Variables that nobody asked about and that sum out to a constant, one after the other."""
    barren = np.zeros(graph.variables, dtype=np.bool_)
    barren[drop_leaves(graph, asked).variables] = True
    return barren


class Leaves(NamedTuple):
    """Variables, one after the other a leaf of what is left, and the factor that goes with each.

    It is -1 where none does. All other factors that read such a variable go before.
    """

    variables: Numbers
    factors: Numbers


def drop_leaves(graph: FactorGraph, asked: Flags) -> Leaves:
    """Drop what nobody asked about and what no factor, or one that sums to a constant, reads.

    >>> import orbitmc as om
    >>> model = om.read("examples/sprinkler.bif").given({"rain": "none"})
    >>> leaves = drop_leaves(model.graph, np.zeros(model.graph.variables, dtype=np.bool_))
    >>> [model.names[variable] for variable in leaves.variables]
    ['grass', 'sprinkler', 'season']
    """
    return Leaves(
        *_drop_leaves(
            graph.scope_start,
            graph.scope,
            graph.incident_start,
            graph.incident,
            sums_are_equal(graph, SAME_SUM),
            asked,
        )
    )


def log_z_of_leaves(graph: FactorGraph) -> float | None:
    """The logarithm of the sum of all weights, where all variables are leaves in turn; else None.

    So it is for a Bayesian network without evidence.

    >>> import orbitmc as om
    >>> round(log_z_of_leaves(om.read("examples/sprinkler.bif").graph), 9)
    0.0
    """
    leaves = drop_leaves(graph, np.zeros(graph.variables, dtype=np.bool_))
    if len(leaves.variables) < graph.variables:
        return None
    parts = [graph.constant]
    for factor in np.flatnonzero(graph.arities == 0).tolist():
        parts.append(float(graph.full_table(factor).reshape(-1)[0]))
    pairs = zip(leaves.variables.tolist(), leaves.factors.tolist(), strict=True)
    for variable, factor in pairs:
        if factor < 0:
            parts.append(math.log(graph.cardinality[variable]))
            continue
        axis = graph.scope_of(factor).tolist().index(variable)
        sums = np.logaddexp.reduce(graph.full_table(factor), axis=axis)
        parts.append(float(np.max(sums)))
    return exact_sum(parts)


def _work(scope_start: Indices, scope: Indices, *rest: object) -> int:
    return len(scope_start) + 2 * len(scope)


@tier(_work)
def _drop_leaves(
    scope_start: Indices,
    scope: Indices,
    incident_start: Indices,
    incident: Indices,
    sums: Flags,
    asked: Flags,
) -> tuple[Numbers, Numbers]:
    """Drop leaves in the order in which they become ones; gives the factor of each, too."""
    variables, factors = len(incident_start) - 1, len(scope_start) - 1
    degree = np.empty(variables, dtype=np.int64)
    dropped = np.zeros(variables, dtype=np.bool_)
    gone = np.zeros(factors, dtype=np.bool_)
    order, with_each, count = np.empty(variables, np.int64), np.empty(variables, np.int64), 0
    queue, begin, end = np.empty(variables + len(scope), dtype=np.int64), 0, 0
    for variable in range(variables):
        degree[variable] = np.int64(incident_start[variable + 1]) - np.int64(
            incident_start[variable]
        )
        if degree[variable] <= 1 and not asked[variable]:
            queue[end] = variable
            end += 1
    while begin < end:
        variable = queue[begin]
        begin += 1
        if dropped[variable]:
            continue
        leaf, gone_with = degree[variable] == 0, -1
        for place in range(incident_start[variable], incident_start[variable + 1]):
            factor = incident[place]
            if gone[factor]:
                continue
            for edge in range(scope_start[factor], scope_start[factor + 1]):
                if scope[edge] == variable and sums[edge]:
                    leaf = True
            if not leaf:
                continue
            gone[factor], gone_with = True, factor
            for edge in range(scope_start[factor], scope_start[factor + 1]):
                other = scope[edge]
                degree[other] -= 1
                if other != variable and degree[other] <= 1 and not asked[other]:
                    queue[end] = other
                    end += 1
        if leaf:
            dropped[variable] = True
            order[count], with_each[count] = variable, gone_with
            count += 1
    return order[:count], with_each[:count]
