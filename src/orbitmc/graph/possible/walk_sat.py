"""WalkSAT: mend a random state constraint by constraint until no zero is left.

It finds possible states where a search loses its way, but can never say that there are none.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc._numba.jit import compiled, shared
from orbitmc._simd.random import LANE_UNIT, bernoulli, generator, integer
from orbitmc._util.arrays import Bytes, Index
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.possible.support import Domains

NOISE = 0.5  # near the best for random clauses of three variables (Selman et al. 1994)
FLIPS_PER_VARIABLE = 200
LEAST_FLIPS = 20_000
NOT_BROKEN = -1


class Mending(NamedTuple):
    """A state, and which hard factors it breaks: a list, and each one's place in it."""

    state: Bytes
    hard: NDArray[np.bool_]
    broken: NDArray[np.int64]
    place: NDArray[np.int64]


def mend(
    graph: FactorGraph, domains: Any, hard: NDArray[np.bool_], state: Bytes, seed: int
) -> bool:
    """Change a state within the domains until it is possible; false if that takes too long."""
    mending = Mending(
        state,
        hard,
        np.zeros(graph.factors, dtype=np.int64),
        np.full(graph.factors, NOT_BROKEN, dtype=np.int64),
    )
    flips = LEAST_FLIPS + FLIPS_PER_VARIABLE * graph.variables
    return bool(_mend(graph, domains, mending, generator(seed, 0, LANE_UNIT), flips))


@compiled
def _mend(graph: FactorGraph, domains: Domains, mending: Mending, rng: Any, flips: Index) -> bool:
    broken: Index = 0
    for factor in range(len(graph.table_of)):
        broken = _relist(graph, mending, factor, broken)
    for _ in range(flips):
        if broken == 0:
            return True
        factor = mending.broken[integer(rng, broken)]
        variable, value = _choose(graph, domains, mending, factor, rng)
        mending.state[variable] = value
        for edge in range(graph.incident_start[variable], graph.incident_start[variable + 1]):
            broken = _relist(graph, mending, np.int64(graph.incident[edge]), broken)
    return broken == 0


@shared
def _relist(graph: FactorGraph, mending: Mending, factor: Index, broken: Index) -> Index:
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
def _is_broken(graph: FactorGraph, mending: Mending, factor: Index) -> bool:
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
    graph: FactorGraph, domains: Domains, mending: Mending, factor: Index, rng: Any
) -> tuple[Index, Index]:
    """Which variable of a broken factor to change, and to which value.

    The change that breaks fewest others, or any if every change breaks some and the coin says so.
    """
    best, best_value, fewest = np.int64(-1), np.int64(0), np.int64(2**62)
    some, some_value, seen = np.int64(-1), np.int64(0), 0
    for edge in range(graph.scope_start[factor], graph.scope_start[factor + 1]):
        variable = np.int64(graph.scope[edge])
        for value in range(np.int64(graph.cardinality[variable])):
            place = np.int64(domains.value_start[variable]) + value
            if domains.allowed[place] and value != mending.state[variable]:
                breaks = _breaks(graph, mending, variable, value)
                seen += 1
                if integer(rng, seen) == 0:
                    some, some_value = variable, np.int64(value)
                if breaks < fewest:
                    best, best_value, fewest = variable, np.int64(value), breaks
    if fewest > 0 and bernoulli(rng, NOISE):
        return some, some_value
    return best, best_value


@shared
def _breaks(graph: FactorGraph, mending: Mending, variable: Index, value: Index) -> np.int64:
    """How many factors that hold would be broken by a change."""
    before, count = mending.state[variable], np.int64(0)
    mending.state[variable] = value
    for edge in range(graph.incident_start[variable], graph.incident_start[variable + 1]):
        factor = np.int64(graph.incident[edge])
        if mending.place[factor] == NOT_BROKEN and _is_broken(graph, mending, factor):
            count += 1
    mending.state[variable] = before
    return count
