"""Log-odds of binary variables in pairwise factors: biases, and couplings to neighbours."""

import numpy as np

from orbitmc._numba.jit import shared
from orbitmc._numba.tiers import of_all, of_first, tiered
from orbitmc._util.arrays import Bytes, Floats, Index, Indices
from orbitmc.graph.factor_graph import FactorGraph

TRIPLET = 8  # patterns of three neighbours


@shared
def pair_coupling(graph: FactorGraph, variable: Index, factor: Index) -> tuple[float, float]:
    """Bias and coupling that a unary or pairwise factor adds to the log-odds of value 1."""
    first, last = graph.scope_start[factor], graph.scope_start[factor + 1]
    start = graph.table_start[graph.table_of[factor]]
    if factor >= graph.first_clause:
        return _clause_coupling(graph, variable, factor)
    if last - first == 1:
        return graph.table[start + 1] - graph.table[start], 0.0
    own, other = (0, 1) if graph.scope[first] == variable else (1, 0)
    own_stride, other_stride = graph.stride[first + own], graph.stride[first + other]
    bias = graph.table[start + own_stride] - graph.table[start]
    high = start + other_stride
    return bias, graph.table[high + own_stride] - graph.table[high] - bias


@shared
def _clause_coupling(graph: FactorGraph, variable: Index, factor: Index) -> tuple[float, float]:
    first, last = graph.scope_start[factor], graph.scope_start[factor + 1]
    start = graph.table_start[graph.table_of[factor]]
    gain = graph.table[start + 1] - graph.table[start]
    own = first if graph.scope[first] == variable else first + 1
    signed = gain if graph.satisfying[own] == 1 else -gain
    if last - first == 1:
        return signed, 0.0
    other = first + first + 1 - own
    if graph.satisfying[other] == 1:
        return signed, -signed
    return 0.0, signed


@tiered(of_first)
def fill_fields(
    graph: FactorGraph,
    affine: Bytes,
    neighbour_start: Indices,
    neighbour: Indices,
    coupling: Floats,
    bias: Floats,
) -> None:
    """Couplings and biases of affine variables."""
    slot = np.zeros(len(graph.cardinality), dtype=np.int64)
    for variable in range(len(graph.cardinality)):
        if not affine[variable]:
            continue
        for edge in range(neighbour_start[variable], neighbour_start[variable + 1]):
            slot[neighbour[edge]] = edge
        for edge in range(graph.incident_start[variable], graph.incident_start[variable + 1]):
            factor = graph.incident[edge]
            own, pair = pair_coupling(graph, variable, factor)
            bias[variable] += own
            for place in range(graph.scope_start[factor], graph.scope_start[factor + 1]):
                if graph.scope[place] != variable:
                    coupling[slot[graph.scope[place]]] += pair


@tiered(of_all)
def fill_sextets(neighbour_start: Indices, coupling: Floats, start: Indices, sums: Floats) -> None:
    """Sums of the couplings of three neighbours for every pattern of their bits, six at a time."""
    for variable in range(len(start) - 1):
        edge = np.int64(neighbour_start[variable])
        for place in range(start[variable], start[variable + 1], TRIPLET):
            for pattern in range(TRIPLET):
                for bit in range(3):
                    if pattern >> bit & 1:
                        sums[place + pattern] += coupling[edge + bit]
            edge += 3
