"""Swap two members of a block that differ: never a wasted proposal, chosen lane by lane.

How many pairs differ depends only on how often each value occurs in the block, and a swap keeps
that; so choosing uniformly among the differing pairs is a symmetric proposal.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc.arrays import Floats
from orbitmc.compiled import implementation, shared
from orbitmc.errors import InputError
from orbitmc.graph.conditionals import Conditionals
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.groups.exchange_blocks import ExchangeBlocks
from orbitmc.kernels.exchange import random_block, require_blocks
from orbitmc.kernels.kernel import steps
from orbitmc.kernels.proposal import OUTCOMES, ProposalMemory, proposal_memory, settle
from orbitmc.kernels.relative import relative_to_blocks
from orbitmc.random import lanes_of, pick_by_weights


class SwapMemory(NamedTuple):
    """A proposal, weights of the members, and the two picked in each lane.

    `flips` are weights that informed swaps keep while they pick twice.
    """

    proposal: ProposalMemory
    weights: Floats
    flips: Floats
    first: NDArray[np.uint32]
    second: NDArray[np.uint32]


class Swap(NamedTuple):
    """Swap a uniformly chosen pair of differing members of a random block."""

    conditionals: Conditionals
    blocks: ExchangeBlocks

    @property
    def outcomes(self) -> tuple[str, ...]:
        return OUTCOMES

    def memory(self, graph: FactorGraph, lanes: int) -> SwapMemory:
        return swap_memory(self.conditionals, self.blocks, graph, lanes)


def swap_memory(
    prepared: Conditionals, blocks: ExchangeBlocks, graph: FactorGraph, lanes: int
) -> SwapMemory:
    most = int((blocks.start[1:].astype(np.int64) - blocks.start[:-1]).max(initial=0))
    return SwapMemory(
        proposal_memory(graph, prepared, lanes, most),
        np.zeros((most, lanes)),
        np.zeros((most, lanes)),
        np.zeros(lanes, dtype=np.uint32),
        np.zeros(lanes, dtype=np.uint32),
    )


@implementation(steps, Swap)
def swap_steps(graph, kernel, memory, values, outcomes, rng, count):
    blocks, proposal = kernel.blocks, memory.proposal
    for _ in range(count):
        block = random_block(blocks, rng)
        first = np.int64(blocks.start[block])
        size = np.int64(blocks.start[block + 1]) - first
        load_members(proposal, blocks.member, first, size, values)
        _weigh_by_others(memory, size, np.int64(graph.cardinality[blocks.member[first]]))
        pick_by_weights(rng, memory.weights, size, memory.first)
        _weigh_differing(memory, size)
        pick_by_weights(rng, memory.weights, size, memory.second)
        exchange_picked(memory)
        settle(graph, kernel.conditionals, proposal, values, outcomes, rng, size)


@shared
def load_members(proposal, member, first, size, values):
    """Start from a proposal that changes nothing."""
    for lane in range(lanes_of(proposal.scratch)):
        proposal.change[lane] = 0.0
    for place in range(size):
        variable = member[first + place]
        proposal.target[place] = variable
        for lane in range(lanes_of(proposal.scratch)):
            proposal.proposed[place, lane] = values[variable, lane]


@shared
def _weigh_by_others(memory, size, values_each):
    """Weigh each member by how many others have a different value."""
    proposed, same = memory.proposal.proposed, memory.first
    for value in range(values_each):
        for lane in range(lanes_of(memory.proposal.scratch)):
            same[lane] = 0
        for place in range(size):
            for lane in range(lanes_of(memory.proposal.scratch)):
                same[lane] += np.uint32(proposed[place, lane] == value)
        for place in range(size):
            for lane in range(lanes_of(memory.proposal.scratch)):
                if proposed[place, lane] == value:
                    memory.weights[place, lane] = np.float64(size) - np.float64(same[lane])


@shared
def _weigh_differing(memory, size):
    """Weigh the members that differ from the one picked first by 1, all others by 0."""
    proposed = memory.proposal.proposed
    for place in range(size):
        for lane in range(lanes_of(memory.proposal.scratch)):
            differs = proposed[place, lane] != proposed[memory.first[lane], lane]
            memory.weights[place, lane] = np.float64(differs)


@shared
def exchange_picked(memory):
    """Exchange the values proposed for the two picked members, lane by lane."""
    proposed = memory.proposal.proposed
    for lane in range(lanes_of(memory.proposal.scratch)):
        first, second = memory.first[lane], memory.second[lane]
        value = proposed[first, lane]
        proposed[first, lane] = proposed[second, lane]
        proposed[second, lane] = value


def swap(graph: FactorGraph, prepared: Conditionals, blocks: ExchangeBlocks) -> Swap:
    """Swap differing members within blocks of single variables."""
    require_single(graph, blocks)
    return Swap(relative_to_blocks(graph, prepared, blocks), blocks)


def require_single(graph: FactorGraph, blocks: ExchangeBlocks) -> None:
    require_blocks(graph, blocks)
    if (blocks.width != 1).any():
        raise InputError("swaps of differing members need blocks of single variables")
