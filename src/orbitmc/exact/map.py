"""The most probable states: proven by elimination, bounded, or improved step by step.

Improve a state by exact steps: hold some variables, and find the best values of all others.

Where single changes lead nowhere, because constraints tie variables together, many that change
together may. So few are held: those that large tables read, chosen by chance, until elimination is
cheap. Each step chooses others.
"""

import heapq
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from orbitmc._numba.compile_log import timed, working_time
from orbitmc._util.arrays import Floats, Numbers
from orbitmc._util.interrupts import check_interrupt
from orbitmc._util.text import MEMORY
from orbitmc.errors import ContradictionError, LimitError
from orbitmc.exact.blocks import strides_of
from orbitmc.exact.contraction import (
    LOGARITHMIC,
    Bucket,
    load_tables,
    tables_in_order,
    terms_in,
)
from orbitmc.exact.order import eliminate, find_order, find_order_with_last, neighbours_of
from orbitmc.exact.plan import (
    FIRST_SHARE,
    HOPE_SECONDS,
    EliminationPlan,
    plan_in_order,
    require_hope,
    require_time,
)
from orbitmc.exact.problem import Problem, Scope, prepare
from orbitmc.exact.templates import Step, Template, add_pieces, is_live
from orbitmc.exact.tree import ENTRY, Tree, build_tree, condition
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.fringe import Table, add_tables
from orbitmc.graph.log_weights import exact_sum
from orbitmc.graph.probing import probe

# Eliminate by taking maxima instead of sums: the weight of the best state, and that state.
#
# A message says how heavy the best values of everything below are, given what is shared. Read from
# the roots down, the messages tell how good each value of a variable can still become.

State = list[int]  # a value for each variable of a problem


def message_bytes(tree: Tree) -> int:
    """What all messages take; none of them can be let go."""
    return ENTRY * sum(map(tree.message_entries, tree.upward))


@dataclass(frozen=True)
class Entry:
    """A flat table that scores the values of a variable, and how far each other one moves in it."""

    table: Floats
    own: int
    others: tuple[tuple[int, int], ...]


class MaxElimination:
    """All messages of one elimination by maxima.

    Variables that are `summed` out come first in the order: a maximum of sums is not a sum of
    maxima. States have no values of them.
    """

    def __init__(self, problem: Problem, tree: Tree, summed: Set[int] = frozenset()) -> None:
        self.tree = tree
        self.downward = tuple(v for v in reversed(tree.upward) if v not in summed)
        self.tables = load_tables(tables_in_order(problem, tree), LOGARITHMIC)
        self.messages: dict[int, Floats] = {}
        for variable in timed(tree.upward):
            self._send(variable, LOGARITHMIC.sum_out if variable in summed else _maxima)
        self.entries = {variable: self._entries(variable) for variable in self.downward}

    def _send(self, variable: int, reduce: Callable[[Floats], Floats]) -> None:
        bucket = Bucket(variable, self.tree.shared[variable], self.tree.sizes)
        message = np.empty(bucket.slabs * bucket.places)
        terms = terms_in(
            bucket, self.tree, self.tables, self.messages, self.tree.shared, LOGARITHMIC
        )
        for slab, sums in bucket.sums(terms, LOGARITHMIC):
            message[slab * bucket.places : (slab + 1) * bucket.places] = reduce(sums)
        if message.max() == -np.inf:
            raise ContradictionError("no state is possible: every state has weight 0")
        self.messages[variable] = message

    def _entries(self, variable: int) -> tuple[Entry, ...]:
        tree = self.tree
        pieces = [(tree.scopes[factor], self.tables[factor]) for factor in tree.factors[variable]]
        pieces += [(tree.shared[child], self.messages[child]) for child in tree.children[variable]]
        return tuple(_entry(variable, scope, table, tree.sizes) for scope, table in pieces)

    def scores(self, variable: int, state: Sequence[int]) -> Floats:
        """How heavy the best states are for each value, given what the bucket shares.

        Counted is what this bucket and those below add.
        """
        total = np.zeros(self.tree.sizes[variable])
        for table, stride, others in ((e.table, e.own, e.others) for e in self.entries[variable]):
            first = sum(state[other] * step for other, step in others)
            total += table[first : first + stride * (len(total) - 1) + 1 : stride]
        return total

    def best(self) -> float:
        """The weight of the best state, without the constant."""
        return math.fsum(float(self.messages[root][0]) for root in self.tree.roots)


def _maxima(sums: Floats) -> Floats:
    """What a bucket tells by the best value of its variable."""
    best: Floats = sums.max(axis=0)
    return best


def _entry(variable: int, scope: Scope, table: Floats, sizes: Sequence[int]) -> Entry:
    """How the values of a variable are found in a table; last of its scope fastest."""
    steps = strides_of(scope, sizes)
    stride = steps.pop(variable)
    return Entry(np.ascontiguousarray(table).reshape(-1), stride, tuple(steps.items()))


@dataclass(frozen=True)
class RowMaxima:
    """How heavy states of one row can become, bucket by bucket."""

    tree: Tree
    downward: tuple[int, ...]
    totals: Mapping[int, Floats]
    weight: float

    def scores(self, variable: int, state: Sequence[int]) -> Floats:
        """How heavy the best states are for each value, given what the bucket shares."""
        shared = self.tree.shared[variable]
        place: Any = (slice(None), *(state[member] for member in shared), 0)
        scores: Floats = self.totals[variable][place]
        return scores

    def best(self) -> float:
        """The weight of the best state, without the constant."""
        return self.weight


class MaxTemplate:
    """A template that is eliminated by maxima, with everything done that no row can change."""

    def __init__(self, template: Template) -> None:
        self.template = template
        self.downward = tuple(reversed(template.tree.upward))
        self.messages: dict[int, Floats] = {}
        self.totals: dict[int, Floats] = {}
        self.live = tuple(step for step in template.steps if not self._send_if_fixed(step))

    def _send_if_fixed(self, step: Step) -> bool:
        """Send what no row changes; false if rows make a difference."""
        if is_live(step, self.messages):
            return False
        self._send(step, self.messages, self.totals, np.zeros((0, 1), np.int64), ())
        return True

    @staticmethod
    def _send(
        step: Step,
        messages: dict[int, Floats],
        totals: dict[int, Floats],
        row: Numbers,
        likelihoods: Sequence[Floats],
    ) -> None:
        total = add_pieces(step, messages, row, likelihoods)
        totals[step.variable], messages[step.variable] = total, total.max(axis=0)

    @property
    def bytes_held(self) -> int:
        """What is kept for all rows."""
        pieces = (piece.table for step in self.template.steps for piece in step.pieces)
        tables = (*self.messages.values(), *self.totals.values(), *pieces)
        return sum(table.nbytes for table in tables)

    def best_of_rows(self, rows: Numbers, likelihoods: Sequence[Floats]) -> dict[int, Numbers]:
        """The best values of all variables of the tree, in rows as `Elimination.upward` takes them.

        Rows that are impossible have no best values; what is given for them means nothing.
        """
        messages, totals = dict(self.messages), dict(self.totals)
        for step in self.live:
            check_interrupt()
            self._send(step, messages, totals, rows, likelihoods)
        everywhere, state = np.arange(rows.shape[1]), dict[int, Numbers]()
        for variable in self.downward:
            total, shared = totals[variable], self.template.tree.shared[variable]
            row = everywhere if total.shape[-1] > 1 else np.zeros_like(everywhere)
            place: Any = (slice(None), *(state[member] for member in shared), row)
            state[variable] = total[place].argmax(axis=0)
        return state

    def maximise(self, row: Numbers, likelihoods: Sequence[Floats] = ()) -> RowMaxima | None:
        """All messages for one row, as `Elimination.upward` takes it; None if it is impossible."""
        messages, totals = dict(self.messages), dict(self.totals)
        for step in self.live:
            check_interrupt()
            self._send(step, messages, totals, row, likelihoods)
        template = self.template
        parts = [float(messages[v].reshape(-1)[0]) for v in template.tree.roots]
        parts += [float(piece.of_rows(row)[0]) for piece in template.decided]
        parts += [float(likelihoods[k][0, 0]) for k in template.decided_soft]
        weight = exact_sum(parts)
        if not math.isfinite(weight):
            return None
        return RowMaxima(template.tree, self.downward, totals, weight)


# The few best states in order, by splitting what is left after each one (Lawler 1972).
#
# Read from the roots down, a state is a path. All other states leave it somewhere: they have its
# first values, then another one. The messages tell how heavy the best of those is, so the next best
# state is always known before it is made (Nilsson 1998).


@dataclass(frozen=True)
class Path:
    """The best state of some set of states, and what its values score.

    The set is: the same values before place `turn` of the way down, none of `excluded` there.
    """

    weight: float
    state: State
    scores: list[Floats]
    turn: int
    excluded: frozenset[int]


class Maxima(Protocol):
    """How good values can still become, read from the roots down."""

    @property
    def tree(self) -> Tree: ...

    @property
    def downward(self) -> tuple[int, ...]: ...

    def scores(self, variable: int, state: Sequence[int]) -> Floats: ...

    def best(self) -> float: ...


def best_states(elimination: Maxima) -> Iterator[tuple[float, State]]:
    """All possible states, heaviest first, with their weights (without the constant)."""
    count = itertools.count()
    first = _complete(elimination, None, 0, -1)
    heap = [(-first.weight, next(count), first, 0, -1)]
    while heap:
        check_interrupt()
        negative, _, parent, turn, value = heapq.heappop(heap)
        path = first if value < 0 else _complete(elimination, parent, turn, value, -negative)
        yield path.weight, path.state
        for place in range(path.turn, len(elimination.downward)):
            following = _next_at(elimination, path, place)
            if following is not None:
                weight, other = following
                heapq.heappush(heap, (-weight, next(count), path, place, other))


def _next_at(elimination: Maxima, path: Path, place: int) -> tuple[float, int] | None:
    """The best other value at a place of the way down, and the weight of the best such state."""
    variable = elimination.downward[place]
    scores = path.scores[variable].copy()
    scores[path.state[variable]] = -np.inf
    if place == path.turn:
        scores[list(path.excluded)] = -np.inf
    other = int(scores.argmax())
    if scores[other] == -np.inf:
        return None
    lost = path.scores[variable][path.state[variable]] - scores[other]
    return path.weight - float(lost), other


def _complete(
    elimination: Maxima,
    parent: Path | None,
    turn: int,
    value: int,
    weight: float = 0.0,
) -> Path:
    """The best state that leaves its parent at some turn with some value."""
    tree, downward = elimination.tree, elimination.downward
    state = [0] * len(tree.sizes) if parent is None else list(parent.state)
    scores: list[Floats] = [np.zeros(0)] * len(state) if parent is None else list(parent.scores)
    changed = set(range(len(state))) if parent is None else {downward[turn]}
    excluded: frozenset[int] = frozenset()
    if parent is not None:
        turned = downward[turn]
        earlier = parent.excluded if turn == parent.turn else frozenset()
        excluded = earlier | {parent.state[turned]}
        state[turned] = value
    for variable in downward[turn if parent is None else turn + 1 :]:
        if parent is None or not changed.isdisjoint(tree.shared[variable]):
            scores[variable] = elimination.scores(variable, state)
            best = int(scores[variable].argmax())
            if best != state[variable]:
                state[variable] = best
                changed.add(variable)
    return Path(elimination.best() if parent is None else weight, state, scores, turn, excluded)


# A bound on the best weight: maxima of parts of a bucket add up to no less than its maximum.
#
# Where a bucket would need too large a table, its factors and messages are shared out to several
# tables that are small enough, and each of these is maximised on its own (Dechter & Rish 2003).

MOST_BOUND_ENTRIES = 2**16  # of one table
MOST_VARIABLES_TO_BOUND = 3_000  # beyond, only the maxima of all tables are added up


def upper_bound(
    problem: Problem, most: int = MOST_BOUND_ENTRIES, is_over: Callable[[], bool] = lambda: False
) -> float:
    """A log-weight that no state exceeds.

    When time `is_over`, the maxima of the tables that are left are added up.

    >>> import orbitmc as om
    >>> from orbitmc.exact.problem import prepare
    >>> round(upper_bound(prepare(om.ising_grid(3, 3, 0.5).graph)), 9)
    6.0
    """
    if len(problem.sizes) > MOST_VARIABLES_TO_BOUND:
        return problem.constant  # no table has entries above 0
    order = _order(problem)
    position = {variable: place for place, variable in enumerate(order)}
    buckets: list[list[Table]] = [[] for _ in order]
    for scope, table in zip(problem.scopes, problem.tables, strict=True):
        buckets[min(position[variable] for variable in scope)].append((scope, table))
    known = [problem.constant]
    for place, variable in enumerate(order):
        check_interrupt()
        if is_over():
            left = (factor for bucket in buckets for _, factor in bucket)
            return exact_sum([*known, *(float(factor.max(initial=-np.inf)) for factor in left)])
        for together in _partition_bucket(buckets[place], problem.sizes, most):
            scope, message = _maximise(together, variable, problem.sizes)
            if scope:
                buckets[min(position[other] for other in scope)].append((scope, message))
            else:
                known.append(float(message))
        buckets[place] = []
    return -np.inf if -np.inf in known else exact_sum(known)


def _order(problem: Problem) -> list[int]:
    """Variables with few neighbours first, as they are when their turn comes."""
    neighbours = neighbours_of(len(problem.sizes), problem.scopes)
    heap = [(len(near), variable) for variable, near in enumerate(neighbours)]
    heapq.heapify(heap)
    order: list[int] = []
    done = [False] * len(neighbours)
    while heap:
        count, variable = heapq.heappop(heap)
        if done[variable] or count != len(neighbours[variable]):
            continue
        done[variable] = True
        order.append(variable)
        for member in eliminate(neighbours, variable):
            heapq.heappush(heap, (len(neighbours[member]), member))
    return order


def _partition_bucket(tables: list[Table], sizes: Sequence[int], most: int) -> list[list[Table]]:
    """Put tables together while what they read is small enough, large ones first."""
    groups: list[tuple[set[int], list[Table]]] = []
    for scope, table in sorted(tables, key=lambda entry: -entry[1].size):
        for read, group in groups:
            if math.prod(sizes[variable] for variable in read.union(scope)) <= most:
                read.update(scope)
                group.append((scope, table))
                break
        else:
            groups.append((set(scope), [(scope, table)]))
    return [group for _, group in groups]


def _maximise(tables: list[Table], variable: int, sizes: Sequence[int]) -> Table:
    """Add tables up and take the best value of a variable; scopes are ascending."""
    read, total = add_tables(tables, sizes)
    message: Floats = np.asarray(total.max(axis=read.index(variable)))
    return tuple(member for member in read if member != variable), message


MOST_NEIGHBOURHOOD_COST = 2.0**22
MORE, MOST_SHARE = 0.08, 0.95  # are held beforehand where no order is good enough to begin with


class Start(NamedTuple):
    """A problem of which some variables may be held, and an order for what is left."""

    problem: Problem
    order: Sequence[int]
    tree: Tree


class Neighbourhoods:
    """Steps to better states, each of which holds another choice of variables."""

    def __init__(
        self, problem: Problem, seed: int, *, most_cost: float = MOST_NEIGHBOURHOOD_COST
    ) -> None:
        self.problem, self.share, self.most_cost = problem, 0.0, most_cost
        self.rng = np.random.default_rng(seed)
        self.numbers = [
            {int(value): number for number, value in enumerate(possible)}
            for possible in problem.possible
        ]
        self.start = _start(problem)

    def improve(self, state: Numbers) -> Numbers:
        """A state that is no worse: the best one with the values of the variables that are held."""
        pairs = enumerate(self.problem.place)
        known = {p: self.numbers[v][int(state[v])] for v, p in pairs if p >= 0}
        fixed = {place: known[place] for place in known if self.rng.random() < self.share}
        start = _start(condition(self.problem, fixed)) if self.share else self.start
        if start is None:
            self.share = min(MOST_SHARE, self.share + MORE)
            return state
        more = {place: known[place] for place in self._in_large_tables(start.tree, known)}
        some, fixed = condition(start.problem, more), fixed | more
        try:
            elimination = MaxElimination(some, build_tree(some, start.order))
        except ContradictionError:  # the state was impossible
            return state
        _, best = next(best_states(elimination))
        return self._over_all_variables([fixed.get(v, value) for v, value in enumerate(best)])

    def _in_large_tables(self, tree: Tree, known: Mapping[int, int]) -> list[int]:
        """Variables without which all tables together are small; the larger, the likelier."""
        members = [(variable, *shared) for variable, shared in enumerate(tree.shared)]
        table = np.repeat(np.arange(len(members)), list(map(len, members)))
        member = np.fromiter(itertools.chain.from_iterable(members), np.int64, len(table))
        sizes = np.array(tree.sizes, dtype=np.float64)
        entries = np.array(
            [tree.table_entries(variable) for variable in range(len(members))], float
        )
        relief = np.zeros(len(sizes))
        relief[list(known)] = 1.0 - 1.0 / sizes[list(known)]
        chosen: list[int] = []
        while entries.sum() > self.most_cost:
            weights = np.bincount(member, entries[table] * relief[member], len(sizes))
            chosen.append(int(self.rng.choice(len(sizes), p=weights / weights.sum())))
            entries[table[member == chosen[-1]]] /= sizes[chosen[-1]]
            relief[chosen[-1]] = 0.0
        return chosen

    def _over_all_variables(self, values: Sequence[int]) -> Numbers:
        pairs = zip(self.problem.possible, self.problem.place, strict=True)
        return np.array([possible[values[place] if place >= 0 else 0] for possible, place in pairs])


def _start(problem: Problem) -> Start | None:
    """A greedy order, which is the same every time; None if its tables are beyond any machine."""
    order = find_order(problem.scopes, problem.sizes, seconds=0.0).variables
    if len(order) < len(problem.sizes):
        return None
    return Start(problem, order, build_tree(problem, order))


# The best states of a graph, by elimination: in order, and for sure.


def map_bytes(plan: EliminationPlan) -> int:
    """What an elimination by maxima takes: all its messages, and the tables."""
    return plan.bytes + message_bytes(plan.tree)


def solve_map(plan: EliminationPlan, count: int) -> list[Numbers]:
    """The best states in order, as value numbers; fewer if fewer are possible.

    >>> import orbitmc as om
    >>> from orbitmc.exact.plan import predict
    >>> plan = predict(om.ising_grid(2, 2, 0.5, 0.1).graph)
    >>> [state.tolist() for state in solve_map(plan, 2)]
    [[1, 1, 1, 1], [0, 0, 0, 0]]
    """

    def best_of(fixed: dict[int, int], problem: Problem) -> list[tuple[float, State]]:
        best = itertools.islice(best_states(MaxElimination(problem, plan.tree)), count)
        return [
            (weight + problem.constant, [fixed.get(v, value) for v, value in enumerate(state)])
            for weight, state in best
        ]

    states = [entry for some in plan.by_conditioning(best_of) for entry in some]
    states.sort(key=lambda entry: -entry[0])
    return [plan.problem.in_values(state) for _, state in states[:count]]


# The best values of some variables, when all others are summed out (marginal MAP).
#
# Sums do not commute with maxima, so all that is summed out comes first in the order.


SECONDS_PER_ENTRY, SECONDS_PER_BUCKET = 5e-8, 2e-4  # of logarithms, for maxima and for all sums


def marginal_map_seconds(plan: EliminationPlan) -> float:
    """About how long sums and then maxima take."""
    return SECONDS_PER_ENTRY * plan.entries + SECONDS_PER_BUCKET * len(plan.order)


def plan_marginal_map(
    graph: FactorGraph,
    asked: Iterable[int],
    *,
    memory: int = MEMORY,
    seconds: float = 5.0,
    within: float = math.inf,
) -> EliminationPlan:
    """Plan to sum all variables out but those asked about, which come last; see `predict`."""
    until = working_time() + max(seconds, FIRST_SHARE * within)
    require_time(graph, within)
    require_hope(graph, min(HOPE_SECONDS, seconds / 2))
    problem = prepare(graph, probe(graph) if graph.has_zeros() else None)
    last = frozenset(problem.places_of(asked))
    order = find_order_with_last(problem.scopes, problem.sizes, last, seconds=seconds, until=until)
    if len(order.variables) < len(problem.sizes):
        raise LimitError(
            f"no affordable order sums {len(problem.sizes) - len(last):,} variables out before "
            f"{len(last):,} others are maximised"
        )
    return plan_in_order(problem, order.variables, memory=memory, until=until)


def solve_marginal_map(
    plan: EliminationPlan, asked: Sequence[int], count: int
) -> list[tuple[float, Numbers]]:
    """The best values of variables of a graph, with the logarithms of their probabilities.

    >>> import orbitmc as om
    >>> model = om.read("examples/sprinkler.bif")
    >>> asked = [model.index["rain"], model.index["grass"]]
    >>> plan = plan_marginal_map(model.graph, asked)
    >>> [(round(math.exp(log), 3), values.tolist()) for log, values in
    ...  solve_marginal_map(plan, asked, 2)]
    [(0.432, [0, 0]), (0.238, [0, 1])]
    """
    problem = plan.problem
    every = frozenset(range(len(problem.sizes)))
    last = frozenset(problem.places_of(asked))
    log_z = MaxElimination(problem, plan.tree, every).best()
    best = best_states(MaxElimination(problem, plan.tree, every - last))
    answers = []
    for weight, state in itertools.islice(best, count):
        values = [
            problem.possible[v][state[place] if (place := problem.place[v]) >= 0 else 0]
            for v in asked
        ]
        answers.append((weight - log_z, np.array(values, dtype=np.int64)))
    return answers
