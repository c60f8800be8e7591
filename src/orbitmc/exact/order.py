"""Search for an elimination order whose tables are small.

A plain greedy order in Python settles easy graphs. For the rest, compiled greedy orders compete:
several rules of thumb, ties and near-ties broken at random, and sweeps that eliminate the graph
from one end to the other, which no local rule finds on grids and Chimera graphs.
"""

import heapq
import itertools
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc.arrays import Floats
from orbitmc.exact.greedy import (
    FILL,
    LARGEST_COUNTS,
    WEIGHT,
    WEIGHTED_FILL,
    Bits,
    bit_rows,
    greedy_order,
)

Neighbours = list[set[int]]
Numbers = NDArray[np.int64]

EASY = 2.0**13
"""Table entries that are eliminated in no time: no search is worth it."""

ENTRIES_PER_SECOND = 2e8
"""Elimination handles about a quarter of that; a search longer than the work is a waste."""

SHORT = 0.05
"""Seconds of search that nobody notices."""

MOST_CORE = 8192
"""Largest rest that is searched with rows of bits (8 MiB of them)."""

MOST_LOG_ENTRIES = 60
"""No machine holds such tables; a greedy order that gets there is given up."""

LANDMARKS = 5  # variables whose distances make sweeps

SLACKS = (0.0, 0.1, 0.3)  # how far from the best choice a greedy order may stray


class _Found(NamedTuple):
    order: list[int]
    cost: float


def find_order(
    scopes: Sequence[tuple[int, ...]], sizes: Sequence[int], *, seconds: float, seed: int = 0
) -> list[int]:
    """Find a cheap order; the search ends early when elimination itself takes less time.

    The order is empty when there are variables but every order met would need more than 2^60
    entries.
    """
    return _find(scopes, sizes, seconds, seed).order


def cheapest_cost(
    scopes: Sequence[tuple[int, ...]], sizes: Sequence[int], *, seconds: float
) -> float:
    """Give the cost of the cheapest order found, in table entries."""
    return _find(scopes, sizes, seconds, seed=0).cost


def _find(
    scopes: Sequence[tuple[int, ...]], sizes: Sequence[int], seconds: float, seed: int
) -> _Found:
    log_sizes = np.log2(np.asarray(sizes, dtype=np.float64))
    neighbours = neighbours_of(len(sizes), scopes)
    first = _sparse_greedy([set(near) for near in neighbours], log_sizes)
    if first.cost <= EASY:
        return first
    shaved = _shave(neighbours, log_sizes)
    core = np.setdiff1d(np.arange(len(sizes)), shaved)
    if not 0 < len(core) <= MOST_CORE:
        return first
    best = _search(_edges(neighbours, core), log_sizes[core], seconds, seed)
    if best.cost >= first.cost:
        return first
    return _Found(shaved + core[best.order].tolist(), best.cost)


def neighbours_of(variables: int, scopes: Sequence[tuple[int, ...]]) -> Neighbours:
    """Which variables share a factor with each variable."""
    neighbours: Neighbours = [set() for _ in range(variables)]
    for scope in scopes:
        for variable in scope:
            neighbours[variable].update(scope)
    for variable, near in enumerate(neighbours):
        near.discard(variable)
    return neighbours


def eliminate(neighbours: Neighbours, variable: int) -> set[int]:
    """Join the neighbours of a variable and remove it; gives the neighbours."""
    near = neighbours[variable]
    for member in near:
        neighbours[member] |= near
        neighbours[member] -= {member, variable}
    return near


def _log_table(log_sizes: Floats, variable: int, near: set[int]) -> float:
    return float(log_sizes[variable] + sum(log_sizes[member] for member in near))


def _sparse_greedy(neighbours: Neighbours, log_sizes: Floats) -> _Found:
    """Take the smallest table next; memory stays linear, for graphs of any size."""
    prices = [_log_table(log_sizes, v, near) for v, near in enumerate(neighbours)]
    heap = [(price, variable) for variable, price in enumerate(prices)]
    heapq.heapify(heap)
    order: list[int] = []
    total, largest = 0.0, 0.0
    while heap:
        price, variable = heapq.heappop(heap)
        if price != prices[variable]:
            continue
        if price > MOST_LOG_ENTRIES:
            return _Found([], np.inf)
        prices[variable] = -1.0
        order.append(variable)
        total += 2.0**price
        largest = max(largest, 2.0**price)
        for member in eliminate(neighbours, variable):
            prices[member] = _log_table(log_sizes, member, neighbours[member])
            heapq.heappush(heap, (prices[member], member))
    return _Found(order, total + LARGEST_COUNTS * largest)


def _shave(neighbours: Neighbours, log_sizes: Floats) -> list[int]:
    """Eliminate variables whose neighbours are joined already: always right to do first.

    With two neighbours the same holds as soon as the variable is no smaller than one of them.
    """
    waiting = set(range(len(neighbours)))
    shaved = []
    while waiting:
        variable = waiting.pop()
        near = neighbours[variable]
        if _is_joined(neighbours, near) or _is_series(log_sizes, variable, near):
            shaved.append(variable)
            waiting |= eliminate(neighbours, variable)
    return shaved


def _is_joined(neighbours: Neighbours, near: set[int]) -> bool:
    return all(len(near - neighbours[member]) == 1 for member in near)


def _is_series(log_sizes: Floats, variable: int, near: set[int]) -> bool:
    return len(near) == 2 and log_sizes[variable] >= min(log_sizes[member] for member in near)


def _edges(neighbours: Neighbours, members: Numbers) -> Numbers:
    number = {int(variable): index for index, variable in enumerate(members)}
    edges = [(number[int(v)], number[w]) for v in members for w in neighbours[v] if v < w]
    return np.array(edges, dtype=np.int64).reshape(-1, 2)


def _search(edges: Numbers, log_sizes: Floats, seconds: float, seed: int) -> _Found:
    rows = bit_rows(len(log_sizes), edges)
    best = _Found([], np.inf)
    for number, (rule, slack, stages) in enumerate(_attempts(rows, edges)):
        order, cost = greedy_order(rows, log_sizes, stages, rule, slack, best.cost, seed + number)
        if cost < best.cost:
            best = _Found(order.tolist(), float(cost))
        if number == 0:
            start = time.monotonic()  # the first attempt may include compilation
        elif time.monotonic() - start > min(seconds, SHORT + best.cost / ENTRIES_PER_SECOND):
            break
    return best


def _attempts(rows: Bits, edges: Numbers) -> Iterator[tuple[int, float, Numbers]]:
    """Rules, slacks and stages to try: each rule once, then sweeps, then chance without end."""
    together = np.zeros(len(rows), dtype=np.int64)
    rules = (FILL, WEIGHTED_FILL, WEIGHT)
    yield from ((rule, 0.0, together) for rule in rules)
    sweeps = list(_sweeps(len(rows), edges))
    yield from ((rule, 0.0, stages) for stages in sweeps for rule in (FILL, WEIGHT))
    for slack in itertools.cycle(SLACKS):
        yield from ((rule, slack, together) for rule in rules)


def _sweeps(variables: int, edges: Numbers) -> Iterator[Numbers]:
    """Stages that cross the graph: as numbered, and by distances from far-apart variables.

    On a grid, the sum and the difference of the distances from two corners of one side are rows
    and columns.
    """
    natural = np.arange(variables)
    for width in (1, 2, 4, 8, 16, 32):
        yield natural // width
    distances = _distances(variables, edges)
    keys = [*distances]
    for first, second in itertools.combinations(distances, 2):
        keys += [first + second, first - second]
    for key in keys:
        yield key
        yield -key


def _distances(variables: int, edges: Numbers) -> list[Numbers]:
    """Steps from a few variables, each as far as possible from those before."""
    near: Neighbours = neighbours_of(variables, [tuple(edge) for edge in edges.tolist()])
    found = [_steps_from(near, 0)]
    found = [_steps_from(near, int(found[0].argmax()))]
    while len(found) < LANDMARKS:
        nearest = np.minimum.reduce(found)
        found.append(_steps_from(near, int(nearest.argmax())))
    return found


def _steps_from(neighbours: Neighbours, start: int) -> Numbers:
    steps = np.full(len(neighbours), len(neighbours), dtype=np.int64)
    steps[start] = 0
    front = [start]
    while front:
        reached = {w for v in front for w in neighbours[v] if steps[w] == len(neighbours)}
        for variable in reached:
            steps[variable] = steps[front[0]] + 1
        front = list(reached)
    return steps
