"""A bound on the best weight: maxima of parts of a bucket add up to no less than its maximum.

Where a bucket would need too large a table, its factors and messages are shared out to several
tables that are small enough, and each of these is maximised on its own (Dechter & Rish 2003).
"""

import heapq
import math
from collections.abc import Callable, Sequence

import numpy as np

from orbitmc._util.arrays import Floats
from orbitmc._util.interrupts import heed
from orbitmc.exact.orders.neighbours import eliminate, neighbours_of
from orbitmc.exact.problem import Problem
from orbitmc.exact.shrinking import Table, added_up
from orbitmc.graph.log_weights import exact_sum

MOST_ENTRIES = 2**16
"""Of one table."""

MOST_VARIABLES = 3_000
"""Beyond, only the maxima of all tables are added up."""


def upper_bound(
    problem: Problem, most: int = MOST_ENTRIES, is_over: Callable[[], bool] = lambda: False
) -> float:
    """A log-weight that no state exceeds.

    When time `is_over`, the maxima of the tables that are left are added up.

    >>> import orbitmc as om
    >>> from orbitmc.exact.problem import prepare
    >>> round(upper_bound(prepare(om.ising_grid(3, 3, 0.5).graph)), 9)
    6.0
    """
    if len(problem.sizes) > MOST_VARIABLES:
        return problem.constant  # no table has entries above 0
    order = _order(problem)
    position = {variable: place for place, variable in enumerate(order)}
    buckets: list[list[Table]] = [[] for _ in order]
    for scope, table in zip(problem.scopes, problem.tables, strict=True):
        buckets[min(position[variable] for variable in scope)].append((scope, table))
    known = [problem.constant]
    for place, variable in enumerate(order):
        heed()
        if is_over():
            left = (one for bucket in buckets for _, one in bucket)
            return exact_sum([*known, *(float(one.max(initial=-np.inf)) for one in left)])
        for together in _shared_out(buckets[place], problem.sizes, most):
            scope, message = _maximised(together, variable, problem.sizes)
            if scope:
                buckets[min(position[other] for other in scope)].append((scope, message))
            else:
                known.append(float(message))
        buckets[place] = []
    return -np.inf if -np.inf in known else exact_sum(known)


def _order(problem: Problem) -> list[int]:
    """Variables with few neighbours first, as they are when their turn comes."""
    neighbours = neighbours_of(len(problem.sizes), problem.scopes)
    heap = [(len(near), variable) for variable, near in enumerate(neighbours)]
    heapq.heapify(heap)
    order: list[int] = []
    done = [False] * len(neighbours)
    while heap:
        count, variable = heapq.heappop(heap)
        if done[variable] or count != len(neighbours[variable]):
            continue
        done[variable] = True
        order.append(variable)
        for member in eliminate(neighbours, variable):
            heapq.heappush(heap, (len(neighbours[member]), member))
    return order


def _shared_out(tables: list[Table], sizes: Sequence[int], most: int) -> list[list[Table]]:
    """Put tables together while what they read is small enough, large ones first."""
    groups: list[tuple[set[int], list[Table]]] = []
    for scope, table in sorted(tables, key=lambda one: -one[1].size):
        for read, group in groups:
            if math.prod(sizes[variable] for variable in read.union(scope)) <= most:
                read.update(scope)
                group.append((scope, table))
                break
        else:
            groups.append((set(scope), [(scope, table)]))
    return [group for _, group in groups]


def _maximised(tables: list[Table], variable: int, sizes: Sequence[int]) -> Table:
    """Add tables up and take the best value of a variable; scopes are ascending."""
    read, total = added_up(tables, sizes)
    message: Floats = np.asarray(total.max(axis=read.index(variable)))
    return tuple(member for member in read if member != variable), message
