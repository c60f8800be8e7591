"""Record how probable the cells of constants are, given those of all others."""

from typing import NamedTuple

import numpy as np

from orbitmc._numba.jit import implementation
from orbitmc._util.arrays import Bytes, Floats, Indices
from orbitmc.conditionals.layout import Scratch
from orbitmc.conditionals.prepared import PreparedGraph
from orbitmc.estimate.tally import ValueTally, add_conditional, mark_open, record, tally
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.kernels._count_gibbs import CountGibbs, CountMemory, count_cells, find_chances


class CountTally(NamedTuple):
    """Sums of conditional probabilities; first fields as in `RaoBlackwellTally`."""

    sums: Floats
    row_start: Indices
    open: Bytes
    kernel: CountGibbs
    memory: CountMemory


def count_tally(
    graph: FactorGraph, lanes: int, kind: type, kernel: CountGibbs, memory: CountMemory
) -> CountTally | ValueTally:
    """Give an empty tally, of values if `kind` is; it overwrites the kernel's memory."""
    plain = tally(graph, lanes, kind=ValueTally)
    if kind is ValueTally:
        return plain  # type: ignore[return-value]
    return CountTally(plain.sums, plain.row_start, plain.open, kernel, memory)


@implementation(record, CountTally)
def _record_chances(
    tally: CountTally, prepared: PreparedGraph, scratch: Scratch, values: Bytes, part: int
) -> None:
    kernel, memory = tally.kernel, tally.memory
    count_cells(kernel, memory, values, 0)
    for variable in range(len(values)):
        size = np.int64(prepared.graph.cardinality[variable])
        find_chances(kernel, memory, values, variable, size)
        if len(tally.open) > 0:
            mark_open(tally, memory, variable, size)  # type: ignore[arg-type]
        add_conditional(tally, memory, part, np.int64(tally.row_start[variable]), size)  # type: ignore[arg-type]
