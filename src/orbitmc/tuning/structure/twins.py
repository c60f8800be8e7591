"""Variables whose exchange alone changes nothing: their factors have the same tables and partners.

Each factor is summed up in a random word, and each variable in the words of its factors without
itself; twins have equal words. What shares no factor is compared at once, pairs that share one
are compared without it. Jumps are accepted by the true model, so nothing has to be proven here,
and nothing is compiled to look.
"""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from orbitmc._simd.bits import mixed
from orbitmc._util.arrays import Floats, Numbers, Words, lengths
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.symmetry.exchangeability import table_kinds


def twins(graph: FactorGraph) -> list[Numbers]:
    """Sets of two variables or more of which any two are twins.

    Twins that share several factors, or one of more than two variables, may be missed.
    """
    factor = np.repeat(np.arange(graph.factors), lengths(graph.scope_start))
    variable = graph.scope.astype(np.int64)
    role = _roles(graph, factor)
    name = mixed(np.arange(graph.variables, dtype=np.uint64))
    argument = mixed(role ^ name[variable])
    whole = np.zeros(graph.factors, dtype=np.uint64)
    np.add.at(whole, factor, argument)
    view = mixed((whole[factor] - argument) ^ role)
    outlook = graph.cardinality.astype(np.uint64)
    np.add.at(outlook, variable, view)
    order = np.argsort(outlook, kind="stable")
    same = outlook[order][1:] == outlook[order][:-1]
    one, other = _joined(graph, variable, role, outlook, view)
    ends = np.concatenate([order[:-1][same], one]), np.concatenate([order[1:][same], other])
    shape = (graph.variables, graph.variables)
    links = coo_array((np.ones(len(ends[0]), dtype=np.int8), ends), shape=shape)
    labels = connected_components(links, directed=False)[1]
    order = np.argsort(labels, kind="stable")
    found = np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)
    return [block for block in found if len(block) > 1]


def _joined(
    graph: FactorGraph, variable: Numbers, role: Words, outlook: Words, view: Words
) -> tuple[Numbers, Numbers]:
    """Pairs in one factor that are alike beside it, and have the same place in it."""
    first = graph.scope_start[:-1][lengths(graph.scope_start) == 2].astype(np.int64)
    one, other = variable[first], variable[first + 1]
    alike = outlook[one] - view[first] == outlook[other] - view[first + 1]
    alike &= role[first] == role[first + 1]
    return one[alike], other[alike]


def _roles(graph: FactorGraph, factor: Numbers) -> Words:
    """A word for each argument: what its factor says, and where in it the argument stands."""
    arity = lengths(graph.scope_start)
    content, symmetric = table_kinds(graph), _symmetric_tables(graph)
    first = graph.scope_start[:-1].astype(np.int64)
    clause = np.arange(graph.factors) >= graph.first_clause
    last = first + arity - 1
    equal = graph.cardinality[graph.scope[first]] == graph.cardinality[graph.scope[last]]
    turns = clause | ((arity == 2) & equal & symmetric[graph.table_of])
    kind = 2 * content[graph.table_of] + clause
    place = np.where(turns[factor], 0, np.arange(len(factor)) - first[factor])
    wanted = np.where(clause[factor], graph.satisfying, 0).astype(np.int64)
    spot = mixed(kind[factor].astype(np.uint64)) + place.astype(np.uint64)
    return np.asarray(mixed(mixed(spot) + wanted.astype(np.uint64)))


def _symmetric_tables(graph: FactorGraph) -> NDArray[np.bool_]:
    """Which tables two variables may read either way."""
    found = np.zeros(len(graph.table_start) - 1, bool)
    for number in range(len(found)):
        table = graph.table[graph.table_start[number] : graph.table_start[number + 1]]
        side = math.isqrt(len(table))
        found[number] = side * side == len(table) and np.array_equal(*_both_ways(table, side))
    return found


def _both_ways(table: Floats, side: int) -> tuple[Floats, Floats]:
    return table.reshape(side, side), table.reshape(side, side).T
