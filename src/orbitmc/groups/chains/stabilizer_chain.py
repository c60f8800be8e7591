"""Schreier-Sims: the order of a group, membership, and exactly uniform elements.

The chain is grown with random elements, which is fast, and then proved complete by sifting every
Schreier generator (Sims 1970; Seress 2003, chapter 4). It stores one row for each point of each
orbit, so it suits groups of up to a few thousand points with a small base.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc.groups.chains.chain_builder import ChainBuilder
from orbitmc.groups.pairs import Pairs, pairs_of, rows_of
from orbitmc.groups.permutation_groups import PermutationGroup
from orbitmc.machine.arrays import Indices, indices, lengths, sealed, starts
from orbitmc.machine.compiling import shared
from orbitmc.machine.lanes.random import Generator, integer

MAX_ENTRIES = 50_000_000  # 200 MB of rows
MAX_WORK = 5_000_000_000  # a few seconds of proof


class StabilizerChain(NamedTuple):
    """A base, and for each level the elements that carry its orbit back to the base point.

    They are the rows `start[level]:start[level + 1]` of `back`; `place[level, pair]` is the row
    of a pair (-1: not in the orbit). Every element is the product of one row of each level, in
    exactly one way.
    """

    pairs: Pairs
    base: Indices
    start: Indices
    back: Indices
    place: NDArray[np.int32]

    @property
    def order(self) -> int:
        return math.prod(int(size) for size in lengths(self.start))


@shared
def uniform_element(
    chain: StabilizerChain, rng: Generator, forward: Indices, backward: Indices
) -> None:
    """Fill `forward` with a uniform element of the group and `backward` with its inverse."""
    for pair in range(len(forward)):
        forward[pair] = pair
    for level in range(len(chain.base)):
        first = int(chain.start[level])
        row = first + integer(rng, int(chain.start[level + 1]) - first)
        for pair in range(len(forward)):
            forward[pair] = chain.back[row, forward[pair]]
    for pair in range(len(forward)):
        backward[forward[pair]] = pair


def stabilizer_chain(
    group: PermutationGroup, *, max_entries: int = MAX_ENTRIES, max_work: int = MAX_WORK
) -> StabilizerChain:
    """Build the chain of a group, proved complete; LimitError if that would cost too much."""
    pairs = pairs_of(group)
    builder = ChainBuilder(rows_of(pairs, group), max_entries=max_entries, max_work=max_work)
    builder.build()
    return _in_order(pairs, builder)


def _in_order(pairs: Pairs, builder: ChainBuilder) -> StabilizerChain:
    """Put the rows of each level together, in the order in which its orbit was found."""
    sizes = np.array([level.size for level in builder.levels], dtype=np.int64)
    begins = starts(sizes)
    place = np.full((len(sizes), builder.degree), -1, dtype=np.int32)
    back = np.empty((int(sizes.sum()), builder.degree), dtype=np.uint32)
    for number, level in enumerate(builder.levels):
        orbit = level.orbit[: level.size]
        rows = np.arange(begins[number], begins[number + 1])
        back[rows] = builder.back[builder.place[number, orbit]]
        place[number, orbit] = rows
    base = indices([level.base for level in builder.levels])
    return StabilizerChain(pairs, base, begins, sealed(back), sealed(place))
