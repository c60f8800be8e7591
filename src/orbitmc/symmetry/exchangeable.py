"""Which variables of a factor may be exchanged without changing it."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc.arrays import Indices, lengths, sealed, starts
from orbitmc.compiled import compiled, shared
from orbitmc.graph.factor_graph import FactorGraph, incidence

Numbers = NDArray[np.int64]

IGNORED = -1
"""The class of a variable on which its factor does not depend."""

CLOSE = 1e-9
"""Log-potentials that differ by less, relative to one plus their size, are equal."""


class Links(NamedTuple):
    """Which factor depends on which variable; variables that a factor ignores are left out.

    Factor `f` depends on `variable[factor_start[f]:factor_start[f + 1]]`, and variables of equal
    `alike` may be exchanged without changing it. Variable `v` matters to the factors
    `factor[variable_start[v]:variable_start[v + 1]]`, and `own[...]` is its class in them.
    """

    factor_start: Indices
    variable: Indices
    alike: Numbers
    variable_start: Indices
    factor: Indices
    own: Numbers


def links(graph: FactorGraph) -> Links:
    """Find what each factor depends on and which of its variables are interchangeable."""
    classes = np.zeros(len(graph.scope), dtype=np.int64)
    _classify(graph, classes, np.full(len(graph.table_start), -1))
    kept = classes != IGNORED
    factor_of = np.repeat(np.arange(graph.factors), lengths(graph.scope_start))[kept]
    factor_start = starts(np.bincount(factor_of, minlength=graph.factors))
    variable, alike = sealed(graph.scope[kept]), sealed(classes[kept])
    variable_start, factor = incidence(graph.variables, factor_start, variable)
    own = sealed(alike[np.argsort(variable, kind="stable")])
    return Links(factor_start, variable, alike, variable_start, factor, own)


@compiled
def _classify(graph, classes, last_with_table):
    for factor in range(graph.first_clause):
        table = graph.table_of[factor]
        known = last_with_table[table]
        if known >= 0 and _same_shape(graph, known, factor):
            _copy(graph, classes, known, factor)
        else:
            _classify_table(graph, classes, factor)
        last_with_table[table] = factor
    for clause in range(graph.first_clause, len(graph.table_of)):
        for edge in range(graph.scope_start[clause], graph.scope_start[clause + 1]):
            classes[edge] = graph.satisfying[edge] if matters(graph, clause, edge) else IGNORED


@shared
def _same_shape(graph, first, second):
    start, other = np.int64(graph.scope_start[first]), np.int64(graph.scope_start[second])
    arity = np.int64(graph.scope_start[first + 1]) - start
    if np.int64(graph.scope_start[second + 1]) - other != arity:
        return False
    for place in range(arity):
        size = graph.cardinality[graph.scope[start + place]]
        if size != graph.cardinality[graph.scope[other + place]]:
            return False
    return True


@shared
def _copy(graph, classes, known, factor):
    start, other = np.int64(graph.scope_start[known]), np.int64(graph.scope_start[factor])
    for place in range(np.int64(graph.scope_start[known + 1]) - start):
        classes[other + place] = classes[start + place]


@shared
def _classify_table(graph, classes, factor):
    """Number the classes after the first place of each."""
    first, last = np.int64(graph.scope_start[factor]), np.int64(graph.scope_start[factor + 1])
    for edge in range(first, last):
        classes[edge] = edge - first if matters(graph, factor, edge) else IGNORED
        if classes[edge] == IGNORED:
            continue
        for earlier in range(first, edge):
            if classes[earlier] == earlier - first and exchangeable(graph, factor, earlier, edge):
                classes[edge] = earlier - first
                break


@shared
def matters(graph, factor, edge):
    """Whether a factor depends on the variable at `edge`."""
    start, last = table_bounds(graph, factor)
    if factor >= graph.first_clause:
        return not _equal(graph.table[start], graph.table[start + 1])
    stride, size = np.int64(graph.stride[edge]), np.int64(graph.cardinality[graph.scope[edge]])
    for entry in range(last - start):
        if (entry // stride) % size and not _equal(
            graph.table[start + entry], graph.table[start + entry - stride]
        ):
            return True
    return False


@shared
def exchangeable(graph, factor, first, second):
    """Whether a factor stays the same when the variables at two edges of it trade places."""
    if factor >= graph.first_clause and graph.satisfying[first] != graph.satisfying[second]:
        return False
    size = np.int64(graph.cardinality[graph.scope[first]])
    if size != np.int64(graph.cardinality[graph.scope[second]]):
        return False
    if factor >= graph.first_clause:
        return True
    start, last = table_bounds(graph, factor)
    one, two = np.int64(graph.stride[first]), np.int64(graph.stride[second])
    for entry in range(last - start):
        difference = (entry // one) % size - (entry // two) % size
        traded = entry + difference * (two - one)
        if difference > 0 and not _equal(graph.table[start + entry], graph.table[start + traded]):
            return False
    return True


@shared
def table_bounds(graph, factor):
    table = graph.table_of[factor]
    return np.int64(graph.table_start[table]), np.int64(graph.table_start[table + np.uint32(1)])


@shared
def _equal(one, two):
    if one == two:
        return True
    return one != -np.inf and two != -np.inf and abs(one - two) <= CLOSE * (1 + abs(one))


@compiled
def find_moved(graph, block, factors, changed):
    """Mark the factors that some permutation of a sorted block changes."""
    for number in range(len(factors)):
        changed[number] = len(block) > 1 and not _invariant(graph, factors[number], block)


@shared
def _invariant(graph, factor, block):
    """Whether a factor ignores all members, or depends on all of them in the same way."""
    first, last = np.int64(graph.scope_start[factor]), np.int64(graph.scope_start[factor + 1])
    found, leader, alike = 0, np.int64(-1), True
    for edge in range(first, last):
        variable = np.int64(graph.scope[edge])
        place = np.searchsorted(block, variable)
        if place == len(block) or block[place] != variable or not matters(graph, factor, edge):
            continue
        if leader < 0:
            leader = edge
        found += 1
        alike = alike and exchangeable(graph, factor, leader, edge)
    return found == 0 or (found == len(block) and alike)
