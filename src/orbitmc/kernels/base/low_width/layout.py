"""Elimination plans of all blocks as flat arrays, and what a pack overwrites to follow them."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc._simd.random import width_of
from orbitmc._util.arrays import Bytes, Floats, Indices, Numbers

MESSAGE, TABLE, CLAUSE = range(3)
"""What a table is multiplied with: what an earlier step has left, or a factor of the graph."""


class Blocks(NamedTuple):
    """How to eliminate the variables of each block, one after the other.

    Block `b` has the steps `step_start[b]:step_start[b + 1]`. A step sums one `variable` out of a
    table over it and its `scope`, variables of the block that come later; the table has `outer`
    states of the scope, each with a row for every value of the variable. Rows of tables begin at
    `table_row`, what is left of them at `message_row`.

    A table is a product of operands `operand_start[s]:operand_start[s + 1]`. The entry of an
    operand is at `source`, plus `own` times the value of the step's variable, plus
    `stride[stride_start[o] + d]` times the value of variable `d` of the scope. In factors the
    variables `outside` the block come in addition: in tables each with its `role` as stride; in
    clauses `gate` is added if any of them has its `role` as value. Of what a step has left, `gate`
    is the number of rows.

    Tables have only the possible values of a variable `v`, `value[value_start[v]:]` up to the next
    start; `number` says which of them a value is, from `number_start[v]` on. Factors are read by
    values, from the first possible one on; what steps have left by their numbers.

    `weight` has the exponentials of the graph's tables, the largest 1, and the clauses spelled
    out. `recorded` marks the steps in whose block a variable's probability is looked at: one step
    for each variable.
    """

    value_start: Indices
    value: Bytes
    number_start: Indices
    number: Bytes
    step_start: Indices
    variable: Indices
    outer: Indices
    table_row: Indices
    message_row: Indices
    scope_start: Indices
    scope: Indices
    operand_start: Indices
    kind: Bytes
    source: Indices
    own: Indices
    stride_start: Indices
    stride: Indices
    outside_start: Indices
    outside: Indices
    role: Indices
    gate: Indices
    recorded: Bytes
    weight: Floats

    @property
    def total(self) -> int:
        return len(self.step_start) - 1


class BlockMemory(NamedTuple):
    """Tables of one block, a column for each lane, and where each operand is being read.

    `turn` is the block that comes next, `due` the steps that it is worth beyond those asked for.
    `last` has the values that were seen last by who records them, after `recorded` samples.
    """

    place: NDArray[np.uint32]
    base: NDArray[np.uint32]
    offset: Numbers
    digit: Numbers
    tables: Floats
    weights: Floats
    best: Floats
    picked: NDArray[np.uint32]
    turn: Numbers
    due: Numbers
    last: Bytes
    recorded: Numbers
    width: tuple[int, ...]


def block_memory(blocks: Blocks, most_values: int, lanes: int) -> BlockMemory:
    """Give the arrays that following the plans overwrites."""
    operands = int(np.diff(blocks.operand_start.astype(np.int64)).max(initial=0))
    depth = int(np.diff(blocks.scope_start.astype(np.int64)).max(initial=0))
    return BlockMemory(
        place=np.zeros(lanes, dtype=np.uint32),
        base=np.zeros((operands, lanes), dtype=np.uint32),
        offset=np.zeros(operands, dtype=np.int64),
        digit=np.zeros(depth, dtype=np.int64),
        tables=np.zeros((rows_of(blocks), lanes)),
        weights=np.zeros((most_values, lanes)),
        best=np.zeros(lanes),
        picked=np.zeros(lanes, dtype=np.uint32),
        turn=np.zeros(1, dtype=np.int64),
        due=np.zeros(1, dtype=np.int64),
        last=np.zeros((len(blocks.value_start) - 1, lanes), dtype=np.uint8),
        recorded=np.zeros(1, dtype=np.int64),
        width=width_of(lanes),
    )


def rows_of(blocks: Blocks) -> int:
    """How many rows the tables of the largest block have."""
    ends = blocks.message_row.astype(np.int64) + blocks.outer
    return int(ends.max(initial=0))
