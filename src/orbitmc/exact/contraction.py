"""All marginals and the sum of weights by eliminating one variable after the other.

Upward, each bucket sums its variable out of its factors and of the messages it got, and sends
the result on. Downward, each bucket learns how probable the values are that it shares with its
parent, and so its own marginal.

Tables hold weights, scaled so that the largest is 1. Where they differ by more than doubles can
hold, everything is done again with logarithms: nothing under- or overflows then, but several
times more slowly.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from orbitmc._numba.compile_log import latest_time, working_time
from orbitmc._numba.tiers import tier
from orbitmc._util.arrays import Floats, Numbers, floats, readonly
from orbitmc._util.interrupts import check_interrupt
from orbitmc._util.text import MEMORY
from orbitmc.errors import ContradictionError, LimitError
from orbitmc.exact.blocks import (
    Block,
    Matrices,
    Run,
    Slabs,
    Step,
    Steps,
    children_of,
    message_orders,
    multiply_tables,
    offsets,
    permute,
    slab_steps,
    spread,
    steps_within,
    strides_of,
    sum_onto,
)
from orbitmc.exact.groups import GroupedPlan
from orbitmc.exact.plan import EliminationPlan, predict, require_fit
from orbitmc.exact.problem import Problem, Scope, prepare
from orbitmc.exact.small_buckets import (
    BUCKETS_AT_ONCE,
    TOO_WIDE,
    empty_pool,
    lay_out,
    send_down,
    send_up,
)
from orbitmc.exact.tree import MOST_SPAN, Group, Part, Tree, combine_cutset, group_scopes
from orbitmc.graph.builder import Builder
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.fringe import MOST_VARIABLES_TO_ELIMINATE, Table, sum_out_cheapest
from orbitmc.graph.log_weights import exact_sum, sum_of_tables

# The work inside one bucket, slab by slab, so that its table never exists as a whole.
#
# A slab is a run of entries of the shared variables, the last ones fastest.

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
    """A flat table that a bucket puts together with others, and how the bucket sees it.

    It is over the variables of `scope`, and made of a `group` of factors and messages.
    """

    scope: Scope
    group: Group
    table: Floats
    view: View


class Bucket:
    """Views of tables from the variable that is eliminated and those it is shared with."""

    def __init__(self, variable: int, shared: Scope, sizes: Sequence[int]) -> None:
        self.variable, self.shared = variable, shared
        self.values = sizes[variable]
        self.shape = [sizes[member] for member in shared]
        self.split = _slab_axes(self.shape)
        self.slabs = math.prod(self.shape[: self.split])
        self.places = math.prod(self.shape[self.split :])

    def view(self, scope: Scope, sizes: Sequence[int]) -> View:
        """See a table over some of the bucket's variables, last of `scope` fastest."""
        strides = strides_of(scope, sizes)
        along = [strides.get(member, 0) for member in self.shared]
        return View(
            step=strides.get(self.variable, 0),
            high=offsets(self.shape[: self.split], along[: self.split]),
            low=offsets(self.shape[self.split :], along[self.split :]),
        )

    def sums(self, terms: Sequence[Term], arithmetic: "Arithmetic") -> Iterator[tuple[int, Floats]]:
        """Put tables together; gives (slab, sums[value, place]), overwriting the same memory."""
        slab_sums = np.empty((self.values, self.places))
        # in one piece and not to be written, because compiled code is made for each kind of array
        whole = [(readonly(np.ascontiguousarray(t.table).view()), t.view) for t in terms]
        for slab in range(self.slabs):
            check_interrupt()
            slab_sums[:] = arithmetic.one
            for table, view in whole:
                arithmetic.multiply(slab_sums, table, view.step, view.high[slab], view.low)
            yield slab, slab_sums


def _slab_axes(shape: Sequence[int]) -> int:
    """How many of the leading axes count slabs; the rest fits into one."""
    places = 1
    for axis in reversed(range(len(shape))):
        places *= shape[axis]
        if places > SLAB:
            return axis + 1 if axis + 1 < len(shape) else axis
    return 0


def _slab_work(sums: Floats, *rest: object) -> float:
    return 2 + sums.size / 250


def _places(slab: Floats, step: int, high: int, low: Numbers) -> Numbers:
    """Where the entries of a slab are in a table."""
    return (high + step * np.arange(len(slab)))[:, None] + low


def _add_entries(sums: Floats, table: Floats, *view: Any) -> None:
    sums += table[_places(sums, *view)]


def _multiply_entries(sums: Floats, table: Floats, *view: Any) -> None:
    sums *= table[_places(sums, *view)]


def _collect_entries(beliefs: Floats, total: Floats, *view: Any) -> None:
    np.add.at(total, _places(beliefs, *view).reshape(-1), beliefs.reshape(-1))


@tier(_slab_work, _add_entries)
def add_table(sums: Floats, table: Floats, step: int, high: int, low: Numbers) -> None:
    for value in range(sums.shape[0]):
        start = value * step + high
        for place in range(sums.shape[1]):
            sums[value, place] += table[start + low[place]]


@tier(_slab_work, _multiply_entries)
def multiply_table(sums: Floats, table: Floats, step: int, high: int, low: Numbers) -> None:
    for value in range(sums.shape[0]):
        start = value * step + high
        for place in range(sums.shape[1]):
            sums[value, place] *= table[start + low[place]]


@tier(_slab_work, _collect_entries)
def collect(beliefs: Floats, total: Floats, step: int, high: int, low: Numbers) -> None:
    """Add the beliefs of a slab to the sums they belong to: `add_table` the other way."""
    for value in range(beliefs.shape[0]):
        start = value * step + high
        for place in range(beliefs.shape[1]):
            total[start + low[place]] += beliefs[value, place]


# Two arithmetics: numbers as they are, and their logarithms.

NO_STATE = "no state is possible: every state has weight 0"


class OutOfTimeError(LimitError):
    """Elimination takes longer than it may."""


class TooWideError(Exception):
    """Weights of a bucket differ by more than doubles hold."""


class Arithmetic(Protocol):
    """What a bucket does with its tables; scales are logarithms, beliefs probabilities."""

    one: float
    times: np.ufunc

    def load(self, log_table: Floats) -> Floats:
        """Weights, given as logarithms."""

    def multiply(self, product: Floats, table: Floats, step: int, high: int, low: Numbers) -> None:
        """Multiply a slab with its part of a table."""

    def multiply_all(
        self, pieces: Sequence[tuple[Scope, Floats]], scope: Scope, sizes: Sequence[int]
    ) -> Floats:
        """The product of small tables."""

    def sum_out(self, product: Floats) -> Floats:
        """Sum over the values of the bucket's variable; may overwrite its argument."""

    def weigh(self, product: Floats) -> Floats:
        """Weights [value, place], each column on its own scale; may overwrite its argument."""

    def normalise(self, message: Floats) -> tuple[float, float]:
        """Divide by the largest entry; gives its logarithm, and the span of what is not 0."""

    def divide(self, belief: Floats, message: Floats, scale: float) -> Floats:
        """What is believed of a message over the message, 0 where that is 0; overwrites both."""

    def believe(self, product: Floats, ratio: Floats) -> None:
        """Turn products into probabilities, in place."""


class Linear:
    """Weights as they are."""

    one = 1.0
    times: np.ufunc = np.multiply

    def load(self, log_table: Floats) -> Floats:
        return np.exp(log_table)

    def multiply(self, product: Floats, table: Floats, step: int, high: int, low: Numbers) -> None:
        multiply_table(product, table, step, high, low)

    def multiply_all(
        self, pieces: Sequence[tuple[Scope, Floats]], scope: Scope, sizes: Sequence[int]
    ) -> Floats:
        return multiply_tables(pieces, scope, sizes)

    def sum_out(self, product: Floats) -> Floats:
        total: Floats = product.sum(axis=0)
        return total

    def weigh(self, product: Floats) -> Floats:
        return product

    def normalise(self, message: Floats) -> tuple[float, float]:
        top, low = float(message.max()), float(message.min())
        if not top > 0.0:
            raise ContradictionError(NO_STATE)
        if low == 0.0:
            low = float(message.min(where=message > 0.0, initial=np.inf))
        message *= 1.0 / top
        return math.log(top), math.log(top / low)

    def divide(self, belief: Floats, message: Floats, scale: float) -> Floats:
        ratio: Floats = np.divide(belief, message, out=belief, where=message > 0.0)
        ratio *= math.exp(-scale)
        return ratio

    def believe(self, product: Floats, ratio: Floats) -> None:
        product *= ratio


class Logarithmic:
    """Logarithms of weights, for any range of these."""

    one = 0.0
    times: np.ufunc = np.add

    def load(self, log_table: Floats) -> Floats:
        return log_table

    def multiply(self, product: Floats, table: Floats, step: int, high: int, low: Numbers) -> None:
        add_table(product, table, step, high, low)

    def multiply_all(
        self, pieces: Sequence[tuple[Scope, Floats]], scope: Scope, sizes: Sequence[int]
    ) -> Floats:
        whole = [sizes[member] for member in scope]
        shaped = [spread(some, table, scope, sizes) for some, table in pieces]
        return np.broadcast_to(sum_of_tables(shaped), whole).reshape(-1)

    def sum_out(self, product: Floats) -> Floats:
        return log_sum_exp(product)

    def weigh(self, product: Floats) -> Floats:
        largest = product.max(axis=0)
        product -= np.where(np.isneginf(largest), 0.0, largest)
        return np.exp(product, out=product)

    def normalise(self, message: Floats) -> tuple[float, float]:
        top = float(message.max())
        if top == -np.inf:
            raise ContradictionError(NO_STATE)
        message -= top
        return top, 0.0

    def divide(self, belief: Floats, message: Floats, scale: float) -> Floats:
        message[belief == 0] = 0.0  # impossible: whatever was said, belief 0 decides
        with np.errstate(divide="ignore"):
            np.log(belief, out=belief)
        belief -= message
        belief -= scale
        return belief

    def believe(self, product: Floats, ratio: Floats) -> None:
        product += ratio
        np.exp(product, out=product)


LINEAR: Arithmetic = Linear()
LOGARITHMIC: Arithmetic = Logarithmic()


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
    plan: EliminationPlan | GroupedPlan | None = None,
    seconds: float = 5.0,
    wanted: Sequence[int] | None = None,
) -> ExactAnswer:
    """Give every marginal and log Z, exactly; refuses when more than `memory` bytes are needed.

    A plan of `predict` saves the search for an order, which otherwise takes up to `seconds`. If
    only some variables are `wanted`, only their marginals are computed and given, in that order.
    A `LimitError` says so where a `time_limit` was set and is over.

    >>> import orbitmc as om
    >>> graph = om.ising_grid(2, 2, 0.3).graph
    >>> [marginal.round(6).tolist() for marginal in marginals(graph, wanted=[3]).marginals]
    [[0.5, 0.5]]
    """
    plan = plan or predict(graph, memory=memory, seconds=seconds)
    require_fit(plan.bytes, memory)
    chosen = range(graph.variables) if wanted is None else wanted
    if isinstance(plan, GroupedPlan):
        return _eliminate_groups(plan, chosen)
    log_z, tables = _eliminate(plan, [plan.problem.place[variable] for variable in chosen])
    return ExactAnswer(log_z, _over_all_values(plan.problem, tables, chosen))


def _eliminate_groups(plan: GroupedPlan, wanted: Sequence[int]) -> ExactAnswer:
    """Eliminate each group that has some wanted variables; the first says what log Z is."""
    log_z, tables = 0.0, dict[int, Floats]()
    for number, part in enumerate(plan.parts):
        here = [variable for variable in wanted if variable in part.variables]
        problem = part.plan.problem
        if here or number == 0:
            log_sum, found = _eliminate(part.plan, [problem.place[variable] for variable in here])
            tables.update(zip(here, _over_all_values(problem, found, here), strict=True))
        if number == 0:
            log_z = log_sum
    return ExactAnswer(log_z, tuple(tables[variable] for variable in wanted))


def _eliminate(plan: EliminationPlan, wanted: Sequence[int]) -> tuple[float, list[Floats]]:
    """Go up and down once for every way to hold the cutset."""

    def both_ways(fixed: dict[int, int], passes: "Passes") -> Part:
        return Part(fixed, passes.up(), passes.down(wanted))

    log_z, tables = combine_cutset(by_passes(plan, both_ways), plan.problem.sizes)
    return exact_sum([plan.problem.constant, log_z]), tables


Result = TypeVar("Result")


def by_passes(
    plan: EliminationPlan, answer: Callable[[dict[int, int], "Passes"], Result]
) -> list[Result]:
    """What is found for each way to hold the cutset that leaves a state."""
    return in_range(
        plan,
        plan.steps,
        lambda arithmetic, steps: plan.by_conditioning(
            lambda fixed, problem: answer(fixed, Passes(problem, plan.tree, steps, arithmetic))
        ),
    )


def in_range(
    plan: EliminationPlan, steps: Steps, answer: Callable[[Arithmetic, Steps], Result]
) -> Result:
    """An answer from weights as they are; from logarithms, in as much memory, where it must."""
    with suppress(TooWideError):
        return answer(LINEAR, steps)
    # after it, because an exception that is looked at holds the tables of its frames
    return answer(LOGARITHMIC, steps_within(plan.tree, steps.bytes, slab_steps))


def _over_all_values(
    problem: Problem, tables: list[Floats], wanted: Sequence[int]
) -> tuple[Floats, ...]:
    """Give impossible values probability 0, and decided variables certainty."""
    result = []
    for variable in wanted:
        place = problem.place[variable]
        whole = np.zeros(problem.cardinality[variable])
        np.add.at(whole, problem.possible[variable], tables[place] if place >= 0 else 1.0)
        result.append(floats(whole))
    return tuple(result)


def tables_in_order(problem: Problem, tree: Tree) -> list[Floats]:
    """Flat tables of all factors, their axes in elimination order."""
    tables = []
    for scope, to, table in zip(problem.scopes, tree.scopes, problem.tables, strict=True):
        ordered = table if scope == to else table.transpose([scope.index(v) for v in to])
        tables.append(ordered.reshape(-1))
    return tables


def terms_in(
    bucket: Bucket,
    tree: Tree,
    tables: Sequence[Floats] | Mapping[int, Floats],
    messages: Mapping[int, Floats],
    orders: Sequence[Scope],
    arithmetic: Arithmetic,
) -> list[Term]:
    """What a bucket puts together: factors and messages, small ones a few at a time."""
    terms = []
    for scope, group in tree.groups(bucket.variable):
        pieces = [(tree.scopes[factor], tables[factor]) for factor in group.factors]
        pieces += [(orders[child], messages[child]) for child in group.children]
        if len(pieces) == 1:
            scope, table = pieces[0]
        else:
            table = arithmetic.multiply_all(pieces, scope, tree.sizes)
        terms.append(Term(scope, group, table, bucket.view(scope, tree.sizes)))
    return terms


class Passes:
    """Messages while they travel through the tree; each is let go when nobody needs it."""

    def __init__(self, problem: Problem, tree: Tree, steps: Steps, arithmetic: Arithmetic) -> None:
        self.problem, self.tree, self.regions = problem, tree, steps.regions
        self.arithmetic = arithmetic
        self.most_span = MOST_SPAN if arithmetic is LINEAR else math.inf
        self.steps = [list(some) for some in steps.of_region]
        log_tables = tables_in_order(problem, tree)
        self.tables = load_tables(log_tables, arithmetic)
        self.spans = _spans(log_tables) if arithmetic is LINEAR else np.zeros(len(log_tables))
        self.messages: dict[int, Floats] = {}
        self.scale: dict[int, float] = {}
        self.span: dict[int, float] = {}
        self.ratios: dict[int, Floats] = {}
        self.asked: frozenset[int] = frozenset()
        self.factor_beliefs: dict[int, Floats] = {}
        self.layout = lay_out(tree, steps.small)
        self.pool = empty_pool(self.layout.buckets)
        self.small = frozenset(steps.small)
        self.orders = message_orders(tree, steps.of_region, self.small)
        for factor, segment in self.layout.factor.items():
            self.pool.table[self._place(segment)] = self.tables[factor]
            self.pool.span[segment] = self.spans[factor]

    def up(self) -> float:
        """Send all messages up, keep those that regions start from; gives log Z."""
        scales = [self.problem.constant]
        boundary = {child for region in self.regions for child in region.below}
        for number in reversed(range(len(self.regions))):
            within = []
            for planned in self.steps[number]:
                for step in self._split(planned):
                    scales += self._send(step)
                    within.append(step)
                    if len(self.regions) > 1:
                        for child in children_of(self.tree, step):
                            if child not in boundary and child not in self.small:
                                del self.messages[child]
            self.steps[number] = within
        return exact_sum(scales)

    def down(self, wanted: Iterable[int], factors: Iterable[int] = ()) -> list[Floats]:
        """Give the marginals that are wanted, region by region from the roots; zeros elsewhere.

        Beliefs of `factors`, whose buckets must be wanted, are left in `factor_beliefs`.
        """
        tables: list[Floats] = [np.zeros(size) for size in self.tree.sizes]
        needed = self.tree.above(wanted)
        self.asked = frozenset(factors)
        for step in self.descend(needed):
            for variable, marginal in self._receive(step, needed):
                tables[variable] = marginal
        return tables

    def descend(self, needed: Iterable[int]) -> Iterator[Step]:
        """Steps that are needed, parents first; all that they read is there."""
        needed = frozenset(needed)
        for region, steps in zip(self.regions, self.steps, strict=True):
            if not needed.isdisjoint(region.buckets):
                for step in steps:
                    if not isinstance(step, Run) and step.top not in self.messages:
                        self._send(step)
            for step in reversed(steps):
                if needed.isdisjoint(step.variables):
                    self._forget(step)
                else:
                    self._look_up()
                    yield step
                    self._forget(step)

    def terms(self, bucket: Bucket) -> list[Term]:
        """What is put together in a bucket."""
        return terms_in(bucket, self.tree, self.tables, self.messages, self.orders, self.arithmetic)

    def terms_of_draws(self, bucket: Bucket) -> tuple[list[Term], Arithmetic]:
        """What is put together in a bucket; as logarithms, if its products differ too much."""
        factors = self.tree.factors[bucket.variable]
        children = self.tree.children[bucket.variable]
        if self._span(Group(tuple(factors), tuple(children))) <= self.most_span:
            return self.terms(bucket), self.arithmetic
        with np.errstate(divide="ignore"):
            tables = {factor: np.log(self.tables[factor]) for factor in factors}
            messages = {child: np.log(self.messages[child]) for child in children}
        return (
            terms_in(bucket, self.tree, tables, messages, self.orders, LOGARITHMIC),
            LOGARITHMIC,
        )

    def _look_up(self) -> None:
        """Stop if somebody wants that, or time is over."""
        check_interrupt()
        if working_time() > latest_time():
            raise OutOfTimeError("exact elimination was not over in the time there is for it")

    def _place(self, segment: int) -> slice:
        start = self.layout.buckets.place
        return slice(start[segment], start[segment + 1])

    def _split(self, step: Step) -> Sequence[Step]:
        """A block whose weights differ too much as buckets: messages between them are scaled."""
        if not isinstance(step, Block) or len(step.variables) == 1:
            return [step]
        groups = (step.heavy, step.lights)
        if math.fsum(map(self._span, groups)) <= self.most_span:
            return [step]
        return [Slabs(variable) for variable in step.variables]

    def _span(self, group: Group) -> float:
        messages = math.fsum(self.span[child] for child in group.children)
        return messages + math.fsum(self.spans[factor] for factor in group.factors)

    def _forget(self, step: Step) -> None:
        for variable in step.variables:
            if variable not in self.small:
                self.messages.pop(variable, None)
                self.ratios.pop(variable, None)

    def _send(self, step: Step) -> list[float]:
        """Sum variables out; gives the logarithms of what was taken off their messages."""
        if isinstance(step, Run):
            return self._send_run(step)
        self._look_up()
        message = self._message(step)
        top = step.top
        self.scale[top], self.span[top] = self.arithmetic.normalise(message)
        self.messages[top] = message
        if top in self.layout.message:
            segment = self.layout.message[top]
            self.pool.table[self._place(segment)] = message
            self.pool.span[segment] = self.span[top]
        return [self.scale[top]]

    def _message(self, step: Block | Slabs) -> Floats:
        if isinstance(step, Slabs):
            return self._slab_message(step)
        return self._block_message(step)

    def _block_message(self, block: Block) -> Floats:
        if self._span(block.heavy) + self._span(block.lights) > self.most_span:
            raise TooWideError
        light = self._product(block.lights, block.layout.light)
        heavy = self._product(block.heavy, block.heavy_scope)
        return Matrices(block, self.tree, self.orders[block.top]).message(heavy, light)

    def _slab_message(self, step: Slabs) -> Floats:
        bucket = Bucket(step.top, self.orders[step.top], self.tree.sizes)
        terms = self.terms(bucket)
        if math.fsum(self._span(term.group) for term in terms) > self.most_span:
            raise TooWideError
        message = np.empty(bucket.slabs * bucket.places)
        for slab, product in bucket.sums(terms, self.arithmetic):
            part = slice(slab * bucket.places, (slab + 1) * bucket.places)
            message[part] = self.arithmetic.sum_out(product)
        return message

    def _send_run(self, run: Run) -> list[float]:
        buckets, pool = self.layout.buckets, self.pool
        last = run.first + len(run.variables)
        for first in range(run.first, last, BUCKETS_AT_ONCE):
            self._look_up()
            end = min(last, first + BUCKETS_AT_ONCE)
            done, why = send_up(buckets, pool, first, end, self.most_span)
            if done < end:
                if why == TOO_WIDE:
                    raise TooWideError
                raise ContradictionError(NO_STATE)
        for variable in run.variables:
            segment = self.layout.message[variable]
            self.messages[variable] = pool.table[self._place(segment)]
            self.span[variable] = float(pool.span[segment])
        scales: list[float] = pool.log_scale[buckets.message[run.first : last]].tolist()
        self.scale.update(zip(run.variables, scales, strict=True))
        return scales

    def _product(self, group: Group, scope: Scope) -> Floats:
        pieces = [(self.tree.scopes[factor], self.tables[factor]) for factor in group.factors]
        pieces += [(self.orders[child], self.messages[child]) for child in group.children]
        if len(pieces) == 1 and len(pieces[0][0]) == len(scope):
            return permute(pieces[0][1], pieces[0][0], scope, self.tree.sizes)
        return self.arithmetic.multiply_all(pieces, scope, self.tree.sizes)

    def _receive(self, step: Step, needed: set[int]) -> Iterable[tuple[int, Floats]]:
        """Turn what is believed of messages into beliefs of what they were made of.

        Gives the marginals of the variables that are eliminated there.
        """
        if isinstance(step, Run):
            return self._receive_run(step, needed)
        if isinstance(step, Block):
            return self._receive_block(step, needed)
        return self._receive_slabs(step, needed)

    def _receive_block(self, block: Block, needed: set[int]) -> Iterator[tuple[int, Floats]]:
        matrices = Matrices(block, self.tree, self.orders[block.top])
        scope = block.layout.light
        heavy = self._product(block.heavy, block.heavy_scope)
        light = self._product(block.lights, scope)
        ratios = matrices.ratios(self._ratio(block.top))
        beliefs = matrices.light_beliefs(ratios, heavy, light)
        for variable in block.variables:
            marginal = sum_onto(beliefs, scope, (variable,), self.tree.sizes)
            yield variable, marginal / marginal.sum()
        self._tell(block.lights, scope, beliefs, needed)
        wanted = not needed.isdisjoint(block.heavy.children)
        if not wanted and self.asked.isdisjoint(block.heavy.factors):
            return
        adjoint = matrices.heavy_adjoint(ratios, light)
        # before it is scaled, which might overflow there
        np.copyto(adjoint, 0.0, where=heavy == 0.0)
        child = block.heavy.children[0] if block.heavy.children else -1
        if len(block.heavy.children) == 1 and not block.heavy.factors and child not in self.small:
            adjoint *= math.exp(-self.scale[child])
            self.ratios[child] = adjoint
        else:
            adjoint *= heavy
            self._tell(block.heavy, block.heavy_scope, adjoint, needed)

    def _receive_slabs(self, step: Slabs, needed: set[int]) -> Iterator[tuple[int, Floats]]:
        bucket = Bucket(step.top, self.orders[step.top], self.tree.sizes)
        terms = self.terms(bucket)
        told = [
            (term, np.zeros(len(term.table)))
            for term in terms
            if not needed.isdisjoint(term.group.children)
            or not self.asked.isdisjoint(term.group.factors)
        ]
        ratio = self._ratio(step.top)
        marginal = np.zeros(bucket.values)
        for slab, product in bucket.sums(terms, self.arithmetic):
            part = slice(slab * bucket.places, (slab + 1) * bucket.places)
            self.arithmetic.believe(product, ratio[part])
            marginal += product.sum(axis=1)
            for term, beliefs in told:
                collect(product, beliefs, term.view.step, term.view.high[slab], term.view.low)
        del ratio
        for term, beliefs in told:
            self._tell(term.group, term.scope, beliefs, needed)
        yield step.top, marginal / marginal.sum()

    def _receive_run(self, run: Run, needed: set[int]) -> Iterator[tuple[int, Floats]]:
        buckets, pool = self.layout.buckets, self.pool
        for variable in run.variables:
            if self.tree.parent[variable] < 0:
                pool.belief[self._place(self.layout.message[variable])] = 1.0
        is_needed = np.array([variable in needed for variable in run.variables])
        end = len(run.variables)
        while end > 0:
            self._look_up()
            start = max(0, end - BUCKETS_AT_ONCE)
            some = is_needed[start:end]
            send_down(buckets, pool, run.first + start, run.first + end, self.most_span, some)
            end = start
        for place in np.flatnonzero(is_needed).tolist():
            variable, start = run.variables[place], buckets.marginal_start[run.first + place]
            yield variable, pool.marginal[start : start + self.tree.sizes[variable]]
            for child in self.tree.children[variable]:
                if child in needed and child not in self.small:
                    belief = pool.belief[self._place(self.layout.message[child])].copy()
                    self._tell_child(child, belief)
            for factor in self.asked.intersection(self.tree.factors[variable]):
                self.factor_beliefs[factor] = pool.belief[self._place(self.layout.factor[factor])]

    def _tell(self, group: Group, scope: Scope, beliefs: Floats, needed: set[int]) -> None:
        """Leave every child the probabilities of what it shares, and factors those of theirs."""
        tree, sizes = self.tree, self.tree.sizes
        factors = sorted(self.asked.intersection(group.factors))
        children = sorted(needed.intersection(group.children))
        scopes = [*(tree.scopes[f] for f in factors), *(self.orders[c] for c in children)]
        for read, members in group_scopes(scopes, scope, sizes):
            whole = len(scopes) == 1 and read == scope
            part = beliefs if whole else sum_onto(beliefs, scope, read, sizes)
            for number in members:
                alone = len(members) == 1 and read == scopes[number]
                belief = part if alone else sum_onto(part, read, scopes[number], sizes)
                if number < len(factors):
                    self.factor_beliefs[factors[number]] = belief
                else:
                    self._tell_child(children[number - len(factors)], belief)

    def _tell_child(self, child: int, belief: Floats) -> None:
        if child in self.small:
            self.pool.belief[self._place(self.layout.message[child])] = belief
        else:
            message, scale = self.messages[child], self.scale[child]
            self.ratios[child] = self.arithmetic.divide(belief, message, scale)

    def _ratio(self, variable: int) -> Floats:
        """How probable the shared values are, over what this bucket had said of them."""
        message = self.messages.pop(variable)
        if self.tree.parent[variable] < 0:
            return self.arithmetic.divide(np.ones(1), message, self.scale[variable])
        return self.ratios.pop(variable)


def load_tables(log_tables: Sequence[Floats], arithmetic: Arithmetic) -> list[Floats]:
    """Tables of an arithmetic, in one piece."""
    if not log_tables:
        return []
    ends = np.cumsum([len(table) for table in log_tables])
    return np.split(arithmetic.load(np.concatenate(log_tables)), ends[:-1])


def _spans(log_tables: Sequence[Floats]) -> Floats:
    """How many nats the smallest entry of each table that is not 0 is below 1."""
    if not log_tables:
        return np.zeros(0)
    starts = np.cumsum([0, *(len(table) for table in log_tables[:-1])])
    flat = np.concatenate(log_tables)
    flat[flat == -np.inf] = 0.0
    return -np.minimum.reduceat(flat, starts)


# Sum out what is cheap to sum out: a smaller graph with the same sum of weights.

MOST_CHEAP_ENTRIES = 2**10  # of a table that is made to sum a variable out


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
    tables = dict(enumerate(zip(problem.scopes, problem.tables, strict=True)))
    sums = sum_out_cheapest(problem.sizes, tables, most)
    gone = {step.variable for step in sums}
    left = [variable for variable in range(len(problem.sizes)) if variable not in gone]
    constant = exact_sum([problem.constant, *(step.top for step in sums)])
    return _build_graph(left, list(tables.values()), problem.sizes, constant)


def _build_graph(
    variables: Sequence[int], tables: Sequence[Table], sizes: Sequence[int], constant: float
) -> FactorGraph:
    place = {variable: number for number, variable in enumerate(variables)}
    builder = Builder([sizes[variable] for variable in variables])
    builder.constant = constant
    for scope, table in tables:
        builder.add_factor([place[variable] for variable in scope], table)
    return builder.build()
