"""Orbital Metropolis with random elements of a large group.

Elements come from a stabilizer chain (uniform) or from product replacement (nearly so); either
way a fair coin in each lane between the element and its inverse makes the proposal symmetric,
whatever the source does, as long as it never looks at the state.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.prepared import PreparedGraph
from orbitmc.groups.chains.stabilizer_chain import StabilizerChain, uniform_element
from orbitmc.groups.elements.random_elements import (
    ProductReplacement,
    product_replacement,
    product_replacement_step,
)
from orbitmc.groups.pairs import Pairs, pairs_of, rows_of, value_of
from orbitmc.groups.permutation_groups import PermutationGroup
from orbitmc.kernels.jumps.orbital import require_group
from orbitmc.kernels.kernel import steps
from orbitmc.kernels.metropolis.proposal import (
    OUTCOMES,
    ProposalMemory,
    proposal_memory,
    settle,
    settle_surely,
)
from orbitmc.machine.arrays import Bytes, Index, Indices, Numbers, brief, sealed
from orbitmc.machine.compiling import generic, implementation, shared
from orbitmc.machine.lanes.random import lanes_of, toss


class Bag(NamedTuple):
    """Where product replacement starts: a stirred bag of elements, and their inverses."""

    pairs: Pairs
    forward: Indices
    backward: Indices


class ElementMemory(NamedTuple):
    """A proposal, the element just drawn, its inverse, and the bag while it is being stirred."""

    proposal: ProposalMemory
    forward: NDArray[np.uint32]
    backward: NDArray[np.uint32]
    product_replacement: ProductReplacement


class DrawnOrbital(NamedTuple):
    """Apply a random element of a group, or its inverse, and accept by the true model.

    `symmetric` as in `Orbital`.
    """

    source: Any
    symmetric: bool

    def __repr__(self) -> str:
        return brief(self)

    @property
    def outcomes(self) -> tuple[str, ...]:
        return OUTCOMES

    def memory(self, prepared: PreparedGraph, lanes: int) -> ElementMemory:
        pairs = self.source.pairs
        size = len(pairs.owner)
        bag = self.source if isinstance(self.source, Bag) else None
        empty = np.zeros((0, size), dtype=np.uint32)
        return ElementMemory(
            proposal_memory(prepared, lanes, len(pairs.point)),
            np.arange(size, dtype=np.uint32),
            np.arange(size, dtype=np.uint32),
            ProductReplacement(bag.forward.copy(), bag.backward.copy())
            if bag
            else ProductReplacement(empty, empty.copy()),
        )


@generic("source")
def draw_element(source: Any, memory: ElementMemory, rng: Any) -> None:
    """Fill `memory.forward` with a random element and `memory.backward` with its inverse."""
    raise NotImplementedError


@implementation(draw_element, StabilizerChain)
def _draw_uniform(source: Any, memory: ElementMemory, rng: Any) -> None:
    uniform_element(source, rng, memory.forward, memory.backward)


@implementation(draw_element, Bag)
def _draw_by_replacement(source: Any, memory: ElementMemory, rng: Any) -> None:
    product_replacement_step(memory.product_replacement, rng)
    for pair in range(len(memory.forward)):
        memory.forward[pair] = memory.product_replacement.forward[0, pair]
        memory.backward[pair] = memory.product_replacement.backward[0, pair]


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
        draw_element(kernel.source, memory, rng)
        toss(rng, memory.proposal.coins)
        size = _propose(kernel.source.pairs, memory, values)
        if kernel.symmetric:
            settle_surely(memory.proposal, values, outcomes, size)
        else:
            settle(prepared, memory.proposal, values, outcomes, rng, size)


@shared
def _propose(pairs: Pairs, memory: ElementMemory, values: Bytes) -> Index:
    """Each moved point gets the value of its source, by the element where the coin is 0.

    Where it is 1, by the inverse, which moves the same points; gives how many move.
    """
    proposal = memory.proposal
    for lane in range(lanes_of(proposal.scratch)):
        proposal.change[lane] = 0.0
    size = 0
    for k in range(len(pairs.point)):
        if _keeps(pairs, memory.forward, k):
            continue
        proposal.target[size] = pairs.point[k]
        there = pairs.owner[memory.backward[pairs.start[k]]]
        back = pairs.owner[memory.forward[pairs.start[k]]]
        for lane in range(lanes_of(proposal.scratch)):
            if proposal.coins[lane]:
                value = np.uint32(values[pairs.point[back], lane])
                value = value_of(pairs, memory.backward, back, value)
            else:
                value = np.uint32(values[pairs.point[there], lane])
                value = value_of(pairs, memory.forward, there, value)
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


def drawn_orbital(
    graph: FactorGraph,
    chain: StabilizerChain,
    group: PermutationGroup,
    *,
    symmetric: bool = False,
) -> DrawnOrbital:
    """Jump by uniform elements of a group that has a stabilizer chain."""
    require_group(graph, group)
    return DrawnOrbital(chain, symmetric)


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
    return DrawnOrbital(Bag(pairs, sealed(bag.forward), sealed(bag.backward)), symmetric)
