"""Swap two constants of one class in all that is said of them, and accept by the true model.

The two are drawn without looking at the state, the same for all lanes. A swap undoes itself, so
the proposal is symmetric without a coin. Relations that no factor says stay relations of their
kind, whatever is renamed; a swap that would change what evidence says of one is rejected.
"""

from typing import Any, NamedTuple

import numpy as np

from orbitmc._numba.jit import implementation, shared
from orbitmc._simd.random import integer, lanes_of
from orbitmc._util.arrays import Bytes, Index, Numbers, short_repr
from orbitmc.conditionals.prepared import PreparedGraph
from orbitmc.errors import InputError
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.groups._exchange_blocks import NO_OWNER, ConstantSwaps, swap_image
from orbitmc.kernels.metropolis import (
    JUMP_OUTCOMES,
    ProposalMemory,
    accept_all,
    accept_reject,
    proposal_memory,
)
from orbitmc.kernels.protocol import steps


class Renaming(NamedTuple):
    """Swap a random constant with another one of its class.

    `symmetric` promises that every swap leaves the model unchanged: then nothing is rejected and
    no potential is looked at (lifted MCMC).
    """

    swaps: ConstantSwaps
    symmetric: bool

    def __repr__(self) -> str:
        return short_repr(self)

    @property
    def outcomes(self) -> tuple[str, ...]:
        return JUMP_OUTCOMES

    def memory(self, prepared: PreparedGraph, lanes: int) -> ProposalMemory:
        return proposal_memory(prepared, lanes, self.swaps.most_moved)


@implementation(steps, Renaming)
def renaming_steps(
    prepared: PreparedGraph,
    kernel: Renaming,
    memory: ProposalMemory,
    values: Bytes,
    outcomes: Numbers,
    rng: Any,
    count: int,
) -> None:
    swaps = kernel.swaps
    for _ in range(count):
        place = np.int64(integer(rng, len(swaps.member)))
        number = swaps.class_of[place]
        first = np.int64(swaps.start[number])
        size = np.int64(swaps.start[number + 1]) - first
        partner = first + np.int64(integer(rng, size - 1))
        partner += partner >= place
        moved = _propose(memory, swaps, swaps.member[place], swaps.member[partner], values)
        if kernel.symmetric:
            accept_all(memory, values, outcomes, moved)
        else:
            accept_reject(prepared, memory, values, outcomes, rng, moved)


@shared
def _propose(
    memory: ProposalMemory, swaps: ConstantSwaps, constant: Index, partner: Index, values: Bytes
) -> Index:
    """Offer the values of one constant's variables to the other's and back; gives how many.

    A variable that speaks of both constants meets its image on the list of the first as well.
    """
    for lane in range(lanes_of(memory.scratch)):
        memory.change[lane] = 0.0
    moved = 0
    for edge in range(swaps.mention_start[constant], swaps.mention_start[constant + 1]):
        variable = np.int64(swaps.mention[edge])
        image, both = swap_image(swaps, variable, constant, partner)
        if image in (NO_OWNER, variable):
            continue
        if variable >= len(values) or image >= len(values):
            _reject_change(memory, swaps, values, variable, image)
        else:
            _set_proposal(memory, values, moved, variable, image)
            moved += 1
            if not both:
                _set_proposal(memory, values, moved, image, variable)
                moved += 1
    return moved


@shared
def _reject_change(
    memory: ProposalMemory, swaps: ConstantSwaps, values: Bytes, variable: Index, image: Index
) -> None:
    """Reject the swap where an atom and its image differ, because one of them is known."""
    for lane in range(lanes_of(memory.scratch)):
        if _truth_of(swaps, values, variable, lane) != _truth_of(swaps, values, image, lane):
            memory.change[lane] = -np.inf


@shared
def _truth_of(swaps: ConstantSwaps, values: Bytes, atom: Index, lane: Index) -> Index:
    if atom < len(values):
        return np.int64(values[atom, lane])
    return np.int64(swaps.truth[atom - len(values)])


@shared
def _set_proposal(
    memory: ProposalMemory, values: Bytes, slot: Index, source: Index, target: Index
) -> None:
    memory.target[slot] = target
    for lane in range(lanes_of(memory.scratch)):
        memory.proposed[slot, lane] = values[source, lane]


def renaming(
    graph: FactorGraph,
    swaps: ConstantSwaps,
    *,
    symmetric: bool = False,
) -> Renaming:
    """Swap constants within classes; any classes are safe.

    Say `symmetric` only of swaps that have been verified against the graph.
    """
    if not swaps.classes:
        raise InputError("there are no two constants to swap")
    if swaps.variables != graph.variables:
        raise InputError(f"swaps of {swaps.variables} variables are for another graph")
    return Renaming(swaps, symmetric)
