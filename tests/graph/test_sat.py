"""A SAT solver finds what our own searches give up on, and proves what has no state."""

import itertools

import numpy as np
import pytest

from orbitmc.errors import ContradictionError
from orbitmc.graph.builder import Builder
from orbitmc.graph.feasibility import encode, solve
from orbitmc.graph.log_weights import log_weight
from orbitmc.graph.support import possible_values

pytest.importorskip("pysat", reason="needs the extra `sat`")


def pigeons(birds, holes):
    """Each bird sits in one hole, no two in the same one."""
    builder = Builder([holes] * birds)
    apart = builder.add_table(np.where(np.eye(holes, dtype=bool), -np.inf, 0.0))
    builder.add_factors(list(itertools.combinations(range(birds), 2)), apart)
    return builder.build()


def asked(graph, rng):
    pruned = possible_values(graph)
    return solve(encode(graph, pruned), pruned, rng)


def test_a_state_is_possible_and_starts_differ():
    graph = pigeons(8, 8)
    rng = np.random.default_rng(0)
    found = {tuple(asked(graph, rng)) for _ in range(6)}
    assert len(found) > 1
    for state in found:
        assert np.isfinite(log_weight(graph, np.array(state, np.uint8)[:, None]))[0]


def test_a_bird_too_many_is_proved_impossible():
    graph = pigeons(7, 6)
    with pytest.raises(ContradictionError, match="no state satisfies"):
        asked(graph, np.random.default_rng(0))


def test_hard_clauses_of_both_kinds_are_understood():
    builder = Builder([2, 2, 3])
    builder.add_clause([0, 1, 2], [1, 1, 2], np.inf)
    builder.add_clauses([[0, 2]], [[1, 2]], builder.add_table([0.0, -np.inf]))
    graph = builder.build()
    state = asked(graph, np.random.default_rng(1))
    assert state[0] == 0
    assert state[1] == 1
    assert state[2] != 2
