"""Which values are possible at all, and how to find a possible state.

Only zeros matter here (log-potentials of minus infinity): a value is pruned when some factor
supports it with no remaining values of its other variables. States are found by a randomised
search that prunes after every decision; where it loses its way, by WalkSAT.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc.arrays import Bytes, Indices, lengths, sealed, starts
from orbitmc.compiled import compiled, shared
from orbitmc.errors import ContradictionError, LimitError
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.walk_sat import mend

FEW_BACKTRACKS = 1_000  # then WalkSAT is tried
MOST_BACKTRACKS = 20_000
ATTEMPTS = 8


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
    domains = _all_values(graph)
    search = _search_memory(graph, domains)
    for factor in np.flatnonzero(search.hard):
        _enqueue(search, factor)
    if not _propagate_once(graph, domains, search):
        raise ContradictionError(
            "no state satisfies the evidence and the hard constraints of the model"
        )
    return Domains(domains.value_start, sealed(domains.allowed))


def possible_states(graph: FactorGraph, lanes: int, seed: np.random.SeedSequence) -> Bytes:
    """Find one possible state per lane, dispersed by random orders of variables and values."""
    pruned = possible_values(graph)
    rng = np.random.default_rng(seed)
    values = np.zeros((graph.variables, lanes), dtype=np.uint8)
    easy = True
    for lane in range(lanes):
        found = _searched(graph, pruned, rng, FEW_BACKTRACKS, False) if easy else None
        easy = found is not None
        if found is None:
            found = _walked(graph, pruned, rng)
        if found is None:
            found = _searched_long(graph, pruned, rng)
        values[:, lane] = found
    return values


def _searched(
    graph: FactorGraph,
    pruned: Domains,
    rng: np.random.Generator,
    backtracks: int,
    smallest_first: bool,
) -> Bytes | None:
    """Search for a possible state; None if that takes more backtracks."""
    domains = Domains(pruned.value_start, pruned.allowed.copy())
    order, preference = rng.permutation(graph.variables), rng.random(len(domains.allowed))
    found = np.zeros(graph.variables, dtype=np.uint8)
    search = _search_memory(graph, domains)
    outcome = _find(graph, domains, search, order, preference, smallest_first, backtracks, found)
    if outcome == NONE:
        raise ContradictionError("no state satisfies the hard constraints of the model")
    return found if outcome == FOUND else None


def _walked(graph: FactorGraph, pruned: Domains, rng: np.random.Generator) -> Bytes | None:
    """Mend a random state; None if that takes too long."""
    found = np.zeros(graph.variables, dtype=np.uint8)
    _set_preferred_once(pruned, rng.random(len(pruned.allowed)), found)
    hard = _search_memory(graph, pruned).hard
    return found if mend(graph, pruned, hard, found, int(rng.integers(2**62))) else None


def _searched_long(graph: FactorGraph, pruned: Domains, rng: np.random.Generator) -> Bytes:
    for attempt in range(ATTEMPTS):
        found = _searched(graph, pruned, rng, MOST_BACKTRACKS, attempt % 2 == 1)
        if found is not None:
            return found
    raise ContradictionError(
        "no possible starting state was found, neither by WalkSAT nor in "
        f"{ATTEMPTS} searches of {MOST_BACKTRACKS} backtracks each; the hard constraints may "
        "contradict each other (this is no proof)"
    )


FOUND, NONE, GAVE_UP = range(3)


def _all_values(graph: FactorGraph) -> Domains:
    value_start = starts(graph.cardinality)
    total = int(graph.cardinality.astype(np.int64).sum())
    if total > 2**31:
        raise LimitError(f"the variables have {total} values in all, more than can be indexed")
    return Domains(value_start, np.ones(total, dtype=np.bool_))


def _search_memory(graph: FactorGraph, domains: Domains) -> Search:
    sizes = lengths(graph.table_start)
    table_of_entry = np.repeat(np.arange(len(sizes)), sizes)
    zeros = np.bincount(table_of_entry[np.isneginf(graph.table)], minlength=len(sizes)) > 0
    return Search(
        hard=zeros[graph.table_of],
        queued=np.zeros(graph.factors, dtype=np.bool_),
        queue=np.zeros(graph.factors + 1, dtype=np.int64),
        ends=np.zeros(3, dtype=np.int64),
        trail=np.zeros(len(domains.allowed), dtype=np.int64),
        supported=np.zeros(len(domains.allowed), dtype=np.bool_),
    )


@shared
def _enqueue(search, factor):
    if search.hard[factor] and not search.queued[factor]:
        search.queued[factor] = True
        search.queue[search.ends[1]] = factor
        search.ends[1] = (search.ends[1] + 1) % len(search.queue)


@compiled
def _propagate_once(graph, domains, search):
    return _propagate(graph, domains, search)


@shared
def _propagate(graph, domains, search):
    """Prune until nothing changes; false if a domain has become empty."""
    possible = True
    while search.ends[0] != search.ends[1]:
        factor = search.queue[search.ends[0]]
        search.ends[0] = (search.ends[0] + 1) % len(search.queue)
        search.queued[factor] = False
        if possible:
            if factor < graph.first_clause:
                possible = _revise_table(graph, factor, domains, search)
            else:
                possible = _revise_clause(graph, factor, domains, search)
    return possible


@shared
def _remove(graph, variable, value, domains, search):
    """Take a value away, remember it on the trail, and wake the factors around the variable."""
    place = np.int64(domains.value_start[variable]) + value
    domains.allowed[place] = False
    search.trail[search.ends[2]] = place
    search.ends[2] += 1
    for edge in range(graph.incident_start[variable], graph.incident_start[variable + 1]):
        _enqueue(search, graph.incident[edge])


@shared
def _remaining(domains, variable):
    count = 0
    for place in range(domains.value_start[variable], domains.value_start[variable + 1]):
        count += domains.allowed[place]
    return count


@shared
def _revise_table(graph, factor, domains, search):
    first, last = graph.scope_start[factor], graph.scope_start[factor + 1]
    for edge in range(first, last):
        variable = graph.scope[edge]
        for place in range(domains.value_start[variable], domains.value_start[variable + 1]):
            search.supported[place] = False
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
                _remove(graph, variable, value, domains, search)
        if _remaining(domains, variable) == 0:
            return False
    return True


@shared
def _place(graph, edge, entry, domains):
    variable = graph.scope[edge]
    value = (entry // np.int64(graph.stride[edge])) % np.int64(graph.cardinality[variable])
    return np.int64(domains.value_start[variable]) + value


@shared
def _is_allowed(graph, first, last, entry, domains):
    allowed = True
    for edge in range(first, last):
        allowed = allowed and domains.allowed[_place(graph, edge, entry, domains)]
    return allowed


@shared
def _revise_clause(graph, factor, domains, search):
    start = graph.table_start[graph.table_of[factor]]
    if graph.table[start] > -np.inf:
        return _forbid_clause(graph, factor, domains, search)
    open_edges, last_open = 0, np.int64(-1)
    for edge in range(graph.scope_start[factor], graph.scope_start[factor + 1]):
        variable = graph.scope[edge]
        place = np.int64(domains.value_start[variable]) + np.int64(graph.satisfying[edge])
        if domains.allowed[place]:
            if _remaining(domains, variable) == 1:
                return True
            open_edges += 1
            last_open = np.int64(edge)
    if open_edges == 1:
        variable = graph.scope[last_open]
        for value in range(np.int64(graph.cardinality[variable])):
            place = np.int64(domains.value_start[variable]) + value
            if value != graph.satisfying[last_open] and domains.allowed[place]:
                _remove(graph, variable, value, domains, search)
    return open_edges > 0


@shared
def _forbid_clause(graph, factor, domains, search):
    """A clause that must stay unsatisfied rules out every satisfying value."""
    for edge in range(graph.scope_start[factor], graph.scope_start[factor + 1]):
        variable = graph.scope[edge]
        value = np.int64(graph.satisfying[edge])
        if domains.allowed[np.int64(domains.value_start[variable]) + value]:
            _remove(graph, variable, value, domains, search)
        if _remaining(domains, variable) == 0:
            return False
    return True


@compiled
def _find(graph, domains, search, order, preference, smallest_first, limit, found):
    """Depth-first search for a possible state, undoing through the trail."""
    variables = len(graph.cardinality)
    chosen = np.full(variables, -1, dtype=np.int64)
    tried = np.zeros(variables, dtype=np.int64)
    marks = np.zeros(variables + 1, dtype=np.int64)
    depth, backtracks = 0, 0
    while True:
        variable = _next_variable(order, domains, smallest_first)
        if variable < 0:
            _set_preferred(domains, preference, found)
            return FOUND
        value = _preferred(domains, variable, preference)
        chosen[depth], tried[depth], marks[depth] = variable, value, search.ends[2]
        depth += 1
        for other in range(np.int64(graph.cardinality[variable])):
            if other != value and domains.allowed[np.int64(domains.value_start[variable]) + other]:
                _remove(graph, variable, other, domains, search)
        while not _propagate(graph, domains, search):
            possible = False
            while depth > 0 and not possible:
                depth -= 1
                backtracks += 1
                while search.ends[2] > marks[depth]:
                    search.ends[2] -= 1
                    domains.allowed[search.trail[search.ends[2]]] = True
                _remove(graph, chosen[depth], tried[depth], domains, search)
                possible = _remaining(domains, chosen[depth]) > 0
            if not possible:
                return NONE
            if backtracks > limit:
                return GAVE_UP


@shared
def _next_variable(order, domains, smallest_first):
    best, size = np.int64(-1), np.int64(2**62)
    for variable in order:
        count = _remaining(domains, variable)
        if count > 1 and count < size:
            best, size = variable, count
            if not smallest_first:
                return best
    return best


@compiled
def _set_preferred_once(domains, preference, found):
    _set_preferred(domains, preference, found)


@shared
def _set_preferred(domains, preference, found):
    for variable in range(len(found)):
        found[variable] = _preferred(domains, variable, preference)


@shared
def _preferred(domains, variable, preference):
    best, liking = np.int64(0), -1.0
    first = np.int64(domains.value_start[variable])
    for place in range(first, np.int64(domains.value_start[variable + 1])):
        if domains.allowed[place] and preference[place] > liking:
            best, liking = place - first, preference[place]
    return best
