"""All marginals of a network by several small eliminations instead of a large one.

What nobody asked about and sums out to a constant is not needed: of a network, all that is no
ancestor of what is asked or observed. So the marginal of a variable needs its ancestors and those
of evidence only, and every variable is an ancestor of a leaf. Leaves with much in common are asked
together. One group of all leaves is one elimination of everything.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc._numba.compile_log import latest_time, working_time
from orbitmc._util.arrays import Floats
from orbitmc._util.text import MEMORY
from orbitmc.errors import LimitError
from orbitmc.exact.order import find_greedy_order
from orbitmc.exact.plan import (
    ELIMINATION_OVERHEAD,
    FIRST_SHARE,
    HOPE_SECONDS,
    EliminationPlan,
    order_greedily,
    plan_from,
    plan_in_order,
    require_hope,
    require_time,
)
from orbitmc.exact.problem import Problem, Scope, build_problem, possible_tables
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.log_weights import exact_sum
from orbitmc.graph.relevance import drop_leaves

# Measured on random networks, before machine code is loaded.
SECONDS_PER_COST = 2.5e-9  # of the order of a group
SECONDS_PER_VARIABLE, SECONDS_PER_GROUP = 9e-5, 5e-4  # to plan and to eliminate it
ORDER_SECONDS = 3e-5  # for each variable of a group that is looked at
LOOKS = 4  # groups of so many variables are looked at, about, before a better split is known
LEAST_COST = SECONDS_PER_VARIABLE / SECONDS_PER_COST
"""For each variable: what costs less is not split, because most of its time would stay."""

WORTH_GROUPS = 2.0**27  # cost of an order: what costs less is soon eliminated at once
ENOUGH_IN_GROUPS = 0.25  # seconds: to try values and to search an order takes longer


class GroupPart(NamedTuple):
    """An elimination, and the variables of the graph whose marginals are taken from it."""

    plan: EliminationPlan
    variables: frozenset[int]


@dataclass(frozen=True)
class GroupedPlan:
    """Eliminations of groups of variables, each with all that it needs.

    The sum of all weights is that of the first part.
    """

    parts: tuple[GroupPart, ...]

    @property
    def width(self) -> int:
        return max(part.plan.width for part in self.parts)

    @property
    def bytes(self) -> int:
        """The peak of memory: all tables are there, and messages of one part at a time."""
        tables = sum(part.plan.table_bytes for part in self.parts)
        return tables + ELIMINATION_OVERHEAD + max(part.plan.steps.bytes for part in self.parts)

    @property
    def seconds(self) -> float:
        """About how long elimination takes on one core of 2020 or so."""
        return math.fsum(part.plan.seconds for part in self.parts)

    @property
    def in_words(self) -> str:
        """How wide it is, and in how many parts."""
        return f"width {self.width}, {len(self.parts)} groups of variables"


def predict_marginals(
    graph: FactorGraph,
    *,
    memory: int = MEMORY,
    seconds: float = 5.0,
    within: float = math.inf,
    enough: float = 0.0,
) -> EliminationPlan | GroupedPlan:
    """Plan an elimination for all marginals: as `predict` does, or in groups if that is cheaper.

    >>> import orbitmc as om
    >>> predict_marginals(om.read("examples/sprinkler.bif").graph).width
    2
    """
    until = min(working_time() + max(seconds, FIRST_SHARE * within), latest_time())
    require_time(graph, within)
    require_hope(graph, min(HOPE_SECONDS, seconds / 2))
    greedy = order_greedily(graph, until)
    cost = greedy.order.cost
    groups = None
    if cost > WORTH_GROUPS:
        soon = min(until, working_time() + seconds)
        groups = plan_groups(graph, cost, memory=memory, until=soon)
    if groups is not None and groups.bytes <= memory and groups.seconds <= ENOUGH_IN_GROUPS:
        return groups
    try:
        plan = plan_from(graph, greedy, memory=memory, seconds=seconds, until=until, enough=enough)
    except LimitError:
        if groups is None:
            raise
        return groups
    if groups is None or plan.bytes <= memory < groups.bytes:
        return plan
    return groups if groups.seconds < plan.seconds or groups.bytes <= memory < plan.bytes else plan


def plan_groups(
    graph: FactorGraph,
    cost: float = math.inf,
    *,
    memory: int = MEMORY,
    until: float = math.inf,
) -> GroupedPlan | None:
    """Plan eliminations of groups; None if that is no cheaper than an order with such a cost."""
    if graph.first_clause < graph.factors:
        return None
    network = _find_network(graph)
    base = network.order_group(network.base, until)
    groups = _Splitting(network, base, cost, until).split_all()
    if len(groups) < 2 or not all(group.is_ordered for group in (base, *groups)):
        return None
    problem = network.problem_of(base.variables, network.constant)
    plan = plan_in_order(problem, base.order, memory=memory, until=until)
    known = network.base | network.decided
    parts = [GroupPart(plan, known)]
    for group in sorted(groups, key=lambda group: group.seconds):
        problem = network.problem_of(group.variables)
        plan = plan_in_order(problem, group.order, memory=memory, until=until)
        parts.append(GroupPart(plan, group.variables - known))
        known |= group.variables
    return GroupedPlan(tuple(parts))


class _Group(NamedTuple):
    """Variables with all that they need, and an order of these, by number among them sorted."""

    variables: frozenset[int]
    order: Sequence[int]
    cost: float

    @property
    def is_ordered(self) -> bool:
        """Whether there is an order with tables that some machine holds."""
        return len(self.order) == len(self.variables)

    @property
    def seconds(self) -> float:
        """About how long it takes to plan and to eliminate the group."""
        fixed = SECONDS_PER_GROUP + SECONDS_PER_VARIABLE * len(self.variables)
        return fixed + SECONDS_PER_COST * self.cost


@dataclass(frozen=True)
class _Network:
    """What open variables, those with several possible values, need, and the factors of each.

    A variable that becomes a leaf needs what its factor reads. Others are the `base`: they need
    all that factors connect them with. Beside weights of the base, all weights sum to `constant`.
    """

    graph: FactorGraph
    scopes: Sequence[Scope]
    tables: Sequence[Floats]
    possible: Sequence[NDArray[np.int64]]
    needs: Mapping[int, Sequence[int]]
    factors: Mapping[int, Sequence[int]]
    base: frozenset[int]
    constant: float

    @property
    def decided(self) -> frozenset[int]:
        """Variables with one possible value."""
        return frozenset(range(self.graph.variables)) - self.needs.keys()

    def find_leaves(self) -> list[int]:
        """Variables that no other needs, depth-first from the roots: near ones share ancestors."""
        readers: dict[int, list[int]] = {variable: [] for variable in self.needs}
        for variable in self.needs.keys() - self.base:
            for parent in self.needs[variable]:
                readers[parent].append(variable)
        waiting = [v for v in self.needs if v in self.base or not self.needs[v]]
        reached: dict[int, None] = {}
        while waiting:
            variable = waiting.pop()
            if variable not in reached:
                reached[variable] = None
                waiting += readers[variable]
        return [v for v in reached if not readers[v] and v not in self.base]

    def ancestors(self, variables: Iterable[int]) -> frozenset[int]:
        """Some variables with all that they need."""
        reached: set[int] = set()
        waiting = [*variables]
        while waiting:
            variable = waiting.pop()
            if variable not in reached:
                reached.add(variable)
                waiting += self.needs[variable]
        return frozenset(reached)

    def order_group(self, variables: frozenset[int], until: float) -> _Group:
        """Find a greedy order of variables that need no others."""
        place = {variable: number for number, variable in enumerate(sorted(variables))}
        scopes = [
            [place[member] for member in self.scopes[factor] if member in place]
            for variable in place
            for factor in self.factors[variable]
        ]
        sizes = [len(self.possible[variable]) for variable in place]
        return _Group(variables, *find_greedy_order(scopes, sizes, until=until))

    def problem_of(self, variables: frozenset[int], constant: float = 0.0) -> Problem:
        """The tables of variables that need no others."""
        place = {variable: number for number, variable in enumerate(sorted(variables))}
        factors = [factor for variable in place for factor in self.factors[variable]]
        return build_problem(
            self.graph,
            [self.scopes[factor] for factor in factors],
            [self.tables[factor] for factor in factors],
            self.possible,
            place,
            constant,
        )


def _find_network(graph: FactorGraph) -> _Network:
    """Drop leaves, one after the other, and impossible values.

    These may go first: the table of a leaf excludes no value of another variable.
    """
    scopes, tables, possible = possible_tables(graph)
    leaves = drop_leaves(graph, np.zeros(graph.variables, dtype=np.bool_))
    variables, dropped = leaves.variables.tolist(), leaves.factors.tolist()
    needs: dict[int, list[int]] = {v: [] for v, some in enumerate(possible) if len(some) > 1}
    factors: dict[int, list[int]] = {variable: [] for variable in needs}
    constants = [graph.constant]
    for variable, factor in zip(variables, dropped, strict=True):
        if factor < 0:
            constants.append(math.log(len(possible[variable])))
            continue
        scope = scopes[factor]
        sums = np.logaddexp.reduce(tables[factor], axis=scope.index(variable))
        constants.append(float(sums.flat[0]))
        if variable in needs:
            factors[variable].append(factor)
            needs[variable] = [v for v in scope if v in needs and v != variable]
    for factor in sorted({*range(graph.factors)} - {*dropped}):
        scope = tuple(v for v in scopes[factor] if v in needs)
        if not scope:
            constants.append(float(tables[factor].max()))
            continue
        factors[scope[0]].append(factor)
        for variable, other in zip(scope, (*scope[1:], scope[0]), strict=True):
            needs[variable].append(other)
    return _Network(
        graph=graph,
        scopes=scopes,
        tables=tables,
        possible=possible,
        needs=needs,
        factors=factors,
        base=frozenset(needs.keys() - {*variables}),
        constant=exact_sum(constants),
    )


class _Splitting:
    """Leaves are split in halves, and these again, where that is cheaper."""

    def __init__(self, network: _Network, base: _Group, cost: float, until: float) -> None:
        self.network, self.base, self.until = network, base, until
        self.whole = _Group(frozenset(network.needs), (), cost)
        self.looked = 0

    def split_all(self) -> list[_Group]:
        """Groups that take less time than everything at once; none if there are none."""
        leaves = self.network.find_leaves()
        groups = self._split(leaves, self.whole)
        return [] if groups == [self.whole] else groups

    def _split(self, leaves: Sequence[int], group: _Group) -> list[_Group]:
        """A group of leaves, or groups of fewer leaves each if these take less time."""
        late = ORDER_SECONDS * self.looked > self.whole.seconds or working_time() > self.until
        if len(leaves) < 2 or late or not self._is_worth_a_look(group):
            return [group]
        half = len(leaves) // 2
        smaller: list[_Group] = []
        for some in (leaves[:half], leaves[half:]):
            variables = self.network.ancestors(some)
            self.looked += len(variables)
            smaller += self._split(some, self.network.order_group(variables, self.until))
        smaller = _without_subsets(smaller)
        seconds = math.fsum(part.seconds for part in smaller)
        return [group] if group.seconds <= seconds else smaller

    def _is_worth_a_look(self, group: _Group) -> bool:
        """Whether smaller groups might save more than it takes to look for them.

        Most of them need what evidence is about, all over again.
        """
        again = 0.0 if self.base.variables.isdisjoint(group.variables) else 2 * self.base.seconds
        look = LOOKS * ORDER_SECONDS * len(group.variables)
        return group.cost > LEAST_COST * len(group.variables) and group.seconds - again > look


def _without_subsets(groups: Sequence[_Group]) -> list[_Group]:
    """Leave out groups whose variables another one has, too."""
    largest_first = sorted(groups, key=lambda group: -len(group.variables))
    chosen: list[_Group] = []
    for group in largest_first:
        if not any(other.variables >= group.variables for other in chosen):
            chosen.append(group)
    return chosen
