"""The change of log-weight that proposals report is the one of the whole model."""

import numpy as np
import pytest

from orbitmc._numba.jit import compiled
from orbitmc.conditionals.prepared import prepare
from orbitmc.kernels.metropolis import apply_proposal, proposal_memory
from tests.oracle import brute_force
from tests.oracle.random_models import random_graph

LANES, ROUNDS = 32, 16
ROUNDING = 6e-6  # six variables, each with a field in single precision (1e-6)
FLAVOURS = {
    "binary": {"cardinalities": (2,)},
    "ternary": {"cardinalities": (3,)},
    "zeros": {"cardinalities": (2, 3), "zeros": 0.3},
}


@compiled
def applied(graph, prepared, memory, values, count):
    return apply_proposal(prepared, memory, values, count)


def recomputed(graph, before, after):
    return [
        brute_force.log_weight(graph, new) - brute_force.log_weight(graph, old)
        for old, new in zip(before.T, after.T, strict=True)
    ]


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_changes_equal_full_recomputation(flavour):
    impossible = 0
    for seed in range(8):
        graph = random_graph([seed, 7], variables=(4, 7), **FLAVOURS[flavour])
        rng, prepared = np.random.default_rng(seed), prepare(graph)
        memory = proposal_memory(prepared, LANES, graph.variables)
        possible = [
            state
            for state in brute_force.states(graph)
            if brute_force.log_weight(graph, state) > -np.inf
        ]
        for _ in range(ROUNDS):
            states = rng.choice(possible, size=LANES).T.astype(np.uint8)
            targets = rng.permutation(graph.variables)[: rng.integers(1, graph.variables + 1)]
            proposed = rng.integers(0, graph.cardinality[targets, None], (len(targets), LANES))
            after = states.copy()
            after[targets] = proposed
            memory.target[: len(targets)] = targets
            memory.proposed[: len(targets)] = proposed
            memory.change[:] = 0.0
            values = states.copy()
            assert applied(graph, prepared, memory, values, len(targets))
            expected = recomputed(graph, states, after)
            np.testing.assert_array_equal(values, after)
            np.testing.assert_array_equal(memory.proposed[: len(targets)], states[targets])
            np.testing.assert_allclose(memory.change, expected, rtol=0, atol=ROUNDING)
            impossible += np.isneginf(expected).sum()
    assert (impossible > 0) == (flavour == "zeros")
