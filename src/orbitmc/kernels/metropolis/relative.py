"""The model as permutations within blocks see it."""

import numpy as np

from orbitmc.graph.conditionals.layout import Conditionals
from orbitmc.graph.conditionals.relative_fields import relative_fields
from orbitmc.graph.prepared import PreparedGraph
from orbitmc.groups.block_groups import ExchangeBlocks
from orbitmc.machine.arrays import lengths


def relative_to_blocks(prepared: PreparedGraph, blocks: ExchangeBlocks) -> Conditionals:
    """Conditionals without what permuting rows of a block cannot change.

    Only members in one column of a block trade values, so each column is a set of its own.
    """
    width = blocks.width.astype(np.int64)
    block = np.repeat(np.arange(blocks.blocks), lengths(blocks.start))
    column = (np.arange(len(block)) - blocks.start[block].astype(np.int64)) % width[block]
    set_of = np.full(prepared.graph.variables, -1)
    block_of = np.full(prepared.graph.variables, -1)
    set_of[blocks.member] = (np.cumsum(width) - width)[block] + column
    block_of[blocks.member] = block
    return relative_fields(prepared, set_of, block_of)
