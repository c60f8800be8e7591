"""Informed swaps: exchange a 1 and a 0 that both want to change.

Members of a block are weighed by how much flipping each alone would gain (square root, clipped;
Zanella 2020); the same weights after the move give the reverse chance, and the Metropolis ratio
corrects for both. Any clip is right: it only shapes the proposal.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc.errors import InputError
from orbitmc.graph.conditionals.local_fields import local_field
from orbitmc.graph.conditionals.local_weights import local_log_weights
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.prepared import PreparedGraph
from orbitmc.groups.block_groups import ExchangeBlocks
from orbitmc.kernels.jumps.exchange import random_block
from orbitmc.kernels.jumps.swap import exchange_picked, load_members, require_single
from orbitmc.kernels.kernel import steps
from orbitmc.kernels.metropolis.proposal import (
    OUTCOMES,
    ProposalMemory,
    apply_proposal,
    count_null,
    finish,
    proposal_memory,
)
from orbitmc.machine.arrays import Bytes, Floats, Index, Indices, Numbers
from orbitmc.machine.compiling import implementation, shared
from orbitmc.machine.lanes.random import accept_by_log_ratio, lanes_of, pick_by_weights

CLIP = 3.0


class InformedMemory(NamedTuple):
    """A proposal, weights of the members, and the two picked in each lane.

    `flips` keeps the weights while two members are picked by them.
    """

    proposal: ProposalMemory
    weights: Floats
    flips: Floats
    first: NDArray[np.uint32]
    second: NDArray[np.uint32]


class InformedSwap(NamedTuple):
    """Swap a 1 and a 0 of a random block, each picked by the gain of flipping it."""

    blocks: ExchangeBlocks

    @property
    def outcomes(self) -> tuple[str, ...]:
        return OUTCOMES

    def memory(self, prepared: PreparedGraph, lanes: int) -> InformedMemory:
        most = self.blocks.largest
        return InformedMemory(
            proposal_memory(prepared, lanes, most),
            np.zeros((most, lanes)),
            np.zeros((most, lanes)),
            np.zeros(lanes, dtype=np.uint32),
            np.zeros(lanes, dtype=np.uint32),
        )


@implementation(steps, InformedSwap)
def informed_swap_steps(
    prepared: PreparedGraph,
    kernel: InformedSwap,
    memory: InformedMemory,
    values: Bytes,
    outcomes: Numbers,
    rng: Any,
    count: int,
) -> None:
    blocks, proposal = kernel.blocks, memory.proposal
    for _ in range(count):
        block = random_block(blocks, rng)
        first = np.int64(blocks.start[block])
        size = np.int64(blocks.start[block + 1]) - first
        load_members(proposal, blocks.member, first, size, values)
        _weigh_flips(prepared, memory, values, size)
        _weigh(memory, values, size, 1)
        pick_by_weights(rng, memory.weights, size, memory.first)
        _add_log_chance(memory, memory.first, size, -1.0)
        _weigh(memory, values, size, 0)
        pick_by_weights(rng, memory.weights, size, memory.second)
        _add_log_chance(memory, memory.second, size, -1.0)
        exchange_picked(memory)
        if apply_proposal(prepared, proposal, values, size):
            _weigh_flips(prepared, memory, values, size)
            _weigh(memory, values, size, 1)
            _cumulate(memory, size)
            _add_log_chance(memory, memory.second, size, 1.0)
            _weigh(memory, values, size, 0)
            _cumulate(memory, size)
            _add_log_chance(memory, memory.first, size, 1.0)
            accept_by_log_ratio(rng, proposal.change, proposal.accepted)
            finish(proposal, values, outcomes, size)
        else:
            count_null(proposal, outcomes)


@shared
def _weigh_flips(
    prepared: PreparedGraph, memory: InformedMemory, values: Bytes, size: Index
) -> None:
    """Weigh every member by about the square root of what flipping it alone would gain."""
    proposal, flips = memory.proposal, memory.flips
    graph, conditionals = prepared.graph, prepared.conditionals
    for place in range(size):
        variable = proposal.target[place]
        if conditionals.affine[variable]:
            local_field(conditionals, proposal.scratch, values, variable)
            for lane in range(lanes_of(proposal.scratch)):
                field = np.float64(proposal.scratch.field[lane])
                flips[place, lane] = _weight(-field if values[variable, lane] else field)
        else:
            local_log_weights(graph, proposal.scratch, values, variable)
            log_weights = proposal.scratch.log_weights
            for lane in range(lanes_of(proposal.scratch)):
                value = values[variable, lane]
                before, after = log_weights[value, lane], log_weights[1 - value, lane]
                flips[place, lane] = _weight(after - before if before > -np.inf else 0.0)


@shared
def _weight(gain: float) -> float:
    """About exp(gain / 2), made of products so that it becomes vector code."""
    eighth = 0.125 * min(max(gain, -CLIP), CLIP)
    root = 1.0 + eighth + 0.5 * eighth * eighth
    return root * root * root * root


@shared
def _weigh(memory: InformedMemory, values: Bytes, size: Index, wanted: Index) -> None:
    """Keep the weights of the members with the wanted value, others get 0."""
    for place in range(size):
        variable = memory.proposal.target[place]
        for lane in range(lanes_of(memory.proposal.scratch)):
            has = values[variable, lane] == wanted
            memory.weights[place, lane] = memory.flips[place, lane] if has else 0.0


@shared
def _cumulate(memory: InformedMemory, size: Index) -> None:
    for place in range(1, size):
        for lane in range(lanes_of(memory.proposal.scratch)):
            memory.weights[place, lane] += memory.weights[place - 1, lane]


@shared
def _add_log_chance(memory: InformedMemory, picked: Indices, size: Index, sign: float) -> None:
    """Add the logarithm of the chance that the picked members had, from cumulated weights."""
    for lane in range(lanes_of(memory.proposal.scratch)):
        total = memory.weights[size - 1, lane]
        place = picked[lane]
        weight = memory.weights[place, lane]
        if place > 0:
            weight -= memory.weights[place - 1, lane]
        if weight > 0.0:
            memory.proposal.change[lane] += sign * np.log(weight / total)


def informed_swap(graph: FactorGraph, blocks: ExchangeBlocks) -> InformedSwap:
    """Swap by gains within blocks of single binary variables."""
    require_single(graph, blocks)
    if (graph.cardinality[blocks.member] != 2).any():
        raise InputError("informed swaps need binary variables")
    return InformedSwap(blocks)
