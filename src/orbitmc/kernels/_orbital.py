"""Orbital Metropolis: jump to an (approximately) symmetric state.

Any list of permutations will do, the generators of a group or all its elements. One is drawn
without looking at the state, the same for all lanes. A fair coin in each lane between it and its
inverse makes the proposal symmetric for any list, so exactness never depends on where the list
came from. The coins are not shared: given all that lanes share, each lane then still keeps the
distribution, so lanes are uncorrelated and their spread is an honest error.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc._numba.jit import implementation, shared
from orbitmc._simd.random import fair_coin, integer, lanes_of
from orbitmc._util.arrays import Bytes, Index, Indices, Numbers, lengths, readonly, short_repr
from orbitmc.conditionals.prepared import PreparedGraph
from orbitmc.errors import InputError
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.groups.decomposition import (
    Exchangeable,
    GeneratedFactor,
    ListedFactor,
    blocks_of,
    decompose,
    elements,
)
from orbitmc.groups.permutation_groups import (
    Pairs,
    PermutationGroup,
    pairs_of,
    permutation_group,
    rows_of,
    value_of,
)
from orbitmc.groups.random_elements import (
    ProductReplacement,
    product_replacement,
    product_replacement_step,
)
from orbitmc.kernels.exchange import shuffle
from orbitmc.kernels.metropolis import (
    JUMP_OUTCOMES,
    ProposalMemory,
    accept_all,
    accept_reject,
    proposal_memory,
)
from orbitmc.kernels.protocol import Kernel, steps


class OrbitalMemory(NamedTuple):
    """A proposal, and where each point stands in the generator being used."""

    proposal: ProposalMemory
    place_of: NDArray[np.int64]


class Orbital(NamedTuple):
    """Apply a random generator, or its inverse, and accept by the true model.

    `symmetric` promises that every generator leaves the model unchanged: then nothing is ever
    rejected and no potential is looked at (lifted MCMC).
    """

    group: PermutationGroup
    inverse_map: Bytes
    symmetric: bool

    def __repr__(self) -> str:
        return short_repr(self)

    @property
    def outcomes(self) -> tuple[str, ...]:
        return JUMP_OUTCOMES

    def memory(self, prepared: PreparedGraph, lanes: int) -> OrbitalMemory:
        most = int(lengths(self.group.start).max(initial=0))
        return OrbitalMemory(
            proposal_memory(prepared, lanes, most),
            np.zeros(prepared.graph.variables, dtype=np.int64),
        )


@implementation(steps, Orbital)
def orbital_steps(
    prepared: PreparedGraph,
    kernel: Orbital,
    memory: OrbitalMemory,
    values: Bytes,
    outcomes: Numbers,
    rng: Any,
    count: int,
) -> None:
    group = kernel.group
    for _ in range(count):
        generator = integer(rng, len(group.start) - 1)
        first, last = group.start[generator], group.start[generator + 1]
        fair_coin(rng, memory.proposal.coins)
        _propose(kernel, memory, values, np.int64(first), np.int64(last))
        size = np.int64(last) - np.int64(first)
        if kernel.symmetric:
            accept_all(memory.proposal, values, outcomes, size)
        else:
            accept_reject(prepared, memory.proposal, values, outcomes, rng, size)


@shared
def _propose(
    kernel: Orbital, memory: OrbitalMemory, values: Bytes, first: Index, last: Index
) -> None:
    """Each point proposes its value to its image where the coin is 0, else the image to it.

    Targets are the images; the inverse of a generator moves the same points.
    """
    group = kernel.group
    for place in range(first, last):
        memory.place_of[group.point[place]] = place
    for lane in range(lanes_of(memory.proposal.scratch)):
        memory.proposal.change[lane] = 0.0
    for place in range(first, last):
        target = group.image[place]
        back = memory.place_of[target]
        memory.proposal.target[place - first] = target
        source, turned = group.point[place], group.image[back]
        proposed = memory.proposal.proposed
        for lane in range(lanes_of(memory.proposal.scratch)):
            come, gone = values[source, lane], values[turned, lane]
            proposed[place - first, lane] = gone if memory.proposal.coins[lane] else come
        if len(group.map_start) > 0:
            begin, inverse_begin = group.map_start[place], group.map_start[back]
            for lane in range(lanes_of(memory.proposal.scratch)):
                value = np.uint32(proposed[place - first, lane])
                if memory.proposal.coins[lane]:
                    proposed[place - first, lane] = kernel.inverse_map[inverse_begin + value]
                else:
                    proposed[place - first, lane] = group.value_map[begin + value]


def orbital(
    graph: FactorGraph,
    group: PermutationGroup,
    *,
    symmetric: bool = False,
) -> Orbital:
    """Jump along a group; any group that keeps numbers of values is safe.

    Say `symmetric` only of a group that has been verified against the graph.

    A wrong group costs rejections and never biases:

    >>> import orbitmc as om
    >>> grid = om.ising_grid(2, 2, 0.4, [[0.1, 0.5], [0.0, 0.2]])
    >>> turn = om.groups.permutation_group(4, [om.groups.read_cycles("(0 1 3 2)", 4)])
    >>> kernel = om.kernels.orbital(grid.graph, turn)
    >>> om.testing.check_kernel(kernel, models=[grid]).stationary < 1e-9
    True
    """
    require_group(graph, group)
    return Orbital(group, _inverse_map(group), symmetric)


def require_group(graph: FactorGraph, group: PermutationGroup) -> None:
    """Refuse permutations of something else, or between variables of different size."""
    if group.degree != graph.variables:
        raise InputError(f"the group moves {group.degree} points, not {graph.variables} variables")
    if group.is_trivial:
        raise InputError("the group has no generators: there is nothing to jump along")
    sizes = graph.cardinality
    wrong = np.flatnonzero(sizes[group.point] != sizes[group.image])
    if len(wrong):
        raise InputError(
            f"variable {group.point[wrong[0]]} is moved to {group.image[wrong[0]]}, "
            "which has another number of values"
        )


def _inverse_map(group: PermutationGroup) -> Bytes:
    """What turns values back: aligned with `value_map`."""
    inverse = np.zeros(len(group.value_map), dtype=np.uint8)
    for place in range(len(group.map_start) - 1):
        begin, end = group.map_start[place], group.map_start[place + 1]
        inverse[begin + group.value_map[begin:end]] = np.arange(end - begin, dtype=np.uint8)
    return readonly(inverse)


# Orbital Metropolis with random elements of a large group.
#
# Elements come from product replacement, nearly uniform. A fair coin in each lane between the
# element and its inverse makes the proposal symmetric, however elements are drawn, as long as
# nobody looks at the state.


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
        return short_repr(self)

    @property
    def outcomes(self) -> tuple[str, ...]:
        return JUMP_OUTCOMES

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
        fair_coin(rng, memory.proposal.coins)
        size = _propose_element(kernel.pairs, memory, values)
        if kernel.symmetric:
            accept_all(memory.proposal, values, outcomes, size)
        else:
            accept_reject(prepared, memory.proposal, values, outcomes, rng, size)


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
    stays = True
    for pair in range(pairs.start[k], pairs.start[k + 1]):
        stays = stays and row[pair] == pair
    return stays


def orbital_by_product_replacement(
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
    start = ProductReplacement(readonly(bag.forward), readonly(bag.backward))
    return DrawnOrbital(pairs, start, symmetric)


# From a group to the orbital kernels that suit it.


def orbital_kernels(
    prepared: PreparedGraph,
    group: PermutationGroup,
    *,
    symmetric: bool = False,
) -> list[Kernel]:
    """Take a group apart and sample each factor in the best way it allows.

    Symmetric factors are shuffled, small ones listed, large ones drawn by product replacement.
    `symmetric` promises that the group leaves the graph unchanged.

    >>> import orbitmc as om
    >>> graph = om.ising_grid(2, 2, 0.4).graph
    >>> group = om.symmetry.automorphisms(graph).group
    >>> [type(kernel).__name__ for kernel in orbital_kernels(om.kernels.prepare(graph), group)]
    ['Orbital']
    """
    if group.is_trivial:
        return []
    graph = prepared.graph
    require_group(graph, group)
    kernels: list[Kernel] = []
    factors = decompose(group)
    exchangeable = [factor for factor in factors if isinstance(factor, Exchangeable)]
    if exchangeable:
        blocks = blocks_of(exchangeable)
        kernels.append(shuffle(prepared, blocks, symmetric=symmetric))
    listed = [factor for factor in factors if isinstance(factor, ListedFactor)]
    if listed:
        every = [element for factor in listed for element in elements(factor.table)]
        whole = permutation_group(group.degree, every, cardinality=graph.cardinality)
        kernels.append(orbital(graph, whole, symmetric=symmetric))
    for factor in factors:
        if isinstance(factor, GeneratedFactor):
            kernels.append(orbital_by_product_replacement(graph, factor.group, symmetric=symmetric))
    return kernels
