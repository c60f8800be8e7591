"""Split and merge blocks of an equivalence relation: two items propose whole blocks at once.

Two items come from a fixed list. If they are in one block, its other items are dealt to them one by
one, each in proportion to the weights of the states so far; if not, their blocks are united. Of a
proposal to unite blocks, `q` is the chance that dealing would give the blocks that there are.

Exact because a split and the union that undoes it share their two items and the order of dealing,
and both are accepted by the ratio of weights and of the chances to propose them (Jain & Neal 2004,
with sequential allocation). Who the items are and where dealing begins never looks at the state.
"""

from typing import Any, NamedTuple

import numpy as np

from orbitmc._numba.jit import implementation, shared
from orbitmc._simd.random import accept_by_log_ratio, choose_by_log_weights, integer, lanes_of
from orbitmc._util.arrays import Bytes, Floats, Index, Numbers, readonly, short_repr
from orbitmc.conditionals.prepared import PreparedGraph
from orbitmc.errors import InputError
from orbitmc.kernels._partition import (
    Labels,
    Partition,
    PartitionMemory,
    join_picked,
    read_blocks,
    take_out,
    weigh_changes,
)
from orbitmc.kernels.protocol import steps

PROPOSALS, NULL, ACCEPTED = range(3)
LEAST = 1e-9  # what a pair loses that loses anything
SPLIT_OUTCOMES = ("proposals", "null proposals", "accepted")


class SplitMergeMemory(NamedTuple):
    """Arrays of one pack, all of them of a step.

    A lane `splits` a block or unites two. An item is `dealt` if it is in their blocks, and then on
    the `side` of the first or of the second item. Log-weights of both blocks are in `two`, chances
    to join them in `log_chance`. `change` and `lost` are what the union has more than the split in
    log-weight and in impossible factors; `log_q` is the chance of the split.
    """

    items: PartitionMemory
    splits: Bytes
    dealt: Bytes
    side: Bytes
    two: Floats
    log_chance: Floats
    log_q: Floats
    change: Floats
    lost: Numbers
    accepted: Bytes


class SplitMerge(NamedTuple):
    """Split or unite the blocks of `first[place]` and `second[place]`, for a uniform place."""

    partition: Partition
    first: Labels
    second: Labels

    def __repr__(self) -> str:
        return short_repr(self)

    @property
    def outcomes(self) -> tuple[str, ...]:
        return SPLIT_OUTCOMES

    def partition_plan(self, memory: SplitMergeMemory) -> tuple[Partition, PartitionMemory]:
        return self.partition, memory.items

    def memory(self, prepared: PreparedGraph, lanes: int) -> SplitMergeMemory:
        items = len(self.partition.apart)
        return SplitMergeMemory(
            items=self.partition.memory(prepared, lanes),
            splits=np.zeros(lanes, dtype=np.uint8),
            dealt=np.zeros((items, lanes), dtype=np.uint8),
            side=np.zeros((items, lanes), dtype=np.uint8),
            two=np.zeros((2, lanes)),
            log_chance=np.zeros((2, lanes)),
            log_q=np.zeros(lanes),
            change=np.zeros(lanes),
            lost=np.zeros(lanes, dtype=np.int64),
            accepted=np.zeros(lanes, dtype=np.uint8),
        )


@implementation(steps, SplitMerge)
def split_merge_steps(
    prepared: PreparedGraph,
    kernel: SplitMerge,
    memory: SplitMergeMemory,
    values: Bytes,
    outcomes: Numbers,
    rng: Any,
    count: int,
) -> None:
    partition, items = kernel.partition, len(kernel.partition.apart)
    read_blocks(partition, memory.items, values)
    for _ in range(count):
        place, begin = integer(rng, len(kernel.first)), integer(rng, items)
        first, second = int(kernel.first[place]), int(kernel.second[place])
        _find_dealt(kernel, memory, first, second)
        for item in range(items):
            if _is_dealt(memory, item) and item != first:
                _isolate(partition, memory, values, item)
        for turn in range(items):
            item = (begin + turn) % items
            if _is_dealt(memory, item) and item not in (first, second):
                _deal(prepared, partition, memory, values, rng, item, first, second)
        for item in range(items):
            if _is_dealt(memory, item) and item != first:
                _unite(prepared, partition, memory, values, item, first)
        _accept(memory, outcomes, rng)
        for turn in range(items):
            item = (second + turn) % items
            if _is_dealt(memory, item) and item != first:
                _split(partition, memory, values, item, second)


@shared
def _find_dealt(kernel: SplitMerge, memory: SplitMergeMemory, first: Index, second: Index) -> None:
    """Find the items of both blocks, and on whose side they are; nobody's in no partition."""
    label, whole = memory.items.label, memory.items.whole
    for lane in range(lanes_of(memory.items.scratch)):
        memory.splits[lane] = np.uint8(label[first, lane] == label[second, lane])
        memory.log_q[lane] = memory.change[lane] = 0.0
        memory.lost[lane] = 0
    for item in range(len(kernel.partition.apart)):
        for lane in range(lanes_of(memory.items.scratch)):
            here = label[item, lane] == label[first, lane]
            there = label[item, lane] == label[second, lane]
            memory.dealt[item, lane] = np.uint8((here | there) & (whole[lane] == 1))
            memory.side[item, lane] = np.uint8(there)
    for lane in range(lanes_of(memory.items.scratch)):
        memory.side[second, lane] = 1


@shared
def _is_dealt(memory: SplitMergeMemory, item: Index) -> bool:
    """Whether an item is dealt in any lane."""
    anywhere = np.uint8(0)
    for lane in range(lanes_of(memory.items.scratch)):
        anywhere |= memory.dealt[item, lane]
    return bool(anywhere == 1)


@shared
def _isolate(partition: Partition, memory: SplitMergeMemory, values: Bytes, item: Index) -> None:
    """Give an item a block of its own."""
    items = memory.items
    take_out(partition, items, item)
    for lane in range(lanes_of(items.scratch)):
        alone = memory.dealt[item, lane] == 1
        items.picked[0, lane] = np.uint16(item) if alone else items.before[lane]
    join_picked(partition, items, values, item)


@shared
def _deal(
    prepared: PreparedGraph,
    partition: Partition,
    memory: SplitMergeMemory,
    values: Bytes,
    rng: Any,
    item: Index,
    first: Index,
    second: Index,
) -> None:
    """Let an item join one of two blocks by their weights; where these unite, the one it was in."""
    items = memory.items
    take_out(partition, items, item)
    weigh_changes(prepared, partition, items, values, item)
    for lane in range(lanes_of(items.scratch)):
        here, there = items.label[first, lane], items.label[second, lane]
        memory.two[0, lane], memory.two[1, lane] = _weigh_two(items, here, there, lane)
        rise = memory.two[1, lane] - memory.two[0, lane]
        more = np.log1p(np.exp(-abs(rise)))
        memory.log_chance[0, lane] = -more - max(rise, 0.0)
        memory.log_chance[1, lane] = -more - max(-rise, 0.0)
    choose_by_log_weights(rng, memory.two, 2, items.picked, 0)
    for lane in range(lanes_of(items.scratch)):
        if memory.splits[lane] == 1:
            memory.side[item, lane] = np.uint8(items.picked[0, lane])
        block = items.before[lane]
        if memory.dealt[item, lane] == 1:
            side = memory.side[item, lane]
            memory.log_q[lane] += memory.log_chance[side, lane]
            block = items.label[second if side == 1 else first, lane]
        items.picked[0, lane] = block
    join_picked(partition, items, values, item)


@shared
def _weigh_two(
    items: PartitionMemory, here: Index, there: Index, lane: Index
) -> tuple[float, float]:
    """Log-weights of two blocks to deal by: one that makes more factors impossible has none.

    Both are alike where an item is known to be apart from somebody in each.
    """
    one, other = items.log_weights[here, lane], items.log_weights[there, lane]
    lost = items.lost[here, lane] - items.lost[there, lane]
    if one == -np.inf and other == -np.inf:
        return 0.0, 0.0
    return (one if lost <= 0 else -np.inf), (other if lost >= 0 else -np.inf)


@shared
def _unite(
    prepared: PreparedGraph,
    partition: Partition,
    memory: SplitMergeMemory,
    values: Bytes,
    item: Index,
    first: Index,
) -> None:
    """Move an item from the second block to the first, and add what that changes."""
    items = memory.items
    take_out(partition, items, item)
    weigh_changes(prepared, partition, items, values, item)
    for lane in range(lanes_of(items.scratch)):
        before, block = items.before[lane], items.label[first, lane]
        moves = memory.dealt[item, lane] == 1 and memory.side[item, lane] == 1
        if moves:
            weights = items.log_weights
            memory.change[lane] += weights[block, lane] - weights[before, lane]
            memory.lost[lane] += items.lost[block, lane] - items.lost[before, lane]
        items.picked[0, lane] = block if moves else before
    join_picked(partition, items, values, item)


@shared
def _accept(memory: SplitMergeMemory, outcomes: Numbers, rng: Any) -> None:
    """Decide which lanes are to be split; all lanes are united now."""
    real, items = np.int64(0), memory.items
    for lane in range(lanes_of(items.scratch)):
        ratio = memory.change[lane] + memory.log_q[lane]
        ratio = -ratio if memory.splits[lane] == 1 else ratio
        possible = memory.lost[lane] == 0 and items.whole[lane] == 1
        memory.change[lane] = ratio if possible else -np.inf
        real += np.int64(items.whole[lane])
    accept_by_log_ratio(rng, memory.change, memory.accepted)
    outcomes[PROPOSALS] += lanes_of(items.scratch)
    outcomes[NULL] += lanes_of(items.scratch) - real
    for lane in range(lanes_of(items.scratch)):
        outcomes[ACCEPTED] += memory.accepted[lane]
        memory.splits[lane] = np.uint8(memory.splits[lane] == memory.accepted[lane])


@shared
def _split(
    partition: Partition, memory: SplitMergeMemory, values: Bytes, item: Index, second: Index
) -> None:
    """Move an item from the union to the second block again, where lanes are to be split."""
    items = memory.items
    take_out(partition, items, item)
    for lane in range(lanes_of(items.scratch)):
        moves = memory.dealt[item, lane] == 1 and memory.side[item, lane] == 1
        moves = moves and memory.splits[lane] == 1
        block = items.label[second, lane]
        items.picked[0, lane] = block if moves else items.before[lane]
    join_picked(partition, items, values, item)


def split_merge(partition: Partition) -> SplitMerge:
    """Propose to split a block, or to unite two; beside a `partition`, which moves single items.

    Two items are those whose pair loses nothing, or gains more than what is usual; or any pair that
    is not known, if factors read more than one.

    >>> import orbitmc as om
    >>> names = ["a=b", "a=c", "b=c"]
    >>> allowed = [[[1, 1], [1, 0]], [[1, 0], [0, 1]]]  # never exactly two of three
    >>> model = om.model({name: ["no", "yes"] for name in names}, [(names, allowed)])
    >>> pairs = {("a", "b"): 0, ("a", "c"): 1, ("b", "c"): 2}
    >>> items = om.kernels.partition(om.kernels.prepare(model.graph), pairs)
    >>> kernel = om.kernels.split_merge(items)
    >>> om.testing.check_kernel(kernel, models=[model]).stationary < 1e-6
    True
    """
    if partition.partial:
        raise InputError("blocks are split and united where each item is in one for sure")
    pairs = np.triu(partition.apart == 0, 1)
    likely = pairs & (partition.gain > np.minimum(partition.usual[:, None], -LEAST))
    chosen = likely if likely.any() and not len(partition.factor) else pairs
    first, second = (side.astype(np.uint16) for side in np.nonzero(chosen))
    if not len(first):
        raise InputError("evidence keeps all items apart: there are no blocks to split or to unite")
    return SplitMerge(partition, readonly(first), readonly(second))
