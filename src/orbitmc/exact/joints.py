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

MOST_ENTRIES = 2**20  # of a joint table


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
        if math.prod(shape) > MOST_ENTRIES:
            raise LimitError(
                f"a joint table of {len(scope)} variables would have {math.prod(shape):.3g} "
                f"entries, the limit is {MOST_ENTRIES}"
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
    asked = [tuple(problem.place[v] for v in scope if problem.place[v] >= 0) for scope in scopes]
    whole = [np.zeros([problem.sizes[v] for v in own]) for own in asked]
    parts = _parts(plan, asked)
    top = max(log_z for _, log_z, _ in parts)
    for held, log_z, found in parts:
        for table, own, part in zip(whole, asked, found, strict=True):
            table[tuple(held.get(variable, slice(None)) for variable in own)] += (
                math.exp(log_z - top) * part
            )
    return [problem.joint_of(scope, t, {}) for scope, t in zip(scopes, whole, strict=True)]


def _parts(
    plan: EliminationPlan, asked: Sequence[Scope]
) -> list[tuple[Mapping[int, int], float, list[Floats]]]:
    """For every way to hold the cutset: its log-weight, and joints of those that are not held."""

    def part(
        held: Mapping[int, int], problem: Problem
    ) -> tuple[Mapping[int, int], float, list[Floats]]:
        open_ones = [tuple(v for v in own if v not in held) for own in asked]
        passes = _JointPasses(problem, plan, open_ones)
        log_z = passes.up()
        passes.down(passes.homes)
        return held, log_z, [passes.found[own] for own in open_ones]

    return plan.by_conditioning(part)


def mean_log_weight(plan: EliminationPlan) -> float:
    """The mean log-weight of a state: what all tables are on average, and the constant.

    >>> import orbitmc as om
    >>> round(mean_log_weight(om.exact.predict(om.ising_grid(2, 2, 0.3).graph)), 6)
    0.376529
    """

    def part(held: Mapping[int, int], problem: Problem) -> tuple[float, float]:
        passes = _JointPasses(problem, plan, problem.scopes)
        log_z = passes.up()
        passes.down(passes.homes)
        pairs = zip(problem.scopes, problem.tables, strict=True)
        return log_z, problem.constant + math.fsum(_mean(passes.found[s], t) for s, t in pairs)

    log_z, means = np.array(plan.by_conditioning(part)).T
    weights = np.exp(log_z - log_z.max())
    return plan.problem.constant + float(weights @ means / weights.sum())


def _mean(chances: Floats, table: Floats) -> float:
    """The mean of a table whose impossible entries have no chance."""
    possible = table > -np.inf
    return float(chances[possible] @ table[possible] / chances.sum())


class _JointPasses(Passes):
    """Passes that keep, of each bucket where asked variables meet, their joint beliefs."""

    def __init__(self, problem: Problem, plan: EliminationPlan, asked: Sequence[Scope]) -> None:
        super().__init__(problem, plan.tree, plan.regions)
        sizes = plan.tree.sizes
        self.found = {own: np.full([sizes[v] for v in own], 0.0 if own else 1.0) for own in asked}
        self.views: dict[Scope, View] = {}
        self.homes: dict[int, list[Scope]] = {}
        for own in self.found:
            if own:
                self.homes.setdefault(self.tree.home_of(own), []).append(own)

    def look(self, bucket: Bucket, slab: int, beliefs: Floats) -> None:
        for own in self.homes.get(bucket.variable, ()):
            if own not in self.views:
                self.views[own] = bucket.view(own, self.tree.sizes)
            view, flat = self.views[own], self.found[own].reshape(-1)
            collect(beliefs, flat, view.step, view.high[slab], view.low)
