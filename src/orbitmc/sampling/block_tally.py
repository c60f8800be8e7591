"""Record how probable values are given all that is outside a block (Rao-Blackwell in blocks).

Where zeros tie variables to each other, all but one value of each are impossible given all the
others, so conditionals of single variables say no more than values do. Those of a block do.
"""

from typing import Any, NamedTuple

import numpy as np

from orbitmc._numba.jit import implementation, shared
from orbitmc._simd.random import COLUMNS, lanes_of
from orbitmc._util.arrays import Bytes, Floats, Index, Indices, indices, lengths
from orbitmc.conditionals.layout import Scratch
from orbitmc.conditionals.prepared import PreparedGraph
from orbitmc.estimate.tally import ValueTally, record, tally
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.kernels.block_gibbs.elimination import (
    eliminate,
    number_of,
    sum_values,
    to_probabilities,
    values_left,
)
from orbitmc.kernels.block_gibbs.plans import BlockMemory, Blocks


class BlockTally(NamedTuple):
    """Sums of probabilities given the outside of a block; first fields as in `RaoBlackwellTally`.

    A lane is open for a variable if its block could give it another value there, or if it got one:
    its memory has the values that were recorded last. `certain` are the variables with one possible
    value.
    """

    sums: Floats
    row_start: Indices
    open: Bytes
    certain: Indices
    blocks: Blocks
    memory: BlockMemory


class BlockValueTally(NamedTuple):
    """Sums of the values seen; what blocks say is only whether lanes are open."""

    sums: Floats
    row_start: Indices
    open: Bytes
    certain: Indices
    blocks: Blocks
    memory: BlockMemory


def block_tally(
    graph: FactorGraph, lanes: int, kind: type, blocks: Blocks, memory: BlockMemory
) -> BlockTally | BlockValueTally:
    """Give an empty tally, of values if `kind` is; it overwrites the kernel's tables."""
    plain = tally(graph, lanes)
    certain = indices(np.flatnonzero(lengths(blocks.value_start) == 1))
    block_kind = BlockValueTally if kind is ValueTally else BlockTally
    return block_kind(plain.sums, plain.row_start, plain.open, certain, blocks, memory)


@implementation(record, BlockTally)
def _record_blocks(
    tally: BlockTally, prepared: PreparedGraph, scratch: Scratch, values: Bytes, part: int
) -> None:
    _record(tally, prepared, scratch, values, part, False)


@implementation(record, BlockValueTally)
def _record_values(
    tally: BlockValueTally, prepared: PreparedGraph, scratch: Scratch, values: Bytes, part: int
) -> None:
    _record(tally, prepared, scratch, values, part, True)


@shared
def _record(
    tally: Any, prepared: PreparedGraph, scratch: Scratch, values: Bytes, part: int, seen: bool
) -> None:
    """Go through the blocks; what is added are probabilities, or the values `seen`."""
    blocks, memory = tally.blocks, tally.memory
    _mark_changed(tally, values)
    for place in range(len(tally.certain)):
        lanes = np.float64(lanes_of(scratch) // COLUMNS)
        _add_certain(tally, prepared, part, np.uint64(tally.certain[place]), lanes)
    for block in range(len(blocks.step_start) - 1):
        if _is_recorded(blocks, block):
            eliminate(blocks, memory, values, block)
            to_probabilities(blocks, memory, block)
            for step in range(blocks.step_start[block], blocks.step_start[block + 1]):
                if blocks.recorded[step]:
                    sum_values(blocks, memory, values, step)
                    if len(tally.open) > 0:
                        _mark_open(tally, step)
                    if seen:
                        _put_values(blocks, memory, values, step)
                    _add(tally, prepared, part, step)


@shared
def _is_recorded(blocks: Blocks, block: Index) -> bool:
    is_recorded = False
    for step in range(blocks.step_start[block], blocks.step_start[block + 1]):
        is_recorded |= blocks.recorded[step] > 0
    return is_recorded


@shared
def _add_certain(
    tally: Any, prepared: PreparedGraph, part: int, variable: Index, lanes: float
) -> None:
    """Add the only possible value of a variable, in as many lanes as a column has."""
    size = np.int64(prepared.graph.cardinality[variable])
    value = np.int64(tally.blocks.value[tally.blocks.value_start[variable]])
    row = np.int64(tally.row_start[variable])
    for column in range(COLUMNS):
        if size > 2:
            tally.sums[part, row + value, column] += lanes
        elif size == 2:
            tally.sums[part, row, column] += lanes * value


@shared
def _mark_changed(tally: Any, values: Bytes) -> None:
    """Remember the lanes in which a variable has another value than when it was last seen."""
    last, again = tally.memory.last, tally.memory.recorded[0] > 0
    for variable in range(len(tally.open)):
        for lane in range(lanes_of(tally.memory)):
            changed = again & (last[variable, lane] != values[variable, lane])
            tally.open[variable, lane] |= np.uint8(changed)
            last[variable, lane] = values[variable, lane]
    tally.memory.recorded[0] += 1


@shared
def _mark_open(tally: Any, step: Index) -> None:
    """Remember the lanes in which the outside of the block leaves more than one value."""
    variable = np.uint64(tally.blocks.variable[step])
    for number in range(values_left(tally.blocks, variable)):
        for lane in range(lanes_of(tally.memory)):
            chance = tally.memory.weights[number, lane]
            undecided = (chance > 0.0) & (chance < 1.0)
            tally.open[variable, lane] |= np.uint8(undecided)


@shared
def _put_values(blocks: Blocks, memory: BlockMemory, values: Bytes, step: Index) -> None:
    """Let the present values be certain."""
    variable = np.uint64(blocks.variable[step])
    for lane in range(lanes_of(memory)):
        for number in range(values_left(blocks, variable)):
            memory.weights[number, lane] = 0.0
        memory.weights[number_of(blocks, values, variable, lane), lane] = 1.0


@shared
def _add(tally: Any, prepared: PreparedGraph, part: int, step: Index) -> None:
    """Add what is known of one variable."""
    blocks, chances = tally.blocks, tally.memory.weights
    variable = np.uint64(blocks.variable[step])
    size = np.int64(prepared.graph.cardinality[variable])
    row = np.int64(tally.row_start[variable])
    for number in range(values_left(blocks, variable)):
        value = np.int64(blocks.value[np.int64(blocks.value_start[variable]) + number])
        if size > 2 or value == 1:
            place = row + value if size > 2 else row
            for lane in range(lanes_of(tally.memory)):
                tally.sums[part, place, lane % COLUMNS] += chances[number, lane]
