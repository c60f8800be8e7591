"""Log-weights and their changes agree with adding up every factor."""

import numpy as np
import pytest

from orbitmc._numba.jit import compiled
from orbitmc.graph.log_weights import factors_around, log_weight, log_weight_change
from tests.oracle import brute_force
from tests.oracle.random_models import random_graph


@pytest.mark.parametrize("zeros", [0.0, 0.3])
def test_log_weights_of_all_states(zeros):
    for seed in range(20):
        graph = random_graph(seed, variables=(2, 6), zeros=zeros)
        states = brute_force.states(graph)
        values = np.array(states, dtype=np.uint8).T.copy()
        expected = [brute_force.log_weight(graph, state) for state in states]
        np.testing.assert_allclose(log_weight(graph, values), expected, atol=1e-10)


@compiled
def change(graph, factors, values, proposed, found):
    log_weight_change(graph, factors, values, proposed, found)


@pytest.mark.parametrize("zeros", [0.0, 0.3])
def test_changes_are_differences_of_log_weights(zeros):
    compared = 0
    for seed in range(60):
        graph = random_graph(seed, variables=(3, 6), zeros=zeros)
        rng = np.random.default_rng(seed)
        states = np.array(brute_force.states(graph), dtype=np.uint8)
        possible = states[brute_force.distribution(graph) > 0]
        values = possible[rng.integers(len(possible), size=200)].T.copy()
        proposed = states[rng.integers(len(states), size=200)].T.copy()
        found = np.empty(values.shape[1])
        near = factors_around(graph, (values != proposed).any(axis=1))
        change(graph, near, values, proposed, found)
        before, after = log_weight(graph, values), log_weight(graph, proposed)
        assert not np.isnan(found).any()
        np.testing.assert_allclose(found, after - before, atol=1e-9)
        compared += len(found)
    assert compared > 10_000
