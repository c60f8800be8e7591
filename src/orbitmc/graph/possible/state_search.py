"""How to find a possible state, or to prove that there is none.

States are found by a randomised search that prunes after every decision; where it loses its way,
by WalkSAT, and then by a SAT solver if one is installed.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from orbitmc._numba.jit import shared
from orbitmc._numba.tiers import elements, of_first, tiered
from orbitmc._util.arrays import Bytes, Floats, Index, Numbers
from orbitmc.errors import ContradictionError
from orbitmc.graph.components import components
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.possible.support import (
    TRAIL,
    Domains,
    Search,
    all_values,
    enqueue,
    hard_factors,
    possible_values,
    propagate,
    propagate_once,
    remaining,
    remove,
    search_memory,
)

FEW_BACKTRACKS = 1_000  # then WalkSAT is tried
MOST_BACKTRACKS = 20_000
ATTEMPTS = 8
FOUND, NONE, GAVE_UP = range(3)
CHOSEN, TRIED, MARK = range(3)


def possible_states(
    graph: FactorGraph,
    lanes: int,
    seed: np.random.SeedSequence,
    wanted: NDArray[np.int16] | None = None,
) -> Bytes:
    """Find one possible state per lane, dispersed by random orders of variables and values.

    Variables for which `wanted[variable, lane]` is not negative get that value where they can.
    """
    from orbitmc.graph.possible.sat import encoded, solved

    pruned = possible_values(graph)
    rng = np.random.default_rng(seed)
    values = np.zeros((graph.variables, lanes), dtype=np.uint8)
    nothing = np.full(graph.variables, -1, dtype=np.int16)
    easy = True
    clauses: list[list[int]] | None = None
    for lane in range(lanes):
        hopes = nothing if wanted is None else wanted[:, lane]
        found = _searched(graph, pruned, rng, FEW_BACKTRACKS, False, hopes) if easy else None
        easy = found is not None
        if found is None and clauses is None:
            found = walked(graph, pruned, rng)
            clauses = encoded(graph, pruned) if found is None else None
        if found is None and clauses is not None:
            found = solved(clauses, pruned, rng)
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
    wanted: NDArray[np.int16] | None = None,
) -> Bytes | None:
    """Search for a possible state; None if that takes more backtracks."""
    domains = Domains(pruned.value_start, pruned.allowed.copy())
    order, preference = rng.permutation(graph.variables), rng.random(len(domains.allowed))
    if wanted is not None:
        hopeful = np.flatnonzero(wanted >= 0)
        preference[pruned.value_start[hopeful].astype(np.int64) + wanted[hopeful]] += 1.0
        order = order[np.argsort(wanted[order] < 0, kind="stable")]
    found = np.zeros(graph.variables, dtype=np.uint8)
    search = search_memory(graph, domains)
    decisions = np.zeros((3, len(order) + 1), dtype=np.int64)
    given = (search, decisions, order, preference, smallest_first, backtracks, found)
    outcome = _find(graph, domains, *given)
    if outcome == NONE:
        raise ContradictionError("no state satisfies the hard constraints of the model")
    return found if outcome == FOUND else None


def walked(graph: FactorGraph, pruned: Domains, rng: np.random.Generator) -> Bytes | None:
    """Mend a random state; None if that takes too long."""
    from orbitmc.graph.possible.walk_sat import mend

    found = np.zeros(graph.variables, dtype=np.uint8)
    everything, preference = np.arange(graph.variables), rng.random(len(pruned.allowed))
    _set_preferred_once(pruned, preference, everything, found)
    hard = hard_factors(graph)
    return found if mend(graph, pruned, hard, found, int(rng.integers(2**62))) else None


def _searched_long(graph: FactorGraph, pruned: Domains, rng: np.random.Generator) -> Bytes:
    for attempt in range(ATTEMPTS):
        found = _searched(graph, pruned, rng, MOST_BACKTRACKS, attempt % 2 == 1)
        if found is not None:
            return found
    raise ContradictionError(
        "no possible starting state was found, neither by WalkSAT nor in "
        f"{ATTEMPTS} searches of {MOST_BACKTRACKS} backtracks each; the hard constraints may "
        "contradict each other (this is no proof; the extra `sat` brings a solver that decides it)"
    )


def contradicts(graph: FactorGraph, factors: NDArray[np.int64]) -> bool:
    """Whether pruning or short searches prove that the zeros of some factors leave no state.

    Parts that share no factor are searched one by one.
    """
    domains = all_values(graph)
    chosen = np.zeros(graph.factors, dtype=np.bool_)
    chosen[factors] = True
    search = search_memory(graph, domains)._replace(hard=chosen)
    for factor in factors:
        enqueue(search, factor)
    if not propagate_once(graph, domains, search):
        return True
    search.ends[TRAIL] = 0  # what was pruned so far stays pruned
    pruned = domains.allowed.copy()
    preference = np.arange(len(pruned), dtype=float)
    found = np.zeros(graph.variables, dtype=np.uint8)
    for part in _parts(graph, chosen):
        decisions = np.zeros((3, len(part) + 1), dtype=np.int64)
        given = (search, decisions, part, preference, True, FEW_BACKTRACKS, found)
        outcome = _find(graph, domains, *given)
        if outcome == NONE:
            return True
        if outcome == GAVE_UP:  # with work half done
            domains.allowed[:] = pruned
            search = search_memory(graph, domains)._replace(hard=chosen)
    return False


def _parts(graph: FactorGraph, chosen: NDArray[np.bool_]) -> list[NDArray[np.int64]]:
    """Variables that the chosen factors connect."""
    part_of = components(graph, chosen)
    order = np.argsort(part_of, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(part_of[order])) + 1)
    return [part for part in parts if len(part) > 1]


def _work(graph: FactorGraph, *rest: Any) -> float:
    """As long as nothing is undone, every factor is looked at a few times."""
    backtracks = rest[-2]
    return elements(graph) if backtracks <= FEW_BACKTRACKS else np.inf


@tiered(_work)
def _find(
    graph: FactorGraph,
    domains: Domains,
    search: Search,
    decisions: Numbers,
    order: Numbers,
    preference: Floats,
    smallest_first: bool,
    limit: int,
    found: Bytes,
) -> Index:
    """Depth-first search for a possible state, undoing through the trail.

    A decision is a variable, its value, and how long the trail was before.
    """
    depth, backtracks = 0, 0
    while True:
        variable = _next_variable(order, domains, smallest_first)
        if variable < 0:
            _set_preferred(domains, preference, order, found)
            return FOUND
        value = _preferred(domains, variable, preference)
        decisions[CHOSEN, depth] = variable
        decisions[TRIED, depth] = value
        decisions[MARK, depth] = search.ends[TRAIL]
        depth += 1
        for other in range(np.int64(graph.cardinality[variable])):
            if other != value and domains.allowed[np.int64(domains.value_start[variable]) + other]:
                remove(graph, variable, other, domains, search)
        while not propagate(graph, domains, search):
            possible = False
            while depth > 0 and not possible:
                depth -= 1
                backtracks += 1
                while search.ends[TRAIL] > decisions[MARK, depth]:
                    search.ends[TRAIL] -= 1
                    domains.allowed[search.trail[search.ends[TRAIL]]] = True
                last = decisions[CHOSEN, depth]
                remove(graph, last, decisions[TRIED, depth], domains, search)
                possible = bool(remaining(domains, last) > 0)
            if not possible:
                return NONE
            if backtracks > limit:
                return GAVE_UP


@shared
def _next_variable(order: Numbers, domains: Domains, smallest_first: bool) -> Index:
    best, size = np.int64(-1), np.int64(2**62)
    for place in range(len(order)):
        variable = order[place]
        count = np.int64(remaining(domains, variable))
        if count > 1 and count < size:
            best, size = np.int64(variable), count
            if not smallest_first:
                return best
    return best


@tiered(of_first)
def _set_preferred_once(domains: Domains, preference: Floats, order: Numbers, found: Bytes) -> None:
    _set_preferred(domains, preference, order, found)


@shared
def _set_preferred(domains: Domains, preference: Floats, order: Numbers, found: Bytes) -> None:
    for place in range(len(order)):
        variable = order[place]
        found[variable] = _preferred(domains, variable, preference)


@shared
def _preferred(domains: Domains, variable: Index, preference: Floats) -> Index:
    best, liking = np.int64(0), -1.0
    first = np.int64(domains.value_start[variable])
    for place in range(first, np.int64(domains.value_start[variable + 1])):
        if domains.allowed[place] and preference[place] > liking:
            best, liking = place - first, preference[place]
    return best
