"""Log-weights of the connected components of a graph, in many states at once."""

import numpy as np
from numpy.typing import NDArray

from orbitmc._numba.jit import compiled, shared
from orbitmc._util.arrays import Bytes, Floats, Index, Indices
from orbitmc.graph.factor_graph import FactorGraph

TOGETHER = 8  # lanes: the compiler unrolls loops over so few


def log_weights_of_parts(graph: FactorGraph, values: Bytes, part_of: NDArray[np.int64]) -> Floats:
    """What the factors of each part add up to in each lane's state: `[part, lane]`.

    `part_of` numbers the connected component of each variable.
    """
    lanes = values.shape[1]
    whole = np.zeros((len(values), -(-lanes // TOGETHER) * TOGETHER), dtype=np.uint8)
    whole[:, :lanes] = values
    result = np.zeros((int(part_of.max(initial=-1)) + 1, whole.shape[1]))
    _add_by_part(graph, part_of, whole, result)
    return result[:, :lanes]


@compiled
def _add_by_part(
    graph: FactorGraph, part_of: NDArray[np.int64], values: Bytes, result: Floats
) -> None:
    entry = np.empty(TOGETHER, dtype=np.uint32)
    for first in range(0, values.shape[1], TOGETHER):
        for factor in range(len(graph.table_of)):
            edge = np.uint64(graph.scope_start[factor])
            arity = np.uint64(graph.scope_start[factor + 1]) - edge
            if arity > 0:
                part = np.uint64(part_of[graph.scope[edge]])
                if arity <= 2 and factor < graph.first_clause:
                    _add_pair(graph, factor, arity, values, first, part, result)
                    continue
                _find_entries(graph, factor, values, first, entry)
                for lane in range(TOGETHER):
                    result[part, first + lane] += graph.table[entry[lane]]


@shared
def _add_pair(
    graph: FactorGraph,
    factor: Index,
    arity: Index,
    values: Bytes,
    first: Index,
    part: Index,
    result: Floats,
) -> None:
    """Add a table of one or two variables: most factors of large models are."""
    edge = np.uint64(graph.scope_start[factor])
    start, one = graph.table_start[graph.table_of[factor]], np.uint64(graph.scope[edge])
    stride = graph.stride[edge]
    if arity == 1:
        for lane in range(TOGETHER):
            place = start + stride * np.uint32(values[one, first + lane])
            result[part, first + lane] += graph.table[place]
        return
    two, other = np.uint64(graph.scope[edge + np.uint64(1)]), graph.stride[edge + np.uint64(1)]
    for lane in range(TOGETHER):
        place = start + stride * np.uint32(values[one, first + lane])
        place += other * np.uint32(values[two, first + lane])
        result[part, first + lane] += graph.table[place]


@shared
def _find_entries(
    graph: FactorGraph, factor: Index, values: Bytes, first: Index, entry: Indices
) -> None:
    """Which entry of its table a factor has in some lanes; `log_potential` finds one of them."""
    start = graph.table_start[graph.table_of[factor]]
    for lane in range(TOGETHER):
        entry[lane] = start
    for edge in range(graph.scope_start[factor], graph.scope_start[factor + 1]):
        other, stride = np.uint64(graph.scope[edge]), graph.stride[edge]
        if factor < graph.first_clause:
            for lane in range(TOGETHER):
                entry[lane] += stride * np.uint32(values[other, first + lane])
        else:
            wanted = np.uint8(graph.satisfying[edge])
            for lane in range(TOGETHER):
                holds = values[other, first + lane] == wanted
                entry[lane] = start + np.uint32(1) if holds else entry[lane]
