"""Swap two members of a block that differ: never a wasted proposal, chosen lane by lane.

How many pairs differ depends only on how often each value occurs in the block, and a swap keeps
that; so choosing uniformly among the differing pairs is a symmetric proposal. A pair is chosen by
the value of its first member, and by the ranks of both among the members that can be meant.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc.errors import InputError
from orbitmc.graph.conditionals.layout import Conditionals
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.prepared import PreparedGraph
from orbitmc.groups.block_groups import ExchangeBlocks
from orbitmc.kernels.jumps.exchange import random_block, require_blocks
from orbitmc.kernels.kernel import steps
from orbitmc.kernels.metropolis.proposal import OUTCOMES, ProposalMemory, proposal_memory, settle
from orbitmc.kernels.metropolis.relative import relative_to_blocks
from orbitmc.machine.arrays import Bytes, Floats, Index, Indices, Numbers
from orbitmc.machine.compiling import implementation, shared
from orbitmc.machine.lanes.random import lanes_of, pick_below, pick_by_weights
from orbitmc.machine.lanes.ranks import count_holders, find_picked
from orbitmc.machine.lanes.rows import copy_row


class SwapMemory(NamedTuple):
    """A proposal, and how a differing pair is picked in each lane.

    `holders` counts the members that have each value, which `weights` it. The first of the pair
    has the `wanted` value, as have `alike` members, and is number `rank` of them; the
    second is number `other_rank` of the `others`. `first` and `second` are their places in the
    block. Counts take as few bytes as the largest block allows.
    """

    proposal: ProposalMemory
    weights: Floats
    wanted: Bytes
    holders: NDArray[Any]
    alike: NDArray[Any]
    others: NDArray[Any]
    rank: NDArray[Any]
    other_rank: NDArray[Any]
    first: NDArray[Any]
    second: NDArray[Any]


class Swap(NamedTuple):
    """Swap a uniformly chosen pair of differing members of a random block.

    `conditionals` lack what no swap can change.
    """

    conditionals: Conditionals
    blocks: ExchangeBlocks

    @property
    def outcomes(self) -> tuple[str, ...]:
        return OUTCOMES

    def memory(self, prepared: PreparedGraph, lanes: int) -> SwapMemory:
        most, each = self.blocks.largest, int(prepared.graph.cardinality.max(initial=1))
        number = np.min_scalar_type(most)
        return SwapMemory(
            proposal_memory(prepared, lanes, most),
            np.zeros((each, lanes)),
            np.zeros(lanes, dtype=np.uint8),
            np.zeros((each, lanes), dtype=number),
            *(np.zeros(lanes, dtype=number) for _ in range(6)),
        )


@implementation(steps, Swap)
def swap_steps(
    prepared: PreparedGraph,
    kernel: Swap,
    memory: SwapMemory,
    values: Bytes,
    outcomes: Numbers,
    rng: Any,
    count: int,
) -> None:
    blocks, proposal = kernel.blocks, memory.proposal
    relative = PreparedGraph(prepared.graph, kernel.conditionals)
    for _ in range(count):
        block = random_block(blocks, rng)
        first = np.int64(blocks.start[block])
        size = np.int64(blocks.start[block + 1]) - first
        values_each = np.int64(prepared.graph.cardinality[blocks.member[first]])
        load_members(proposal, blocks.member, first, size, values)
        _weigh_values(memory, size, values_each)
        pick_by_weights(rng, memory.weights, values_each, memory.wanted)
        _count_alike(memory, size, values_each)
        pick_below(rng, memory.alike, memory.rank)
        pick_below(rng, memory.others, memory.other_rank)
        _find_picked(memory, size)
        exchange_picked(memory)
        settle(relative, proposal, values, outcomes, rng, size)


@shared
def load_members(
    proposal: ProposalMemory, member: Indices, first: Index, size: Index, values: Bytes
) -> None:
    """Start from a proposal that changes nothing."""
    for lane in range(lanes_of(proposal.scratch)):
        proposal.change[lane] = 0.0
    for place in range(size):
        variable: Any = member[first + place]
        proposal.target[place] = variable
        copy_row(proposal.proposed, place, values, variable, proposal.scratch.width)


@shared
def _weigh_values(memory: SwapMemory, size: Index, values_each: Index) -> None:
    """Weigh each value by how many ordered pairs begin with it and differ."""
    _count_holders(memory, size, values_each)
    for value in range(values_each):
        for lane in range(lanes_of(memory.proposal.scratch)):
            holders = np.float64(memory.holders[value, lane])
            memory.weights[value, lane] = holders * (np.float64(size) - holders)


@shared
def _count_holders(memory: SwapMemory, size: Index, values_each: Index) -> None:
    """Count who has each value; who has no other has value 0."""
    holders, wanted, width = memory.holders, memory.wanted, memory.proposal.scratch.width
    for lane in range(lanes_of(memory.proposal.scratch)):
        holders[0, lane] = size
    for value in range(1, values_each):
        for lane in range(lanes_of(memory.proposal.scratch)):
            wanted[lane], holders[value, lane] = value, 0
        for place in range(size):
            count_holders(holders, value, wanted, memory.proposal.proposed, place, width)
        for lane in range(lanes_of(memory.proposal.scratch)):
            holders[0, lane] -= holders[value, lane]


@shared
def _count_alike(memory: SwapMemory, size: Index, values_each: Index) -> None:
    """Count the members that have the picked value, and the others."""
    lanes = lanes_of(memory.proposal.scratch)
    for lane in range(lanes):
        memory.alike[lane] = 0
    for value in range(values_each):
        for lane in range(lanes):
            if memory.wanted[lane] == value:
                memory.alike[lane] = memory.holders[value, lane]
    for lane in range(lanes):
        memory.others[lane] = size - memory.alike[lane]


@shared
def _find_picked(memory: SwapMemory, size: Index) -> None:
    """Find the two members by their ranks; a lane without a differing pair gets equal ones."""
    first, second, seen = memory.first, memory.second, memory.alike
    proposal, width = memory.proposal, memory.proposal.scratch.width
    for lane in range(lanes_of(proposal.scratch)):
        first[lane], second[lane], seen[lane] = 0, 0, 0
    rank, other_rank, wanted = memory.rank, memory.other_rank, memory.wanted
    for place in range(size):
        find_picked(first, second, seen, rank, other_rank, wanted, proposal.proposed, place, width)


@shared
def exchange_picked(memory: Any) -> None:
    """Exchange the values proposed for the two picked members, lane by lane."""
    proposed = memory.proposal.proposed
    for lane in range(lanes_of(memory.proposal.scratch)):
        first, second = memory.first[lane], memory.second[lane]
        value = proposed[first, lane]
        proposed[first, lane] = proposed[second, lane]
        proposed[second, lane] = value


def swap(prepared: PreparedGraph, blocks: ExchangeBlocks) -> Swap:
    """Swap differing members within blocks of single variables."""
    require_single(prepared.graph, blocks)
    return Swap(relative_to_blocks(prepared, blocks), blocks)


def require_single(graph: FactorGraph, blocks: ExchangeBlocks) -> None:
    require_blocks(graph, blocks)
    if (blocks.width != 1).any():
        raise InputError("swaps of differing members need blocks of single variables")
