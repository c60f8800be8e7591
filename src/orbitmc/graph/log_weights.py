"""Log-weights of states: of one factor, of a whole state, of components; and how far they range."""

import functools
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orbitmc._numba.jit import compiled, shared
from orbitmc._util.arrays import Bytes, Floats, Index, Indices, Numbers, lengths
from orbitmc.errors import LimitError
from orbitmc.graph.factor_graph import FactorGraph

# Log-weights of states: the only routines that read tables and clauses one state at a time.
#
# `values[variable, lane]` holds the states of a pack; `total[lane]` receives the sums.


@shared
def log_potential(graph: FactorGraph, factor: Index, values: NDArray[Any], lane: Index) -> float:
    """Log-potential of one factor in one lane."""
    first, last = graph.scope_start[factor], graph.scope_start[factor + 1]
    start = graph.table_start[graph.table_of[factor]]
    if factor < graph.first_clause:
        place = np.uint64(start)
        for edge in range(first, last):
            value = np.uint64(values[graph.scope[edge], lane])
            place += np.uint64(graph.stride[edge]) * value
        return float(graph.table[place])
    for edge in range(first, last):
        if values[graph.scope[edge], lane] == graph.satisfying[edge]:
            return float(graph.table[start + np.uint32(1)])
    return float(graph.table[start])


@compiled
def _add_log_potentials(graph: FactorGraph, factors: Indices, values: Bytes, total: Floats) -> None:
    for factor in factors:
        for lane in range(values.shape[1]):
            total[lane] += log_potential(graph, factor, values, lane)


def log_weight(graph: FactorGraph, values: Bytes) -> Floats:
    """Log-weight of each lane's state, constant included; minus infinity if impossible."""
    every = np.arange(graph.factors, dtype=np.uint32)
    return graph.constant + partial_log_weight(graph, every, values)


def partial_log_weight(graph: FactorGraph, factors: NDArray[np.uint32], values: Bytes) -> Floats:
    """What some of the factors add to the log-weight of each lane's state."""
    total = np.zeros(values.shape[1])
    _add_log_potentials(graph, factors, values, total)
    return total


@shared
def log_weight_change(
    graph: FactorGraph, factors: Indices, values: Bytes, proposed: Bytes, change: Floats
) -> None:
    """Fill `change[lane]` with how the given factors' log-potentials change.

    The states in `values` must be possible; an impossible proposal gets minus infinity, and no
    infinity is ever subtracted from another.

    >>> import orbitmc as om
    >>> graph = om.ising_grid(1, 2, 0.5).graph  # two spins; agreeing has the larger weight
    >>> values = np.array([[0], [0]], dtype=np.uint8)
    >>> proposed = np.array([[0], [1]], dtype=np.uint8)
    >>> change = np.zeros(1)
    >>> factors = np.arange(graph.factors, dtype=np.uint32)  # all of them
    >>> log_weight_change(graph, factors, values, proposed, change)
    >>> change.tolist()
    [-1.0]
    """
    for lane in range(values.shape[1]):
        change[lane] = 0.0
        for factor in factors:
            after = log_potential(graph, factor, proposed, lane)
            if after == -np.inf:
                change[lane] = -np.inf
                break
            change[lane] += after - log_potential(graph, factor, values, lane)


def factors_around(graph: FactorGraph, moved: NDArray[np.bool_]) -> NDArray[np.uint32]:
    """Factors that read a moved variable, each once."""
    touched = [graph.factors_of(variable) for variable in np.flatnonzero(moved)]
    return np.unique(np.concatenate([np.zeros(0, np.uint32), *touched]))


LANES_UNROLLED = 8  # lanes: the compiler unrolls loops over so few


def log_weights_of_parts(graph: FactorGraph, values: Bytes, part_of: NDArray[np.int64]) -> Floats:
    """What the factors of each part add up to in each lane's state: `[part, lane]`.

    `part_of` numbers the connected component of each variable.
    """
    lanes = values.shape[1]
    whole = np.zeros((len(values), -(-lanes // LANES_UNROLLED) * LANES_UNROLLED), dtype=np.uint8)
    whole[:, :lanes] = values
    result = np.zeros((int(part_of.max(initial=-1)) + 1, whole.shape[1]))
    _add_by_part(graph, part_of, whole, result)
    return result[:, :lanes]


@compiled
def _add_by_part(
    graph: FactorGraph, part_of: NDArray[np.int64], values: Bytes, result: Floats
) -> None:
    entry = np.empty(LANES_UNROLLED, dtype=np.uint32)
    for first in range(0, values.shape[1], LANES_UNROLLED):
        for factor in range(len(graph.table_of)):
            edge = np.uint64(graph.scope_start[factor])
            arity = np.uint64(graph.scope_start[factor + 1]) - edge
            if arity > 0:
                part = np.uint64(part_of[graph.scope[edge]])
                if arity <= 2 and factor < graph.first_clause:
                    _add_pair(graph, factor, arity, values, first, part, result)
                    continue
                _find_entries(graph, factor, values, first, entry)
                for lane in range(LANES_UNROLLED):
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
    start, variable = graph.table_start[graph.table_of[factor]], np.uint64(graph.scope[edge])
    stride = graph.stride[edge]
    if arity == 1:
        for lane in range(LANES_UNROLLED):
            place = start + stride * np.uint32(values[variable, first + lane])
            result[part, first + lane] += graph.table[place]
        return
    two, other = np.uint64(graph.scope[edge + np.uint64(1)]), graph.stride[edge + np.uint64(1)]
    for lane in range(LANES_UNROLLED):
        place = start + stride * np.uint32(values[variable, first + lane])
        place += other * np.uint32(values[two, first + lane])
        result[part, first + lane] += graph.table[place]


@shared
def _find_entries(
    graph: FactorGraph, factor: Index, values: Bytes, first: Index, entry: Indices
) -> None:
    """Which entry of its table a factor has in some lanes; `log_potential` finds one of them."""
    start = graph.table_start[graph.table_of[factor]]
    for lane in range(LANES_UNROLLED):
        entry[lane] = start
    for edge in range(graph.scope_start[factor], graph.scope_start[factor + 1]):
        other, stride = np.uint64(graph.scope[edge]), graph.stride[edge]
        if factor < graph.first_clause:
            for lane in range(LANES_UNROLLED):
                entry[lane] += stride * np.uint32(values[other, first + lane])
        else:
            wanted = np.uint8(graph.satisfying[edge])
            for lane in range(LANES_UNROLLED):
                holds = values[other, first + lane] == wanted
                entry[lane] = start + np.uint32(1) if holds else entry[lane]


# Sums that keep their last digits, however many terms they have, log-weights among them.

FEW_TERMS = 8  # terms whose roundings are as small as that of their sum


def exact_sum(terms: Iterable[float]) -> float:
    """Add numbers with one rounding; not a number if the sum is beyond doubles.

    >>> exact_sum([1e16, 1.0, -1e16]), exact_sum([1e308, 1e308])
    (1.0, nan)
    """
    try:
        return math.fsum(terms)
    except OverflowError:
        return math.nan


def sum_of_tables(tables: Sequence[Floats]) -> Floats:
    """Add log-tables with compensation (Neumaier 1974); minus infinity stays."""
    if len(tables) <= FEW_TERMS:
        return functools.reduce(np.add, tables)
    possible = ~np.isneginf(tables[0])
    total, lost = np.where(possible, tables[0], 0.0), np.zeros(())
    for table in tables[1:]:
        possible = possible & ~np.isneginf(table)
        term = np.where(np.isneginf(table), 0.0, table)
        together = total + term
        lost = lost + np.where(
            np.abs(total) >= np.abs(term), (total - together) + term, (term - together) + total
        )
        total = together
    return np.where(possible, total + lost, -np.inf)


def subtract_maxima(tables: Sequence[Floats]) -> tuple[list[Floats], list[float]]:
    """Log-tables with maximum 0, so that many of them lose no digits, and what was taken off."""
    highest = [float(table.max()) for table in tables]
    tops = [top if top > -np.inf else 0.0 for top in highest]
    return [table - top for table, top in zip(tables, tops, strict=True)], tops


def exact_log_weight(graph: FactorGraph, state: Numbers) -> float:
    """What all factors and the constant add up to; minus infinity if one of them is.

    >>> import numpy as np, orbitmc as om
    >>> exact_log_weight(om.ising_grid(2, 2, 0.5).graph, np.array([1, 1, 1, 1]))
    2.0
    """
    potentials = log_potentials(graph, state)
    if np.isneginf(potentials).any():
        return -np.inf
    return exact_sum([graph.constant, *potentials.tolist()])


def log_potentials(graph: FactorGraph, state: Numbers) -> Floats:
    """The entry of each factor's table in a state."""
    factor_of = graph.factor_of_edge
    value = np.asarray(state, dtype=np.int64)[graph.scope]
    entry = graph.table_start[graph.table_of].astype(np.int64)
    np.add.at(entry, factor_of, graph.stride.astype(np.int64) * value)
    satisfied = np.bincount(factor_of[value == graph.satisfying], minlength=graph.factors) > 0
    entry[graph.first_clause :] += satisfied[graph.first_clause :]
    potentials: Floats = graph.table[entry]
    return potentials


# How far the log-potentials of a table lie apart, and when that is too far to add them up.
#
# Sums of log-potentials are doubles: beside 1e16 a weight of 1 disappears.

WIDEST = 1e6  # the largest range whose sums are right to 1e-10
COLDEST = 10.0  # by how much a copy of a model may be cooled, and so its range increased


def extremes(graph: FactorGraph) -> tuple[Floats, Floats]:
    """The smallest and largest finite entry of each table; both 0 if there is none."""
    sizes = lengths(graph.table_start)
    low, high = np.zeros(len(sizes)), np.zeros(len(sizes))
    some = np.flatnonzero(sizes)
    if len(some):
        first = graph.table_start[some].astype(np.int64)
        finite = np.isfinite(graph.table)
        low[some] = np.minimum.reduceat(np.where(finite, graph.table, np.inf), first)
        high[some] = np.maximum.reduceat(graph.table, first)
    empty = ~np.isfinite(high) | (low > high)
    low[empty] = high[empty] = 0.0
    return low, high


def widths(low: Floats, high: Floats) -> Floats:
    """How far apart they are; infinite beyond doubles."""
    with np.errstate(over="ignore"):
        return high - low


def large_tables(graph: FactorGraph) -> NDArray[np.bool_]:
    """Which tables have entries far apart, or far from 0: others are lost in sums with them."""
    if _are_near(graph.table):
        return np.zeros(len(graph.table_start) - 1, np.bool_)
    return _are_large(*extremes(graph))


def _are_near(entries: Floats) -> bool:
    """Whether all entries are near each other and near 0, whichever tables they belong to."""
    finite = entries[np.isfinite(entries)]
    return float(finite.max(initial=0.0)) - float(finite.min(initial=0.0)) <= WIDEST


def large_rows(tables: Floats) -> NDArray[np.bool_]:
    """Which of several tables, a row each, are large in the same sense."""
    finite = np.isfinite(tables)
    low = np.where(finite, tables, np.inf).min(axis=1, initial=np.inf)
    high = np.where(finite, tables, -np.inf).max(axis=1, initial=-np.inf)
    some = finite.any(axis=1)
    return some & _are_large(np.where(some, low, 0.0), np.where(some, high, 0.0))


def _are_large(low: Floats, high: Floats) -> NDArray[np.bool_]:
    return (widths(low, high) > WIDEST) | (np.abs(high) > WIDEST)


def large_factors(graph: FactorGraph) -> NDArray[np.int64]:
    """Factors with large tables."""
    return np.flatnonzero(large_tables(graph)[graph.table_of])


def require_narrow(graph: FactorGraph) -> None:
    """Refuse a graph whose log-potentials cannot be added up; no `hardened` model is one."""
    if _are_near(graph.table):
        return
    low, high = extremes(graph)
    wrong = np.flatnonzero(_are_large(low / COLDEST, high / COLDEST)[graph.table_of])
    if len(wrong):
        table = graph.table_of[wrong[0]]
        raise LimitError(
            f"the factor over the variables {graph.scope_of(wrong[0]).tolist()} has log-weights "
            f"from {low[table]:.3g} to {high[table]:.3g}: beside such numbers others are lost"
        )
