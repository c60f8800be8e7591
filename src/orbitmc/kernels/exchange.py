"""Orbital Metropolis on exchangeable blocks: permute rows of one block, accept by the true model.

Every row of a block is a few variables (one, unless whole constants are exchanged); rows may be
permuted in any way. Blocks come in turn, each as often as it has members; the rows and their
permutation are drawn. Neither looks at the state, and they are the same in all lanes; a coin in
each lane says whether the permutation or its inverse is used, so that lanes stay uncorrelated given
what they share.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc._numba.jit import implementation, shared
from orbitmc._simd.random import fair_coin, integer, lanes_of, two_integers
from orbitmc._simd.row_operations import choose_by_coins
from orbitmc._util.arrays import Bytes, Index, Indices, Numbers, count_within, lengths, short_repr
from orbitmc.conditionals.layout import Conditionals
from orbitmc.conditionals.prepared import PreparedGraph
from orbitmc.conditionals.relative_fields import relative_fields
from orbitmc.errors import InputError
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.groups._exchange_blocks import ExchangeBlocks
from orbitmc.kernels.metropolis import (
    JUMP_OUTCOMES,
    ProposalMemory,
    accept_all,
    accept_reject,
    count_null,
    proposal_memory,
)
from orbitmc.kernels.protocol import steps

ALL_ROWS = 0


class ShuffleMemory(NamedTuple):
    """A proposal, and the rows being permuted: where each goes to, and what comes there.

    Between steps `rows` are in order; `picks` remember how to put them in order again. `turn` is
    the member whose block comes next.
    """

    proposal: ProposalMemory
    turn: NDArray[np.int64]
    rows: NDArray[np.int64]
    picks: NDArray[np.int64]
    goals: NDArray[np.int64]
    origins: NDArray[np.int64]


class Shuffle(NamedTuple):
    """Permute `rows` random rows of the block whose turn it is; all of them if `rows` is 0.

    The turn goes `stride` members further each time, and comes to each of them. Two rows make a
    swap; a few make a step whose size suits the acceptance. `symmetric` promises that every
    permutation leaves the model unchanged: then nothing is rejected (lifted MCMC). `conditionals`
    lack what no permutation can change.
    """

    conditionals: Conditionals
    blocks: ExchangeBlocks
    rows: int
    symmetric: bool
    stride: int

    def __repr__(self) -> str:
        return short_repr(self)

    @property
    def outcomes(self) -> tuple[str, ...]:
        return JUMP_OUTCOMES

    def memory(self, prepared: PreparedGraph, lanes: int) -> ShuffleMemory:
        most = self.blocks.largest
        return ShuffleMemory(
            proposal_memory(prepared, lanes, most),
            np.zeros(1, dtype=np.int64),
            np.arange(most, dtype=np.int64),
            np.zeros(most, dtype=np.int64),
            np.zeros(most, dtype=np.int64),
            np.zeros(most, dtype=np.int64),
        )


@implementation(steps, Shuffle)
def shuffle_steps(
    prepared: PreparedGraph,
    kernel: Shuffle,
    memory: ShuffleMemory,
    values: Bytes,
    outcomes: Numbers,
    rng: Any,
    count: int,
) -> None:
    blocks = kernel.blocks
    relative = PreparedGraph(prepared.graph, kernel.conditionals)
    for _ in range(count):
        block = np.int64(blocks.block_of[memory.turn[0]])
        memory.turn[0] = (memory.turn[0] + kernel.stride) % len(blocks.member)
        width = np.int64(blocks.width[block])
        first = np.int64(blocks.start[block])
        rows = np.int64(blocks.start[block + 1]) - first
        if width > 1:
            rows //= width
        chosen = rows if kernel.rows == ALL_ROWS else min(np.int64(kernel.rows), rows)
        if not _choose(memory, rows, chosen, rng):
            _order_rows(memory, rows, chosen)
            count_null(memory.proposal, outcomes)
            continue
        if chosen > 2:  # a swap is its own inverse
            fair_coin(rng, memory.proposal.coins)
        _propose(memory, blocks.member, np.uint64(first), np.uint64(width), chosen, values)
        _order_rows(memory, rows, chosen)
        size = chosen * width
        if kernel.symmetric:
            accept_all(memory.proposal, values, outcomes, size)
        else:
            accept_reject(relative, memory.proposal, values, outcomes, rng, size)


@shared
def _choose(memory: ShuffleMemory, total: Index, chosen: Index, rng: Any) -> bool:
    """Put a uniform choice of rows in front, and draw their permutation; gives if any moves."""
    if chosen < total:
        for place in range(chosen):
            pick, other = two_integers(rng, total - place, place + 1)
            memory.picks[place] = place + pick
            _trade(memory.rows, np.uint64(place), np.uint64(memory.picks[place]))
            _extend(memory.goals, place, np.uint64(other))
    else:
        for place in range(chosen):
            _extend(memory.goals, place, np.uint64(integer(rng, place + 1)))
    return _invert(memory.goals, memory.origins, chosen)


@shared
def _extend(goals: Numbers, place: Index, other: Index) -> None:
    """Put one more into a uniform permutation (Fisher & Yates)."""
    goals[place] = goals[other]
    goals[other] = place


@shared
def _invert(goals: Numbers, origins: Numbers, chosen: Index) -> bool:
    """Fill `origins` with the inverse permutation; gives whether any row moves."""
    moving = False
    for place in range(chosen):
        origins[np.uint64(goals[place])] = place
        moving |= goals[place] != place
    return moving


@shared
def _order_rows(memory: ShuffleMemory, total: Index, chosen: Index) -> None:
    """Put the rows in order again."""
    if chosen < total:
        for place in range(chosen - 1, -1, -1):
            _trade(memory.rows, np.uint64(place), np.uint64(memory.picks[place]))


@shared
def _trade(rows: Numbers, first: Index, second: Index) -> None:
    rows[first], rows[second] = rows[second], rows[first]


@shared
def _propose(
    memory: ShuffleMemory, member: Indices, first: Index, width: Index, chosen: Index, values: Bytes
) -> None:
    """Row `rows[k]` is offered the values of the row that goes there, or where it goes itself."""
    proposal = memory.proposal
    for lane in range(lanes_of(proposal.scratch)):
        proposal.change[lane] = 0.0
    rows = memory.rows
    for place in range(np.uint64(chosen)):
        target = first + np.uint64(rows[place]) * width
        origin = first + np.uint64(rows[np.uint64(memory.origins[place])]) * width
        goal = first + np.uint64(rows[np.uint64(memory.goals[place])]) * width
        for column in range(width):
            slot = place * width + column
            proposal.target[slot] = member[target + column]
            come, gone = member[origin + column], member[goal + column]
            choose_by_coins(
                proposal.proposed, slot, values, come, gone, proposal.coins, proposal.scratch.width
            )


def shuffle(
    prepared: PreparedGraph,
    blocks: ExchangeBlocks,
    *,
    rows: int = ALL_ROWS,
    symmetric: bool = False,
) -> Shuffle:
    """Permute rows within blocks; any blocks of equal domains are safe.

    `rows` says how many rows of a block one step permutes; 0 means all. Say `symmetric` only of
    blocks whose permutations leave the graph unchanged: then nothing is ever rejected.

    >>> import orbitmc as om
    >>> grid = om.ising_grid(2, 2, 0.4, 0.1)
    >>> corners = om.groups.exchange_blocks([[0, 3]])
    >>> kernel = om.kernels.shuffle(om.kernels.prepare(grid.graph), corners)
    >>> om.testing.check_kernel(kernel, models=[grid]).stationary < 1e-9
    True
    """
    require_blocks(prepared.graph, blocks)
    if rows < 0 or rows == 1:
        raise InputError(f"a shuffle permutes two rows or more (0 for all), not {rows}")
    relative = prepared.conditionals if symmetric else relative_to_blocks(prepared, blocks)
    return Shuffle(relative, blocks, rows, symmetric, _stride(len(blocks.member)))


def _stride(members: int) -> int:
    """How far turns go: about the golden part of all members, so that each block's are spread."""
    golden = round(members * (math.sqrt(5) - 1) / 2)
    return next(step for step in range(max(1, golden), 2 * members) if math.gcd(step, members) == 1)


def require_blocks(graph: FactorGraph, blocks: ExchangeBlocks) -> None:
    """Refuse blocks whose rows have variables with different numbers of values."""
    if not len(blocks.width):
        raise InputError("there are no exchangeable blocks")
    for block, width in enumerate(blocks.width.tolist()):
        members = blocks.member[blocks.start[block] : blocks.start[block + 1]]
        sizes = graph.cardinality[members].reshape(-1, width)
        if (sizes != sizes[0]).any():
            raise InputError(f"block {block} exchanges variables with different numbers of values")


def relative_to_blocks(prepared: PreparedGraph, blocks: ExchangeBlocks) -> Conditionals:
    """Conditionals without what permuting rows of a block cannot change.

    Only members in one column of a block trade values, so each column is a set of its own.
    """
    width = blocks.width.astype(np.int64)
    block = np.repeat(np.arange(blocks.blocks), lengths(blocks.start))
    column = count_within(lengths(blocks.start)) % width[block]
    set_of = np.full(prepared.graph.variables, -1)
    block_of = np.full(prepared.graph.variables, -1)
    set_of[blocks.member] = (np.cumsum(width) - width)[block] + column
    block_of[blocks.member] = block
    return relative_fields(prepared, set_of, block_of)
