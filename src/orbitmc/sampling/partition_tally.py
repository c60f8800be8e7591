"""Record how probable it is that items are in one block, given the blocks of the others.

A pair says what its two items say: each is taken out of its block in turn, and the chances of the
blocks that it may join are added to its pairs, one half for each item (Rao-Blackwell).
"""

from typing import Any, NamedTuple

import numpy as np

from orbitmc._numba.jit import implementation, shared
from orbitmc._simd.random import COLUMNS, cumulate_weights, lanes_of
from orbitmc._util.arrays import Bytes, Floats, Index, Indices, indices
from orbitmc.conditionals.draws import cumulative_probabilities
from orbitmc.conditionals.factors import forget_clauses
from orbitmc.conditionals.layout import Scratch
from orbitmc.conditionals.prepared import PreparedGraph
from orbitmc.estimate.tally import ValueTally, add_conditional, add_values, mark_open, record, tally
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.support import hard_factors
from orbitmc.kernels._partition import (
    NOBODY,
    Partition,
    PartitionMemory,
    choices_of,
    put_in,
    read_blocks,
    weigh_blocks,
)


class PartitionTally(NamedTuple):
    """Sums of probabilities given the other items; first fields as in `RaoBlackwellTally`.

    A lane is open for a pair if one of its items could leave its block, or join that of the other.
    """

    sums: Floats
    row_start: Indices
    open: Bytes
    others: Indices
    partition: Partition
    memory: PartitionMemory


class PartitionValueTally(NamedTuple):
    """Sums of the values seen; what items could do is only whether lanes are open."""

    sums: Floats
    row_start: Indices
    open: Bytes
    others: Indices
    partition: Partition
    memory: PartitionMemory


def partition_tally(
    graph: FactorGraph, lanes: int, kind: type, partition: Partition, memory: PartitionMemory
) -> PartitionTally | PartitionValueTally:
    """Give an empty tally, of values if `kind` is; it overwrites the kernel's memory."""
    plain = tally(graph, lanes)
    if len(plain.open):
        tied = np.zeros(graph.variables, dtype=np.bool_)
        tied[graph.scope[hard_factors(graph)[graph.factor_of_edge]]] = True
        plain.open[~tied] = 1  # however improbable its values are, none is impossible
    others = np.setdiff1d(np.flatnonzero(partition.one == NOBODY), partition.inside)
    tally_kind = PartitionValueTally if kind is ValueTally else PartitionTally
    return tally_kind(plain.sums, plain.row_start, plain.open, indices(others), partition, memory)


@implementation(record, PartitionTally)
def _record_chances(
    tally: PartitionTally, prepared: PreparedGraph, scratch: Scratch, values: Bytes, part: int
) -> None:
    _record(tally, prepared, scratch, values, part, False)


@implementation(record, PartitionValueTally)
def _record_values(
    tally: PartitionValueTally, prepared: PreparedGraph, scratch: Scratch, values: Bytes, part: int
) -> None:
    _record(tally, prepared, scratch, values, part, True)


@shared
def _record(
    tally: Any, prepared: PreparedGraph, scratch: Scratch, values: Bytes, part: int, seen: bool
) -> None:
    """Go through items and other variables; what is added are chances, or the values `seen`."""
    graph, partition, memory = prepared.graph, tally.partition, tally.memory
    if seen:
        for variable in range(len(graph.cardinality)):
            size = np.int64(graph.cardinality[variable])
            row = np.int64(tally.row_start[variable])
            add_values(tally.sums, scratch, values, variable, part, row, size)
    if not seen or len(tally.open) > 0:
        read_blocks(partition, memory, values)
        for item in range(len(partition.apart)):
            weigh_blocks(prepared, partition, memory, values, item)
            cumulate_weights(memory.log_weights, choices_of(partition), lanes_of(scratch))
            for place in range(partition.pair_start[item], partition.pair_start[item + 1]):
                _add_pair(tally, values, part, place, seen)
            if len(partition.inside) > 0 and partition.inside[item] >= 0:
                _add_inside(tally, values, part, np.int64(partition.inside[item]), seen)
            put_in(partition, memory, memory.before, item)
        forget_clauses(scratch)
        for place in range(len(tally.others)):
            other: Any = np.int64(tally.others[place])
            cumulative_probabilities(prepared, scratch, values, other)
            size = np.int64(graph.cardinality[other])
            if len(tally.open) > 0:
                mark_open(tally, scratch, other, size)
            if not seen:
                add_conditional(tally, scratch, part, np.int64(tally.row_start[other]), size)


@shared
def _add_pair(tally: Any, values: Bytes, part: int, place: Index, seen: bool) -> None:
    """Add half the chance that an item joins the block of the other item of one of its pairs."""
    partition, memory = tally.partition, tally.memory
    variable, partner = np.int64(partition.pair[place]), np.int64(partition.partner[place])
    sums, last = memory.log_weights, choices_of(partition) - 1
    row = np.int64(tally.row_start[variable])
    for lane in range(lanes_of(memory.scratch)):
        block = np.int64(memory.label[partner, lane])
        below = 0.0 if block == 0 else sums[max(block - 1, 0), lane]
        chance = (sums[block, lane] - below) / sums[last, lane]
        if memory.whole[lane] == 0:
            chance = np.float64(values[variable, lane])
        if len(tally.open) > 0:
            tally.open[variable, lane] |= np.uint8((chance > 0.0) & (chance < 1.0))
        if not seen:
            tally.sums[part, row, lane % COLUMNS] += 0.5 * chance


@shared
def _add_inside(tally: Any, values: Bytes, part: int, variable: Index, seen: bool) -> None:
    """Add the chance that an item is in a block at all."""
    memory = tally.memory
    sums, none = memory.log_weights, choices_of(tally.partition) - 1
    row = np.int64(tally.row_start[variable])
    for lane in range(lanes_of(memory.scratch)):
        chance = sums[none - 1, lane] / sums[none, lane]
        if memory.whole[lane] == 0:
            chance = np.float64(values[variable, lane])
        if len(tally.open) > 0:
            tally.open[variable, lane] |= np.uint8((chance > 0.0) & (chance < 1.0))
        if not seen:
            tally.sums[part, row, lane % COLUMNS] += chance
