"""What follows from single values: values that are impossible, variables that others decide.

Each value of a variable is tried, and what zeros exclude then is followed to the end. A value that
leads to a contradiction is impossible. A variable that has one value left whichever value is tried
is decided by the variable that was tried.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc._numba.jit import shared
from orbitmc._numba.tiers import tier
from orbitmc._util.arrays import Index, Indices, Numbers, lengths, readonly
from orbitmc.errors import ContradictionError
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.support import (
    TRAIL,
    WORK,
    Domains,
    Search,
    possible_values,
    propagate,
    remaining_values,
    remove,
    search_memory,
)

MOST_VALUES = 64  # of a variable whose values are tried
NONE = "no state is possible: the hard constraints contradict"
LOOKS = 40  # at every entry of a table with zeros, on average, before no more values are tried


class Decided(NamedTuple):
    """A variable that another one decides: `values[a]` is its value where that one has value `a`.

    Impossible values of the other one have -1.
    """

    by: int
    values: Indices


class Probed(NamedTuple):
    """Values that are possible, and variables that others decide, which nobody decides."""

    domains: Domains
    decided: dict[int, Decided]


class _Memory(NamedTuple):
    """What trying overwrites.

    `by[u]` is who decides variable `u`, or -1, and `image[u, a]` its value where that one has
    value `a`. `fixed[u]` counts for how many of the values tried so far of variable `tried[u]` it
    had one value left; `seen[u]` is the last try that found so.
    """

    owner: Numbers
    size: Numbers
    by: Numbers
    image: NDArray[np.int16]
    trial: NDArray[np.int16]
    fixed: Numbers
    tried: Numbers
    seen: Numbers
    touched: Numbers


def probe(graph: FactorGraph, *, looks: float = LOOKS) -> Probed:
    """Try the values of all variables that zeros restrict; ends after so many `looks`.

    >>> import orbitmc as om
    >>> model = om.model({"a": ["0", "1"], "b": ["0", "1"]}, [(["a", "b"], [0, 2, 1, 0])])
    >>> probe(model.graph).decided[1].values.tolist()
    [1, 0]
    """
    try:
        pruned = possible_values(graph)
    except ContradictionError:
        raise ContradictionError(NONE) from None
    domains = Domains(pruned.value_start, pruned.allowed.copy())
    search = search_memory(graph, domains)
    entries = int(lengths(graph.table_start)[graph.table_of[search.hard]].sum())
    memory = _memory(graph)
    if not _probe_all(graph, domains, search, memory, looks * (entries + graph.factors)):
        raise ContradictionError(NONE)
    decided = {u: _decided(u, memory) for u in np.flatnonzero(memory.by >= 0).tolist()}
    for variable, (by, values) in decided.items():
        possible = domains.of(by)
        possible &= (values >= 0) & domains.of(variable)[values]
        if not possible.any():
            raise ContradictionError(NONE)
    for variable, (by, values) in decided.items():
        decided[variable] = Decided(by, np.where(domains.of(by), values, -1))
    return Probed(Domains(domains.value_start, readonly(domains.allowed)), decided)


def _memory(graph: FactorGraph) -> _Memory:
    count = graph.variables
    most = min(MOST_VALUES, int(graph.cardinality.max(initial=1)))
    return _Memory(
        owner=np.repeat(np.arange(count), graph.cardinality),
        size=graph.cardinality.astype(np.int64),
        by=np.full(count, -1),
        image=np.full((count, most), -1, np.int16),
        trial=np.full((count, most), -1, np.int16),
        fixed=np.zeros(count, np.int64),
        tried=np.full(count, -1),
        seen=np.full(count, -1),
        touched=np.zeros(count, np.int64),
    )


def _decided(variable: int, memory: _Memory) -> Decided:
    """Who decides a variable in the end, and how."""
    by, values = int(memory.by[variable]), memory.image[variable].astype(np.int64)
    while memory.by[by] >= 0:
        above = memory.image[by].astype(np.int64)
        values = np.where(above >= 0, values[above], -1)
        by = int(memory.by[by])
    return Decided(by, values[: int(memory.size[by])])


def _work(graph: FactorGraph, *rest: Any) -> float:
    return float(rest[-1])


@tier(_work)
def _probe_all(
    graph: FactorGraph, domains: Domains, search: Search, memory: _Memory, most_work: float
) -> bool:
    """Try values of one variable after the other; false if there is a contradiction.

    It ends earlier where nothing was found for a quarter of the work.
    """
    number, last_gain = np.int64(0), np.int64(0)
    for variable in range(len(graph.cardinality)):
        if search.ends[WORK] > most_work or search.ends[WORK] - last_gain > 0.25 * most_work:
            break
        if not _is_worth_trying(graph, domains, search, memory, variable):
            continue
        before = search.ends[TRAIL]
        followers = _probe_variable(graph, domains, search, memory, variable, number)
        if followers < 0:
            return False
        if followers > 0 or search.ends[TRAIL] > before:
            last_gain = search.ends[WORK]
        number += np.int64(graph.cardinality[variable])
    return True


@shared
def _is_worth_trying(
    graph: FactorGraph, domains: Domains, search: Search, memory: _Memory, variable: Index
) -> bool:
    """Whether a variable has several values, zeros around it, and nobody who decides it."""
    if memory.by[variable] >= 0 or graph.cardinality[variable] > memory.image.shape[1]:
        return False
    if remaining_values(domains, variable) < 2:
        return False
    for edge in range(graph.incident_start[variable], graph.incident_start[variable + 1]):
        if search.hard[graph.incident[edge]]:
            return True
    return False


@shared
def _probe_variable(
    graph: FactorGraph,
    domains: Domains,
    search: Search,
    memory: _Memory,
    variable: Index,
    number: np.int64,
) -> np.int64:
    """Try the values of a variable; gives how many variables it decides, -1 if none is possible."""
    start = np.int64(domains.value_start[variable])
    values, many = np.int64(0), np.int64(0)
    for value in range(np.int64(graph.cardinality[variable])):
        if not domains.allowed[start + value]:
            continue
        before = search.ends[TRAIL]
        for other in range(np.int64(graph.cardinality[variable])):
            if other != value and domains.allowed[start + other]:
                remove(graph, variable, other, domains, search)
        is_possible = propagate(graph, domains, search)
        if is_possible:
            many = _note(domains, search, memory, variable, value, values, number, before, many)
            values += 1
        while search.ends[TRAIL] > before:
            search.ends[TRAIL] -= 1
            domains.allowed[search.trail[search.ends[TRAIL]]] = True
        if not is_possible:
            remove(graph, variable, value, domains, search)
            if remaining_values(domains, variable) == 0:
                return np.int64(-1)
            if not propagate(graph, domains, search):
                return np.int64(-1)
    followers = np.int64(0)
    if values > 1:
        for place in range(many):
            follower = memory.touched[place]
            if memory.fixed[follower] == values and remaining_values(domains, follower) > 1:
                memory.by[follower] = variable
                for value in range(memory.image.shape[1]):
                    memory.image[follower, value] = memory.trial[follower, value]
                followers += 1
    return followers


@shared
def _note(
    domains: Domains,
    search: Search,
    memory: _Memory,
    variable: Index,
    value: Index,
    values: np.int64,
    number: np.int64,
    before: Index,
    many: np.int64,
) -> np.int64:
    """Note the variables that have one value left; gives how many candidates there are.

    The first value of the variable that is tried has this number of all tries.

    Those that had several left for an earlier value of the variable are no candidates.
    """
    for place in range(before, search.ends[TRAIL]):
        follower = memory.owner[search.trail[place]]
        if (
            follower == variable
            or memory.by[follower] >= 0
            or memory.seen[follower] == number + value
        ):
            continue
        if remaining_values(domains, follower) != 1:
            continue
        memory.seen[follower] = number + value
        if memory.tried[follower] != variable:
            if values > 0:
                continue
            memory.tried[follower] = variable
            memory.fixed[follower] = 0
            for other in range(memory.trial.shape[1]):
                memory.trial[follower, other] = -1
            memory.touched[many] = follower
            many += 1
        if memory.fixed[follower] == values:
            first = np.int64(domains.value_start[follower])
            while not domains.allowed[first]:
                first += 1
            memory.trial[follower, value] = first - np.int64(domains.value_start[follower])
            memory.fixed[follower] += 1
    return many
