"""Find an elimination order whose tables are small.

A plain greedy order in Python settles easy graphs. For the rest, variables that are rightly
eliminated first are shaved off, and a compiled search orders what remains.
"""

import heapq
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from orbitmc.exact.orders.greedy import LARGEST_COUNTS
from orbitmc.exact.orders.neighbours import Neighbours, eliminate, neighbours_of
from orbitmc.exact.orders.search import search_order
from orbitmc.machine.arrays import Floats

EASY = 2.0**13
"""Table entries that are eliminated in no time: no search is worth it."""

MOST_CORE = 8192
"""Largest rest that is searched with rows of bits (8 MiB of them)."""

MOST_LOG_ENTRIES = 60
"""No machine holds such tables; a greedy order that gets there is given up."""


class Order(NamedTuple):
    """Variables in the order they are eliminated, and what that costs (see `LARGEST_COUNTS`).

    It is empty, and the cost infinite, when every order met had tables beyond any machine.
    """

    variables: list[int]
    cost: float


def find_order(
    scopes: Sequence[tuple[int, ...]], sizes: Sequence[int], *, seconds: float, seed: int = 0
) -> Order:
    """Find a cheap order; the search ends early when elimination itself takes less time."""
    log_sizes = np.log2(np.asarray(sizes, dtype=np.float64))
    neighbours = neighbours_of(len(sizes), scopes)
    first = _sparse_greedy([set(near) for near in neighbours], log_sizes)
    if first.cost <= EASY:
        return first
    shaved = _shave(neighbours, log_sizes)
    core = np.setdiff1d(np.arange(len(sizes)), shaved)
    if not 0 < len(core) <= MOST_CORE:
        return first
    number = {variable: index for index, variable in enumerate(core.tolist())}
    pairs = [(number[v], number[w]) for v in number for w in neighbours[v] if v < w]
    edges = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    best, cost = search_order(edges, log_sizes[core], seconds=seconds, seed=seed)
    return Order(shaved + core[best].tolist(), cost) if cost < first.cost else first


def _sparse_greedy(neighbours: Neighbours, log_sizes: Floats) -> Order:
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
            return Order([], np.inf)
        prices[variable] = -1.0
        order.append(variable)
        total += 2.0**price
        largest = max(largest, 2.0**price)
        for member in eliminate(neighbours, variable):
            prices[member] = _log_table(log_sizes, member, neighbours[member])
            heapq.heappush(heap, (prices[member], member))
    return Order(order, total + LARGEST_COUNTS * largest)


def _log_table(log_sizes: Floats, variable: int, near: set[int]) -> float:
    return float(log_sizes[variable] + sum(log_sizes[member] for member in near))


def _shave(neighbours: Neighbours, log_sizes: Floats) -> list[int]:
    """Eliminate variables whose neighbours are joined already: always right to do first.

    With two neighbours the same holds as soon as the variable is no smaller than one of them.
    """
    waiting = set(range(len(neighbours)))
    shaved = []
    while waiting:
        variable = waiting.pop()
        near = neighbours[variable]
        joined = all(len(near - neighbours[member]) == 1 for member in near)
        smallest = min((log_sizes[member] for member in near), default=0.0)
        if joined or (len(near) == 2 and log_sizes[variable] >= smallest):
            shaved.append(variable)
            waiting |= eliminate(neighbours, variable)
    return shaved
