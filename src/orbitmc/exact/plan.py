"""What exact elimination will cost, known before any of it is spent."""

import itertools
import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np

from orbitmc._numba.compile_log import latest_time, working_time
from orbitmc._util.loading import LateModule
from orbitmc._util.text import MEMORY
from orbitmc.errors import ContradictionError, LimitError
from orbitmc.exact.blocks import (
    LARGEST_MESSAGE,
    Steps,
    plan_steps,
    single_steps,
    steps_within,
)
from orbitmc.exact.order import EASY, Order, find_order, remember_order, remembered_order
from orbitmc.exact.order_search import LARGEST_COUNTS
from orbitmc.exact.problem import LONGEST_EXPANDED, Problem, prepare
from orbitmc.exact.tree import (
    ENTRY,
    Tree,
    best_cutset_variable,
    build_tree,
    condition,
)
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.probing import probe

sparse, csgraph = LateModule("scipy.sparse"), LateModule("scipy.sparse.csgraph")

COMFORT = 2**29  # bytes for which nobody needs to compute messages twice
MOST_HELD = 6  # binary variables that may be held: each doubles the time
SECONDS_PER_BUCKET = 4e-5  # for its order and its tables too
SECONDS_PER_LOOK = 2e-5  # at a variable and the zeros around it, before any order is sought

ELIMINATION_OVERHEAD = 2**20  # bytes of slabs, views and small objects, whatever the model
LARGE_GRAPH = 20_000
"""Variables, or variables that factors read, from which on a part is looked at first."""

PART_VARIABLES = 2_000

FIRST_SHARE = 0.2  # of the time that elimination may take, for its first order
HOPE_SECONDS = 1.0  # how long a part is looked at
HOPELESS_ENTRIES = 2.0**45  # table entries

Part = TypeVar("Part")


@dataclass(frozen=True)
class EliminationPlan:
    """An order of elimination with its price.

    `width` is the most neighbours a variable has when it is eliminated, `largest` and `entries`
    count table entries (of the largest table, of all), `bytes` is the peak of memory. The variables
    of `cutset` (numbers in `problem`) are held at each of their values in turn.
    """

    width: int
    largest: int
    entries: int
    bytes: int
    cutset: tuple[int, ...] = field(repr=False)
    order: tuple[int, ...] = field(repr=False)
    problem: Problem = field(repr=False)
    tree: Tree = field(repr=False)
    steps: Steps = field(repr=False)

    def by_conditioning(self, answer: Callable[[dict[int, int], Problem], Part]) -> list[Part]:
        """What is found for each way to hold the cutset that leaves a state; constants left out."""
        problem, answers = replace(self.problem, constant=0.0), []
        for values in itertools.product(*(range(problem.sizes[v]) for v in self.cutset)):
            fixed = dict(zip(self.cutset, values, strict=True))
            some = condition(problem, fixed)
            with suppress(ContradictionError):
                if some.constant > -np.inf:
                    answers.append(answer(fixed, some))
        if not answers:
            raise ContradictionError("no state is possible: every state has weight 0")
        return answers

    def at(self, beta: float) -> "EliminationPlan":
        """The same plan at another inverse temperature: all log-weights times `beta`, above 0."""
        tables = tuple(beta * table for table in self.problem.tables)
        constant = beta * self.problem.constant
        return replace(self, problem=replace(self.problem, tables=tables, constant=constant))

    @property
    def seconds(self) -> float:
        """About how long elimination takes on one core of 2020 or so."""
        turns = math.prod(self.problem.sizes[variable] for variable in self.cutset)
        return turns * self.steps.seconds

    @property
    def table_bytes(self) -> int:
        """What the tables of factors take."""
        return ENTRY * sum(table.size for table in self.problem.tables)

    @property
    def in_words(self) -> str:
        """How wide it is, and what makes it less wide."""
        followers = self.problem.followers
        decided = f"; {followers:,} variables follow from others" if followers else ""
        return f"width {self.width}{decided}"


def predict(
    graph: FactorGraph,
    *,
    memory: int = MEMORY,
    seconds: float = 5.0,
    within: float = math.inf,
    enough: float = 0.0,
) -> EliminationPlan:
    """Find an order within `seconds` and say what it costs; allocates nothing big.

    No order is searched for where a greedy one leads to sums in `enough` seconds.

    If elimination must be over `within` some time, one that surely takes longer is refused at
    once, and so is one that has no order after a fifth of that, or `seconds` if that is more;
    otherwise only the search for a better order ends then.

    When messages would not fit into `memory`, the plan computes some of them twice; if that is
    not enough, it holds a few variables at each of their values in turn. `bytes` may still be
    above `memory`; only a graph without any order below 2^60 table entries is refused here.

    >>> import orbitmc as om
    >>> predict(om.ising_grid(4, 100, 0.3).graph).width
    4
    """
    until = min(working_time() + max(seconds, FIRST_SHARE * within), latest_time())
    require_time(graph, within)
    require_hope(graph, min(HOPE_SECONDS, seconds / 2))
    greedy = order_greedily(graph, until) if enough > 0.0 else None
    return plan_from(graph, greedy, memory=memory, seconds=seconds, until=until, enough=enough)


class GreedyOrder(NamedTuple):
    """A graph made ready for elimination, and a greedy order."""

    problem: Problem
    order: Order


def order_greedily(graph: FactorGraph, until: float) -> GreedyOrder:
    """Prepare a graph and order it; no values are tried before."""
    problem = prepare(graph)
    return GreedyOrder(problem, find_order(problem.scopes, problem.sizes, seconds=0.0, until=until))


def plan_from(
    graph: FactorGraph,
    greedy: GreedyOrder | None,
    *,
    memory: int,
    seconds: float,
    until: float,
    enough: float,
) -> EliminationPlan:
    """Plan to follow a greedy order where that takes `enough` seconds; elsewhere search a better.

    Before a search, values are tried, if there are zeros. An easy order is not searched for again.
    Variables are held where memory is short.
    """
    if greedy is not None and len(greedy.order.variables) == len(greedy.problem.sizes):
        order = greedy.order.variables
        plan = plan_in_order(greedy.problem, order, memory=memory, until=until)
        easy = greedy.order.cost <= EASY and not graph.has_zeros()
        if (plan.seconds <= enough or easy) and plan.bytes <= min(memory, COMFORT):
            return _remember(graph, plan)
    if graph.has_zeros():
        problem = prepare(graph, probe(graph))
    else:
        problem = prepare(graph) if greedy is None else greedy.problem
    hint = remembered_order(graph, problem)
    plan = plan_holding(problem, (), memory=memory, seconds=seconds, hint=hint, until=until)
    _remember(graph, plan)
    while plan.bytes > memory and plan.bytes / memory < 2.0 ** (MOST_HELD - len(plan.cutset)):
        cutset = (*plan.cutset, best_cutset_variable(plan.tree))
        plan = plan_holding(problem, cutset, memory=memory, seconds=seconds / 4, until=until)
    return plan


def _remember(graph: FactorGraph, plan: EliminationPlan) -> EliminationPlan:
    """Keep the order of a plan for graphs with the same scopes; gives the plan."""
    cost = plan.entries + LARGEST_COUNTS * plan.largest
    remember_order(graph, plan.problem, plan.order, cost)
    return plan


def require_fit(needed: int, memory: int) -> None:
    """Refuse an elimination that needs more than `memory` bytes."""
    if needed > memory:
        raise LimitError(
            f"exact elimination would need {needed / 2**30:.3g} GiB, "
            f"the limit is {memory / 2**30:.3g} GiB"
        )


def plan_holding(
    problem: Problem,
    cutset: tuple[int, ...],
    *,
    memory: int,
    seconds: float,
    hint: Order | None = None,
    until: float = math.inf,
) -> EliminationPlan:
    """Plan an elimination that holds the variables of a cutset at each of their values in turn."""
    conditioned = condition(problem, dict.fromkeys(cutset, 0))
    turns = math.prod(problem.sizes[variable] for variable in cutset)
    result = find_order(
        conditioned.scopes, conditioned.sizes, seconds=seconds, times=turns, hint=hint, until=until
    )
    order = result.variables
    if len(order) < len(problem.sizes):
        if working_time() > until:
            raise LimitError(
                f"no order to eliminate these {len(problem.sizes)} variables was found in the "
                "time there is for that"
            )
        raise LimitError(
            "exact elimination would need tables of more than 1e+18 entries for these "
            f"{len(problem.sizes)} variables"
        )
    return plan_in_order(problem, order, memory=memory, cutset=cutset, until=until)


def plan_in_order(
    problem: Problem,
    order: Sequence[int],
    *,
    memory: int,
    cutset: tuple[int, ...] = (),
    until: float = math.inf,
) -> EliminationPlan:
    """Plan to eliminate variables in an order; those of a cutset are held in turn.

    Where a message is beyond any machine, nobody looks for the fastest way.
    """
    tree = build_tree(condition(problem, dict.fromkeys(cutset, 0)), order)
    fixed = ENTRY * sum(table.size for table in problem.tables) + ELIMINATION_OVERHEAD
    beyond = ENTRY * max(tree.messages, default=0) > LARGEST_MESSAGE
    choose = single_steps if beyond else plan_steps
    steps = steps_within(tree, min(memory, COMFORT) - fixed, choose, until=until)
    entries = [tree.table_entries(variable) for variable in order]
    turns = math.prod(problem.sizes[variable] for variable in cutset)
    return EliminationPlan(
        width=tree.width,
        largest=max(entries, default=1),
        entries=turns * sum(entries),
        bytes=steps.bytes + fixed,
        cutset=cutset,
        order=tuple(order),
        problem=problem,
        tree=tree,
        steps=steps,
    )


def require_time(graph: FactorGraph, seconds: float) -> None:
    """Refuse a graph with more variables than can be eliminated one by one in so many seconds.

    Zeros may decide most of them, but to look at all takes time, too.
    """
    each = SECONDS_PER_LOOK if graph.has_zeros() else SECONDS_PER_BUCKET
    least = each * int((graph.cardinality > 1).sum())
    if least > seconds:
        raise LimitError(
            f"exact elimination would take {least:.2g} s at least for these "
            f"{graph.variables} variables"
        )


def require_hope(graph: FactorGraph, seconds: float = 1.0) -> None:
    """Refuse a large graph when its first table, or a part around one variable, is too large."""
    if (
        len(graph.scope) > LARGE_GRAPH
        and not graph.has_zeros()
        and _first_entries(graph) > HOPELESS_ENTRIES
    ):
        raise LimitError(
            f"exact elimination would need more than {HOPELESS_ENTRIES:.1g} table entries for the "
            f"first of these {graph.variables} variables, whichever it is"
        )
    if graph.variables <= LARGE_GRAPH:
        return
    scopes, sizes = _part(graph)
    cost = find_order(scopes, sizes, seconds=seconds).cost
    if cost > HOPELESS_ENTRIES:
        raise LimitError(
            f"exact elimination would need more than {HOPELESS_ENTRIES:.1g} table entries for "
            f"{len(sizes)} of these {graph.variables} variables alone"
        )


def _first_entries(graph: FactorGraph) -> float:
    """The smallest table that some variable could be eliminated from first.

    Clauses that become chains of small tables do not count. Where nothing is impossible, no value
    is dropped, so this is a lower bound for every order.
    """
    chained = (np.arange(graph.factors) >= graph.first_clause) & (graph.arities > LONGEST_EXPANDED)
    reads = _reads(graph)[~chained]
    joined = (reads.T @ reads).astype(bool)
    open_variables = graph.cardinality > 1
    logs = (joined @ np.log2(graph.cardinality))[open_variables]
    return float(2.0 ** min(logs.min(initial=np.inf), 1000.0))


def _reads(graph: FactorGraph) -> Any:
    """Which factor, a row each, reads which variables."""
    places = (graph.factor_of_edge, graph.scope)
    return sparse.csr_array(
        (np.ones(len(graph.scope), np.int32), places), (graph.factors, graph.variables)
    )


def _part(graph: FactorGraph) -> tuple[list[tuple[int, ...]], list[int]]:
    """Scopes inside a ball around the middle variable, renumbered, and its cardinalities."""
    factor_of, reads = graph.factor_of_edge, _reads(graph)
    both_ways = sparse.block_array([[None, reads], [reads.T, None]], format="csr")
    middle = graph.factors + graph.variables // 2
    reached = csgraph.breadth_first_order(both_ways, middle, return_predecessors=False)
    variables = reached[reached >= graph.factors][:PART_VARIABLES] - graph.factors
    variables = variables[graph.cardinality[variables] > 1]
    number = np.full(graph.variables, -1)
    number[variables] = np.arange(len(variables))
    factors = np.unique(factor_of[np.isin(graph.scope, variables)])
    scopes = [tuple(n for n in number[graph.scope_of(f)].tolist() if n >= 0) for f in factors]
    return scopes, graph.cardinality[variables].tolist()
