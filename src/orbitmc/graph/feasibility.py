"""How to find a possible state, or to prove that there is none.

States are found by a randomised search that prunes after every decision; where it loses its way,
by WalkSAT, and then by a SAT solver if one is installed.
"""

from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc._numba.compile_log import require_time, timed
from orbitmc._numba.jit import compiled, shared
from orbitmc._numba.tiers import elements, of_first, tier
from orbitmc._simd.random import bernoulli, generator, integer
from orbitmc._util.arrays import LANE_UNIT, Bytes, Floats, Index, Numbers
from orbitmc._util.text import MOST_NAMED
from orbitmc.errors import ContradictionError
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.model import Model
from orbitmc.graph.relevance import components
from orbitmc.graph.support import (
    TRAIL,
    Domains,
    Search,
    all_values,
    enqueue_all,
    hard_factors,
    possible_values,
    propagate,
    propagate_once,
    remaining_values,
    remove,
    search_memory,
)

FIRST_BACKTRACKS = 20  # of a search that may be interpreted; then it begins again, compiled
FEW_BACKTRACKS = 1_000  # then WalkSAT is tried
MOST_BACKTRACKS = 20_000
ATTEMPTS = 8
MOST_EDGES_SEARCHED = 2**18  # of all searches for starts together; a million take about a second
FEWEST_SEARCHES = 2
FOUND, NONE, GAVE_UP = range(3)
CHOSEN, TRIED, MARK, PLACE = range(4)


def possible_states(
    graph: FactorGraph,
    lanes: int,
    seed: np.random.SeedSequence,
    wanted: NDArray[np.int16] | None = None,
) -> Bytes:
    """Find one possible state per lane, dispersed by random orders of variables and values.

    Variables for which `wanted[variable, lane]` is not negative get that value where they can. In a
    large graph, where a search takes long, only a few lanes get states of their own; the others
    begin at these, too.
    """
    pruned = possible_values(graph)
    rng = np.random.default_rng(seed)
    values = np.zeros((graph.variables, lanes), dtype=np.uint8)
    nothing = np.full(graph.variables, -1, dtype=np.int16)
    easy = True
    clauses: list[list[int]] | None = None
    searched = min(lanes, max(FEWEST_SEARCHES, MOST_EDGES_SEARCHED // max(1, len(graph.scope))))
    for lane in timed(range(searched)):
        hopes = nothing if wanted is None else wanted[:, lane]
        state = _search_state(graph, pruned, rng, FEW_BACKTRACKS, False, hopes) if easy else None
        easy = state is not None
        if state is None and clauses is None:
            state = walk_to_state(graph, pruned, rng)
            clauses = encode(graph, pruned) if state is None else None
        if state is None and clauses is not None:
            state = solve(clauses, pruned, rng)
        if state is None:
            state = _search_exhaustively(graph, pruned, rng)
        values[:, lane] = state
    values[:, searched:] = values[:, np.arange(searched, lanes) % searched]
    return values


def _search_state(
    graph: FactorGraph,
    pruned: Domains,
    rng: np.random.Generator,
    backtracks: int,
    smallest_first: bool,
    wanted: NDArray[np.int16] | None = None,
) -> Bytes | None:
    """Search for a possible state; None if that takes more backtracks."""
    order, preference = rng.permutation(graph.variables), rng.random(len(pruned.allowed))
    if wanted is not None:
        hopeful = np.flatnonzero(wanted >= 0)
        preference[pruned.value_start[hopeful].astype(np.int64) + wanted[hopeful]] += 1.0
        order = order[np.argsort(wanted[order] < 0, kind="stable")]
    state = np.zeros(graph.variables, dtype=np.uint8)
    for limit in timed((FIRST_BACKTRACKS, backtracks)):
        domains = Domains(pruned.value_start, pruned.allowed.copy())
        search = search_memory(graph, domains)
        decisions = np.zeros((4, len(order) + 1), dtype=np.int64)
        arguments = (search, decisions, order, preference, smallest_first, limit, state)
        outcome = _find(graph, domains, *arguments)
        if outcome != GAVE_UP:
            break
    if outcome == NONE:
        raise ContradictionError("no state satisfies the hard constraints of the model")
    return state if outcome == FOUND else None


def walk_to_state(graph: FactorGraph, pruned: Domains, rng: np.random.Generator) -> Bytes | None:
    """Mend a random state; None if that takes too long."""
    state = np.zeros(graph.variables, dtype=np.uint8)
    everything, preference = np.arange(graph.variables), rng.random(len(pruned.allowed))
    _set_preferred_once(pruned, preference, everything, state)
    hard = hard_factors(graph)
    return state if walk_sat(graph, pruned, hard, state, int(rng.integers(2**62))) else None


def _search_exhaustively(graph: FactorGraph, pruned: Domains, rng: np.random.Generator) -> Bytes:
    for attempt in timed(range(ATTEMPTS)):
        state = _search_state(graph, pruned, rng, MOST_BACKTRACKS, attempt % 2 == 1)
        if state is not None:
            return state
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
    enqueue_all(search, np.asarray(factors, dtype=np.int64))
    if not propagate_once(graph, domains, search):
        return True
    search.ends[TRAIL] = 0  # what was pruned so far stays pruned
    pruned = domains.allowed.copy()
    preference = np.arange(len(pruned), dtype=float)
    state = np.zeros(graph.variables, dtype=np.uint8)
    for part in _parts(graph, chosen):
        for limit in (FIRST_BACKTRACKS, FEW_BACKTRACKS):
            decisions = np.zeros((4, len(part) + 1), dtype=np.int64)
            arguments = (search, decisions, part, preference, True, limit, state)
            outcome = _find(graph, domains, *arguments)
            if outcome == NONE:
                return True
            if outcome == FOUND:
                break
            domains.allowed[:] = pruned  # its work was half done
            search = search_memory(graph, domains)._replace(hard=chosen)
    return False


def _parts(graph: FactorGraph, chosen: NDArray[np.bool_]) -> list[NDArray[np.int64]]:
    """Variables that the chosen factors connect."""
    part_of = components(graph, chosen)
    order = np.argsort(part_of, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(part_of[order])) + 1)
    return [part for part in parts if len(part) > 1]


def _work(graph: FactorGraph, *rest: Any) -> float:
    """As long as little is undone, every factor is looked at a few times after each backtrack."""
    backtracks = rest[-2]
    return backtracks * elements(graph) if backtracks <= FIRST_BACKTRACKS else np.inf


@tier(_work)
def _find(
    graph: FactorGraph,
    domains: Domains,
    search: Search,
    decisions: Numbers,
    order: Numbers,
    preference: Floats,
    smallest_first: bool,
    limit: int,
    state: Bytes,
) -> Index:
    """Depth-first search for a possible state, undoing through the trail.

    A decision is a variable, its value, how long the trail was before, and the place before which
    all variables of the order had one value then: nobody looks at those again.
    """
    depth, backtracks, decided = 0, 0, np.int64(0)
    while True:
        place = _next_place(order, domains, smallest_first, decided)
        if place < 0:
            _set_preferred(domains, preference, order, state)
            return FOUND
        if not smallest_first:
            decided = np.int64(place)
        variable = np.int64(order[place])
        value = _preferred_value(domains, variable, preference)
        decisions[PLACE, depth] = decided
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
                last, decided = decisions[CHOSEN, depth], decisions[PLACE, depth]
                remove(graph, last, decisions[TRIED, depth], domains, search)
                possible = bool(remaining_values(domains, last) > 0)
            if not possible:
                return NONE
            if backtracks > limit:
                return GAVE_UP


@shared
def _next_place(order: Numbers, domains: Domains, smallest_first: bool, first: Index) -> Index:
    """Where the next variable with a choice stands, from a place on; -1 if there is none."""
    best, size = np.int64(-1), np.int64(2**62)
    for place in range(first, len(order)):
        count = np.int64(remaining_values(domains, order[place]))
        if count > 1 and count < size:
            best, size = np.int64(place), count
            if not smallest_first:
                return best
    return best


@tier(of_first)
def _set_preferred_once(domains: Domains, preference: Floats, order: Numbers, state: Bytes) -> None:
    _set_preferred(domains, preference, order, state)


@shared
def _set_preferred(domains: Domains, preference: Floats, order: Numbers, state: Bytes) -> None:
    for place in range(len(order)):
        variable = order[place]
        state[variable] = _preferred_value(domains, variable, preference)


@shared
def _preferred_value(domains: Domains, variable: Index, preference: Floats) -> Index:
    best, liking = np.int64(0), -1.0
    first = np.int64(domains.value_start[variable])
    for place in range(first, np.int64(domains.value_start[variable + 1])):
        if domains.allowed[place] and preference[place] > liking:
            best, liking = place - first, preference[place]
    return best


# WalkSAT: mend a random state constraint by constraint until no zero is left.
#
# It finds possible states where a search loses its way, but can never say that there are none.

NOISE = 0.5  # near the best for random clauses of three variables (Selman et al. 1994)
FLIPS_PER_VARIABLE = 200
LEAST_FLIPS = 20_000
FLIPS_AT_ONCE = 100_000  # between two looks at the clock
NOT_BROKEN = NOT_LISTED = np.int64(-1)


class WalkSatMemory(NamedTuple):
    """A state, and which hard factors it breaks: a list, and each one's place in it."""

    state: Bytes
    hard: NDArray[np.bool_]
    broken: NDArray[np.int64]
    place: NDArray[np.int64]


def walk_sat(
    graph: FactorGraph, domains: Any, hard: NDArray[np.bool_], state: Bytes, seed: int
) -> bool:
    """Change a state within the domains until it is possible; false if that takes too long."""
    mending = WalkSatMemory(
        state,
        hard,
        np.zeros(graph.factors, dtype=np.int64),
        np.full(graph.factors, NOT_BROKEN, dtype=np.int64),
    )
    flips = LEAST_FLIPS + FLIPS_PER_VARIABLE * graph.variables
    rng = generator(seed, 0, LANE_UNIT)
    broken: Index = NOT_LISTED
    for done in timed(range(0, flips, FLIPS_AT_ONCE)):
        broken = _mend(graph, domains, mending, rng, min(FLIPS_AT_ONCE, flips - done), broken)
        if broken == 0:
            return True
    return False


@compiled
def _mend(
    graph: FactorGraph,
    domains: Domains,
    mending: WalkSatMemory,
    rng: Any,
    flips: Index,
    broken: Index,
) -> Index:
    """Change so many values unless nothing is broken before; gives how many factors still are."""
    if broken == NOT_LISTED:
        broken = np.int64(0)
        for factor in range(len(graph.table_of)):
            broken = _relist(graph, mending, factor, broken)
    for _ in range(flips):
        if broken == 0:
            return broken
        factor = mending.broken[integer(rng, broken)]
        variable, value = _choose(graph, domains, mending, factor, rng)
        mending.state[variable] = value
        for edge in range(graph.incident_start[variable], graph.incident_start[variable + 1]):
            broken = _relist(graph, mending, np.int64(graph.incident[edge]), broken)
    return broken


@shared
def _relist(graph: FactorGraph, mending: WalkSatMemory, factor: Index, broken: Index) -> Index:
    """List a factor if the state breaks it, otherwise take it from the list."""
    place = mending.place[factor]
    if not _is_broken(graph, mending, factor):
        if place != NOT_BROKEN:
            broken -= 1
            last = mending.broken[broken]
            mending.broken[place], mending.place[last] = last, place
            mending.place[factor] = NOT_BROKEN
    elif place == NOT_BROKEN:
        mending.broken[broken], mending.place[factor] = factor, broken
        broken += 1
    return broken


@shared
def _is_broken(graph: FactorGraph, mending: WalkSatMemory, factor: Index) -> bool:
    if not mending.hard[factor]:
        return False
    entry = np.int64(graph.table_start[graph.table_of[factor]])
    satisfied = False
    for edge in range(graph.scope_start[factor], graph.scope_start[factor + 1]):
        value = np.int64(mending.state[graph.scope[edge]])
        if factor < graph.first_clause:
            entry += np.int64(graph.stride[edge]) * value
        elif value == graph.satisfying[edge]:
            satisfied = True
    return bool(graph.table[entry + np.int64(satisfied)] == -np.inf)


@shared
def _choose(
    graph: FactorGraph, domains: Domains, mending: WalkSatMemory, factor: Index, rng: Any
) -> tuple[Index, Index]:
    """Which variable of a broken factor to change, and to which value.

    The change that breaks fewest others, or any if every change breaks some and the coin says so.
    """
    best, best_value, fewest = np.int64(-1), np.int64(0), np.int64(2**62)
    some, some_value, choices = np.int64(-1), np.int64(0), 0
    for edge in range(graph.scope_start[factor], graph.scope_start[factor + 1]):
        variable = np.int64(graph.scope[edge])
        for value in range(np.int64(graph.cardinality[variable])):
            place = np.int64(domains.value_start[variable]) + value
            if domains.allowed[place] and value != mending.state[variable]:
                breaks = _breaks(graph, mending, variable, value)
                choices += 1
                if integer(rng, choices) == 0:
                    some, some_value = variable, np.int64(value)
                if breaks < fewest:
                    best, best_value, fewest = variable, np.int64(value), breaks
    if fewest > 0 and bernoulli(rng, NOISE):
        return some, some_value
    return best, best_value


@shared
def _breaks(graph: FactorGraph, mending: WalkSatMemory, variable: Index, value: Index) -> np.int64:
    """How many factors that hold would be broken by a change."""
    before, count = mending.state[variable], np.int64(0)
    mending.state[variable] = value
    for edge in range(graph.incident_start[variable], graph.incident_start[variable + 1]):
        factor = np.int64(graph.incident[edge])
        if mending.place[factor] == NOT_BROKEN and _is_broken(graph, mending, factor):
            count += 1
    mending.state[variable] = before
    return count


# Let a SAT solver find a possible state, or prove that there is none, where one is installed.

SOLVER = "cadical153"
CONFLICTS_AT_ONCE = 10_000  # between two looks at the clock
MOST_SAT_CLAUSES = 5_000_000


def solver_is_installed() -> bool:
    """Whether the extra `sat` is there."""
    return find_spec("pysat") is not None


def encode(graph: FactorGraph, pruned: Domains) -> list[list[int]] | None:
    """The zeros of a graph as clauses; None if there is no solver or they are too many."""
    if not solver_is_installed() or _size(graph) > MOST_SAT_CLAUSES:
        return None
    return list(_clauses(graph, pruned))


def solve(clauses: list[list[int]], pruned: Domains, rng: np.random.Generator) -> Bytes:
    """A possible state, dispersed by random first guesses.

    A contradiction is proved, not guessed.
    """
    from pysat.solvers import Solver

    with Solver(name=SOLVER, bootstrap_with=clauses) as solver:
        signs = rng.choice([-1, 1], len(pruned.allowed))
        solver.set_phases([int(sign) * (place + 1) for place, sign in enumerate(signs)])
        possible = None
        while possible is None:
            require_time()
            solver.conf_budget(CONFLICTS_AT_ONCE)
            possible = solver.solve_limited()
        if not possible:
            raise ContradictionError("no state satisfies the hard constraints of the model")
        true = np.array(solver.get_model()[: len(pruned.allowed)]) > 0
    first = pruned.value_start[:-1].astype(np.int64)
    return (np.flatnonzero(true) - first).astype(np.uint8)  # each variable has one value


def _size(graph: FactorGraph) -> int:
    tables = [
        factor for factor in np.flatnonzero(hard_factors(graph)) if factor < graph.first_clause
    ]
    pairs = int((graph.cardinality.astype(np.int64) ** 2).sum())
    return graph.factors + pairs + sum(graph.table_values(int(table)).size for table in tables)


def _clauses(graph: FactorGraph, pruned: Domains) -> Iterator[list[int]]:
    """Literal `k + 1` says that place `k` of the flat values holds; each variable has one value."""
    first = pruned.value_start.astype(np.int64)
    for variable in range(graph.variables):
        places = range(first[variable] + 1, first[variable + 1] + 1)
        yield [place for place in places if pruned.allowed[place - 1]]
        yield from ([-place] for place in places if not pruned.allowed[place - 1])
        yield from ([-low, -high] for low in places for high in places if low < high)
    for factor in np.flatnonzero(hard_factors(graph)).tolist():
        yield from _of_factor(graph, first, factor)


def _of_factor(graph: FactorGraph, first: np.ndarray, factor: int) -> Iterator[list[int]]:
    scope, table = graph.scope_of(factor).astype(np.int64), graph.table_values(factor)
    if factor < graph.first_clause:
        for values in np.argwhere(np.isneginf(table)):
            yield [-int(first[v] + value + 1) for v, value in zip(scope, values, strict=True)]
        return
    wanted = graph.satisfying_of(factor)
    literals = [int(first[v] + value + 1) for v, value in zip(scope, wanted, strict=True)]
    if np.isneginf(table[0]):
        yield literals
    if np.isneginf(table[1]):
        yield from ([-literal] for literal in literals)


# Which hard constraints contradict each other: a few, none of which can be left out.


def conflict(graph: FactorGraph) -> NDArray[np.int64] | None:
    """Factors whose zeros leave no state, though any smaller choice of them leaves some.

    None if there is no contradiction, or none that a short search can prove.
    """
    core = np.flatnonzero(hard_factors(graph))
    if not contradicts(graph, core):
        return None
    size = max(1, len(core) // 2)
    while True:
        core = _minimise(graph, core, size)
        if size == 1:
            return core
        size //= 2


def _minimise(graph: FactorGraph, core: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Leave out pieces of the given size that the contradiction does not need."""
    first = 0
    while first < len(core):
        rest = np.delete(core, slice(first, first + size))
        if contradicts(graph, rest):
            core = rest
        else:
            first += size
    return core


def explain_contradiction(model: Model, error: ContradictionError) -> ContradictionError:
    """Add to an error which constraints contradict each other, where that can be proven."""
    core = conflict(model.graph)
    if core is None:
        return error
    scopes = [", ".join(model.names[v] for v in model.graph.scope_of(int(f))) for f in core]
    named = "; ".join(f"({scope})" for scope in scopes[:MOST_NAMED])
    more = f" and {len(core) - MOST_NAMED} more" if len(core) > MOST_NAMED else ""
    if len(core) == 1:
        return ContradictionError(f"{error}: the constraint on {named} allows nothing")
    return ContradictionError(f"{error}: the constraints on {named}{more} contradict each other")


def find_tie(graph: FactorGraph, variable: int, states: Bytes) -> int | None:
    """A factor that keeps a variable from changing alone in one of the states `[variable, lane]`.

    None if no factor does so by itself.

    >>> import orbitmc as om
    >>> table = [[1, 0], [0, 1]]
    >>> model = om.model({"a": ["0", "1"], "b": ["0", "1"]}, [(["a"], [1, 2]), (["a", "b"], table)])
    >>> find_tie(model.graph, 0, np.zeros((2, 1), dtype=np.uint8))
    1
    """
    for factor in map(int, graph.factors_of(variable)):
        scope = graph.scope_of(factor)
        if len(scope) < 2 or not np.isneginf(graph.table_values(factor)).any():
            continue
        others = np.arange(graph.cardinality[variable])[:, None] != states[variable]
        here, changed = scope[:, None] == variable, range(int(graph.cardinality[variable]))
        values = [np.where(here, value, states[scope]) for value in changed]
        possible = np.stack([_is_possible(graph, factor, state) for state in values])
        if (~(possible & others).any(axis=0)).any():
            return factor
    return None


def _is_possible(graph: FactorGraph, factor: int, values: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether a factor allows values `[place in its scope, lane]`."""
    if factor < graph.first_clause:
        return np.asarray(np.isfinite(graph.table_values(factor)[tuple(values)]))
    satisfied = (values == graph.satisfying_of(factor)[:, None]).any(axis=0)
    return np.asarray(np.isfinite(graph.table_values(factor)[satisfied.astype(np.int64)]))
