"""Orbital Metropolis with random elements of a large group.

Elements come from product replacement, nearly uniform. A fair coin in each lane between the element
and its inverse makes the proposal symmetric, however elements are drawn, as long as nobody looks at
the state.
"""

from typing import Any, NamedTuple

import numpy as np

from orbitmc._numba.jit import implementation, shared
from orbitmc._simd.random import lanes_of, toss
from orbitmc._util.arrays import Bytes, Index, Indices, Numbers, brief, sealed
from orbitmc.conditionals.prepared import PreparedGraph
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.groups.permutation_groups import Pairs, PermutationGroup, pairs_of, rows_of, value_of
from orbitmc.groups.random_elements import (
    ProductReplacement,
    product_replacement,
    product_replacement_step,
)
from orbitmc.kernels.jumps.orbital import require_group
from orbitmc.kernels.kernel import steps
from orbitmc.kernels.metropolis.proposal import (
    OUTCOMES,
    ProposalMemory,
    proposal_memory,
    settle,
    settle_surely,
)


class ElementMemory(NamedTuple):
    """A proposal, and the bag: its first rows are the element just drawn and its inverse."""

    proposal: ProposalMemory
    bag: ProductReplacement


class DrawnOrbital(NamedTuple):
    """Apply a random element of a group, or its inverse, and accept by the true model.

    `bag` is what product replacement starts with; `symmetric` as in `Orbital`.
    """

    pairs: Pairs
    bag: ProductReplacement
    symmetric: bool

    def __repr__(self) -> str:
        return brief(self)

    @property
    def outcomes(self) -> tuple[str, ...]:
        return OUTCOMES

    def memory(self, prepared: PreparedGraph, lanes: int) -> ElementMemory:
        proposal = proposal_memory(prepared, lanes, len(self.pairs.point))
        bag = ProductReplacement(self.bag.forward.copy(), self.bag.backward.copy())
        return ElementMemory(proposal, bag)


@implementation(steps, DrawnOrbital)
def drawn_orbital_steps(
    prepared: PreparedGraph,
    kernel: DrawnOrbital,
    memory: ElementMemory,
    values: Bytes,
    outcomes: Numbers,
    rng: Any,
    count: int,
) -> None:
    for _ in range(count):
        product_replacement_step(memory.bag, rng)
        toss(rng, memory.proposal.coins)
        size = _propose_element(kernel.pairs, memory, values)
        if kernel.symmetric:
            settle_surely(memory.proposal, values, outcomes, size)
        else:
            settle(prepared, memory.proposal, values, outcomes, rng, size)


@shared
def _propose_element(pairs: Pairs, memory: ElementMemory, values: Bytes) -> Index:
    """Each moved point gets the value of its source, by the element where the coin is 0.

    Where it is 1, by the inverse, which moves the same points; gives how many move.
    """
    proposal, forward, backward = memory.proposal, memory.bag.forward[0], memory.bag.backward[0]
    for lane in range(lanes_of(proposal.scratch)):
        proposal.change[lane] = 0.0
    size = 0
    for k in range(len(pairs.point)):
        if _keeps(pairs, forward, k):
            continue
        proposal.target[size] = pairs.point[k]
        there = pairs.owner[backward[pairs.start[k]]]
        back = pairs.owner[forward[pairs.start[k]]]
        for lane in range(lanes_of(proposal.scratch)):
            if proposal.coins[lane]:
                value = np.uint32(values[pairs.point[back], lane])
                value = value_of(pairs, backward, back, value)
            else:
                value = np.uint32(values[pairs.point[there], lane])
                value = value_of(pairs, forward, there, value)
            proposal.proposed[size, lane] = np.uint8(value)
        size += 1
    return size


@shared
def _keeps(pairs: Pairs, row: Indices, k: Index) -> bool:
    """Whether a point stays where it is, with all its values."""
    kept = True
    for pair in range(pairs.start[k], pairs.start[k + 1]):
        kept = kept and row[pair] == pair
    return kept


def replaced_orbital(
    graph: FactorGraph,
    group: PermutationGroup,
    *,
    symmetric: bool = False,
    slots: int | None = None,
    burn: int | None = None,
) -> DrawnOrbital:
    """Jump by elements from product replacement; right for any burn-in, even none."""
    require_group(graph, group)
    pairs = pairs_of(group)
    bag = product_replacement(rows_of(pairs, group), slots=slots, burn=burn)
    start = ProductReplacement(sealed(bag.forward), sealed(bag.backward))
    return DrawnOrbital(pairs, start, symmetric)
