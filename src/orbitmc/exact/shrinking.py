"""Sum out what is cheap to sum out: a smaller graph with the same sum of weights.

What is left has fewer variables, which hang together in larger tables. Chains have less to do, and
less to go wrong: what was summed out is exact.
"""

import functools
import heapq
import math
from collections.abc import Sequence

import numpy as np

from orbitmc._util.arrays import Floats
from orbitmc._util.interrupts import heed
from orbitmc.errors import ContradictionError
from orbitmc.exact.orders.neighbours import Neighbours, eliminate, neighbours_of
from orbitmc.exact.problem import Problem, Scope, prepare
from orbitmc.graph.builder import Builder
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.log_weights import exact_sum

MOST_ENTRIES = 2**10
"""Of a table that is made to sum a variable out."""

MOST_AXES = 64

MOST_VARIABLES = 20_000
"""More are left as they are: they would take seconds."""

Table = tuple[Scope, Floats]


def shrunk(graph: FactorGraph, most: int = MOST_ENTRIES) -> FactorGraph:
    """Sum out variables while the tables that it takes have at most so many entries.

    A graph with clauses that are too long for a table stays as it is.

    >>> import orbitmc as om
    >>> graph = om.ising_grid(12, 12, 0.3).graph
    >>> shrunk(graph).variables < graph.variables / 2
    True
    """
    if graph.variables > MOST_VARIABLES:
        return graph
    problem = prepare(graph)
    if len(problem.sizes) > sum(place >= 0 for place in problem.place):
        return graph  # helpers of long clauses are no variables of their own
    return _rest(problem, most)


def _rest(problem: Problem, most: int) -> FactorGraph:
    """Sum out the variable with the smallest table, again and again."""
    sizes, neighbours = problem.sizes, neighbours_of(len(problem.sizes), problem.scopes)
    tables = dict(enumerate(zip(problem.scopes, problem.tables, strict=True)))
    readers: list[set[int]] = [set() for _ in sizes]
    for number, (scope, _) in tables.items():
        for variable in scope:
            readers[variable].add(number)
    known = [problem.constant]
    entries = [_entries(sizes, neighbours, variable) for variable in range(len(sizes))]
    heap = [(cost, variable) for variable, cost in enumerate(entries)]
    heapq.heapify(heap)
    left = dict.fromkeys(range(len(sizes)))
    while heap and heap[0][0] <= most:
        cost, variable = heapq.heappop(heap)
        if variable not in left or cost != entries[variable]:
            continue
        heed()
        scope, message = summed([tables[one] for one in sorted(readers[variable])], variable, sizes)
        for one in tuple(readers[variable]):
            for member in tables.pop(one)[0]:
                readers[member].discard(one)
        del left[variable]
        top = float(message.max())
        if top == -math.inf:
            raise ContradictionError("no state satisfies the hard constraints of the model")
        known.append(top)
        if scope:
            number = len(sizes) + len(problem.scopes) - len(left)
            tables[number] = scope, message - top
            for member in scope:
                readers[member].add(number)
        for member in eliminate(neighbours, variable):
            entries[member] = _entries(sizes, neighbours, member)
            heapq.heappush(heap, (entries[member], member))
    return _built([*left], list(tables.values()), sizes, exact_sum(known))


def _entries(sizes: Sequence[int], neighbours: Neighbours, variable: int) -> float:
    """Of the table that a variable is summed out of; those of many variables are not counted."""
    near = neighbours[variable]
    if len(near) > MOST_AXES:
        return math.inf
    return sizes[variable] * math.prod(sizes[member] for member in near)


def _built(
    variables: Sequence[int], tables: Sequence[Table], sizes: Sequence[int], constant: float
) -> FactorGraph:
    place = {variable: number for number, variable in enumerate(variables)}
    builder = Builder([sizes[variable] for variable in variables])
    builder.constant = constant
    for scope, table in tables:
        builder.add_factor([place[variable] for variable in scope], table)
    return builder.build()


def added_up(tables: Sequence[Table], sizes: Sequence[int]) -> Table:
    """Add tables up; scopes are ascending."""
    read = sorted({member for scope, _ in tables for member in scope})
    shaped = [
        table.reshape([sizes[member] if member in scope else 1 for member in read])
        for scope, table in tables
    ]
    return tuple(read), functools.reduce(np.add, shaped)


def summed(tables: Sequence[Table], variable: int, sizes: Sequence[int]) -> Table:
    """Multiply factors, given as logarithms, and sum a variable out."""
    read, total = added_up(tables, sizes) if tables else ((variable,), np.zeros(sizes[variable]))
    message: Floats = np.asarray(np.logaddexp.reduce(total, axis=read.index(variable)))
    return tuple(member for member in read if member != variable), message
