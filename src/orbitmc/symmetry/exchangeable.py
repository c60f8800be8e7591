"""Which variables of a factor may be exchanged without changing it."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc.arrays import Indices, indices, lengths, sealed, starts
from orbitmc.compiled import compiled, shared
from orbitmc.graph.factor_graph import FactorGraph, incidence

Numbers = NDArray[np.int64]

IGNORED = -1
"""The class of a variable on which its factor does not depend."""

CLOSE = 1e-9
"""Log-potentials that differ by less, relative to one plus their size, are equal."""

DIGITS = 10
"""Tables that agree in so many digits after the point are of one kind."""


class Links(NamedTuple):
    """Which factor depends on which variable; variables that a factor ignores are left out.

    Factor `f` depends on `variable[factor_start[f]:factor_start[f + 1]]`, and variables of equal
    `alike` may be exchanged without changing it. Variable `v` matters to the factors
    `factor[variable_start[v]:variable_start[v + 1]]`, `own[...]` is its class in them, and
    `bond[...]` what they are to it: variables of equal bonds have a factor each with equal tables
    and the same third variable, if any. Bond `b` is held by the variables
    `holder[holder_start[b]:holder_start[b + 1]]`.
    """

    factor_start: Indices
    variable: Indices
    alike: Numbers
    variable_start: Indices
    factor: Indices
    own: Numbers
    bond: Numbers
    holder_start: Indices
    holder: Indices


def links(graph: FactorGraph) -> Links:
    """Find what each factor depends on and which of its variables are interchangeable."""
    classes = np.zeros(len(graph.scope), dtype=np.int64)
    _classify(graph, classes, np.full(len(graph.table_start), -1))
    kept = classes != IGNORED
    factor_of = np.repeat(np.arange(graph.factors), lengths(graph.scope_start))[kept]
    factor_start = starts(np.bincount(factor_of, minlength=graph.factors))
    variable, alike = sealed(graph.scope[kept]), sealed(classes[kept])
    variable_start, factor = incidence(graph.variables, factor_start, variable)
    order = np.argsort(variable, kind="stable")
    bond = _bonds(graph, factor_start, variable, alike)[order]
    holder_start, holder = incidence(int(bond.max(initial=-1)) + 1, variable_start, indices(bond))
    return Links(
        factor_start,
        variable,
        alike,
        variable_start,
        factor,
        sealed(alike[order]),
        sealed(bond),
        holder_start,
        holder,
    )


def _bonds(graph: FactorGraph, factor_start: Indices, variable: Indices, alike: Numbers) -> Numbers:
    """Number what each factor is to each of its variables; with three or more, nobody's equal."""
    arity = lengths(factor_start)
    factor = np.repeat(np.arange(len(arity)), arity)
    pair = np.flatnonzero(arity[factor] == 2)
    other = pair + np.where(pair == factor_start[factor[pair]], 1, -1)
    third, its = np.full(len(variable), graph.variables), np.full(len(variable), IGNORED)
    third[pair], its[pair] = variable[other], alike[other]
    large = np.flatnonzero(arity[factor] > 2)
    third[large] = graph.variables + 1 + large
    clause = (factor >= graph.first_clause).astype(np.int64)
    traits = (table_kinds(graph)[graph.table_of[factor]], clause, alike, its, third)
    return _numbered([*traits, _turn(_numbered([*traits, variable.astype(np.int64)]))])


def table_kinds(graph: FactorGraph) -> Numbers:
    """Number tables by what is in them, up to rounding."""
    sizes = lengths(graph.table_start)
    found = np.zeros(len(sizes), dtype=np.int64)
    known = 0
    for size in np.unique(sizes).tolist():
        own = np.flatnonzero(sizes == size)
        entries = graph.table[graph.table_start[own].astype(np.int64)[:, None] + np.arange(size)]
        kinds, which = np.unique(entries.round(DIGITS), axis=0, return_inverse=True)
        found[own] = known + which.reshape(-1)
        known += len(kinds)
    return found


def _numbered(traits: list[Numbers]) -> Numbers:
    """Number the combinations of several traits."""
    found = np.zeros(len(traits[0]), dtype=np.int64)
    for trait in traits:
        which = np.unique(trait, return_inverse=True)[1].reshape(-1)
        found = found * (int(which.max(initial=0)) + 1) + which
        found = np.unique(found, return_inverse=True)[1].reshape(-1)
    return found


def _turn(numbers: Numbers) -> Numbers:
    """How often each number has occurred before."""
    order = np.argsort(numbers, kind="stable")
    ordered = numbers[order]
    found = np.zeros(len(numbers), dtype=np.int64)
    found[order] = np.arange(len(numbers)) - np.searchsorted(ordered, ordered)
    return found


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
    """Mark the factors that some permutation of a sorted block changes, and no other replaces."""
    for number in range(len(factors)):
        changed[number] = len(block) > 1 and not _invariant(graph, factors[number], block)


@shared
def _invariant(graph, factor, block):
    """Whether permutations of the members leave a factor as it is, or trade it for equal ones.

    So it is if the factor ignores all members, if it depends on all of them in the same way, or
    if it depends on a single one and all others have a factor just like it.
    """
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
    if found == 1:
        return _everybody_has(graph, factor, leader, block)
    return found == 0 or (found == len(block) and alike)


@shared
def _everybody_has(graph, factor, edge, block):
    """Whether each member has a factor that is to it what this one is to the variable at `edge`."""
    for place in range(len(block)):
        member, found = block[place], False
        for link in range(graph.incident_start[member], graph.incident_start[member + 1]):
            found = found or _same_bond(graph, factor, edge, graph.incident[link], member)
        if not found:
            return False
    return True


@shared
def _same_bond(graph, factor, edge, other, member):
    """Whether `other` is `factor` with `member` instead of the variable at `edge`, and small."""
    first, start = np.int64(graph.scope_start[factor]), np.int64(graph.scope_start[other])
    arity = np.int64(graph.scope_start[factor + 1]) - first
    both_clauses = (factor >= graph.first_clause) == (other >= graph.first_clause)
    if not both_clauses or not _same_table(graph, factor, other):
        return False
    if arity > 2 or np.int64(graph.scope_start[other + 1]) - start != arity:
        return False
    own = start if np.int64(graph.scope[start]) == member else start + arity - 1
    if own - start != edge - first and not exchangeable(graph, factor, first, first + 1):
        return False
    if factor >= graph.first_clause and graph.satisfying[own] != graph.satisfying[edge]:
        return False
    if arity == 1:
        return True
    third, its = 2 * first + 1 - edge, 2 * start + 1 - own
    alike = factor < graph.first_clause or graph.satisfying[third] == graph.satisfying[its]
    return alike and graph.scope[third] == graph.scope[its]


@shared
def _same_table(graph, factor, other):
    start, last = table_bounds(graph, factor)
    begin, end = table_bounds(graph, other)
    same = last - start == end - begin
    for entry in range(last - start if same else 0):
        same = same and _equal(graph.table[start + entry], graph.table[begin + entry])
    return same
