"""Eliminate the variables of a block in all lanes at once, then draw them backwards."""

from typing import Any

import numpy as np

from orbitmc._numba.jit import shared
from orbitmc._simd.random import lanes_of, pick_by_weights
from orbitmc._util.arrays import Bytes, Index
from orbitmc.kernels.block_gibbs.plans import CLAUSE, MESSAGE, BlockMemory, Blocks


@shared
def eliminate(blocks: Blocks, memory: BlockMemory, values: Bytes, block: Index) -> None:
    """Fill the tables of a block, given the values outside it."""
    for step in range(blocks.step_start[block], blocks.step_start[block + 1]):
        _place_operands(blocks, memory, values, step)
        _multiply(blocks, memory, step)


@shared
def _place_operands(blocks: Blocks, memory: BlockMemory, values: Bytes, step: Index) -> None:
    """Say where each factor is read in each lane, which depends on the values outside."""
    first = np.int64(blocks.operand_start[step])
    for operand in range(first, np.int64(blocks.operand_start[step + 1])):
        base = operand - first
        source = blocks.source[operand]
        for lane in range(lanes_of(memory)):
            memory.base[base, lane] = source
        if blocks.kind[operand] == CLAUSE:
            _place_clause(blocks, memory, values, operand, base)
            continue
        for edge in range(blocks.outside_start[operand], blocks.outside_start[operand + 1]):
            other, stride = np.uint64(blocks.outside[edge]), blocks.role[edge]
            for lane in range(lanes_of(memory)):
                memory.base[base, lane] += stride * np.uint32(values[other, lane])


@shared
def _place_clause(
    blocks: Blocks, memory: BlockMemory, values: Bytes, operand: Index, base: Index
) -> None:
    """Add the gate where a variable outside the block satisfies the clause."""
    satisfied = memory.place
    for lane in range(lanes_of(memory)):
        satisfied[lane] = 0
    for edge in range(blocks.outside_start[operand], blocks.outside_start[operand + 1]):
        other, wanted = np.uint64(blocks.outside[edge]), np.uint8(blocks.role[edge])
        for lane in range(lanes_of(memory)):
            satisfied[lane] |= np.uint32(values[other, lane] == wanted)
    gate = blocks.gate[operand]
    for lane in range(lanes_of(memory)):
        memory.base[base, lane] += gate * satisfied[lane]


@shared
def _multiply(blocks: Blocks, memory: BlockMemory, step: Index) -> None:
    """Multiply the operands of a step, and sum its variable out; the largest sum is 1."""
    tables, best = memory.tables, memory.best
    size = values_left(blocks, blocks.variable[step])
    first_assignment(blocks, memory, step)
    for lane in range(lanes_of(memory)):
        best[lane] = 0.0
    message = np.int64(blocks.message_row[step])
    for state in range(np.int64(blocks.outer[step])):
        row = np.int64(blocks.table_row[step]) + state * size
        _fill_rows(blocks, memory, step, row, size)
        for lane in range(lanes_of(memory)):
            tables[message + state, lane] = tables[row, lane]
        for value in range(1, size):
            for lane in range(lanes_of(memory)):
                tables[message + state, lane] += tables[row + value, lane]
        for lane in range(lanes_of(memory)):
            best[lane] = max(best[lane], tables[message + state, lane])
        next_assignment(blocks, memory, step)
    for lane in range(lanes_of(memory)):
        best[lane] = 1.0 / best[lane] if best[lane] > 0.0 else 1.0
    for state in range(np.int64(blocks.outer[step])):
        for lane in range(lanes_of(memory)):
            tables[message + state, lane] *= best[lane]


@shared
def _fill_rows(blocks: Blocks, memory: BlockMemory, step: Index, row: Index, size: Index) -> None:
    """Multiply the operands at one state of the scope: a row for each value."""
    tables, weight = memory.tables, blocks.weight
    first = np.int64(blocks.operand_start[step])
    start = np.int64(blocks.value_start[blocks.variable[step]])
    for value in range(size):
        for lane in range(lanes_of(memory)):
            tables[row + value, lane] = 1.0
    for operand in range(first, np.int64(blocks.operand_start[step + 1])):
        base, stride = operand - first, np.int64(blocks.own_stride[operand])
        if blocks.kind[operand] == MESSAGE:
            source = np.int64(blocks.source[operand]) + memory.offset[base]
            for value in range(size):
                for lane in range(lanes_of(memory)):
                    tables[row + value, lane] *= tables[source + stride * value, lane]
        elif blocks.outside_start[operand] == blocks.outside_start[operand + 1]:
            source = np.int64(blocks.source[operand]) + memory.offset[base]
            for value in range(size):
                same = weight[source + stride * _rise(blocks, start, value)]
                for lane in range(lanes_of(memory)):
                    tables[row + value, lane] *= same
        else:
            for value in range(size):
                shift = np.uint64(memory.offset[base] + stride * _rise(blocks, start, value))
                for lane in range(lanes_of(memory)):
                    entry = np.uint64(memory.base[base, lane]) + shift
                    tables[row + value, lane] *= weight[entry]


@shared
def first_assignment(blocks: Blocks, memory: BlockMemory, step: Index) -> None:
    """Go to the first state of a step's scope."""
    for depth in range(blocks.scope_start[step + 1] - blocks.scope_start[step]):
        memory.digit[depth] = 0
    for base in range(blocks.operand_start[step + 1] - blocks.operand_start[step]):
        memory.offset[base] = 0


@shared
def next_assignment(blocks: Blocks, memory: BlockMemory, step: Index) -> None:
    """Go to the next state of a step's scope, the last variable fastest."""
    scope = np.int64(blocks.scope_start[step])
    depth = np.int64(blocks.scope_start[step + 1]) - scope - 1
    while depth >= 0:
        variable = blocks.scope[scope + depth]
        before = memory.digit[depth]
        after = before + 1 if before + 1 < values_left(blocks, variable) else 0
        start = np.int64(blocks.value_start[variable])
        rise = _rise(blocks, start, after) - _rise(blocks, start, before)
        _shift(blocks, memory, step, depth, after - before, rise)
        memory.digit[depth] = after
        if after > 0:
            return
        depth -= 1


@shared
def _shift(
    blocks: Blocks, memory: BlockMemory, step: Index, depth: Index, digits: Index, rise: Index
) -> None:
    """Move all operands as one variable of the scope changes."""
    first = np.int64(blocks.operand_start[step])
    for operand in range(first, np.int64(blocks.operand_start[step + 1])):
        stride = np.int64(blocks.stride[np.int64(blocks.stride_start[operand]) + depth])
        change = digits if blocks.kind[operand] == MESSAGE else rise
        memory.offset[operand - first] += stride * change


@shared
def values_left(blocks: Blocks, variable: Index) -> np.int64:
    """How many values of a variable are possible."""
    return np.int64(blocks.value_start[variable + 1]) - np.int64(blocks.value_start[variable])


@shared
def _rise(blocks: Blocks, start: Index, number: Index) -> np.int64:
    """How far a possible value lies above the first one."""
    return np.int64(blocks.value[start + number]) - np.int64(blocks.value[start])


@shared
def draw_backwards(
    blocks: Blocks, memory: BlockMemory, values: Bytes, block: Index, rng: Any
) -> None:
    """Draw the variables of an eliminated block, the last one first, each given those before it.

    Where all values have weight 0, which only rounding brings about, the present one stays. That
    depends on nothing that the draw changes, so it is exact.
    """
    first = np.int64(blocks.step_start[block])
    for back in range(np.int64(blocks.step_start[block + 1]) - first):
        step = np.int64(blocks.step_start[block + 1]) - 1 - back
        variable = np.uint64(blocks.variable[step])
        size, start = values_left(blocks, variable), np.int64(blocks.value_start[variable])
        _look_up(blocks, memory, values, step, size)
        for lane in range(lanes_of(memory)):
            total = 0.0
            for value in range(size):
                total += memory.weights[value, lane]
            if total <= 0.0:
                memory.weights[number_of(blocks, values, variable, lane), lane] = 1.0
        pick_by_weights(rng, memory.weights, size, memory.picked)
        for lane in range(lanes_of(memory)):
            values[variable, lane] = blocks.value[start + np.int64(memory.picked[lane])]


@shared
def _look_up(blocks: Blocks, memory: BlockMemory, values: Bytes, step: Index, size: Index) -> None:
    """Fill `weights[value, lane]` with the rows at the present values of the scope."""
    place = memory.place
    for lane in range(lanes_of(memory)):
        place[lane] = 0
    for edge in range(blocks.scope_start[step], blocks.scope_start[step + 1]):
        other = np.uint64(blocks.scope[edge])
        states = np.uint32(values_left(blocks, other))
        for lane in range(lanes_of(memory)):
            number = np.uint32(number_of(blocks, values, other, lane))
            place[lane] = place[lane] * states + number
    row = np.int64(blocks.table_row[step])
    for value in range(size):
        for lane in range(lanes_of(memory)):
            entry = row + np.int64(place[lane]) * size + value
            memory.weights[value, lane] = memory.tables[entry, lane]


@shared
def number_of(blocks: Blocks, values: Bytes, variable: Index, lane: Index) -> np.int64:
    """Which of its possible values a variable has."""
    start = np.uint64(blocks.number_start[variable])
    return np.int64(blocks.number[start + np.uint64(values[variable, lane])])


# How probable the values of a block's variables are, given all that is outside it.


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
    first_assignment(blocks, memory, step)
    for state in range(np.int64(blocks.outer[step])):
        row = np.int64(blocks.table_row[step]) + state * size
        for operand in range(first, np.int64(blocks.operand_start[step + 1])):
            if blocks.kind[operand] == MESSAGE:
                stride = np.int64(blocks.own_stride[operand])
                source = np.int64(blocks.source[operand]) + memory.offset[operand - first]
                for value in range(size):
                    for lane in range(lanes_of(memory)):
                        tables[source + stride * value, lane] += tables[row + value, lane]
        next_assignment(blocks, memory, step)


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
