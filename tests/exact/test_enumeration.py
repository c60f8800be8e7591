import math

import numpy as np
import pytest

from orbitmc.errors import ContradictionError
from orbitmc.graph.builder import Builder
from orbitmc.models._ising import ising_grid
from tests.exact.random_graphs import random_graph
from tests.oracle.enumeration import enumerate_states
from tests.oracle.states import sum_of_weights


@pytest.mark.parametrize("seed", range(60))
def test_the_sum_over_states_is_the_definition(seed):
    graph = random_graph(seed, variables=5)
    z, weights = sum_of_weights(graph)
    if z == 0:
        with pytest.raises(ContradictionError, match="no state is possible"):
            enumerate_states(graph)
        return
    answer = enumerate_states(graph)
    assert answer.log_z == pytest.approx(math.log(z), abs=1e-10)
    for marginal, weight in zip(answer.marginals, weights, strict=True):
        np.testing.assert_allclose(marginal, weight / z, atol=1e-12)


def test_some_random_graphs_are_contradictory_and_most_are_not():
    sums = [sum_of_weights(random_graph(seed, variables=5))[0] for seed in range(60)]
    assert 0 < sum(z == 0 for z in sums) < 30


def test_a_graph_without_variables_is_its_constant():
    builder = Builder([])
    builder.constant = 1.5
    builder.add_factor([], 0.25)
    assert enumerate_states(builder.build()).log_z == 1.75


def test_weights_beyond_the_range_of_floats_are_no_trouble():
    builder = Builder([2, 2])
    builder.add_factor([0], [5000.0, 5001.0])
    builder.add_factor([1], [-5000.0, -np.inf])
    answer = enumerate_states(builder.build())
    assert answer.log_z == pytest.approx(1 + math.log1p(math.exp(-1)), abs=1e-9)
    assert answer.marginals[1].tolist() == [1.0, 0.0]


def test_several_blocks_of_states_add_up():
    """Free spins: the sum factorises, whatever the block size."""
    model = ising_grid(3, 6, 0.0, np.linspace(-1, 1, 18).reshape(3, 6))
    answer = enumerate_states(model.graph)
    fields = np.linspace(-1, 1, 18)
    assert answer.log_z == pytest.approx(np.log(2 * np.cosh(fields)).sum(), abs=1e-9)
    up = [marginal[1] for marginal in answer.marginals]
    np.testing.assert_allclose(up, 1 / (1 + np.exp(-2 * fields)), atol=1e-12)
