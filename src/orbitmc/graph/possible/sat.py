"""Let a SAT solver find a possible state, or prove that there is none, where one is installed."""

from collections.abc import Iterator
from importlib.util import find_spec

import numpy as np

from orbitmc._util.arrays import Bytes
from orbitmc.errors import ContradictionError
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.possible.support import Domains, hard_factors

SOLVER = "cadical153"
MOST_CLAUSES = 5_000_000


def solver_is_installed() -> bool:
    """Whether the extra `sat` is there."""
    return find_spec("pysat") is not None


def encoded(graph: FactorGraph, pruned: Domains) -> list[list[int]] | None:
    """The zeros of a graph as clauses; None if there is no solver or they are too many."""
    if not solver_is_installed() or _size(graph) > MOST_CLAUSES:
        return None
    return list(_clauses(graph, pruned))


def solved(clauses: list[list[int]], pruned: Domains, rng: np.random.Generator) -> Bytes:
    """A possible state, dispersed by random first guesses.

    A contradiction is proved, not guessed.
    """
    from pysat.solvers import Solver

    with Solver(name=SOLVER, bootstrap_with=clauses) as solver:
        signs = rng.choice([-1, 1], len(pruned.allowed))
        solver.set_phases([int(sign) * (place + 1) for place, sign in enumerate(signs)])
        if not solver.solve():
            raise ContradictionError("no state satisfies the hard constraints of the model")
        true = np.array(solver.get_model()[: len(pruned.allowed)]) > 0
    first = pruned.value_start[:-1].astype(np.int64)
    return (np.flatnonzero(true) - first).astype(np.uint8)  # each variable has one value


def _size(graph: FactorGraph) -> int:
    tables = [
        factor for factor in np.flatnonzero(hard_factors(graph)) if factor < graph.first_clause
    ]
    pairs = int((graph.cardinality.astype(np.int64) ** 2).sum())
    return graph.factors + pairs + sum(graph.table_values(int(one)).size for one in tables)


def _clauses(graph: FactorGraph, pruned: Domains) -> Iterator[list[int]]:
    """Literal `k + 1` says that place `k` of the flat values holds; each variable has one value."""
    first = pruned.value_start.astype(np.int64)
    for variable in range(graph.variables):
        places = range(first[variable] + 1, first[variable + 1] + 1)
        yield [place for place in places if pruned.allowed[place - 1]]
        yield from ([-place] for place in places if not pruned.allowed[place - 1])
        yield from ([-one, -other] for one in places for other in places if one < other)
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
