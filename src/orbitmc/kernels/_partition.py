"""Gibbs on equivalence relations: take one item out of its block, and draw the block it joins.

The variables are the pairs of items; 1 says that both are in one block. Zeros of the model forbid
all but equivalence relations, so no pair can change alone. A step weighs every block of the other
items, and a block of its own, by the true model. Where most pairs of an item gain the same, blocks
of one size without other pairs have one weight: their size is drawn, and then which of them it is.

Exact because it is a draw from the conditional distribution restricted to the states in which the
other items have the same blocks, and those are the same from each of them. A state in which pairs
are no equivalence relation is left alone.
"""

from collections.abc import Hashable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc._numba.jit import implementation, shared
from orbitmc._simd.random import choose_by_log_weights, integer, lanes_of, pick_below
from orbitmc._util.arrays import (
    Bytes,
    Floats,
    Index,
    Indices,
    Numbers,
    indices,
    readonly,
    short_repr,
    starts,
)
from orbitmc.conditionals.draws import scratch
from orbitmc.conditionals.layout import Scratch
from orbitmc.conditionals.prepared import PreparedGraph
from orbitmc.errors import InputError
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.kernels._relabelling import check_set
from orbitmc.kernels.protocol import flag_variables, steps

Pairs = Mapping[tuple[Hashable, Hashable], int]

Labels = NDArray[np.uint16]

NOBODY = 65_535  # in place of an item, or of a block
MOST_ITEMS = 8_192  # what pairs gain is a matrix, of 512 MiB for so many

ITEM_DRAWS, LEFT_ALONE, MOVED = range(3)
PARTITION_OUTCOMES = ("item draws", "left alone", "moved items")


class PartitionMemory(NamedTuple):
    """Arrays of one pack. `label[item, lane]` is the block of an item: the smallest item in it.

    A lane is `whole` if its pairs are an equivalence relation; in others every item is alone here.
    `size[block, lane]` is how many items a block has, `number[size, lane]` how many blocks have
    that size, and `largest` no less than any size. An item that is taken out counts in neither.

    Other arrays are of a step. With a row per block: `log_weights`, relative to a block of its own;
    `lost`, how many more factors are impossible; `extra`, what its `marked` blocks gain beside what
    is usual. `target` is the block to weigh, and `before` the one that the item came from.
    """

    log_weights: Floats
    lost: NDArray[np.int32]
    lost_alone: NDArray[np.int32]
    label: Labels
    size: Labels
    number: Numbers
    largest: Numbers
    extra: Floats
    marked: Labels
    whole: Bytes
    before: Labels
    target: Labels
    rank: NDArray[np.int16]
    repeated: Bytes
    saved: Bytes
    picked: Labels
    scratch: Scratch


class Partition(NamedTuple):
    """Draw the block of a uniformly chosen item.

    Items that are known to be in one block are one item here; `apart[one, other]` says which are
    known not to be. `gain[one, other]` is what factors that read nothing but this pair gain when
    it is 1, below all numbers for items that are apart. `one` and `other` are the items of each
    variable that is a pair, otherwise `NOBODY`.
    An item's pairs are `pair[pair_start[item]:…]`; `factor[factor_start[item]:…]` are the other
    factors around it, but for those that are the same for all partitions. Variables in `together`
    are 1 in every partition. `freed` are those that nothing else forbids to change.
    `inside[item]` is the variable that says whether an item is in a block at all, if some may be in
    none; -1 for those that are in one for sure. Nobody but themselves is in the block of those that
    are in none.

    Most pairs of an item gain `usual[item]`; `unusual[unusual_start[item]:…]` are its partners of
    whom that is not so. Blocks are drawn `by_size` where such partners are few, and nothing but
    gains matters. `log_of[number]` are logarithms.
    """

    apart: Bytes
    gain: Floats
    usual: Floats
    unusual_start: Indices
    unusual: Labels
    by_size: Bytes
    log_of: Floats
    one: Labels
    other: Labels
    pair_start: Indices
    pair: Indices
    partner: Labels
    factor_start: Indices
    factor: Indices
    together: Indices
    freed: Indices
    inside: Numbers

    def __repr__(self) -> str:
        return short_repr(self)

    @property
    def outcomes(self) -> tuple[str, ...]:
        return PARTITION_OUTCOMES

    @property
    def partial(self) -> bool:
        return len(self.inside) > 0

    def frees(self, graph: FactorGraph) -> NDArray[np.bool_]:
        return flag_variables(graph, self.freed)

    def memory(self, prepared: PreparedGraph, lanes: int) -> PartitionMemory:
        items = len(self.apart)
        return PartitionMemory(
            log_weights=np.zeros((2 * items + 1, lanes)),
            lost=np.zeros((items, lanes), dtype=np.int32),
            lost_alone=np.zeros(lanes, dtype=np.int32),
            label=np.zeros((items, lanes), dtype=np.uint16),
            size=np.zeros((items, lanes), dtype=np.uint16),
            number=np.zeros((items + 1, lanes), dtype=np.int64),
            largest=np.zeros(1, dtype=np.int64),
            extra=np.zeros((items, lanes)),
            marked=np.zeros((items, lanes), dtype=np.uint16),
            whole=np.zeros(lanes, dtype=np.uint8),
            before=np.zeros(lanes, dtype=np.uint16),
            target=np.zeros(lanes, dtype=np.uint16),
            rank=np.zeros(lanes, dtype=np.int16),
            repeated=np.zeros(lanes, dtype=np.uint8),
            saved=np.zeros(lanes, dtype=np.uint8),
            picked=np.zeros((1, lanes), dtype=np.uint16),
            scratch=scratch(prepared, lanes),
        )


@implementation(steps, Partition)
def partition_steps(
    prepared: PreparedGraph,
    kernel: Partition,
    memory: PartitionMemory,
    values: Bytes,
    outcomes: Numbers,
    rng: Any,
    count: int,
) -> None:
    read_blocks(kernel, memory, values)
    for _ in range(count):
        item = integer(rng, len(kernel.apart))
        draw_item(prepared, kernel, memory, values, outcomes, rng, item)


@shared
def draw_item(
    prepared: PreparedGraph,
    kernel: Partition,
    memory: PartitionMemory,
    values: Bytes,
    outcomes: Numbers,
    rng: Any,
    item: Index,
) -> None:
    """Draw the block of an item, once `read_blocks` knows those of the lanes."""
    if kernel.by_size[item] == 1:
        take_out(kernel, memory, item)
        _pick_by_size(kernel, memory, rng, item)
    else:
        weigh_blocks(prepared, kernel, memory, values, item)
        choose_by_log_weights(rng, memory.log_weights, choices_of(kernel), memory.picked, 0)
    _join(kernel, memory, values, outcomes, item)


@shared
def choices_of(kernel: Partition) -> int:
    """How many log-weights an item has: of each block, and of none where it may be in none."""
    return len(kernel.apart) + int(len(kernel.inside) > 0)


@shared
def weigh_blocks(
    prepared: PreparedGraph, kernel: Partition, memory: PartitionMemory, values: Bytes, item: Index
) -> None:
    """Take an item out of its block, and find the log-weight of every block that it may join.

    The last one is that of no block, where items may be in none.
    """
    take_out(kernel, memory, item)
    if len(kernel.inside) > 0:
        _weigh_no_block(prepared.graph, kernel, memory, values, item)
    weigh_changes(prepared, kernel, memory, values, item)
    _exclude_impossible(kernel, memory, item)
    if len(kernel.inside) > 0:
        _exclude_those_in_none(kernel, memory, values, item)


@shared
def weigh_changes(
    prepared: PreparedGraph, kernel: Partition, memory: PartitionMemory, values: Bytes, item: Index
) -> None:
    """Find what joining each block changes in log-weight, and how many factors become impossible.

    The item has been taken out. Labels of nobody's blocks have weights, too.
    """
    _clear_weights(kernel, memory, item)
    for place in range(kernel.factor_start[item], kernel.factor_start[item + 1]):
        _weigh_factor(prepared.graph, kernel, memory, values, item, kernel.factor[place])


# The blocks of each lane, read from the pairs.


@shared
def read_blocks(kernel: Partition, memory: PartitionMemory, values: Bytes) -> None:
    """Label every item by the smallest one in its block; find lanes that are no partition."""
    items, lanes = len(kernel.apart), lanes_of(memory.scratch)
    for item in range(items):
        for lane in range(lanes):
            memory.label[item, lane] = item
    for variable in range(len(kernel.one)):
        if kernel.one[variable] != NOBODY:
            _read_pair(kernel, memory, values, variable)
    for lane in range(lanes):
        memory.whole[lane] = 1
    for variable in range(len(kernel.one)):
        if kernel.one[variable] != NOBODY:
            _check_pair(kernel, memory, values, variable)
    for variable in kernel.together:
        for lane in range(lanes):
            memory.whole[lane] &= np.uint8(values[np.uint64(variable), lane] == 1)
    _check_apart(kernel, memory)
    _count_blocks(kernel, memory)


@shared
def _read_pair(kernel: Partition, memory: PartitionMemory, values: Bytes, variable: Index) -> None:
    """Label the later item of a pair by the other one, if no smaller one is in its block."""
    one, other = np.uint64(kernel.one[variable]), np.uint64(kernel.other[variable])
    item, before = max(one, other), min(one, other)
    anywhere = np.uint8(0)
    for lane in range(lanes_of(memory.scratch)):
        anywhere |= values[variable, lane]
    if anywhere == 1:
        for lane in range(lanes_of(memory.scratch)):
            earlier = values[variable, lane] == 1 and before < memory.label[item, lane]
            memory.label[item, lane] = before if earlier else memory.label[item, lane]


@shared
def _check_pair(kernel: Partition, memory: PartitionMemory, values: Bytes, variable: Index) -> None:
    """Find lanes in which a pair does not say what labels do, or an item is in no block."""
    one, other = np.uint64(kernel.one[variable]), np.uint64(kernel.other[variable])
    for lane in range(lanes_of(memory.scratch)):
        joined = np.uint8(memory.label[one, lane] == memory.label[other, lane])
        memory.whole[lane] &= np.uint8(values[variable, lane] == joined)
    if len(kernel.inside) > 0:
        for item in (one, other):
            if kernel.inside[item] >= 0:
                inside = np.uint64(kernel.inside[item])
                for lane in range(lanes_of(memory.scratch)):
                    memory.whole[lane] &= np.uint8(values[variable, lane] <= values[inside, lane])


@shared
def _check_apart(kernel: Partition, memory: PartitionMemory) -> None:
    for item in range(len(kernel.apart)):
        for partner in range(item):
            if kernel.apart[item, partner] == 1:
                for lane in range(lanes_of(memory.scratch)):
                    apart = memory.label[item, lane] != memory.label[partner, lane]
                    memory.whole[lane] &= np.uint8(apart)


@shared
def _count_blocks(kernel: Partition, memory: PartitionMemory) -> None:
    """Find the sizes of blocks; where there is no partition, every item is alone."""
    items, lanes = len(kernel.apart), lanes_of(memory.scratch)
    for item in range(items):
        for lane in range(lanes):
            left = memory.whole[lane] == 0
            memory.label[item, lane] = np.uint16(item) if left else memory.label[item, lane]
            memory.size[item, lane] = 0
            memory.number[item + 1, lane] = 0
    for item in range(items):
        for lane in range(lanes):
            memory.size[memory.label[item, lane], lane] += np.uint16(1)
    memory.largest[0] = 0
    for item in range(items):
        for lane in range(lanes):
            size = np.int64(memory.size[item, lane])
            if size > 0:
                memory.number[size, lane] += 1
                memory.largest[0] = max(memory.largest[0], size)


@shared
def take_out(kernel: Partition, memory: PartitionMemory, item: Index) -> None:
    """Put the item in a block of its own, and remember which block of others it came from.

    Where it was the smallest of its block, the next one gives the block its label. So labels depend
    on the state only, and a run does not depend on how often it is interrupted.
    """
    heads = False
    for lane in range(lanes_of(memory.scratch)):
        memory.before[lane] = memory.label[item, lane]
        heads |= memory.size[item, lane] > 1
    for partner in range(item + 1, len(kernel.apart) if heads else item):
        for lane in range(lanes_of(memory.scratch)):
            label, before = memory.label[partner, lane], memory.before[lane]
            together = label == item
            before = np.uint16(partner) if together and before == item else before
            memory.before[lane] = before
            memory.label[partner, lane] = before if together else label
    for lane in range(lanes_of(memory.scratch)):
        block, left = memory.before[lane], memory.label[item, lane]
        size = np.int64(memory.size[left, lane])
        memory.size[left, lane] = 0
        memory.size[block, lane] = np.uint16(size - 1)
        memory.number[size, lane] -= 1
        if size > 1:
            memory.number[size - 1, lane] += 1
        memory.label[item, lane] = item
    while memory.largest[0] > 0 and not _has_size(memory, memory.largest[0]):
        memory.largest[0] -= 1


@shared
def _has_size(memory: PartitionMemory, size: Index) -> bool:
    """Whether any lane has a block of some size."""
    blocks = 0
    for lane in range(lanes_of(memory.scratch)):
        blocks += memory.number[size, lane]
    return blocks > 0


@shared
def partner_of(kernel: Partition, variable: Index, item: Index) -> int:
    """The other item of a pair; `NOBODY` if the variable is no pair of this item."""
    one, other = np.int64(kernel.one[variable]), np.int64(kernel.other[variable])
    if one == item:
        return int(other)
    return int(one) if other == item else NOBODY


# Drawing a size, and then a block of that size.
#
# Row 0 is a block of its own, a row below `largest` all blocks of that size to which the item gains
# what is usual; others have a row at the first partner in them of whom that is not so.


@shared
def _pick_by_size(kernel: Partition, memory: PartitionMemory, rng: Any, item: Index) -> None:
    """Pick a block for an item that is taken out, in proportion to what its pairs gain."""
    first, last = _unusual_of(kernel, item)
    rows, weights, usual = memory.largest[0] + 1, memory.log_weights, kernel.usual[item]
    _weigh_unusual(kernel, memory, item)
    for size in range(rows):
        for lane in range(lanes_of(memory.scratch)):
            blocks = memory.number[size, lane] if size > 0 else 1
            weights[size, lane] = kernel.log_of[blocks] + usual * np.float64(size)
    choose_by_log_weights(rng, weights, rows + last - first, memory.picked, 0)
    wanted, bound = memory.target, memory.rank
    for lane in range(lanes_of(memory.scratch)):
        row = np.int64(memory.picked[0, lane])
        of_size = 0 < row < rows
        wanted[lane] = np.uint16(row) if of_size else np.uint16(NOBODY)
        bound[lane] = np.int16(memory.number[row, lane]) if of_size else np.int16(1)
        memory.picked[0, lane] = item
        if row >= rows:
            partner = np.uint64(kernel.unusual[first + row - rows])
            memory.picked[0, lane] = memory.label[partner, lane]
    pick_below(rng, bound, memory.rank)
    for block in range(len(kernel.apart)):
        for lane in range(lanes_of(memory.scratch)):
            fits = (memory.size[block, lane] == wanted[lane]) & (memory.marked[block, lane] == 0)
            picked = fits & (memory.rank[lane] == 0)
            memory.picked[0, lane] = np.uint16(block) if picked else memory.picked[0, lane]
            memory.rank[lane] -= np.int16(fits)
    _forget_unusual(kernel, memory, item)


@shared
def _unusual_of(kernel: Partition, item: Index) -> tuple[int, int]:
    """Where the list of an item's unusual partners begins, and where it ends."""
    start = kernel.unusual_start
    return int(start[item]), int(start[item + 1])


@shared
def _weigh_unusual(kernel: Partition, memory: PartitionMemory, item: Index) -> None:
    """Weigh blocks with partners of whom an item does not gain what is usual; mark them."""
    first, last = _unusual_of(kernel, item)
    usual = kernel.usual[item]
    for place in range(first, last):
        partner = np.uint64(kernel.unusual[place])
        more = kernel.gain[item, partner] - usual
        for lane in range(lanes_of(memory.scratch)):
            memory.extra[memory.label[partner, lane], lane] += more
    for place in range(first, last):
        partner = np.uint64(kernel.unusual[place])
        row = memory.largest[0] + 1 + place - first
        for lane in range(lanes_of(memory.scratch)):
            block = memory.label[partner, lane]
            size = np.int64(memory.size[block, lane])
            weight = -np.inf
            if memory.marked[block, lane] == 0:
                weight = usual * np.float64(size) + memory.extra[block, lane]
                memory.marked[block, lane] = 1
                memory.number[size, lane] -= 1
            memory.log_weights[row, lane] = weight


@shared
def _forget_unusual(kernel: Partition, memory: PartitionMemory, item: Index) -> None:
    """Take marks away."""
    first, last = _unusual_of(kernel, item)
    for place in range(first, last):
        partner = np.uint64(kernel.unusual[place])
        for lane in range(lanes_of(memory.scratch)):
            block = memory.label[partner, lane]
            if memory.marked[block, lane] == 1:
                memory.marked[block, lane] = 0
                memory.extra[block, lane] = 0.0
                memory.number[np.int64(memory.size[block, lane]), lane] += 1


# What the log-weight is if an item joins a block, relative to a block of its own.
#
# A factor may be impossible when the item is alone, so such factors are counted, not summed.


@shared
def _clear_weights(kernel: Partition, memory: PartitionMemory, item: Index) -> None:
    """Begin with what pairs gain; items known apart exclude their blocks."""
    items, usual = len(kernel.apart), kernel.usual[item]
    for block in range(items):
        for lane in range(lanes_of(memory.scratch)):
            memory.log_weights[block, lane] = usual * np.float64(memory.size[block, lane])
    first, last = _unusual_of(kernel, item)
    for place in range(first, last):
        partner = np.uint64(kernel.unusual[place])
        more = kernel.gain[item, partner] - usual
        for lane in range(lanes_of(memory.scratch)):
            memory.log_weights[memory.label[partner, lane], lane] += more
    if len(kernel.factor) > 0:
        for lane in range(lanes_of(memory.scratch)):
            memory.lost_alone[lane] = 0
        for block in range(items):
            for lane in range(lanes_of(memory.scratch)):
                memory.lost[block, lane] = 0


@shared
def _weigh_no_block(
    graph: FactorGraph, kernel: Partition, memory: PartitionMemory, values: Bytes, item: Index
) -> None:
    """Find the log-weight of no block relative to a block of its own; then the item is in one."""
    none = len(kernel.apart)
    for lane in range(lanes_of(memory.scratch)):
        memory.log_weights[none, lane] = 0.0 if kernel.inside[item] >= 0 else -np.inf
        memory.target[lane] = NOBODY
    if kernel.inside[item] < 0:
        return
    variable = np.uint64(kernel.inside[item])
    for lane in range(lanes_of(memory.scratch)):
        memory.saved[lane] = values[variable, lane]
    for inside in range(2):
        for lane in range(lanes_of(memory.scratch)):
            values[variable, lane] = inside
        sign = -1.0 if inside == 1 else 1.0
        for place in range(graph.incident_start[variable], graph.incident_start[variable + 1]):
            _find_entries(graph, kernel, memory, values, item, graph.incident[place])
            for lane in range(lanes_of(memory.scratch)):
                potential = graph.table[np.uint64(memory.scratch.place[lane])]
                memory.log_weights[none, lane] += sign * potential


@shared
def _exclude_those_in_none(
    kernel: Partition, memory: PartitionMemory, values: Bytes, item: Index
) -> None:
    """Let nobody join an item that is in no block; the one that is weighed is where it was."""
    items = len(kernel.apart)
    for other in range(items):
        inside = kernel.inside[other]
        if inside >= 0 and other != item:
            for lane in range(lanes_of(memory.scratch)):
                if values[np.uint64(inside), lane] == 0 and memory.whole[lane] == 1:
                    memory.log_weights[other, lane] = -np.inf
    for lane in range(lanes_of(memory.scratch)):
        if memory.whole[lane] == 0 or memory.log_weights[item, lane] == -np.inf:
            memory.log_weights[items, lane] = -np.inf
    if kernel.inside[item] >= 0:
        variable = np.uint64(kernel.inside[item])
        for lane in range(lanes_of(memory.scratch)):
            values[variable, lane] = memory.saved[lane]


@shared
def _weigh_factor(
    graph: FactorGraph,
    kernel: Partition,
    memory: PartitionMemory,
    values: Bytes,
    item: Index,
    factor: Index,
) -> None:
    """Add what a factor changes for each block that one of its pairs leads to."""
    for lane in range(lanes_of(memory.scratch)):
        memory.target[lane] = NOBODY
    place = memory.scratch.place
    _find_entries(graph, kernel, memory, values, item, factor)
    for lane in range(lanes_of(memory.scratch)):
        potential = graph.table[np.uint64(place[lane])]
        memory.lost_alone[lane] += np.int32(potential == -np.inf)
        memory.scratch.log_weights[0, lane] = potential
    for edge in range(graph.scope_start[factor], graph.scope_start[factor + 1]):
        partner = partner_of(kernel, np.uint64(graph.scope[edge]), item)
        if partner != NOBODY:
            _aim(graph, kernel, memory, item, factor, edge)
            _find_entries(graph, kernel, memory, values, item, factor)
            for lane in range(lanes_of(memory.scratch)):
                if memory.repeated[lane] == 0:
                    _add_change(memory, lane, graph.table[np.uint64(place[lane])])


@shared
def _aim(
    graph: FactorGraph,
    kernel: Partition,
    memory: PartitionMemory,
    item: Index,
    factor: Index,
    edge: Index,
) -> None:
    """Make the block of a pair's other item the target; an earlier pair may lead there too."""
    partner = partner_of(kernel, np.uint64(graph.scope[edge]), item)
    for lane in range(lanes_of(memory.scratch)):
        memory.target[lane] = memory.label[partner, lane]
        memory.repeated[lane] = 0
    for before in range(graph.scope_start[factor], edge):
        earlier = partner_of(kernel, np.uint64(graph.scope[before]), item)
        if earlier != NOBODY:
            for lane in range(lanes_of(memory.scratch)):
                same = memory.label[earlier, lane] == memory.target[lane]
                memory.repeated[lane] |= np.uint8(same)


@shared
def _find_entries(
    graph: FactorGraph,
    kernel: Partition,
    memory: PartitionMemory,
    values: Bytes,
    item: Index,
    factor: Index,
) -> None:
    """Which entry of its table a factor has in each lane with the item in the target block."""
    start, place = graph.table_start[graph.table_of[factor]], memory.scratch.place
    for lane in range(lanes_of(memory.scratch)):
        place[lane] = start
    for edge in range(graph.scope_start[factor], graph.scope_start[factor + 1]):
        variable = np.uint64(graph.scope[edge])
        partner = partner_of(kernel, variable, item)
        for lane in range(lanes_of(memory.scratch)):
            if partner == NOBODY:
                memory.scratch.pattern[lane] = values[variable, lane]
            else:
                joined = memory.label[partner, lane] == memory.target[lane]
                memory.scratch.pattern[lane] = np.uint8(joined)
        if factor < graph.first_clause:
            stride = graph.stride[edge]
            for lane in range(lanes_of(memory.scratch)):
                place[lane] += stride * np.uint32(memory.scratch.pattern[lane])
        else:
            wanted = np.uint8(graph.satisfying[edge])
            for lane in range(lanes_of(memory.scratch)):
                holds = memory.scratch.pattern[lane] == wanted
                place[lane] = start + np.uint32(1) if holds else place[lane]


@shared
def _add_change(memory: PartitionMemory, lane: Index, after: float) -> None:
    """Add what a factor changes in the target block of a lane."""
    block, before = memory.target[lane], memory.scratch.log_weights[0, lane]
    lost, was_lost = after == -np.inf, before == -np.inf
    memory.lost[block, lane] += np.int32(lost) - np.int32(was_lost)
    gained = (0.0 if lost else after) - (0.0 if was_lost else before)
    memory.log_weights[block, lane] += gained


@shared
def _exclude_impossible(kernel: Partition, memory: PartitionMemory, item: Index) -> None:
    """Leave weight to possible blocks only; lanes left alone get harmless weights.

    A block has the label of an item in it, so one in which there is nobody is seen by that.
    """
    weights = memory.log_weights
    for block in range(len(kernel.apart)):
        for lane in range(lanes_of(memory.scratch)):
            there = memory.label[block, lane] == block
            weight = weights[block, lane] if there else -np.inf
            weights[block, lane] = weight if memory.whole[lane] == 1 else 0.0
        if len(kernel.factor) > 0:
            for lane in range(lanes_of(memory.scratch)):
                lost = memory.lost[block, lane] + memory.lost_alone[lane] != 0
                if lost and memory.whole[lane] == 1:
                    weights[block, lane] = -np.inf


@shared
def put_in(kernel: Partition, memory: PartitionMemory, block: Labels, item: Index) -> None:
    """Give an item that was taken out the label of a block in each lane; its own is alone."""
    heads = False
    for lane in range(lanes_of(memory.scratch)):
        joined = block[lane]
        memory.label[item, lane] = min(joined, np.uint16(item))
        heads |= joined > item
        size = np.int64(memory.size[joined, lane])
        if size > 0:
            memory.number[size, lane] -= 1
        memory.number[size + 1, lane] += 1
        memory.largest[0] = max(memory.largest[0], size + 1)
        memory.size[joined, lane] = 0
        memory.size[memory.label[item, lane], lane] = np.uint16(size + 1)
    for partner in range(item + 1, len(kernel.apart) if heads else item):
        for lane in range(lanes_of(memory.scratch)):
            label = memory.label[partner, lane]
            joins = label == block[lane]
            memory.label[partner, lane] = memory.label[item, lane] if joins else label


@shared
def _join(
    kernel: Partition, memory: PartitionMemory, values: Bytes, outcomes: Numbers, item: Index
) -> None:
    """Put the item in the block that was picked, and give its pairs their values."""
    whole, items = np.int64(0), len(kernel.apart)
    _set_inside(kernel, memory, values, item)
    for lane in range(lanes_of(memory.scratch)):
        block = memory.picked[0, lane]
        block = np.uint16(item) if block == items else block
        memory.picked[0, lane] = memory.before[lane] if memory.whole[lane] == 0 else block
        whole += np.int64(memory.whole[lane])
    outcomes[ITEM_DRAWS] += lanes_of(memory.scratch)
    outcomes[LEFT_ALONE] += lanes_of(memory.scratch) - whole
    outcomes[MOVED] += join_picked(kernel, memory, values, item)


@shared
def join_picked(kernel: Partition, memory: PartitionMemory, values: Bytes, item: Index) -> int:
    """Put an item that was taken out in the block that is picked; gives how many lanes changed."""
    moved = 0
    for lane in range(lanes_of(memory.scratch)):
        block, before = memory.picked[0, lane], memory.before[lane]
        moved += int(block != before)
        memory.target[lane] = np.uint16(NOBODY) if block == before else block
        memory.before[lane] = np.uint16(NOBODY) if block == before else before
    if moved > 0:
        for place in range(kernel.pair_start[item], kernel.pair_start[item + 1]):
            partner = np.uint64(kernel.partner[place])
            _flip_pair(memory, values, np.uint64(kernel.pair[place]), partner)
    put_in(kernel, memory, memory.picked[0], item)
    return moved


@shared
def _flip_pair(memory: PartitionMemory, values: Bytes, variable: Index, partner: Index) -> None:
    """Flip a pair where the partner is in the block that the item leaves, or in the one it joins.

    They are in `before` and `target`: nobody's, if these are the same.
    """
    anywhere = False
    for lane in range(lanes_of(memory.scratch)):
        label = memory.label[partner, lane]
        anywhere |= (label == memory.target[lane]) | (label == memory.before[lane])
    if anywhere:
        for lane in range(lanes_of(memory.scratch)):
            label = memory.label[partner, lane]
            flips = (label == memory.target[lane]) | (label == memory.before[lane])
            values[variable, lane] ^= np.uint8(flips)


@shared
def _set_inside(kernel: Partition, memory: PartitionMemory, values: Bytes, item: Index) -> None:
    """Say whether the item is in a block at all, if it may be in none."""
    if len(kernel.inside) > 0 and kernel.inside[item] >= 0:
        inside = np.uint64(kernel.inside[item])
        for lane in range(lanes_of(memory.scratch)):
            drawn = np.uint8(memory.picked[0, lane] < len(kernel.apart))
            left = memory.whole[lane] == 0
            values[inside, lane] = values[inside, lane] if left else drawn


# Building the kernel: items, their pairs, and the factors that matter.


def partition(
    prepared: PreparedGraph,
    pairs: Pairs,
    known: Mapping[tuple[Hashable, Hashable], bool] | None = None,
) -> Partition:
    """Move items between the blocks of an equivalence relation; pairs of items are variables.

    `pairs` gives the number of the variable that says whether two items are in one block. `known`
    gives pairs that are no variables, because evidence has decided them. Each pair of items is in
    one of the two. Both (a, b) and (b, a) may be variables; the model must then tie them. A step
    draws one item; other variables need another kernel, such as in an `alternation`.

    >>> import orbitmc as om
    >>> names = ["a=b", "a=c", "b=c"]
    >>> allowed = [[[1, 1], [1, 0]], [[1, 0], [0, 1]]]  # never exactly two of three
    >>> model = om.model({name: ["no", "yes"] for name in names}, [(names, allowed)])
    >>> pairs = {("a", "b"): 0, ("a", "c"): 1, ("b", "c"): 2}
    >>> kernel = om.kernels.partition(om.kernels.prepare(model.graph), pairs)
    >>> report = om.testing.check_kernel(kernel, models=[model])
    >>> report.stationary < 1e-9, report.ergodic
    (True, True)
    """
    graph, decided = prepared.graph, dict(known or {})
    items = _number_items([*pairs, *decided])
    variables = check_set(graph, [*pairs.values()])
    for variable in variables[graph.cardinality[variables] != 2]:
        raise InputError(f"pairs of items are binary variables; variable {variable} is not")
    root = _unite_known(items, decided)
    ends = np.array([[root[items[item]] for item in pair] for pair in pairs])
    apart = _keep_apart(items, decided, root)
    _require_every_pair(items, [*pairs, *decided])
    return assemble(graph, variables, ends, apart)


def _number_items(every: list[tuple[Hashable, Hashable]]) -> dict[Hashable, int]:
    """Number the items of pairs as they come."""
    for pair in every:
        if not isinstance(pair, tuple) or len(pair) != 2 or pair[0] == pair[1]:
            raise InputError(f"a pair of items is a tuple of two different ones, not {pair!r}")
    items = dict.fromkeys(item for pair in every for item in pair)
    if not items:
        raise InputError("there are no pairs of items")
    if len(items) > MOST_ITEMS:
        raise InputError(f"a partition has up to {MOST_ITEMS} items, not {len(items)}")
    return {item: number for number, item in enumerate(items)}


def _require_every_pair(items: dict[Hashable, int], every: list[tuple[Hashable, Hashable]]) -> None:
    """Refuse a relation that says nothing of two of its items, or one thing twice."""
    if len(set(every)) != len(every):
        twice = next(pair for pair in every if every.count(pair) > 1)
        raise InputError(f"the pair {twice!r} is both a variable and known")
    there = {frozenset(pair) for pair in every}
    names = list(items)
    for place, item in enumerate(names):
        for other in names[:place]:
            if frozenset((item, other)) not in there:
                raise InputError(f"the pair {(other, item)!r} is neither a variable nor known")


def _unite_known(
    items: dict[Hashable, int], known: dict[tuple[Hashable, Hashable], bool]
) -> NDArray[np.int64]:
    """The number of each item when those known to be in one block are one."""
    root = np.arange(len(items))
    for (item, other), same in known.items():
        if same:
            root[root == root[items[other]]] = root[items[item]]
    return np.unique(root, return_inverse=True)[1].reshape(-1)


def _keep_apart(
    items: dict[Hashable, int],
    known: dict[tuple[Hashable, Hashable], bool],
    root: NDArray[np.int64],
) -> Bytes:
    apart = np.zeros((root.max() + 1, root.max() + 1), dtype=np.uint8)
    for (item, other), same in known.items():
        one, two = root[items[item]], root[items[other]]
        if not same and one == two:
            raise InputError(
                f"{item!r} and {other!r} are known to be apart, and known to be in one block"
            )
        if not same:
            apart[one, two] = apart[two, one] = 1
    return readonly(apart)


def assemble(
    graph: FactorGraph,
    variables: NDArray[np.int64],
    ends: NDArray[np.int64],
    apart: Bytes,
    inside: Numbers | None = None,
) -> Partition:
    """The kernel of some pairs: their variables, the two items of each, and who is kept apart.

    Items may be in no block whose variable `inside` says so.
    """
    between = ends[:, 0] != ends[:, 1]
    sides = np.full((2, graph.variables), NOBODY, dtype=np.uint16)
    sides[:, variables[between]] = ends[between].T
    gain, matters = _sort_factors(graph, sides, len(apart))
    gain[apart == 1] = -np.inf
    pairs = np.repeat(variables[between], 2)
    pair_start, pair = _lists(ends[between].reshape(-1), pairs, len(apart))
    owner = np.repeat(np.arange(len(apart)), np.diff(pair_start))
    partner = np.where(sides[0, pair] == owner, sides[1, pair], sides[0, pair])
    usual, unusual_start, unusual = _find_unusual(gain)
    item, factor = _factors_of_items(graph, sides, matters)
    factor_start, factors = _lists(item, factor, len(apart))
    splits = _can_always_split(graph, sides, np.unique(factor))
    known = np.zeros(0, dtype=np.int64) if inside is None else inside
    freed = np.concatenate([variables, known[known >= 0]])
    by_size = (np.diff(unusual_start) < FEW_UNUSUAL * len(apart)) & (inside is None)
    return Partition(
        apart=apart,
        gain=readonly(gain),
        usual=usual,
        unusual_start=unusual_start,
        unusual=unusual,
        by_size=readonly((by_size & (np.diff(factor_start) == 0)).astype(np.uint8)),
        log_of=readonly(np.append(-np.inf, np.log(np.arange(1, len(apart) + 1)))),
        one=readonly(sides[0]),
        other=readonly(sides[1]),
        pair_start=pair_start,
        pair=pair,
        partner=readonly(partner),
        factor_start=factor_start,
        factor=factors,
        together=indices(variables[~between]),
        freed=indices(np.sort(freed) if splits else freed[:0]),
        inside=readonly(known),
    )


FEW_UNUSUAL = 0.5  # of all partners: then sizes are drawn first


def _find_unusual(gain: Floats) -> tuple[Floats, Indices, Labels]:
    """What most pairs of each item gain, and the partners of whom that is not so."""
    items = len(gain)
    usual = np.zeros(items)
    partners = [np.zeros(0, dtype=np.uint16)]
    count = np.zeros(items, dtype=np.int64)
    for item in range(items):
        row = np.delete(gain[item], item)
        finite = row[np.isfinite(row)]
        if len(finite):
            usual[item] = np.partition(finite, len(finite) // 2)[len(finite) // 2]
        unusual = np.flatnonzero(gain[item] != usual[item])
        unusual = unusual[unusual != item]
        partners.append(unusual.astype(np.uint16))
        count[item] = len(unusual)
    return readonly(usual), starts(count), readonly(np.concatenate(partners))


def _lists(owner: Numbers, entries: Numbers, owners: int) -> tuple[Indices, Indices]:
    """What each owner has, in ascending order: where its list starts, and all lists."""
    order = np.lexsort((entries, owner))
    return starts(np.bincount(owner, minlength=owners)), indices(entries[order])


def _factors_of_items(
    graph: FactorGraph, sides: Labels, matters: NDArray[np.bool_]
) -> tuple[Numbers, Numbers]:
    """Items, and for each the factors around its pairs that are to be weighed, each once."""
    edges = np.flatnonzero(matters[graph.factor_of_edge] & (sides[0, graph.scope] != NOBODY))
    factor = np.tile(graph.factor_of_edge[edges].astype(np.int64), 2)
    item = sides[:, graph.scope[edges]].astype(np.int64).reshape(-1)
    each = np.unique(np.stack([item, factor]), axis=1)
    return each[0], each[1]


MOST_ITEMS_LISTED = 4  # of a factor whose partitions are listed: there are 15


def _sort_factors(
    graph: FactorGraph, sides: Labels, items: int
) -> tuple[Floats, NDArray[np.bool_]]:
    """What pairs gain by factors that read nothing else, and which factors are to be weighed.

    Those that are the same for all partitions, as the rules of an equivalence are, are not.
    """
    gain, matters = _gains_of_fields(graph, sides, items)
    listed: dict[tuple[object, ...], Floats] = {}
    for factor in np.flatnonzero(_reads_pairs(graph, sides, of_all=True) & matters).tolist():
        ends = sides.T[graph.scope_of(factor)]
        number = {item: place for place, item in enumerate(dict.fromkeys(ends.ravel().tolist()))}
        if len(number) > MOST_ITEMS_LISTED:
            continue
        local = tuple((number[one], number[other]) for one, other in ends.tolist())
        key = (graph.table_of[factor], local, tuple(graph.satisfying_of(factor)))
        if key not in listed:
            listed[key] = _potentials(graph, factor, local, len(number))
        potentials = listed[key]
        if np.isfinite(potentials).all() and len(number) == 2:
            one, other = number
            gain[one, other] += potentials[0] - potentials[1]
            gain[other, one] = gain[one, other]
            matters[factor] = False
        elif np.isfinite(potentials).all() and np.ptp(potentials) == 0.0:
            matters[factor] = False
    matters &= _reads_pairs(graph, sides, of_all=False)
    return gain, matters


def _reads_pairs(graph: FactorGraph, sides: Labels, *, of_all: bool) -> NDArray[np.bool_]:
    """Which factors read pairs of different items, some or nothing else."""
    pairs = np.bincount(
        graph.factor_of_edge, sides[0, graph.scope] != NOBODY, minlength=graph.factors
    )
    return np.asarray((pairs > 0) & (not of_all or pairs == graph.arities))


def _gains_of_fields(
    graph: FactorGraph, sides: Labels, items: int
) -> tuple[Floats, NDArray[np.bool_]]:
    """What pairs gain by tables that read one of them; those that give both values a weight."""
    gain, matters = np.zeros((items, items)), np.ones(graph.factors, dtype=np.bool_)
    single = np.flatnonzero((graph.arities == 1) & (np.arange(graph.factors) < graph.first_clause))
    variable = graph.scope[graph.scope_start[single]]
    start = graph.table_start[graph.table_of[single]].astype(np.int64)
    pairs = sides[0, variable] != NOBODY
    single, variable, start = single[pairs], variable[pairs], start[pairs]
    finite = np.isfinite(graph.table[start]) & np.isfinite(graph.table[start + 1])
    single, variable, start = single[finite], variable[finite], start[finite]
    change = graph.table[start + 1] - graph.table[start]
    for one, other in (sides[:, variable], sides[::-1, variable]):
        np.add.at(gain, (one, other), change)
    matters[single] = False
    return gain, matters


def _potentials(
    graph: FactorGraph, factor: Index, local: tuple[tuple[int, int], ...], items: int
) -> Floats:
    """A factor's log-potential for every partition of its items; all are in one block first."""
    table = graph.full_table(int(factor))
    return np.array([table[values] for values in _joined(local, items)])


def _joined(local: tuple[tuple[int, int], ...], items: int) -> Iterator[tuple[int, ...]]:
    """The values of pairs in every partition of a few items."""
    for labels in _partitions(items):
        yield tuple(int(labels[one] == labels[other]) for one, other in local)


def _partitions(items: int) -> Iterator[tuple[int, ...]]:
    """Blocks of items, numbered as they come, in every way."""
    if items == 0:
        yield ()
        return
    for labels in _partitions(items - 1):
        for label in range(max(labels, default=-1) + 2):
            yield (*labels, label)


def _can_always_split(graph: FactorGraph, sides: Labels, factors: Numbers) -> bool:
    """Whether a possible state stays possible when an item leaves its block.

    Then every partition leads to the one without pairs, and back, whatever else zeros forbid.
    """
    decided: dict[tuple[object, ...], bool] = {}
    for factor in factors:
        pairs = tuple(sides[0, graph.scope_of(factor)] != NOBODY)
        key = (graph.table_of[factor], pairs, tuple(graph.satisfying_of(factor)))
        if key not in decided:
            decided[key] = _allows_fewer_pairs(graph, factor, np.flatnonzero(pairs))
        if not decided[key]:
            return False
    return True


def _allows_fewer_pairs(graph: FactorGraph, factor: int, pairs: NDArray[np.int64]) -> bool:
    possible = ~np.isneginf(graph.table_values(factor))
    if possible.all():
        return True
    if factor >= graph.first_clause:
        return bool(possible[1] and not graph.satisfying_of(factor)[pairs].any())
    return all(np.all(possible.take(0, pair) >= possible.take(1, pair)) for pair in pairs)
