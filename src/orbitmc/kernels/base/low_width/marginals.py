"""How probable the values of a block's variables are, given all that is outside it."""

import numpy as np

from orbitmc._numba.jit import shared
from orbitmc._simd.random import lanes_of
from orbitmc._util.arrays import Bytes, Index
from orbitmc.kernels.base.low_width.elimination import (
    begin_reading,
    number_of,
    read_on,
    values_left,
)
from orbitmc.kernels.base.low_width.layout import MESSAGE, BlockMemory, Blocks


@shared
def to_probabilities(blocks: Blocks, memory: BlockMemory, block: Index) -> None:
    """Turn the tables of an eliminated block into joint probabilities, the last one first.

    The rows of what a step had left become the probabilities of its scope.
    """
    first = np.int64(blocks.step_start[block])
    for back in range(np.int64(blocks.step_start[block + 1]) - first):
        step = np.int64(blocks.step_start[block + 1]) - 1 - back
        if blocks.scope_start[step] == blocks.scope_start[step + 1]:
            for lane in range(lanes_of(memory)):
                memory.tables[np.int64(blocks.message_row[step]), lane] = 1.0
        _scale(blocks, memory, step)
        _clear(blocks, memory, step)
        _hand_down(blocks, memory, step)


@shared
def _scale(blocks: Blocks, memory: BlockMemory, step: Index) -> None:
    """Give each state of the scope its probability, shared among the values as they weigh."""
    tables, ratio = memory.tables, memory.best
    size = values_left(blocks, blocks.variable[step])
    for state in range(np.int64(blocks.outer[step])):
        row = np.int64(blocks.table_row[step]) + state * size
        message = np.int64(blocks.message_row[step]) + state
        for lane in range(lanes_of(memory)):
            ratio[lane] = tables[row, lane]
        for value in range(1, size):
            for lane in range(lanes_of(memory)):
                ratio[lane] += tables[row + value, lane]
        for lane in range(lanes_of(memory)):
            ratio[lane] = tables[message, lane] / ratio[lane] if ratio[lane] > 0.0 else 0.0
        for value in range(size):
            for lane in range(lanes_of(memory)):
                tables[row + value, lane] *= ratio[lane]


@shared
def _clear(blocks: Blocks, memory: BlockMemory, step: Index) -> None:
    """Make room for the probabilities of what earlier steps had left."""
    for operand in range(blocks.operand_start[step], blocks.operand_start[step + 1]):
        if blocks.kind[operand] == MESSAGE:
            source = np.int64(blocks.source[operand])
            for row in range(source, source + np.int64(blocks.gate[operand])):
                for lane in range(lanes_of(memory)):
                    memory.tables[row, lane] = 0.0


@shared
def _hand_down(blocks: Blocks, memory: BlockMemory, step: Index) -> None:
    """Add up the probabilities of the scopes of earlier steps."""
    tables, size = memory.tables, values_left(blocks, blocks.variable[step])
    first = np.int64(blocks.operand_start[step])
    begin_reading(blocks, memory, step)
    for state in range(np.int64(blocks.outer[step])):
        row = np.int64(blocks.table_row[step]) + state * size
        for operand in range(first, np.int64(blocks.operand_start[step + 1])):
            if blocks.kind[operand] == MESSAGE:
                own = np.int64(blocks.own[operand])
                source = np.int64(blocks.source[operand]) + memory.offset[operand - first]
                for value in range(size):
                    for lane in range(lanes_of(memory)):
                        tables[source + own * value, lane] += tables[row + value, lane]
        read_on(blocks, memory, step)


@shared
def sum_values(blocks: Blocks, memory: BlockMemory, values: Bytes, step: Index) -> None:
    """Fill `weights[value, lane]` with the probability of each possible value of a variable.

    Where all weights were lost in rounding, the present value is certain.
    """
    variable = np.uint64(blocks.variable[step])
    size = values_left(blocks, variable)
    weights, total = memory.weights, memory.best
    for value in range(size):
        for lane in range(lanes_of(memory)):
            weights[value, lane] = 0.0
    for state in range(np.int64(blocks.outer[step])):
        row = np.int64(blocks.table_row[step]) + state * size
        for value in range(size):
            for lane in range(lanes_of(memory)):
                weights[value, lane] += memory.tables[row + value, lane]
    for lane in range(lanes_of(memory)):
        total[lane] = 0.0
        for value in range(size):
            total[lane] += weights[value, lane]
        if total[lane] <= 0.0:
            weights[number_of(blocks, values, variable, lane), lane] = 1.0
            total[lane] = 1.0
    for value in range(size):
        for lane in range(lanes_of(memory)):
            weights[value, lane] /= total[lane]
