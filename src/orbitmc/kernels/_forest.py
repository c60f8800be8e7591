"""Gibbs on forests: take an item with all below it out, and draw the parent it comes back to.

The variables are pairs of items; 1 says that the first is an ancestor of the second. Zeros of the
model forbid all but forests, so hardly a pair can change alone. A step weighs every place of an
item: to have no parent, or any item as parent that is not below it.

Exact because it is a draw from the conditional distribution restricted to the states in which what
is below the item, and all that is not, stand as they do, and those are the same from each of them.
A state that is no forest is left alone.
"""

from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc._numba.jit import implementation, shared
from orbitmc._simd.random import choose_by_log_weights, integer, lanes_of
from orbitmc._util.arrays import Bytes, Floats, Index, Indices, Numbers, indices, readonly, starts
from orbitmc.conditionals.draws import scratch
from orbitmc.conditionals.layout import Scratch
from orbitmc.conditionals.prepared import PreparedGraph
from orbitmc.errors import InputError, LimitError
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.model import ItemForest
from orbitmc.kernels._order import potential_in_lane
from orbitmc.kernels._relabelling import check_set
from orbitmc.kernels.protocol import flag_variables, steps

NOBODY = -1
MOST_ITEMS = 1_024  # each two of them have a variable
TRIES = 100  # to build a forest that agrees with what is known

ITEM_DRAWS, LEFT_ALONE, MOVED = range(3)
FOREST_OUTCOMES = ("item draws", "left alone", "moved items")

UNKNOWN, FALSE, TRUE = range(3)


class ForestMemory(NamedTuple):
    """Arrays of one pack.

    `parent[item, lane]` is the item right above, or -1; a lane is `whole` if its pairs are a
    forest. Other arrays are of a step, for one lane: `below` marks the item that is drawn and all
    below it, `moved` lists them; `weight` and `lost` are what it earns, and how much is impossible,
    under each item; `seen` marks factors that were weighed.
    """

    parent: NDArray[np.int32]
    whole: Bytes
    depth: NDArray[np.int32]
    below: Bytes
    moved: NDArray[np.int32]
    by_depth: NDArray[np.int32]
    log_weights: Floats
    lost: NDArray[np.int32]
    seen: Numbers
    stamp: Numbers
    picked: NDArray[np.uint16]
    scratch: Scratch


class Forest(NamedTuple):
    """Draw the parent of a uniformly chosen item, as often in a step as `draws` says.

    `variable[one, other]` is 1 if one is an ancestor of the other; -1 if that is `known`: false,
    true, or unknown where there is a variable. `gain[one, other]` is what fields give if it is 1.
    Other factors that pairs below some item change are
    `factor[factor_start[item]:factor_start[item + 1]]`. `freed` are variables that nothing else
    forbids to change.
    """

    variable: NDArray[np.int32]
    known: Bytes
    gain: Floats
    factor_start: Indices
    factor: Indices
    factors: int
    freed: Indices
    draws: int

    @property
    def outcomes(self) -> tuple[str, ...]:
        return FOREST_OUTCOMES

    def frees(self, graph: FactorGraph) -> NDArray[np.bool_]:
        return flag_variables(graph, self.freed)

    def draws_well(self, graph: FactorGraph) -> NDArray[np.bool_]:
        return flag_variables(graph, self.variable[self.variable >= 0])

    def memory(self, prepared: PreparedGraph, lanes: int) -> ForestMemory:
        items = len(self.variable)
        return ForestMemory(
            parent=np.zeros((items, lanes), dtype=np.int32),
            whole=np.zeros(lanes, dtype=np.uint8),
            depth=np.zeros(items, dtype=np.int32),
            below=np.zeros(items, dtype=np.uint8),
            moved=np.zeros(items, dtype=np.int32),
            by_depth=np.zeros(items, dtype=np.int32),
            log_weights=np.zeros((items + 1, lanes)),
            lost=np.zeros(items + 1, dtype=np.int32),
            seen=np.zeros(self.factors, dtype=np.int64),
            stamp=np.zeros(1, dtype=np.int64),
            picked=np.zeros((1, lanes), dtype=np.uint16),
            scratch=scratch(prepared, lanes),
        )

    def want_states(self, wanted: NDArray[np.int16], rng: np.random.Generator) -> None:
        """Random forests that agree with what is known."""
        first, second = np.nonzero(self.variable >= 0)
        for lane in range(wanted.shape[1]):
            above = _random_forest(self.known, rng)
            wanted[self.variable[first, second], lane] = above[first, second]


def _random_forest(known: Bytes, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Who is above whom, as items are put one after the other under items that are there."""
    items = len(known)
    needed, forbidden = known == TRUE, known == FALSE
    for _ in range(TRIES):
        above = np.zeros((items, items), dtype=np.bool_)
        placed: list[int] = []
        wanting = needed.sum(axis=0)
        left = rng.permutation(np.arange(items))
        left = left[np.argsort(wanting[left], kind="stable")]  # ancestors have fewer of them
        for item in left.tolist():
            lines = [np.zeros(items, dtype=np.bool_)]
            for parent in placed:
                line = above[:, parent].copy()
                line[parent] = True
                lines.append(line)
            fits = [
                line
                for line in lines
                if (line >= needed[:, item]).all() and not (line & forbidden[:, item]).any()
            ]
            if not fits:
                break
            above[:, item] = fits[int(rng.integers(len(fits)))]
            placed.append(item)
        else:
            return above
    raise LimitError(
        "no forest was found that agrees with what is known; the method mcsat grounds the rules of "
        "forests, and may find one"
    )


@implementation(steps, Forest)
def forest_steps(
    prepared: PreparedGraph,
    kernel: Forest,
    memory: ForestMemory,
    values: Bytes,
    outcomes: Numbers,
    rng: Any,
    count: int,
) -> None:
    items = len(kernel.variable)
    _read_forest(kernel, memory, values)
    for _ in range(count * kernel.draws):
        item = integer(rng, items)
        for lane in range(lanes_of(memory.scratch)):
            _weigh_parents(prepared.graph, kernel, memory, values, item, lane)
        choose_by_log_weights(rng, memory.log_weights, items + 1, memory.picked, 0)
        for lane in range(lanes_of(memory.scratch)):
            _put_back(kernel, memory, values, outcomes, item, lane)


@shared
def _is_above(kernel: Forest, values: Bytes, one: Index, other: Index, lane: Index) -> bool:
    """Whether an item is an ancestor of another one in a lane."""
    variable = kernel.variable[one, other]
    if variable >= 0:
        return bool(values[np.uint64(variable), lane] == 1)
    return bool(kernel.known[one, other] == TRUE)


@shared
def _read_forest(kernel: Forest, memory: ForestMemory, values: Bytes) -> None:
    """Find the parent of each item: the ancestor that has one ancestor less.

    A lane is no forest if an item's ancestors are not its parent and the parent's ancestors.
    """
    items = len(kernel.variable)
    for lane in range(lanes_of(memory.scratch)):
        memory.whole[lane] = 1
        for item in range(items):
            memory.depth[item] = 0
            for other in range(items):
                if other != item and _is_above(kernel, values, other, item, lane):
                    memory.depth[item] += 1
        for item in range(items):
            memory.parent[item, lane] = NOBODY
            if _is_above(kernel, values, item, item, lane):
                memory.whole[lane] = 0
            for other in range(items):
                next_above = memory.depth[other] == memory.depth[item] - 1
                if next_above and _is_above(kernel, values, other, item, lane):
                    memory.parent[item, lane] = other
            if memory.depth[item] > 0 and memory.parent[item, lane] == NOBODY:
                memory.whole[lane] = 0
        if memory.whole[lane] == 1:
            for item in range(items):
                parent = np.int64(memory.parent[item, lane])
                for other in range(items):
                    above = other != item and _is_above(kernel, values, other, item, lane)
                    expected = parent != NOBODY and (
                        other == parent or _is_above(kernel, values, other, parent, lane)
                    )
                    if above != expected:
                        memory.whole[lane] = 0


@shared
def _weigh_parents(
    graph: FactorGraph,
    kernel: Forest,
    memory: ForestMemory,
    values: Bytes,
    item: Index,
    lane: Index,
) -> None:
    """Find the log-weight of every parent of an item, and of none; then it has none.

    Lanes that are no forest get harmless weights and stay as they are.
    """
    items = len(kernel.variable)
    if memory.whole[lane] == 0:
        for place in range(items + 1):
            memory.log_weights[place, lane] = 0.0
        return
    count = _mark_below(kernel, memory, values, item, lane)
    before = np.int64(memory.parent[item, lane])
    _order_by_depth(memory, lane)
    memory.log_weights[items, lane] = 0.0
    memory.lost[items] = 0
    for place in range(items):
        other = np.int64(memory.by_depth[place])
        if memory.below[other] == 1:
            memory.log_weights[other, lane], memory.lost[other] = -np.inf, 1
        else:
            above = np.int64(memory.parent[other, lane])
            start = items if above == NOBODY else above
            weight, lost = memory.log_weights[start, lane], memory.lost[start]
            for k in range(count):
                moved = np.int64(memory.moved[k])
                weight += kernel.gain[other, moved]
                if kernel.known[other, moved] == FALSE:
                    lost += 1
                elif kernel.known[other, moved] == TRUE:
                    lost -= 1
            memory.log_weights[other, lane], memory.lost[other] = weight, lost
    present = memory.lost[items if before == NOBODY else before]
    others = False
    for k in range(count):
        moved = np.int64(memory.moved[k])
        others |= kernel.factor_start[moved] < kernel.factor_start[moved + 1]
    _hang(kernel, memory, values, count, before, lane, np.uint8(0))
    for place in range(items + 1):
        if place < items and memory.below[place] == 1:
            continue
        if memory.lost[place] != present:
            memory.log_weights[place, lane] = -np.inf
        elif others:
            parent = NOBODY if place == items else place
            _hang(kernel, memory, values, count, parent, lane, np.uint8(1))
            memory.log_weights[place, lane] += _sum_factors(
                graph, kernel, memory, values, count, lane
            )
            _hang(kernel, memory, values, count, parent, lane, np.uint8(0))


@shared
def _mark_below(
    kernel: Forest, memory: ForestMemory, values: Bytes, item: Index, lane: Index
) -> int:
    """Mark and list an item and all below it; gives how many."""
    count = 0
    for other in range(len(kernel.variable)):
        inside = other == item or _is_above(kernel, values, item, other, lane)
        memory.below[other] = 1 if inside else 0
        if inside:
            memory.moved[count] = other
            count += 1
    return count


@shared
def _order_by_depth(memory: ForestMemory, lane: Index) -> None:
    """List all items, parents before their children."""
    items, count = len(memory.depth), 0
    for item in range(items):
        depth, other = 0, np.int64(memory.parent[item, lane])
        while other != NOBODY:
            depth, other = depth + 1, np.int64(memory.parent[other, lane])
        memory.depth[item] = depth
    level = 0
    while count < items:
        for item in range(items):
            if memory.depth[item] == level:
                memory.by_depth[count] = item
                count += 1
        level += 1


@shared
def _hang(
    kernel: Forest,
    memory: ForestMemory,
    values: Bytes,
    count: Index,
    parent: Index,
    lane: Index,
    value: Index,
) -> None:
    """Set all pairs of a parent and what is above it with what is moved."""
    above = np.int64(parent)
    while above != NOBODY:
        for k in range(count):
            variable = kernel.variable[above, np.int64(memory.moved[k])]
            if variable >= 0:
                values[np.uint64(variable), lane] = value
        above = np.int64(memory.parent[above, lane])


@shared
def _sum_factors(
    graph: FactorGraph,
    kernel: Forest,
    memory: ForestMemory,
    values: Bytes,
    count: Index,
    lane: Index,
) -> float:
    """Add the factors around pairs with what is moved, each once."""
    total = 0.0
    memory.stamp[0] += 1
    for k in range(count):
        moved = np.int64(memory.moved[k])
        for place in range(kernel.factor_start[moved], kernel.factor_start[moved + 1]):
            factor = np.int64(kernel.factor[place])
            if memory.seen[factor] != memory.stamp[0]:
                memory.seen[factor] = memory.stamp[0]
                total += potential_in_lane(graph, values, factor, lane)
    return total


@shared
def _put_back(
    kernel: Forest,
    memory: ForestMemory,
    values: Bytes,
    outcomes: Numbers,
    item: Index,
    lane: Index,
) -> None:
    """Let the item hang under the parent that was drawn."""
    outcomes[ITEM_DRAWS] += 1
    if memory.whole[lane] == 0:
        outcomes[LEFT_ALONE] += 1
        return
    drawn, items = np.int64(memory.picked[0, lane]), len(kernel.variable)
    parent = NOBODY if drawn == items else drawn
    outcomes[MOVED] += np.int64(parent != memory.parent[item, lane])
    count = _mark_below(kernel, memory, values, item, lane)
    memory.parent[item, lane] = parent
    _hang(kernel, memory, values, count, parent, lane, np.uint8(1))


# Building the kernel: items, their pairs, and the factors that matter.

Pair = tuple[Hashable, Hashable]


def forest(
    prepared: PreparedGraph,
    pairs: Mapping[Pair, int],
    known: Mapping[Pair, bool] | None = None,
    *,
    draws: int = 1,
) -> Forest:
    """Let items hang under each other; pairs of items are variables.

    `pairs` gives the number of the variable that is 1 if the first item is an ancestor of the
    second. `known` gives pairs that are no variables, because evidence has decided them; others
    that are no variables are 0. The model must forbid what is no forest; it may ask for more. A
    step draws as many items as `draws` says; other variables need another kernel, such as in an
    `alternation`.

    >>> import orbitmc as om
    >>> names = ["a over b", "b over a"]
    >>> model = om.model({name: ["no", "yes"] for name in names}, [(names, [[1, 2], [3, 0]])])
    >>> pairs = {("a", "b"): 0, ("b", "a"): 1}
    >>> kernel = om.kernels.forest(om.kernels.prepare(model.graph), pairs)
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
    if not pairs:
        raise InputError("there are no pairs of items")
    names = [*dict.fromkeys(item for pair in (*pairs, *decided) for item in pair)]
    if len(names) > MOST_ITEMS:
        raise InputError(f"a forest has up to {MOST_ITEMS:,} items, not {len(names):,}")
    number = {name: place for place, name in enumerate(names)}
    variables = check_set(graph, [*pairs.values()])
    for variable in variables[graph.cardinality[variables] != 2]:
        raise InputError(f"pairs of items are binary variables; variable {variable} is not")
    table = np.full((len(names), len(names)), NOBODY, dtype=np.int32)
    for (one, other), place in pairs.items():
        table[number[one], number[other]] = place
    truth = np.where(table >= 0, UNKNOWN, FALSE).astype(np.uint8)
    for (one, other), holds in decided.items():
        truth[number[one], number[other]] = TRUE if holds else FALSE
    return forest_table(graph, table, truth, draws)


def draw_forest(graph: FactorGraph, items: ItemForest) -> Forest:
    """The kernel that draws as many items of a forest as there are."""
    table = np.full((items.items, items.items), NOBODY, dtype=np.int32)
    table[items.first, items.second] = items.variables
    known = np.where(table >= 0, UNKNOWN, FALSE).astype(np.uint8)
    known[items.known[:, 0], items.known[:, 1]] = TRUE
    return forest_table(graph, table, known, items.items)


def forest_table(
    graph: FactorGraph, variable: NDArray[np.int32], known: Bytes, draws: int = 1
) -> Forest:
    """The kernel of a table `[one, other]` of variables, and of what is known."""
    ends = np.full((graph.variables, 2), NOBODY, dtype=np.int64)
    first, second = np.nonzero(variable >= 0)
    ends[variable[first, second]] = np.stack([first, second], axis=1)
    gain, owners = np.zeros(variable.shape), list[tuple[int, int]]()
    is_pair = ends[:, 0] >= 0
    near = np.bincount(graph.factor_of_edge, is_pair[graph.scope], minlength=graph.factors)
    hard = False
    for factor in np.flatnonzero(near > 0).tolist():
        scope, table = graph.scope_of(factor), graph.table_values(factor)
        if len(scope) == 1 and factor < graph.first_clause and np.isfinite(table).all():
            gain[tuple(ends[scope[0]])] += table[1] - table[0]
            continue
        owners += [(int(item), factor) for item in np.unique(ends[scope, 1]) if item >= 0]
        hard |= bool(np.isneginf(table).any())
    listed = np.array(sorted(owners), dtype=np.int64).reshape(-1, 2)
    return Forest(
        variable=readonly(variable),
        known=readonly(known),
        gain=readonly(gain),
        factor_start=starts(np.bincount(listed[:, 0], minlength=len(variable))),
        factor=indices(listed[:, 1]),
        factors=graph.factors,
        freed=indices(np.zeros(0, np.int64) if hard else variable[variable >= 0]),
        draws=draws,
    )
