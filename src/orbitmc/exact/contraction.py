"""All marginals and the sum of weights by eliminating one variable after the other.

Upward, each bucket sums its variable out of its factors and of the messages it got, and sends
the result on. Downward, each bucket learns how probable the values are that it shares with its
parent, and so its own marginal. Messages are logarithms, so nothing under- or overflows, and
impossible stays impossible.
"""

import functools
import heapq
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from orbitmc._numba.tiers import of_all, tier
from orbitmc._util.arrays import Floats, Numbers, floats
from orbitmc._util.interrupts import check_interrupt
from orbitmc._util.text import MEMORY
from orbitmc.errors import ContradictionError
from orbitmc.exact.order import Neighbours, eliminate, neighbours_of
from orbitmc.exact.plan import EliminationPlan, predict, require_fit
from orbitmc.exact.problem import Problem, Scope, prepare
from orbitmc.exact.tree import Part, Region, Tree, combine_cutset
from orbitmc.graph.builder import Builder
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.log_weights import exact_sum, sum_of_tables

# The work inside one bucket, slab by slab, so that its table never exists as a whole.
#
# A slab is a run of entries of the shared variables, the last ones fastest. Tables hold
# logarithms; beliefs are probabilities.

SLAB = 2**14  # entries: a slab and what is added to it stay in the processor's cache


@dataclass(frozen=True)
class View:
    """A flat table seen from a bucket: where its entries are for each entry of the bucket's.

    Entry (value of the bucket's variable, slab `high`, place `low` in the slab) is at
    `value * step + high[slab] + low[place]`.
    """

    step: int
    high: Numbers
    low: Numbers


class Term(NamedTuple):
    """A flat table that a bucket adds up, over which variables, and how the bucket sees it."""

    scope: Scope
    table: Floats
    view: View


class Bucket:
    """Views of tables from the variable that is eliminated and those it is shared with."""

    def __init__(self, variable: int, shared: Scope, sizes: Sequence[int]) -> None:
        self.variable, self.shared = variable, shared
        self.values = sizes[variable]
        self.shape = [sizes[member] for member in shared]
        self.split = _slab_axes(self.shape)
        self.slabs = int(np.prod(self.shape[: self.split], dtype=np.int64))
        self.places = int(np.prod(self.shape[self.split :], dtype=np.int64))

    def view(self, scope: Scope, sizes: Sequence[int]) -> View:
        """See a table over some of the bucket's variables, last of `scope` fastest."""
        strides = strides_of(scope, sizes)
        along = [strides.get(member, 0) for member in self.shared]
        return View(
            step=strides.get(self.variable, 0),
            high=_offsets(self.shape[: self.split], along[: self.split]),
            low=_offsets(self.shape[self.split :], along[self.split :]),
        )

    def together(self, pieces: Sequence[tuple[Scope, Floats]]) -> tuple[Scope, Floats]:
        """Add up small tables (flat or shaped) to one, its own variable first."""
        axes = {member: axis for axis, member in enumerate((self.variable, *self.shared))}
        size = dict(zip(axes, (self.values, *self.shape), strict=True))
        read = sorted({member for scope, _ in pieces for member in scope}, key=axes.__getitem__)
        tables = []
        for scope, table in pieces:
            order = sorted(range(len(scope)), key=lambda axis: axes[scope[axis]])
            shaped = table.reshape([size[member] for member in scope]).transpose(order)
            tables.append(shaped.reshape([size[m] if m in scope else 1 for m in read]))
        return tuple(read), sum_of_tables(tables)

    def sums(self, terms: Sequence[Term]) -> Iterator[tuple[int, Floats]]:
        """Add up tables; gives (slab, sums[value, place]), overwriting the same memory."""
        slab_sums = np.empty((self.values, self.places))
        # in one piece, because compiled code is made for each layout
        whole = [(np.ascontiguousarray(table), view) for _, table, view in terms]
        for slab in range(self.slabs):
            check_interrupt()
            slab_sums[:] = 0.0
            for table, view in whole:
                add_table(slab_sums, table, view.step, view.high[slab], view.low)
            yield slab, slab_sums


def strides_of(scope: Scope, sizes: Sequence[int]) -> dict[int, int]:
    """How far a step of each variable moves in a flat table, last of its scope fastest."""
    strides, stride = {}, 1
    for member in reversed(scope):
        strides[member] = stride
        stride *= sizes[member]
    return strides


def _slab_axes(shape: Sequence[int]) -> int:
    """How many of the leading axes count slabs; the rest fits into one."""
    places = 1
    for axis in reversed(range(len(shape))):
        places *= shape[axis]
        if places > SLAB:
            return axis + 1 if axis + 1 < len(shape) else axis
    return 0


def _offsets(shape: Sequence[int], strides: Sequence[int]) -> Numbers:
    """Where each entry, last axis fastest, is found in a table with these strides."""
    offsets = np.zeros(1, dtype=np.int64)
    for size, stride in zip(shape, strides, strict=True):
        offsets = (offsets[:, None] + stride * np.arange(size)).reshape(-1)
    return offsets


@tier(of_all)
def add_table(sums: Floats, table: Floats, step: int, high: int, low: Numbers) -> None:
    for value in range(sums.shape[0]):
        start = value * step + high
        for place in range(sums.shape[1]):
            sums[value, place] += table[start + low[place]]


@tier(of_all)
def collect(beliefs: Floats, total: Floats, step: int, high: int, low: Numbers) -> None:
    """Add the beliefs of a slab to the sums they belong to: `add_table` the other way."""
    for value in range(beliefs.shape[0]):
        start = value * step + high
        for place in range(beliefs.shape[1]):
            total[start + low[place]] += beliefs[value, place]


def sum_onto(table: Floats, scope: Scope, onto: Scope, sizes: Sequence[int]) -> Floats:
    """Sum a flat table over the variables that are not in `onto`; gives a new one, in its order."""
    shaped = table.reshape([sizes[member] for member in scope])
    left = [axis for axis, member in enumerate(scope) if member not in onto]
    order = [member for member in scope if member in onto]
    total: Floats = shaped.sum(axis=tuple(left)).transpose([order.index(member) for member in onto])
    return total.flatten()


def log_sum_exp(sums: Floats) -> Floats:
    """Sum weights over the values of the bucket's variable; overwrites its argument."""
    largest: Floats = sums.max(axis=0)
    largest[largest == -np.inf] = 0.0
    sums -= largest
    np.exp(sums, out=sums)
    with np.errstate(divide="ignore"):
        largest += np.log(sums.sum(axis=0))
    return largest


@dataclass(frozen=True)
class ExactAnswer:
    """The natural logarithm of the sum of all weights, and the marginals of every variable."""

    log_z: float
    marginals: tuple[Floats, ...]


def marginals(
    graph: FactorGraph,
    *,
    memory: int = MEMORY,
    plan: EliminationPlan | None = None,
    seconds: float = 5.0,
    wanted: Sequence[int] | None = None,
) -> ExactAnswer:
    """Give every marginal and log Z, exactly; refuses when more than `memory` bytes are needed.

    A plan of `predict` saves the search for an order, which otherwise takes up to `seconds`. If
    only some variables are `wanted`, only their marginals are computed and given, in that order.

    >>> import orbitmc as om
    >>> graph = om.ising_grid(2, 2, 0.3).graph
    >>> [marginal.round(6).tolist() for marginal in marginals(graph, wanted=[3]).marginals]
    [[0.5, 0.5]]
    """
    plan = plan or predict(graph, memory=memory, seconds=seconds)
    require_fit(plan, memory)
    chosen = range(graph.variables) if wanted is None else wanted
    log_z, tables = _eliminate(plan, [plan.problem.place[variable] for variable in chosen])
    return ExactAnswer(log_z, _over_all_values(plan.problem, tables, chosen))


def _eliminate(plan: EliminationPlan, wanted: Sequence[int]) -> tuple[float, list[Floats]]:
    """Go up and down once for every way to hold the cutset."""

    def both_ways(fixed: dict[int, int], problem: Problem) -> Part:
        passes = Passes(problem, plan.tree, plan.regions)
        return Part(fixed, passes.up(), passes.down(wanted))

    log_z, tables = combine_cutset(plan.by_conditioning(both_ways), plan.problem.sizes)
    return exact_sum([plan.problem.constant, log_z]), tables


def _over_all_values(
    problem: Problem, tables: list[Floats], wanted: Sequence[int]
) -> tuple[Floats, ...]:
    """Give impossible values probability 0, and decided variables certainty."""
    result = []
    for variable in wanted:
        place = problem.place[variable]
        whole = np.zeros(problem.cardinality[variable])
        whole[problem.possible[variable]] = tables[place] if place >= 0 else 1.0
        result.append(floats(whole))
    return tuple(result)


def terms_in(
    bucket: Bucket, tree: Tree, problem: Problem, messages: Mapping[int, Floats]
) -> list[Term]:
    """What is added up in a bucket: factors and messages, small ones a few at a time."""
    terms = []
    for factors, children in tree.groups[bucket.variable]:
        pieces = [(problem.scopes[factor], problem.tables[factor]) for factor in factors]
        pieces += [(tree.shared[child], messages[child]) for child in children]
        scope, table = pieces[0] if len(pieces) == 1 else bucket.together(pieces)
        terms.append(Term(scope, table.reshape(-1), bucket.view(scope, tree.sizes)))
    return terms


class Passes:
    """Messages while they travel through the tree; each is let go when nobody needs it."""

    def __init__(self, problem: Problem, tree: Tree, regions: Sequence[Region]) -> None:
        self.problem, self.tree, self.regions = problem, tree, regions
        self.messages: dict[int, Floats] = {}
        self.taken_off: dict[int, float] = {}
        self.beliefs: dict[int, Floats] = {}

    def up(self) -> float:
        """Send all messages up, keep those that regions start from; gives log Z."""
        taken_off = [self.problem.constant]
        boundary = {child for region in self.regions for child in region.below}
        for region in reversed(self.regions):
            for variable in region.buckets:
                taken_off.append(self._send(variable))
                for child in self.tree.children[variable]:
                    if child not in boundary and len(self.regions) > 1:
                        del self.messages[child]
        return exact_sum(taken_off)

    def down(self, wanted: Iterable[int]) -> list[Floats]:
        """Give the marginals that are wanted, region by region from the roots; zeros elsewhere."""
        tables: list[Floats] = [np.zeros(size) for size in self.tree.sizes]
        needed = self.tree.above(wanted)
        for region in self.regions:
            for variable in region.buckets:
                if variable not in self.messages and not needed.isdisjoint(region.buckets):
                    self._send(variable)
            for variable in reversed(region.buckets):
                if variable in needed:
                    tables[variable] = self.receive(variable)
                else:
                    self.messages.pop(variable, None)
                    self.beliefs.pop(variable, None)
        return tables

    def terms(self, bucket: Bucket) -> list[Term]:
        """What is added up in a bucket."""
        return terms_in(bucket, self.tree, self.problem, self.messages)

    def _send(self, variable: int) -> float:
        """Sum a variable out; its message has maximum 0, and what that takes off is returned."""
        bucket = Bucket(variable, self.tree.shared[variable], self.tree.sizes)
        message = np.empty(bucket.slabs * bucket.places)
        for slab, sums in bucket.sums(self.terms(bucket)):
            message[slab * bucket.places : (slab + 1) * bucket.places] = log_sum_exp(sums)
        largest = float(message.max())
        if largest == -np.inf:
            raise ContradictionError("no state is possible: every state has weight 0")
        message -= largest
        self.messages[variable] = message
        self.taken_off[variable] = largest
        return largest

    def receive(self, variable: int) -> Floats:
        """Turn a bucket's sums into beliefs, tell its children, and give its marginal."""
        bucket = Bucket(variable, self.tree.shared[variable], self.tree.sizes)
        terms = self.terms(bucket)
        messages = [
            (term, np.zeros(len(term.table)), group.children)
            for term, group in zip(terms, self.tree.groups[variable], strict=True)
            if group.children
        ]
        ratio = self._ratio(variable)
        marginal = np.zeros(bucket.values)
        for slab, sums in bucket.sums(terms):
            sums += ratio[slab * bucket.places : (slab + 1) * bucket.places]
            np.exp(sums, out=sums)
            self.observe(bucket, slab, sums)
            marginal += sums.sum(axis=1)
            for (_, _, view), beliefs, _ in messages:
                collect(sums, beliefs, view.step, view.high[slab], view.low)
        for term, beliefs, children in messages:
            self._send_down(term, beliefs, children)
        marginal /= marginal.sum()
        return marginal

    def observe(self, bucket: Bucket, slab: int, beliefs: Floats) -> None:
        """Called with the beliefs of every slab, for those who want more than marginals."""

    def _send_down(self, term: Term, beliefs: Floats, children: Sequence[int]) -> None:
        """Leave every child the probabilities of what it shares; large ones go as they are."""
        shared, sizes = self.tree.shared, self.tree.sizes
        if len(children) == 1 and shared[children[0]] == term.scope:
            self.beliefs[children[0]] = beliefs
            return
        for child in children:
            self.beliefs[child] = sum_onto(beliefs, term.scope, shared[child], sizes)

    def _ratio(self, variable: int) -> Floats:
        """Log of how probable the shared values are, over what this bucket had said of them."""
        message = self.messages.pop(variable)
        belief = self.beliefs.pop(variable, np.ones(1))
        message[belief == 0] = 0.0  # impossible: whatever was said, belief 0 decides
        with np.errstate(divide="ignore"):
            np.log(belief, out=belief)
        belief -= message
        belief -= self.taken_off[variable]
        return belief


# Sum out what is cheap to sum out: a smaller graph with the same sum of weights.
#
# What is left has fewer variables, which hang together in larger tables. Chains have less to do,
# and less to go wrong: what was summed out is exact.

MOST_CHEAP_ENTRIES = 2**10  # of a table that is made to sum a variable out
MOST_NEIGHBOURS_SUMMED = 64

MOST_VARIABLES_TO_ELIMINATE = 20_000  # more are left as they are: they would take seconds

Table = tuple[Scope, Floats]


def eliminate_cheap_variables(graph: FactorGraph, most: int = MOST_CHEAP_ENTRIES) -> FactorGraph:
    """Sum out variables while the tables that it takes have at most so many entries.

    A graph with clauses that are too long for a table stays as it is.

    >>> import orbitmc as om
    >>> graph = om.ising_grid(12, 12, 0.3).graph
    >>> eliminate_cheap_variables(graph).variables < graph.variables / 2
    True
    """
    if graph.variables > MOST_VARIABLES_TO_ELIMINATE:
        return graph
    problem = prepare(graph)
    if len(problem.sizes) > sum(place >= 0 for place in problem.place):
        return graph  # helpers of long clauses are no variables of their own
    return _rest(problem, most)


def _rest(problem: Problem, most: int) -> FactorGraph:
    """Sum out the variable with the smallest table, again and again."""
    sizes, neighbours = problem.sizes, neighbours_of(len(problem.sizes), problem.scopes)
    tables = dict(enumerate(zip(problem.scopes, problem.tables, strict=True)))
    readers: list[set[int]] = [set() for _ in sizes]
    for number, (scope, _) in tables.items():
        for variable in scope:
            readers[variable].add(number)
    known = [problem.constant]
    entries = [_entries(sizes, neighbours, variable) for variable in range(len(sizes))]
    heap = [(cost, variable) for variable, cost in enumerate(entries)]
    heapq.heapify(heap)
    left = dict.fromkeys(range(len(sizes)))
    while heap and heap[0][0] <= most:
        cost, variable = heapq.heappop(heap)
        if variable not in left or cost != entries[variable]:
            continue
        check_interrupt()
        scope, message = sum_out(
            [tables[reader] for reader in sorted(readers[variable])], variable, sizes
        )
        for reader in tuple(readers[variable]):
            for member in tables.pop(reader)[0]:
                readers[member].discard(reader)
        del left[variable]
        top = float(message.max())
        if top == -math.inf:
            raise ContradictionError("no state satisfies the hard constraints of the model")
        known.append(top)
        if scope:
            number = len(sizes) + len(problem.scopes) - len(left)
            tables[number] = scope, message - top
            for member in scope:
                readers[member].add(number)
        for member in eliminate(neighbours, variable):
            entries[member] = _entries(sizes, neighbours, member)
            heapq.heappush(heap, (entries[member], member))
    return _build_graph([*left], list(tables.values()), sizes, exact_sum(known))


def _entries(sizes: Sequence[int], neighbours: Neighbours, variable: int) -> float:
    """Of the table that a variable is summed out of; those of many variables are not counted."""
    near = neighbours[variable]
    if len(near) > MOST_NEIGHBOURS_SUMMED:
        return math.inf
    return sizes[variable] * math.prod(sizes[member] for member in near)


def _build_graph(
    variables: Sequence[int], tables: Sequence[Table], sizes: Sequence[int], constant: float
) -> FactorGraph:
    place = {variable: number for number, variable in enumerate(variables)}
    builder = Builder([sizes[variable] for variable in variables])
    builder.constant = constant
    for scope, table in tables:
        builder.add_factor([place[variable] for variable in scope], table)
    return builder.build()


def add_tables(tables: Sequence[Table], sizes: Sequence[int]) -> Table:
    """Add tables up; scopes are ascending."""
    read = sorted({member for scope, _ in tables for member in scope})
    shaped = [
        table.reshape([sizes[member] if member in scope else 1 for member in read])
        for scope, table in tables
    ]
    return tuple(read), functools.reduce(np.add, shaped)


def sum_out(tables: Sequence[Table], variable: int, sizes: Sequence[int]) -> Table:
    """Multiply factors, given as logarithms, and sum a variable out."""
    read, total = add_tables(tables, sizes) if tables else ((variable,), np.zeros(sizes[variable]))
    message: Floats = np.asarray(np.logaddexp.reduce(total, axis=read.index(variable)))
    return tuple(member for member in read if member != variable), message
