"""Gibbs on total orders: take one item out, and draw the place at which it comes back.

The variables are pairs of items; 1 says that the first comes before the second. Zeros of the model
forbid all but total orders, so hardly a pair can change alone. A step lets an item pass the others
one after the other: each time one pair turns round, and only factors around it change.

Exact because it is a draw from the conditional distribution restricted to the states in which the
other items have the same order, and those are the same from each of them. A state that is no order
is left alone.
"""

import itertools
from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc._numba.jit import implementation, shared
from orbitmc._simd.random import choose_by_log_weights, integer, lanes_of
from orbitmc._util.arrays import (
    Bytes,
    Floats,
    Index,
    Indices,
    Numbers,
    indices,
    readonly,
    row_classes,
    starts,
)
from orbitmc.conditionals.draws import scratch
from orbitmc.conditionals.layout import Scratch
from orbitmc.conditionals.prepared import PreparedGraph
from orbitmc.errors import ContradictionError, InputError
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.model import ItemOrder
from orbitmc.kernels._relabelling import check_set
from orbitmc.kernels.protocol import flag_variables, steps

NOBODY = -1
MOST_ITEMS = 1_024  # each two of them have lists of their own
MOST_ITEMS_LISTED = 4  # of a factor whose orders are listed: there are 24

ITEM_DRAWS, LEFT_ALONE, MOVED = range(3)
ORDER_OUTCOMES = ("item draws", "left alone", "moved items")


class OrderMemory(NamedTuple):
    """Arrays of one pack.

    `item[place, lane]` is who stands at a place; a lane is `whole` if its pairs are an order. Other
    arrays are of a step: `others` are the items without the one that is drawn, which was at the
    place `before`; `lost` counts what is impossible if it comes back at a place.
    """

    item: NDArray[np.int32]
    whole: Bytes
    others: NDArray[np.int32]
    before: NDArray[np.int32]
    log_weights: Floats
    lost: NDArray[np.int32]
    picked: NDArray[np.uint16]
    scratch: Scratch


class Order(NamedTuple):
    """Draw the place of a uniformly chosen item, as often in a step as `draws` says.

    `variable[one, other]` is 1 if one comes before the other; there may be none, if that of the
    other way round is there, or if it is known: `known[one, other]` is 1 if one is known to come
    first. `lead[one, other]` is what fields give if the other comes first, less what they give if
    one does. Other factors that the pair changes are
    `factor[factor_start[one, other]:factor_end[one, other]]`, but for those that are the same for
    all orders. `freed` are variables that nothing else forbids to change.
    """

    variable: NDArray[np.int32]
    known: Bytes
    lead: Floats
    factor_start: Numbers
    factor_end: Numbers
    factor: Indices
    freed: Indices
    draws: int

    @property
    def outcomes(self) -> tuple[str, ...]:
        return ORDER_OUTCOMES

    def frees(self, graph: FactorGraph) -> NDArray[np.bool_]:
        return flag_variables(graph, self.freed)

    def draws_well(self, graph: FactorGraph) -> NDArray[np.bool_]:
        return flag_variables(graph, self.variable[self.variable >= 0])

    def memory(self, prepared: PreparedGraph, lanes: int) -> OrderMemory:
        items = len(self.variable)
        return OrderMemory(
            item=np.zeros((items, lanes), dtype=np.int32),
            whole=np.zeros(lanes, dtype=np.uint8),
            others=np.zeros((items, lanes), dtype=np.int32),
            before=np.zeros(lanes, dtype=np.int32),
            log_weights=np.zeros((items, lanes)),
            lost=np.zeros((items, lanes), dtype=np.int32),
            picked=np.zeros((1, lanes), dtype=np.uint16),
            scratch=scratch(prepared, lanes),
        )

    def want_states(self, wanted: NDArray[np.int16], rng: np.random.Generator) -> None:
        """Random orders that respect what is known."""
        lanes = wanted.shape[1]
        place = np.stack([_random_places(self.known, rng) for _ in range(lanes)], axis=1)
        first, second = np.nonzero(self.variable >= 0)
        wanted[self.variable[first, second]] = place[first] < place[second]


def _random_places(known: Bytes, rng: np.random.Generator) -> Numbers:
    """The place of each item in a random order; items that are known to come first do."""
    place, before = np.zeros(len(known), dtype=np.int64), known.sum(axis=0)
    ready = np.flatnonzero(before == 0).tolist()
    for number in range(len(known)):
        item = ready.pop(int(rng.integers(len(ready))))
        place[item], before = number, before - known[item]
        ready += np.flatnonzero((before == 0) & (known[item] == 1)).tolist()
    return place


@implementation(steps, Order)
def order_steps(
    prepared: PreparedGraph,
    kernel: Order,
    memory: OrderMemory,
    values: Bytes,
    outcomes: Numbers,
    rng: Any,
    count: int,
) -> None:
    _read_order(kernel, memory, values)
    for _ in range(count * kernel.draws):
        item = integer(rng, len(kernel.variable))
        _take_out(kernel, memory, item)
        for lane in range(lanes_of(memory.scratch)):
            if memory.whole[lane] == 1 and len(kernel.factor) == 0:
                _weigh_by_gains(kernel, memory, item, lane)
            elif memory.whole[lane] == 1:
                _weigh_places(prepared.graph, kernel, memory, values, item, lane)
        _exclude_impossible(kernel, memory)
        choose_by_log_weights(rng, memory.log_weights, len(kernel.variable), memory.picked, 0)
        _put_back(kernel, memory, values, outcomes, item)


@shared
def _read_order(kernel: Order, memory: OrderMemory, values: Bytes) -> None:
    """Find who stands where: as many items come before one as its place says.

    A lane in which two items would stand at one place, or a pair and its opposite agree, is no
    order.
    """
    items = len(kernel.variable)
    for lane in range(lanes_of(memory.scratch)):
        memory.whole[lane] = 1
    for place in range(items):
        for lane in range(lanes_of(memory.scratch)):
            memory.item[place, lane] = NOBODY
    for one in range(items):
        for lane in range(lanes_of(memory.scratch)):
            memory.before[lane] = 0
        for other in range(items):
            if other != one:
                _count_if_before(kernel, memory, values, other, one)
        for lane in range(lanes_of(memory.scratch)):
            if memory.item[memory.before[lane], lane] != NOBODY:
                memory.whole[lane] = 0
            memory.item[memory.before[lane], lane] = one


@shared
def _count_if_before(
    kernel: Order, memory: OrderMemory, values: Bytes, other: Index, one: Index
) -> None:
    """Count an item where it comes before another one; lanes that contradict are not whole."""
    variable, opposite = kernel.variable[other, one], kernel.variable[one, other]
    contrary = kernel.known[one, other]
    if variable >= 0:
        for lane in range(lanes_of(memory.scratch)):
            first = values[np.uint64(variable), lane]
            memory.before[lane] += np.int32(first)
            memory.whole[lane] &= np.uint8(1) ^ (first & contrary)
    elif opposite >= 0:
        for lane in range(lanes_of(memory.scratch)):
            first = np.uint8(1) ^ values[np.uint64(opposite), lane]
            memory.before[lane] += np.int32(first)
            memory.whole[lane] &= np.uint8(1) ^ (first & contrary)
    else:
        for lane in range(lanes_of(memory.scratch)):
            memory.before[lane] += np.int32(kernel.known[other, one])
    if variable >= 0 and opposite >= 0:
        for lane in range(lanes_of(memory.scratch)):
            both = values[np.uint64(variable), lane] ^ values[np.uint64(opposite), lane]
            memory.whole[lane] &= both


@shared
def _take_out(kernel: Order, memory: OrderMemory, item: Index) -> None:
    """List the other items in their order."""
    for lane in range(lanes_of(memory.scratch)):
        seen = 0
        for place in range(len(kernel.variable)):
            if memory.item[place, lane] == item:
                memory.before[lane] = place
            elif seen < len(kernel.variable) - 1:
                memory.others[seen, lane] = memory.item[place, lane]
                seen += 1


@shared
def _weigh_by_gains(kernel: Order, memory: OrderMemory, item: Index, lane: Index) -> None:
    """Find the log-weight of every place of an item from what pairs gain; the item stays."""
    change, lost = 0.0, np.int32(0)
    for place in range(len(kernel.variable) - 1):
        memory.log_weights[place, lane], memory.lost[place, lane] = change, lost
        other = memory.others[place, lane]
        change += kernel.lead[item, other]
        lost += np.int32(kernel.known[item, other]) - np.int32(kernel.known[other, item])
    last = len(kernel.variable) - 1
    memory.log_weights[last, lane], memory.lost[last, lane] = change, lost
    here = memory.lost[memory.before[lane], lane]
    for place in range(len(kernel.variable)):
        memory.lost[place, lane] -= here


@shared
def _weigh_places(
    graph: FactorGraph,
    kernel: Order,
    memory: OrderMemory,
    values: Bytes,
    item: Index,
    lane: Index,
) -> None:
    """Find the log-weight of every place of an item; afterwards it stands at the last one.

    Weights are relative to the place at which it was. First it goes to the first place, one by one,
    then all the way to the last.
    """
    here = np.int64(memory.before[lane])
    memory.log_weights[here, lane], memory.lost[here, lane] = 0.0, 0
    for place in range(here - 1, -1, -1):
        _pass(graph, kernel, memory, values, item, place, lane, np.int64(1))
    for place in range(here):
        _turn(kernel, values, np.int64(memory.others[place, lane]), item, lane)
    for place in range(here, len(kernel.variable) - 1):
        _pass(graph, kernel, memory, values, item, place, lane, np.int64(0))


@shared
def _pass(
    graph: FactorGraph,
    kernel: Order,
    memory: OrderMemory,
    values: Bytes,
    item: Index,
    place: Index,
    lane: Index,
    back: Index,
) -> None:
    """Let an item pass the one between two places, and find what that changes.

    It goes on from `place` to the next one, or `back` from that one to `place`.
    """
    other = np.int64(memory.others[place, lane])
    before, after = (place + 1, place) if back == 1 else (place, place + 1)
    first, second = (item, other) if back == 1 else (other, item)
    change = kernel.lead[second, first]
    lost = np.int32(kernel.known[second, first]) - np.int32(kernel.known[first, second])
    begin, end = kernel.factor_start[item, other], kernel.factor_end[item, other]
    for k in range(begin, end):
        potential = potential_in_lane(graph, values, kernel.factor[k], lane)
        if potential == -np.inf:
            lost -= np.int32(1)
        else:
            change -= potential
    _turn(kernel, values, first, second, lane)
    for k in range(begin, end):
        potential = potential_in_lane(graph, values, kernel.factor[k], lane)
        if potential == -np.inf:
            lost += np.int32(1)
        else:
            change += potential
    memory.log_weights[after, lane] = memory.log_weights[before, lane] + change
    memory.lost[after, lane] = memory.lost[before, lane] + lost


@shared
def _turn(kernel: Order, values: Bytes, first: Index, second: Index, lane: Index) -> None:
    """Let the first item come before the second."""
    variable, opposite = kernel.variable[first, second], kernel.variable[second, first]
    if variable >= 0:
        values[np.uint64(variable), lane] = 1
    if opposite >= 0:
        values[np.uint64(opposite), lane] = 0


@shared
def potential_in_lane(graph: FactorGraph, values: Bytes, factor: Index, lane: Index) -> float:
    """The log-potential of a factor in a lane."""
    place = np.int64(graph.table_start[graph.table_of[factor]])
    if factor < graph.first_clause:
        for edge in range(graph.scope_start[factor], graph.scope_start[factor + 1]):
            value = np.int64(values[np.uint64(graph.scope[edge]), lane])
            place += np.int64(graph.stride[edge]) * value
        return float(graph.table[place])
    for edge in range(graph.scope_start[factor], graph.scope_start[factor + 1]):
        if values[np.uint64(graph.scope[edge]), lane] == graph.satisfying[edge]:
            return float(graph.table[place + 1])
    return float(graph.table[place])


@shared
def _exclude_impossible(kernel: Order, memory: OrderMemory) -> None:
    """Leave weight to possible places only; lanes left alone get harmless weights."""
    for place in range(len(kernel.variable)):
        for lane in range(lanes_of(memory.scratch)):
            if memory.whole[lane] == 0:
                memory.log_weights[place, lane] = 0.0
            elif memory.lost[place, lane] != 0:
                memory.log_weights[place, lane] = -np.inf


@shared
def _put_back(
    kernel: Order, memory: OrderMemory, values: Bytes, outcomes: Numbers, item: Index
) -> None:
    """Let the item come back at the place that was drawn, from where it stands.

    That is the last place, or where it was if weighing moved nothing.
    """
    last = len(kernel.variable) - 1
    for lane in range(lanes_of(memory.scratch)):
        outcomes[ITEM_DRAWS] += 1
        if memory.whole[lane] == 0:
            outcomes[LEFT_ALONE] += 1
        else:
            drawn = np.int64(memory.picked[0, lane])
            outcomes[MOVED] += np.int64(drawn != memory.before[lane])
            stands = np.int64(memory.before[lane]) if len(kernel.factor) == 0 else last
            for place in range(min(drawn, stands), max(drawn, stands)):
                other = np.int64(memory.others[place, lane])
                if place >= drawn:
                    _turn(kernel, values, item, other, lane)
                else:
                    _turn(kernel, values, other, item, lane)
            for place in range(last):
                memory.item[place if place < drawn else place + 1, lane] = memory.others[
                    place, lane
                ]
            memory.item[drawn, lane] = item


# Building the kernel: items, their pairs, and the factors that matter.

Pair = tuple[Hashable, Hashable]


def order(
    prepared: PreparedGraph,
    pairs: Mapping[Pair, int],
    known: Mapping[Pair, bool] | None = None,
    *,
    draws: int = 1,
) -> Order:
    """Put items in order; pairs of items are variables.

    `pairs` gives the number of the variable that is 1 if the first item comes before the second.
    `known` gives pairs that are no variables, because evidence has decided them. Of each two items
    there is one of the two, at least one way round. The model must forbid what is no order; it may
    ask for more. A step draws as many items as `draws` says; other variables need another kernel,
    such as in an `alternation`.

    >>> import orbitmc as om
    >>> names = ["a<b", "b<c", "a<c"]
    >>> allowed = [[[1, 0], [1, 1]], [[1, 1], [0, 1]]]  # no circles
    >>> model = om.model({name: ["no", "yes"] for name in names}, [(names, allowed)])
    >>> pairs = {("a", "b"): 0, ("b", "c"): 1, ("a", "c"): 2}
    >>> kernel = om.kernels.order(om.kernels.prepare(model.graph), pairs)
    >>> report = om.testing.check_kernel(kernel, models=[model])
    >>> report.stationary < 1e-9, report.ergodic
    (True, True)
    """
    graph, decided = prepared.graph, dict(known or {})
    for pair in (*pairs, *decided):
        if not isinstance(pair, tuple) or len(pair) != 2 or pair[0] == pair[1]:
            raise InputError(f"a pair of items is a tuple of two different ones, not {pair!r}")
    if draws < 1:
        raise InputError(f"a step draws at least one item, not {draws}")
    names = [*dict.fromkeys(item for pair in (*pairs, *decided) for item in pair)]
    if not pairs:
        raise InputError("there are no pairs of items")
    if len(names) > MOST_ITEMS:
        raise InputError(f"an order has up to {MOST_ITEMS:,} items, not {len(names):,}")
    number = {name: place for place, name in enumerate(names)}
    variables = check_set(graph, [*pairs.values()])
    for variable in variables[graph.cardinality[variables] != 2]:
        raise InputError(f"pairs of items are binary variables; variable {variable} is not")
    variable = np.full((len(names), len(names)), NOBODY, dtype=np.int32)
    for (one, other), place in pairs.items():
        variable[number[one], number[other]] = place
    first = np.zeros(variable.shape, dtype=np.uint8)
    for (one, other), holds in decided.items():
        pair = number[one], number[other]
        first[pair if holds else pair[::-1]] = 1
    there = (variable >= 0) | (first == 1)
    for one, other in np.argwhere(~(there | there.T) & ~np.eye(len(names), dtype=np.bool_)):
        words = f"the pair {(names[one], names[other])!r} is neither a variable nor known"
        raise InputError(words)
    return order_table(graph, variable, first, draws)


def draw_order(graph: FactorGraph, items: ItemOrder) -> Order:
    """The kernel that draws as many items of an order as there are."""
    table = np.full((items.items, items.items), NOBODY, dtype=np.int32)
    table[items.first, items.second] = items.variables
    known = np.zeros(table.shape, dtype=np.uint8)
    known[items.known[:, 0], items.known[:, 1]] = 1
    return order_table(
        graph,
        table,
        known,
        items.items,
        themselves=items.themselves,
        reflexive=items.reflexive,
    )


def order_table(
    graph: FactorGraph,
    variable: NDArray[np.int32],
    known: Bytes,
    draws: int = 1,
    *,
    themselves: NDArray[np.int64] | None = None,
    reflexive: bool = False,
) -> Order:
    """The kernel of a table `[one, other]` of variables, and of what is known.

    Variables `themselves`, each with its item, say whether an item comes before itself: all do if
    the order is `reflexive`, else none.
    """
    implied = _close(known)
    ends = np.full((graph.variables, 2), NOBODY, dtype=np.int64)
    first, second = np.nonzero(variable >= 0)
    ends[variable[first, second]] = np.stack([first, second], axis=1)
    if themselves is not None:
        ends[themselves[:, 0]] = themselves[:, [1, 1]]
    gain, factors = np.zeros(variable.shape), _factors_that_matter(graph, ends, implied, reflexive)
    fields = [f for f in factors.tolist() if _is_field(graph, f)]
    for factor in fields:
        low, high = graph.table_values(factor)
        one, other = ends[graph.scope_of(factor)[0]]
        if one != other:
            gain[one, other] += high - low
    others = np.setdiff1d(factors, fields)
    pair, factor = _pairs_of_factors(graph, ends, others, len(variable))
    begin = starts(np.bincount(pair, minlength=variable.size)).astype(np.int64)
    hard = any(np.isneginf(graph.table_values(f)).any() for f in np.unique(factor).tolist())
    free = (variable >= 0) & (implied == 0) & (implied.T == 0)
    return Order(
        variable=readonly(variable),
        known=readonly(implied),
        lead=readonly(gain.T - gain),
        factor_start=readonly(begin[:-1].reshape(variable.shape)),
        factor_end=readonly(begin[1:].reshape(variable.shape)),
        factor=indices(factor),
        freed=indices(np.zeros(0, np.int64) if hard else variable[free]),
        draws=draws,
    )


def _close(known: Bytes) -> Bytes:
    """All pairs that follow from those that are known; refused if they go round in a circle."""
    closed = known.astype(np.bool_)
    while True:
        further = closed | (closed.astype(np.int64) @ closed > 0)
        if (further == closed).all():
            break
        closed = further
    if closed.diagonal().any():
        raise ContradictionError("what is known of an order goes round in a circle")
    return closed.astype(np.uint8)


def _is_field(graph: FactorGraph, factor: int) -> bool:
    """Whether a factor is a table of one variable that makes no value impossible."""
    single = factor < graph.first_clause and len(graph.scope_of(factor)) == 1
    return single and bool(np.isfinite(graph.table_values(factor)).all())


def _factors_that_matter(
    graph: FactorGraph, ends: NDArray[np.int64], known: Bytes, reflexive: bool
) -> Numbers:
    """Factors around pairs that are not the same for all orders, as the rules of an order are.

    Orders that disagree with what is known are none.
    """
    is_pair = ends[:, 0] >= 0
    near = np.bincount(graph.factor_of_edge, is_pair[graph.scope], minlength=graph.factors)
    matters, arities = near > 0, graph.arities
    for arity in np.unique(arities[(near == arities) & matters]).tolist():
        factors = np.flatnonzero(matters & (near == arities) & (arities == arity))
        edges = graph.edges_of(factors, arity)
        items = ends[graph.scope[edges]].reshape(len(factors), -1)
        local = (items[:, :, None] == items[:, None, :]).argmax(axis=2)
        is_clause = factors >= graph.first_clause
        values = np.where(is_clause[:, None], graph.satisfying[edges], 0)
        first = known[items[:, :, None], items[:, None, :]].reshape(len(factors), -1)
        columns = graph.table_of[factors], is_clause, *values.T, *local.T, *first.T
        kinds = np.column_stack([column.astype(np.int64) for column in columns])
        example, which = row_classes(kinds)
        varies = [
            _varies(graph, int(factors[k]), local[k], known[np.ix_(items[k], items[k])], reflexive)
            for k in example.tolist()
        ]
        matters[factors] = np.array(varies)[which]
    return np.flatnonzero(matters)


def _varies(
    graph: FactorGraph, factor: int, local: NDArray[np.int64], known: Bytes, reflexive: bool
) -> bool:
    """Whether a factor of pairs of a few items is another one in some order, or impossible.

    `known[k, l]` says whether the item of the k-th place comes before that of the l-th for sure.
    """
    items = np.unique(local).tolist()
    if len(items) > MOST_ITEMS_LISTED:
        return True
    table, potentials = graph.full_table(factor), set[float]()
    for arranged in itertools.permutations(items):
        place = {item: number for number, item in enumerate(arranged)}
        pairs = local.reshape(-1, 2).tolist()
        later = itertools.combinations(arranged[::-1], 2)
        if any(known[one, other] for one, other in later):
            continue
        entry = tuple(
            int(reflexive if one == other else place[one] < place[other]) for one, other in pairs
        )
        potentials.add(float(table[entry]))
    return len(potentials) > 1 or not np.isfinite([*potentials]).all()


def _pairs_of_factors(
    graph: FactorGraph, ends: NDArray[np.int64], factors: Numbers, items: int
) -> tuple[Numbers, Numbers]:
    """Pairs of items, both ways round, and for each the factors that it changes, each once."""
    chosen = np.zeros(graph.factors, dtype=np.bool_)
    chosen[factors] = True
    edges = np.flatnonzero(chosen[graph.factor_of_edge] & (ends[graph.scope, 0] >= 0))
    edges = edges[ends[graph.scope[edges], 0] != ends[graph.scope[edges], 1]]
    one, other = ends[graph.scope[edges]].T
    factor = graph.factor_of_edge[edges]
    pair = np.concatenate([one * items + other, other * items + one])
    each = np.unique(np.stack([pair, np.concatenate([factor, factor])]), axis=1)
    return each[0], each[1]
