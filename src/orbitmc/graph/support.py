"""Which values are possible at all.

Only zeros matter here (log-potentials of minus infinity): a value is pruned when some factor
supports it with no remaining values of its other variables.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc._numba.jit import shared
from orbitmc._numba.tiers import of_first, tier
from orbitmc._util.arrays import Index, Indices, lengths, readonly, starts
from orbitmc.errors import ContradictionError, LimitError
from orbitmc.graph.factor_graph import FactorGraph

HEAD, TAIL, TRAIL, WORK = range(4)
"""What `ends` of a search holds: where its queue begins and ends, how long its trail is, and how
many entries of tables and members of clauses it has looked at."""


class Domains(NamedTuple):
    """Remaining values of each variable, flat: `allowed[value_start[variable] + value]`."""

    value_start: Indices
    allowed: NDArray[np.bool_]

    def of(self, variable: int) -> NDArray[np.bool_]:
        return self.allowed[self.value_start[variable] : self.value_start[variable + 1]]


class Search(NamedTuple):
    """What pruning overwrites: a queue of factors, and a trail of removed values to undo."""

    hard: NDArray[np.bool_]
    queued: NDArray[np.bool_]
    queue: NDArray[np.int64]
    ends: NDArray[np.int64]
    trail: NDArray[np.int64]
    supported: NDArray[np.bool_]


def possible_values(graph: FactorGraph) -> Domains:
    """Prune values until every remaining one has support; an emptied domain is a contradiction."""
    domains = all_values(graph)
    search = search_memory(graph, domains)
    enqueue_all(search, np.flatnonzero(search.hard))
    empty = lengths(graph.scope_start) == 0
    if (search.hard & empty).any() or not propagate_once(graph, domains, search):
        raise ContradictionError(
            "no state satisfies the evidence and the hard constraints of the model"
        )
    return Domains(domains.value_start, readonly(domains.allowed))


def hard_factors(graph: FactorGraph) -> NDArray[np.bool_]:
    """Which factors have zeros."""
    zeros = np.flatnonzero(np.isneginf(graph.table))
    with_zeros = np.zeros(len(graph.table_start) - 1, dtype=np.bool_)
    with_zeros[np.searchsorted(graph.table_start, zeros, side="right") - 1] = True
    return with_zeros[graph.table_of]


def all_values(graph: FactorGraph) -> Domains:
    value_start = starts(graph.cardinality)
    total = int(graph.cardinality.astype(np.int64).sum())
    if total > 2**31:
        raise LimitError(f"the variables have {total} values in all, more than can be indexed")
    return Domains(value_start, np.ones(total, dtype=np.bool_))


def search_memory(graph: FactorGraph, domains: Domains) -> Search:
    return Search(
        hard=hard_factors(graph),
        queued=np.zeros(graph.factors, dtype=np.bool_),
        queue=np.zeros(graph.factors + 1, dtype=np.int64),
        ends=np.zeros(4, dtype=np.int64),
        trail=np.zeros(len(domains.allowed), dtype=np.int64),
        supported=np.zeros(len(domains.allowed), dtype=np.bool_),
    )


def enqueue_all(search: Search, factors: NDArray[np.int64]) -> None:
    """Put different hard factors into a queue that is empty so far."""
    search.queued[factors] = True
    search.queue[: len(factors)] = factors
    search.ends[TAIL] = len(factors)


@shared
def enqueue(search: Search, factor: Index) -> None:
    if search.hard[factor] and not search.queued[factor]:
        search.queued[factor] = True
        search.queue[search.ends[TAIL]] = factor
        search.ends[TAIL] = (search.ends[TAIL] + 1) % len(search.queue)


@tier(of_first)
def propagate_once(graph: FactorGraph, domains: Domains, search: Search) -> bool:
    return propagate(graph, domains, search)


@shared
def propagate(graph: FactorGraph, domains: Domains, search: Search) -> bool:
    """Prune until nothing changes; false if a domain has become empty."""
    possible = True
    while search.ends[HEAD] != search.ends[TAIL]:
        factor = search.queue[search.ends[HEAD]]
        search.ends[HEAD] = (search.ends[HEAD] + 1) % len(search.queue)
        search.queued[factor] = False
        if possible:
            if factor < graph.first_clause:
                number = graph.table_of[factor]
                search.ends[WORK] += np.int64(graph.table_start[number + 1])
                search.ends[WORK] -= np.int64(graph.table_start[number])
                possible = _revise_table(graph, factor, domains, search)
            else:
                search.ends[WORK] += np.int64(graph.scope_start[factor + 1])
                search.ends[WORK] -= np.int64(graph.scope_start[factor])
                possible = _revise_clause(graph, factor, domains, search)
    return possible


@shared
def remove(
    graph: FactorGraph, variable: Index, value: Index, domains: Domains, search: Search
) -> None:
    """Take a value away, remember it on the trail, and wake the factors around the variable."""
    place = np.int64(domains.value_start[variable]) + value
    domains.allowed[place] = False
    search.trail[search.ends[TRAIL]] = place
    search.ends[TRAIL] += 1
    for edge in range(graph.incident_start[variable], graph.incident_start[variable + 1]):
        enqueue(search, graph.incident[edge])


@shared
def remaining_values(domains: Domains, variable: Index) -> Index:
    count = 0
    for place in range(domains.value_start[variable], domains.value_start[variable + 1]):
        count += domains.allowed[place]
    return count


@shared
def _revise_table(graph: FactorGraph, factor: Index, domains: Domains, search: Search) -> bool:
    first, last = graph.scope_start[factor], graph.scope_start[factor + 1]
    for edge in range(first, last):
        variable = graph.scope[edge]
        for spot in range(domains.value_start[variable], domains.value_start[variable + 1]):
            search.supported[spot] = False
    number = graph.table_of[factor]
    start = np.int64(graph.table_start[number])
    for entry in range(np.int64(graph.table_start[number + 1]) - start):
        if graph.table[start + entry] > -np.inf and _is_allowed(graph, first, last, entry, domains):
            for edge in range(first, last):
                search.supported[_place(graph, edge, entry, domains)] = True
    for edge in range(first, last):
        variable = graph.scope[edge]
        for value in range(np.int64(graph.cardinality[variable])):
            place = np.int64(domains.value_start[variable]) + value
            if domains.allowed[place] and not search.supported[place]:
                remove(graph, variable, value, domains, search)
        if remaining_values(domains, variable) == 0:
            return False
    return True


@shared
def _place(graph: FactorGraph, edge: Index, entry: Index, domains: Domains) -> Index:
    variable = graph.scope[edge]
    value = (entry // np.int64(graph.stride[edge])) % np.int64(graph.cardinality[variable])
    return np.int64(domains.value_start[variable]) + value


@shared
def _is_allowed(graph: FactorGraph, first: Any, last: Any, entry: Index, domains: Domains) -> bool:
    allowed = True
    for edge in range(first, last):
        allowed = allowed and domains.allowed[_place(graph, edge, entry, domains)]
    return allowed


@shared
def _revise_clause(graph: FactorGraph, factor: Index, domains: Domains, search: Search) -> bool:
    start = graph.table_start[graph.table_of[factor]]
    if graph.table[start] > -np.inf:
        return _forbid_clause(graph, factor, domains, search)
    open_edges, last_open = 0, np.int64(-1)
    for edge in range(graph.scope_start[factor], graph.scope_start[factor + 1]):
        variable = graph.scope[edge]
        place = np.int64(domains.value_start[variable]) + np.int64(graph.satisfying[edge])
        if domains.allowed[place]:
            if remaining_values(domains, variable) == 1:
                return True
            open_edges += 1
            last_open = np.int64(edge)
    if open_edges == 1:
        variable = graph.scope[last_open]
        for value in range(np.int64(graph.cardinality[variable])):
            place = np.int64(domains.value_start[variable]) + value
            if value != graph.satisfying[last_open] and domains.allowed[place]:
                remove(graph, variable, value, domains, search)
    return open_edges > 0


@shared
def _forbid_clause(graph: FactorGraph, factor: Index, domains: Domains, search: Search) -> bool:
    """A clause that must stay unsatisfied rules out every satisfying value."""
    for edge in range(graph.scope_start[factor], graph.scope_start[factor + 1]):
        variable = graph.scope[edge]
        value = np.int64(graph.satisfying[edge])
        if domains.allowed[np.int64(domains.value_start[variable]) + value]:
            remove(graph, variable, value, domains, search)
        if remaining_values(domains, variable) == 0:
            return False
    return True
