"""Joint probabilities of a few variables by elimination.

A factor that says nothing ties variables that are asked about together, so that they meet in one
bucket; on the way down its beliefs are summed onto them.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from orbitmc._util.arrays import Floats
from orbitmc.errors import LimitError
from orbitmc.exact.contraction import Bucket, Passes, View, collect
from orbitmc.exact.plan import EliminationPlan
from orbitmc.exact.problem import Problem, Scope
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.transforms import extend

MOST_JOINT_ENTRIES = 2**20  # of a joint table


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
    places = [tuple(problem.place[v] for v in scope if problem.place[v] >= 0) for scope in scopes]
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
        fixed: Mapping[int, int], problem: Problem
    ) -> tuple[Mapping[int, int], float, list[Floats]]:
        open_ones = [tuple(v for v in scope if v not in fixed) for scope in scopes]
        passes = _JointPasses(problem, plan, open_ones)
        log_z = passes.up()
        passes.down(passes.homes)
        return fixed, log_z, [passes.tables[scope] for scope in open_ones]

    return plan.by_conditioning(part)


def mean_log_weight(plan: EliminationPlan) -> float:
    """The mean log-weight of a state: what all tables are on average, and the constant.

    >>> import orbitmc as om
    >>> round(mean_log_weight(om.exact.predict(om.ising_grid(2, 2, 0.3).graph)), 6)
    0.376529
    """

    def part(fixed: Mapping[int, int], problem: Problem) -> tuple[float, float]:
        passes = _JointPasses(problem, plan, problem.scopes)
        log_z = passes.up()
        passes.down(passes.homes)
        pairs = zip(problem.scopes, problem.tables, strict=True)
        return log_z, problem.constant + math.fsum(_mean(passes.tables[s], t) for s, t in pairs)

    log_z, means = np.array(plan.by_conditioning(part)).T
    weights = np.exp(log_z - log_z.max())
    return plan.problem.constant + float(weights @ means / weights.sum())


def _mean(chances: Floats, table: Floats) -> float:
    """The mean of a table whose impossible entries have no chance."""
    possible = table > -np.inf
    return float(chances[possible] @ table[possible] / chances.sum())


class _JointPasses(Passes):
    """Passes that keep, of each bucket where asked variables meet, their joint beliefs."""

    def __init__(self, problem: Problem, plan: EliminationPlan, scopes: Sequence[Scope]) -> None:
        super().__init__(problem, plan.tree, plan.regions)
        sizes = plan.tree.sizes
        self.tables = {
            scope: np.full([sizes[v] for v in scope], 0.0 if scope else 1.0) for scope in scopes
        }
        self.views: dict[Scope, View] = {}
        self.homes: dict[int, list[Scope]] = {}
        for scope in self.tables:
            if scope:
                self.homes.setdefault(self.tree.home_of(scope), []).append(scope)

    def observe(self, bucket: Bucket, slab: int, beliefs: Floats) -> None:
        for scope in self.homes.get(bucket.variable, ()):
            if scope not in self.views:
                self.views[scope] = bucket.view(scope, self.tree.sizes)
            view, flat = self.views[scope], self.tables[scope].reshape(-1)
            collect(beliefs, flat, view.step, view.high[slab], view.low)
