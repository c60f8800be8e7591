"""Joint probabilities of a few variables by elimination.

A factor that says nothing ties variables that are asked about together, so that they meet in one
bucket; on the way down its beliefs are summed onto them.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from orbitmc._util.arrays import Floats
from orbitmc.errors import LimitError
from orbitmc.exact.blocks import sum_onto
from orbitmc.exact.contraction import Passes, by_passes
from orbitmc.exact.plan import EliminationPlan
from orbitmc.exact.problem import MOST_JOINT_ENTRIES, Scope
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.transforms import extend


def tie_scopes(graph: FactorGraph, scopes: Sequence[Scope]) -> FactorGraph:
    """Give the same distribution, with each of some sets of variables in one factor.

    >>> import orbitmc as om
    >>> graph = om.ising_grid(2, 2, 0.3).graph
    >>> tie_scopes(graph, [(0, 3)]).factors - graph.factors
    1
    """
    factors = []
    for scope in scopes:
        shape = [int(graph.cardinality[variable]) for variable in scope]
        if math.prod(shape) > MOST_JOINT_ENTRIES:
            raise LimitError(
                f"a joint table of {len(scope)} variables would have {math.prod(shape):.3g} "
                f"entries, the limit is {MOST_JOINT_ENTRIES}"
            )
        if len(scope) > 1:
            factors.append((scope, np.zeros(shape)))
    return extend(graph, factors) if factors else graph


def joints(plan: EliminationPlan, scopes: Sequence[Scope]) -> list[Floats]:
    """The joint probabilities of each set of variables of a graph that ties each of them.

    An axis for each variable, in the order of the set.

    >>> import orbitmc as om
    >>> graph = tie_scopes(om.ising_grid(2, 2, 0.3).graph, [(0, 3)])
    >>> joints(om.exact.predict(graph), [(0, 3)])[0].round(4).tolist()
    [[0.2921, 0.2079], [0.2079, 0.2921]]
    """
    problem = plan.problem
    places = [problem.places_of(scope) for scope in scopes]
    whole = [np.zeros([problem.sizes[v] for v in scope]) for scope in places]
    parts = _parts(plan, places)
    top = max(log_z for _, log_z, _ in parts)
    for fixed, log_z, tables in parts:
        for table, scope, part in zip(whole, places, tables, strict=True):
            table[tuple(fixed.get(variable, slice(None)) for variable in scope)] += (
                math.exp(log_z - top) * part
            )
    return [problem.joint_of(scope, t, {}) for scope, t in zip(scopes, whole, strict=True)]


def _parts(
    plan: EliminationPlan, scopes: Sequence[Scope]
) -> list[tuple[Mapping[int, int], float, list[Floats]]]:
    """For every way to hold the cutset: its log-weight, and joints of those that are not held."""

    def part(
        fixed: Mapping[int, int], passes: Passes
    ) -> tuple[Mapping[int, int], float, list[Floats]]:
        open_ones = [tuple(v for v in scope if v not in fixed) for scope in scopes]
        log_z = passes.up()
        return fixed, log_z, _joints_of(passes, open_ones)

    return by_passes(plan, part)


def mean_log_weight(plan: EliminationPlan) -> float:
    """The mean log-weight of a state: what all tables are on average, and the constant.

    >>> import orbitmc as om
    >>> round(mean_log_weight(om.exact.predict(om.ising_grid(2, 2, 0.3).graph)), 6)
    0.376529
    """

    def part(fixed: Mapping[int, int], passes: Passes) -> tuple[float, float]:
        problem = passes.problem
        log_z = passes.up()
        tables = _joints_of(passes, problem.scopes)
        pairs = zip(tables, problem.tables, strict=True)
        return log_z, problem.constant + math.fsum(_mean(chances, t) for chances, t in pairs)

    log_z, means = np.array(by_passes(plan, part)).T
    weights = np.exp(log_z - log_z.max())
    return plan.problem.constant + float(weights @ means / weights.sum())


def _mean(chances: Floats, table: Floats) -> float:
    """The mean of a table whose impossible entries have no chance."""
    if (possible := table > -np.inf).all():
        return float((chances * table).sum() / chances.sum())
    return float(chances[possible] @ table[possible] / chances.sum())


def _joints_of(passes: Passes, scopes: Sequence[Scope]) -> list[Floats]:
    """Joint beliefs of variables that one factor reads, or of single ones, after the way up."""
    tree = passes.tree
    home = {scope: tree.home_of(scope) for scope in scopes}
    factor = {scope: _factor_with(passes, scope) for scope in scopes if len(scope) > 1}
    marginals = passes.down({v for v in home.values() if v >= 0}, factor.values())
    tables = []
    for scope in scopes:
        if len(scope) > 1:
            read = factor[scope]
            beliefs = passes.factor_beliefs[read]
            joint = sum_onto(beliefs, tree.scopes[read], scope, tree.sizes)
        else:
            joint = marginals[scope[0]] if scope else np.ones(1)
        tables.append(joint.reshape([tree.sizes[v] for v in scope]))
    return tables


def _factor_with(passes: Passes, scope: Scope) -> int:
    """A factor of the bucket of some variables that reads all of them."""
    tree = passes.tree
    home = tree.home_of(scope)
    return next(f for f in tree.factors[home] if set(scope) <= set(tree.scopes[f]))
