"""Low-width block Gibbs: give all variables of a block new values, drawn given the others.

Where zeros tie variables to each other, none of them can change alone. Blocks of bounded
elimination width can be drawn exactly (Jensen & Kong 1999, Hamze & de Freitas 2004): eliminate
their variables one by one, then draw them backwards. All lanes draw the same block.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from orbitmc._numba.jit import implementation
from orbitmc._util.arrays import Bytes, Numbers, lengths, readonly, short_repr
from orbitmc.conditionals.prepared import PreparedGraph
from orbitmc.errors import InputError
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.support import Domains, all_values, possible_values
from orbitmc.kernels.block_gibbs.elimination import draw_backwards, eliminate
from orbitmc.kernels.block_gibbs.growth import (
    MOST_BLOCK_ENTRIES,
    TABLES,
    block_of,
    grow_blocks,
)
from orbitmc.kernels.block_gibbs.plans import BlockMemory, Blocks, block_memory, plans
from orbitmc.kernels.protocol import steps


class BlockGibbs(NamedTuple):
    """Draw the blocks in turn.

    A block is worth as many steps as it has variables: it is drawn at the first of them, and the
    others pass.
    """

    plans: Blocks

    def __repr__(self) -> str:
        return short_repr(self)

    @property
    def outcomes(self) -> tuple[str, ...]:
        return ("updates", "blocks")

    @property
    def about(self) -> str:
        """What is drawn, in words."""
        largest = int(lengths(self.plans.step_start).max(initial=0))
        if self.blocks == 1:
            return f"all {largest} variables with a choice are drawn as a whole"
        return f"{self.blocks} blocks of up to {largest} variables are drawn as a whole"

    @property
    def blocks(self) -> int:
        """How many there are."""
        return self.plans.total

    @property
    def record_every(self) -> int:
        """Steps in which every block is drawn once."""
        return len(self.plans.variable)

    @property
    def annealing_entries(self) -> float:
        """Of the tables that a step fills, on average; one block needs no annealing."""
        if self.blocks < 2:
            return 0.0
        sizes = lengths(self.plans.value_start)[self.plans.variable]
        return float((self.plans.outer * sizes).sum()) / max(1, len(sizes))

    def at(self, beta: float) -> "BlockGibbs":
        """The same blocks for the model at another temperature."""
        return BlockGibbs(self.plans._replace(weight=readonly(self.plans.weight**beta)))

    def block_plans(self, memory: BlockMemory) -> tuple[Blocks, BlockMemory]:
        return self.plans, memory

    def memory(self, prepared: PreparedGraph, lanes: int) -> BlockMemory:
        most = int(prepared.graph.cardinality.max(initial=1))
        return block_memory(self.plans, most, lanes)


@implementation(steps, BlockGibbs)
def block_gibbs_steps(
    prepared: PreparedGraph,
    kernel: BlockGibbs,
    memory: BlockMemory,
    values: Bytes,
    outcomes: Numbers,
    rng: Any,
    count: int,
) -> None:
    blocks = kernel.plans
    many = len(blocks.step_start) - 1
    memory.due[0] -= count
    while memory.due[0] < 0 and many > 0:
        block = memory.turn[0]
        members = blocks.step_start[block + 1] - blocks.step_start[block]
        eliminate(blocks, memory, values, block)
        draw_backwards(blocks, memory, values, block, rng)
        outcomes[0] += members
        outcomes[1] += 1
        memory.due[0] += members
        memory.turn[0] = block + 1 if block + 1 < many else 0


def low_width(
    graph: FactorGraph, *, most_entries: int = MOST_BLOCK_ENTRIES, most_work: float = math.inf
) -> BlockGibbs:
    """Block Gibbs on a graph; tables of a block have at most so many entries.

    Choosing blocks ends after `most_work` visits of factors. What is in no block by then is
    drawn alone.

    >>> import orbitmc as om
    >>> model = om.model({"A": ["no", "yes"], "B": ["no", "yes"]}, [(["A", "B"], [3, 0, 0, 1])])
    >>> om.testing.check_kernel(om.kernels.low_width(model.graph), models=[model]).stationary
    0.0
    >>> found = om.marginals(model, kernel=om.kernels.low_width(model.graph), samples=20, seed=1)
    >>> found["A"].probability.tolist()
    [0.75, 0.25]
    """
    if most_entries < 1:
        raise InputError(f"a table has at least 1 entry, not {most_entries}")
    domains = _domains(graph)
    blocks = grow_blocks(graph, domains, most_entries, most_work)
    return BlockGibbs(plans(graph, domains, blocks))


def low_width_of_copies(
    original: FactorGraph, graph: FactorGraph, *, most_work: float
) -> BlockGibbs:
    """Block Gibbs on copies of a graph side by side, which have zeros in the same places.

    Blocks are chosen for one of them, in its share of the work.
    """
    copies = graph.variables // original.variables
    grown = grow_blocks(original, _domains(original), MOST_BLOCK_ENTRIES, most_work / copies)
    blocks = [block.shift(k * original.variables) for k in range(copies) for block in grown]
    return BlockGibbs(plans(graph, _domains(graph), blocks))


def chosen_blocks(
    graph: FactorGraph,
    groups: Sequence[Sequence[int]],
    *,
    most_entries: int = MOST_BLOCK_ENTRIES,
) -> BlockGibbs:
    """Draw groups of variables as a whole, one group after the other, and no other variables.

    Members that would make a table larger than `most_entries` are left out. Beside a chain that
    moves all variables it frees those that cannot change alone.

    >>> import orbitmc as om
    >>> model = om.model({"A": ["no", "yes"], "B": ["no", "yes"]}, [(["A", "B"], [3, 0, 0, 1])])
    >>> pair = om.kernels.chosen_blocks(model.graph, [(0, 1)])
    >>> mixed = om.kernels.alternation(om.kernels.gibbs(), pair, period=2)
    >>> om.testing.check_kernel(mixed, models=[model]).stationary
    0.0
    """
    if most_entries < 1:
        raise InputError(f"a table has at least 1 entry, not {most_entries}")
    domains = _domains(graph)
    allowed = np.concatenate([[0], np.cumsum(domains.allowed)])
    sizes = np.diff(allowed[domains.value_start]).tolist()
    for group in groups:
        _require_group(graph, group)
    blocks = [block_of(graph, sizes, group, most_entries) for group in groups]
    return BlockGibbs(plans(graph, domains, [block for block in blocks if block.order]))


def _require_group(graph: FactorGraph, group: Sequence[int]) -> None:
    """Refuse groups that name a variable twice, or one that is not there."""
    if len(set(group)) < len(group):
        raise InputError(f"a group names a variable twice: {list(group)}")
    for variable in group:
        if not 0 <= variable < graph.variables:
            raise InputError(
                f"there is no variable {variable}: they are numbered from 0 to "
                f"{graph.variables - 1}"
            )


def _domains(graph: FactorGraph) -> Domains:
    return possible_values(graph) if graph.has_zeros() else all_values(graph)


def block_bytes(graph: FactorGraph, lanes: int, most_entries: int = MOST_BLOCK_ENTRIES) -> int:
    """About how much the tables of a pack take at most, before there are any blocks.

    What is left of a table is at most half as large.
    """
    entries = max(TABLES * most_entries, int(graph.cardinality.max(initial=1)))
    tables = np.dtype(np.float64).itemsize * (entries + entries // 2)
    return int(lanes * (tables + graph.variables))
