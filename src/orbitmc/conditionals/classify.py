"""Choose how each variable's conditional is stored: the fastest way that is exact enough."""

import numpy as np

from orbitmc._numba.jit import shared
from orbitmc._numba.tiers import of_all, of_first, tier
from orbitmc._util.arrays import Bytes, Floats, Index, Indices, Numbers, starts
from orbitmc.graph.factor_graph import FactorGraph

# Log-odds of binary variables in pairwise factors: biases, and couplings to neighbours.

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
    place, other = (0, 1) if graph.scope[first] == variable else (1, 0)
    own_stride, other_stride = graph.stride[first + place], graph.stride[first + other]
    bias = graph.table[start + own_stride] - graph.table[start]
    high = start + other_stride
    return bias, graph.table[high + own_stride] - graph.table[high] - bias


@shared
def _clause_coupling(graph: FactorGraph, variable: Index, factor: Index) -> tuple[float, float]:
    first, last = graph.scope_start[factor], graph.scope_start[factor + 1]
    start = graph.table_start[graph.table_of[factor]]
    gain = graph.table[start + 1] - graph.table[start]
    edge = first if graph.scope[first] == variable else first + 1
    signed = gain if graph.satisfying[edge] == 1 else -gain
    if last - first == 1:
        return signed, 0.0
    other = first + first + 1 - edge
    if graph.satisfying[other] == 1:
        return signed, -signed
    return 0.0, signed


@tier(of_first)
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
            unary, pair = pair_coupling(graph, variable, factor)
            bias[variable] += unary
            for place in range(graph.scope_start[factor], graph.scope_start[factor + 1]):
                if graph.scope[place] != variable:
                    coupling[slot[graph.scope[place]]] += pair


@tier(of_all)
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


COUNT, BITS, TABLE, FIELD, FACTORS = range(5)

MOST_COUNT_NEIGHBOURS = 7  # neighbours of a COUNT variable: eight limits fill one vector register
FEW_BITS = 3  # neighbours of a BITS variable whose limits fill one vector register, too
MOST_BITS = 8  # neighbours of a BITS variable: the pattern fits a byte
MOST_LIMITS = 4096  # limits of a TABLE variable: 16 KiB, half of a first-level cache
MOST_CURVE_VALUES = 3  # of a pairwise variable and its neighbours: a parabola goes through them
MOST_NEIGHBOURS = 64  # beyond it, only pairwise factors keep a list of neighbours
SEXTETS_TOGETHER = 8  # are summed in float32 before they join a float64 sum
FIELD_ERROR = 4e-6  # a log-odds off by this moves a probability by at most 1e-6


def classify(
    graph: FactorGraph, most_limits: float = np.inf
) -> tuple[Bytes, Bytes, Bytes, Indices, Indices, Indices, int]:
    """Give every variable its path and neighbours, and where its limits begin; and how many.

    If all tables together had more than `most_limits`, the largest ones are not made.
    Also says which variables are affine: their log-odds are a float32 sum over neighbours; and
    which are pairwise: affine, or with few values in finite tables with at most one other.
    """
    neighbour_start = starts(_count_neighbours(graph))
    neighbour = np.zeros(int(neighbour_start[-1]), dtype=np.uint32)
    path, affine, pairwise = np.zeros((3, graph.variables), dtype=np.uint8)
    room = np.zeros(graph.variables, dtype=np.int64)
    _classify(graph, neighbour_start, neighbour, path, affine, pairwise, room)
    _keep_small_tables(path, room, most_limits)
    start = starts(room)
    return path, affine, pairwise, neighbour_start, neighbour, start[:-1], int(start[-1])


def _keep_small_tables(path: Bytes, room: Numbers, most_limits: float) -> None:
    """Let the variables with the largest tables add factors up, until no more limits are left."""
    if room.sum() <= most_limits:
        return
    tables = np.flatnonzero(path == TABLE)
    by_size = tables[np.argsort(room[tables], kind="stable")]
    others = room.sum() - room[tables].sum()
    dropped = by_size[others + np.cumsum(room[by_size]) > most_limits]
    path[dropped], room[dropped] = FACTORS, 0


@tier(of_first)
def _count_neighbours(graph: FactorGraph) -> Numbers:
    counts = np.zeros(len(graph.cardinality), dtype=np.int64)
    seen = np.full(len(graph.cardinality), -1, dtype=np.int64)
    list_ = np.zeros(len(graph.cardinality), dtype=np.uint32)
    for variable in range(len(graph.cardinality)):
        counts[variable] = _neighbours(graph, variable, seen, list_)
    return counts


@shared
def _neighbours(graph: FactorGraph, variable: Index, seen: Numbers, neighbours: Indices) -> Index:
    """List the variables that share a factor with this one; none if they are too many to use."""
    reached, widest = np.int64(0), np.int64(0)
    for edge in range(graph.incident_start[variable], graph.incident_start[variable + 1]):
        factor = graph.incident[edge]
        arity = np.int64(graph.scope_start[factor + 1]) - np.int64(graph.scope_start[factor])
        reached += arity - 1
        widest = max(widest, arity)
    if widest > 2 and reached > MOST_NEIGHBOURS:
        return 0
    count = 0
    for edge in range(graph.incident_start[variable], graph.incident_start[variable + 1]):
        factor = graph.incident[edge]
        for place in range(graph.scope_start[factor], graph.scope_start[factor + 1]):
            other = graph.scope[place]
            if other != variable and seen[other] != variable:
                seen[other] = variable
                neighbours[count] = other
                count += 1
    return count


@tier(of_first)
def _classify(
    graph: FactorGraph,
    neighbour_start: Indices,
    neighbour: Indices,
    path: Bytes,
    affine: Bytes,
    pairwise: Bytes,
    room: Numbers,
) -> None:
    seen = np.full(len(graph.cardinality), -1, dtype=np.int64)
    neighbours = np.zeros(len(graph.cardinality), dtype=np.uint32)
    for variable in range(len(graph.cardinality)):
        count = _neighbours(graph, variable, seen, neighbours)
        first = np.int64(neighbour_start[variable])
        neighbour[first : first + count] = neighbours[:count]
        affine[variable] = _is_affine(graph, variable, neighbours[:count])
        pairwise[variable] = affine[variable] or _is_pairwise(graph, variable)
        path[variable], room[variable] = _path(
            graph, variable, neighbours[:count], affine[variable]
        )


@shared
def _path(
    graph: FactorGraph, variable: Index, neighbours: Indices, affine: Index
) -> tuple[int, Index]:
    """The fastest path that is exact for this variable, and how many limits it needs."""
    count = len(neighbours)
    size = np.int64(graph.cardinality[variable])
    configurations = 1.0
    binary = size == 2
    for other in neighbours:
        configurations *= graph.cardinality[other]
        binary = binary and graph.cardinality[other] == 2
    alone = count == 0 and _has_only_unary_factors(graph, variable)
    if count == 0 and not alone:
        return FACTORS, 0
    if affine and count <= MOST_COUNT_NEIGHBOURS and _is_balanced(graph, variable, neighbours):
        return COUNT, MOST_COUNT_NEIGHBOURS + 1
    if binary and count <= MOST_BITS:
        return BITS, max(MOST_COUNT_NEIGHBOURS + 1, 1 << count)
    if affine:
        return FIELD, 0
    if configurations * (size - 1) <= MOST_LIMITS and size > 1:
        return TABLE, np.int64(configurations) * (size - 1)
    return FACTORS, 0


@shared
def _has_only_unary_factors(graph: FactorGraph, variable: Index) -> bool:
    for edge in range(graph.incident_start[variable], graph.incident_start[variable + 1]):
        factor = graph.incident[edge]
        if graph.scope_start[factor + 1] - graph.scope_start[factor] != 1:
            return False
    return True


@shared
def _is_affine(graph: FactorGraph, variable: Index, neighbours: Indices) -> bool:
    """Whether the log-odds are finite, a sum over neighbours, and exact enough in float32."""
    if graph.cardinality[variable] != 2:
        return False
    for other in neighbours:
        if graph.cardinality[other] != 2:
            return False
    for edge in range(graph.incident_start[variable], graph.incident_start[variable + 1]):
        factor = graph.incident[edge]
        if not _is_finite_pair(graph, factor):
            return False
    return _field_error(graph, variable) <= FIELD_ERROR


@shared
def _is_finite_pair(graph: FactorGraph, factor: Index) -> bool:
    """Whether a factor has at most two variables, and no zeros."""
    if graph.scope_start[factor + 1] - graph.scope_start[factor] > 2:
        return False
    number = graph.table_of[factor]
    for place in range(graph.table_start[number], graph.table_start[number + 1]):
        if graph.table[place] == -np.inf:
            return False
    return True


@shared
def _is_pairwise(graph: FactorGraph, variable: Index) -> bool:
    """Whether all factors are finite tables of one or two variables with few values."""
    for edge in range(graph.incident_start[variable], graph.incident_start[variable + 1]):
        factor = graph.incident[edge]
        if factor >= graph.first_clause or not _is_finite_pair(graph, factor):
            return False
        for place in range(graph.scope_start[factor], graph.scope_start[factor + 1]):
            if graph.cardinality[graph.scope[place]] > MOST_CURVE_VALUES:
                return False
    return _curve_error(graph, variable) <= FIELD_ERROR


@shared
def _curve_error(graph: FactorGraph, variable: Index) -> float:
    """Expected rounding error of a sum of float32 parabolas."""
    largest, count = 0.0, 0.0
    for edge in range(graph.incident_start[variable], graph.incident_start[variable + 1]):
        number = graph.table_of[graph.incident[edge]]
        low, high = np.inf, -np.inf
        for place in range(graph.table_start[number], graph.table_start[number + 1]):
            low, high = min(low, graph.table[place]), max(high, graph.table[place])
        largest += high - low
        count += 1.0
    return float(0.5 * largest * np.sqrt(count) * 2.0**-24)


@shared
def _is_balanced(graph: FactorGraph, variable: Index, neighbours: Indices) -> bool:
    """Whether all couplings have one absolute value, so that counting signs is enough."""
    size = -1.0
    for other in neighbours:
        total = 0.0
        for edge in range(graph.incident_start[variable], graph.incident_start[variable + 1]):
            factor = graph.incident[edge]
            if _reads(graph, factor, other):
                total += pair_coupling(graph, variable, factor)[1]
        if size < 0.0:
            size = abs(total)
        elif abs(abs(total) - size) > 1e-13 * (1.0 + size):
            return False
    return True


@shared
def _reads(graph: FactorGraph, factor: Index, variable: Index) -> bool:
    for place in range(graph.scope_start[factor], graph.scope_start[factor + 1]):
        if graph.scope[place] == variable:
            return True
    return False


@shared
def _field_error(graph: FactorGraph, variable: Index) -> float:
    """Expected rounding error of the sum: float32 for up to 48 neighbours, then float64."""
    field, couplings, count = 0.0, 0.0, 3.0
    for edge in range(graph.incident_start[variable], graph.incident_start[variable + 1]):
        bias, coupling = pair_coupling(graph, variable, graph.incident[edge])
        field += bias
        couplings += abs(coupling)
        count += 1.0
    together = min(count, 6.0 * SEXTETS_TOGETHER)
    largest = abs(field) + couplings * together / count
    return float(largest * np.sqrt(together / 3.0) * 2.0**-24 / 3.0)
