"""Choose how each variable's conditional is stored, and fill limits and couplings."""

import numpy as np

from orbitmc.arrays import Bytes, Indices, starts
from orbitmc.compiled import compiled, shared
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.potentials import log_potential

COUNT, BITS, TABLE, FIELD, FACTORS = range(5)

MOST_COUNTED = 7  # neighbours of a COUNT variable: eight limits fill one vector register
MOST_BITS = 8  # neighbours of a BITS variable: the pattern fits a byte
MOST_LIMITS = 4096  # limits of a TABLE variable: 16 KiB, half of a first-level cache
FEW_VALUES = 3  # of a pairwise variable and its neighbours: a parabola goes through them
MOST_NEIGHBOURS = 64  # beyond it, only pairwise factors keep a list of neighbours
TRIPLET = 8  # patterns of three neighbours
SEXTETS_TOGETHER = 8  # are summed in float32 before they join a float64 sum
FIELD_ERROR = 4e-6  # a log-odds off by this moves a probability by at most 1e-6


def classify(graph: FactorGraph) -> tuple[Bytes, Bytes, Bytes, Indices, Indices, Indices, int]:
    """Give every variable its path and neighbours, and where its limits begin; and how many.

    Also says which variables are affine: their log-odds are a float32 sum over neighbours; and
    which are pairwise: affine, or with few values in finite tables with at most one other.
    """
    neighbour_start = starts(_count_neighbours(graph))
    neighbour = np.zeros(int(neighbour_start[-1]), dtype=np.uint32)
    path, affine, pairwise = np.zeros((3, graph.variables), dtype=np.uint8)
    room = np.zeros(graph.variables, dtype=np.int64)
    _classify(graph, neighbour_start, neighbour, path, affine, pairwise, room)
    start = starts(room)
    return path, affine, pairwise, neighbour_start, neighbour, start[:-1], int(start[-1])


@compiled
def _count_neighbours(graph):
    counts = np.zeros(len(graph.cardinality), dtype=np.int64)
    seen = np.full(len(graph.cardinality), -1, dtype=np.int64)
    list_ = np.zeros(len(graph.cardinality), dtype=np.uint32)
    for variable in range(len(graph.cardinality)):
        counts[variable] = _neighbours(graph, variable, seen, list_)
    return counts


@shared
def _neighbours(graph, variable, seen, found):
    """List the variables that share a factor with this one; none if they are too many to use."""
    reached, widest = 0, 0
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
                found[count] = other
                count += 1
    return count


@compiled
def _classify(graph, neighbour_start, neighbour, path, affine, pairwise, room):
    seen = np.full(len(graph.cardinality), -1, dtype=np.int64)
    found = np.zeros(len(graph.cardinality), dtype=np.uint32)
    for variable in range(len(graph.cardinality)):
        count = _neighbours(graph, variable, seen, found)
        first = np.int64(neighbour_start[variable])
        neighbour[first : first + count] = found[:count]
        affine[variable] = _is_affine(graph, variable, found[:count])
        pairwise[variable] = affine[variable] or _is_pairwise(graph, variable)
        path[variable], room[variable] = _path(graph, variable, found[:count], affine[variable])


@shared
def _path(graph, variable, neighbours, affine):
    """The fastest path that is exact for this variable, and how many limits it needs."""
    count = len(neighbours)
    size = np.int64(graph.cardinality[variable])
    configurations = 1.0
    binary = size == 2
    for other in neighbours:
        configurations *= graph.cardinality[other]
        binary = binary and graph.cardinality[other] == 2
    alone = count == 0 and _lonely(graph, variable)
    if count == 0 and not alone:
        return FACTORS, 0
    if affine and count <= MOST_COUNTED and _is_balanced(graph, variable, neighbours):
        return COUNT, MOST_COUNTED + 1
    if binary and count <= MOST_BITS:
        return BITS, 1 << count
    if affine:
        return FIELD, 0
    if configurations * (size - 1) <= MOST_LIMITS and size > 1:
        return TABLE, np.int64(configurations) * (size - 1)
    return FACTORS, 0


@shared
def _lonely(graph, variable):
    for edge in range(graph.incident_start[variable], graph.incident_start[variable + 1]):
        factor = graph.incident[edge]
        if graph.scope_start[factor + 1] - graph.scope_start[factor] != 1:
            return False
    return True


@shared
def _is_affine(graph, variable, neighbours):
    """Whether the log-odds are finite, a sum over neighbours, and exact enough in float32."""
    if graph.cardinality[variable] != 2:
        return False
    for other in neighbours:
        if graph.cardinality[other] != 2:
            return False
    for edge in range(graph.incident_start[variable], graph.incident_start[variable + 1]):
        factor = graph.incident[edge]
        if graph.scope_start[factor + 1] - graph.scope_start[factor] > 2:
            return False
        number = graph.table_of[factor]
        for place in range(graph.table_start[number], graph.table_start[number + 1]):
            if graph.table[place] == -np.inf:
                return False
    return _field_error(graph, variable) <= FIELD_ERROR


@shared
def _is_pairwise(graph, variable):
    """Whether all factors are finite tables of one or two variables with few values."""
    for edge in range(graph.incident_start[variable], graph.incident_start[variable + 1]):
        factor = graph.incident[edge]
        first, last = graph.scope_start[factor], graph.scope_start[factor + 1]
        if factor >= graph.first_clause or last - first > 2:
            return False
        for place in range(first, last):
            if graph.cardinality[graph.scope[place]] > FEW_VALUES:
                return False
        number = graph.table_of[factor]
        for place in range(graph.table_start[number], graph.table_start[number + 1]):
            if graph.table[place] == -np.inf:
                return False
    return _curve_error(graph, variable) <= FIELD_ERROR


@shared
def _curve_error(graph, variable):
    """Expected rounding error of a sum of float32 parabolas."""
    largest, count = 0.0, 0.0
    for edge in range(graph.incident_start[variable], graph.incident_start[variable + 1]):
        number = graph.table_of[graph.incident[edge]]
        low, high = np.inf, -np.inf
        for place in range(graph.table_start[number], graph.table_start[number + 1]):
            low, high = min(low, graph.table[place]), max(high, graph.table[place])
        largest += high - low
        count += 1.0
    return 0.5 * largest * np.sqrt(count) * 2.0**-24


@shared
def _pair_coupling(graph, variable, factor):
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
def _clause_coupling(graph, variable, factor):
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


@shared
def _is_balanced(graph, variable, neighbours):
    """Whether all couplings have one absolute value, so that counting signs is enough."""
    size = -1.0
    for other in neighbours:
        total = 0.0
        for edge in range(graph.incident_start[variable], graph.incident_start[variable + 1]):
            factor = graph.incident[edge]
            if _reads(graph, factor, other):
                total += _pair_coupling(graph, variable, factor)[1]
        if size < 0.0:
            size = abs(total)
        elif abs(abs(total) - size) > 1e-13 * (1.0 + size):
            return False
    return True


@shared
def _reads(graph, factor, variable):
    for place in range(graph.scope_start[factor], graph.scope_start[factor + 1]):
        if graph.scope[place] == variable:
            return True
    return False


@shared
def _field_error(graph, variable):
    """Expected rounding error of the sum: float32 for up to 48 neighbours, then float64."""
    field, couplings, count = 0.0, 0.0, 3.0
    for edge in range(graph.incident_start[variable], graph.incident_start[variable + 1]):
        bias, coupling = _pair_coupling(graph, variable, graph.incident[edge])
        field += bias
        couplings += abs(coupling)
        count += 1.0
    together = min(count, 6.0 * SEXTETS_TOGETHER)
    largest = abs(field) + couplings * together / count
    return largest * np.sqrt(together / 3.0) * 2.0**-24 / 3.0


@compiled
def fill_fields(graph, affine, neighbour_start, neighbour, coupling, bias):
    """Couplings and biases of affine variables."""
    slot = np.zeros(len(graph.cardinality), dtype=np.int64)
    for variable in range(len(graph.cardinality)):
        if not affine[variable]:
            continue
        for edge in range(neighbour_start[variable], neighbour_start[variable + 1]):
            slot[neighbour[edge]] = edge
        for edge in range(graph.incident_start[variable], graph.incident_start[variable + 1]):
            factor = graph.incident[edge]
            own, pair = _pair_coupling(graph, variable, factor)
            bias[variable] += own
            for place in range(graph.scope_start[factor], graph.scope_start[factor + 1]):
                if graph.scope[place] != variable:
                    coupling[slot[graph.scope[place]]] += pair


@compiled
def fill_limits(
    graph, path, neighbour_start, neighbour, coupling, bias, role, start, limit, most_values
):
    """Probabilities of COUNT, BITS and TABLE variables, and the roles of their neighbours."""
    values = np.zeros((len(graph.cardinality), 1), dtype=np.uint32)
    log_weights = np.zeros(most_values)
    for variable in range(len(graph.cardinality)):
        first = np.int64(neighbour_start[variable])
        last = np.int64(neighbour_start[variable + 1])
        if path[variable] == COUNT:
            _fill_counts(first, last, coupling, bias[variable], role, start[variable], limit)
        elif path[variable] == BITS or path[variable] == TABLE:
            others = neighbour[first:last]
            size = np.int64(graph.cardinality[variable])
            stride = np.int64(1) if path[variable] == BITS else size - 1
            for edge in range(last - 1, first - 1, -1):
                role[edge] = stride
                stride *= np.int64(graph.cardinality[neighbour[edge]])
            _fill_table(graph, variable, others, values, log_weights, path, start, limit)


@shared
def _fill_counts(first, last, coupling, bias, role, start, limit):
    low, step = bias, 0.0
    for edge in range(first, last):
        role[edge] = coupling[edge] < 0.0
        low += min(coupling[edge], 0.0)
        step = abs(coupling[edge])
    for count in range(MOST_COUNTED + 1):
        limit[start + count] = 1.0 / (1.0 + np.exp(-(low + step * min(count, last - first))))


@compiled
def fill_ladder(path, neighbour_start, coupling, bias, ladder):
    """Log-odds of COUNT variables when no neighbour agrees, and what each that agrees adds."""
    for variable in range(len(path)):
        if path[variable] == COUNT:
            ladder[variable, 0] = bias[variable]
            for edge in range(neighbour_start[variable], neighbour_start[variable + 1]):
                ladder[variable, 0] += min(coupling[edge], 0.0)
                ladder[variable, 1] = abs(coupling[edge])


@shared
def _fill_table(graph, variable, others, values, log_weights, path, start, limit):
    """Walk through the joint values of the neighbours, last one fastest."""
    size = np.int64(graph.cardinality[variable])
    place = np.int64(start[variable])
    for other in others:
        values[other, 0] = 0
    while True:
        _weigh(graph, variable, values, log_weights, size)
        if path[variable] == BITS:
            limit[place] = log_weights[1]
            place += 1
        else:
            total = 0.0
            for value in range(size - 1):
                total += log_weights[value]
                limit[place] = min(total, 1.0) if log_weights[value + 1 : size].any() else 1.0
                place += 1
        if not _advance(graph, others, values):
            return


@shared
def _weigh(graph, variable, values, log_weights, size):
    """Replace `log_weights` by the probabilities of the values; all zero if none is possible."""
    best = -np.inf
    for value in range(size):
        values[variable, 0] = value
        log_weights[value] = 0.0
        for edge in range(graph.incident_start[variable], graph.incident_start[variable + 1]):
            log_weights[value] += log_potential(graph, graph.incident[edge], values, 0)
        best = max(best, log_weights[value])
    total = 0.0
    for value in range(size):
        log_weights[value] = np.exp(log_weights[value] - best) if best > -np.inf else 0.0
        total += log_weights[value]
    for value in range(size):
        log_weights[value] = log_weights[value] / total if total > 0.0 else 0.0


@shared
def _advance(graph, others, values):
    for place in range(len(others) - 1, -1, -1):
        other = others[place]
        values[other, 0] += 1
        if values[other, 0] < graph.cardinality[other]:
            return True
        values[other, 0] = 0
    return False


@compiled
def fill_sextets(neighbour_start, coupling, start, sums):
    """Sums of the couplings of three neighbours for every pattern of their bits, six at a time."""
    for variable in range(len(start) - 1):
        edge = np.int64(neighbour_start[variable])
        for place in range(start[variable], start[variable + 1], TRIPLET):
            for pattern in range(TRIPLET):
                for bit in range(3):
                    if pattern >> bit & 1:
                        sums[place + pattern] += coupling[edge + bit]
            edge += 3
