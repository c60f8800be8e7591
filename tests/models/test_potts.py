import numpy as np
import pytest

from orbitmc.errors import InputError
from orbitmc.models._ising import ising_grid, potts_grid
from tests.oracle.enumeration import enumerate_states, log_weights_of_all


def test_equal_neighbours_earn_the_coupling():
    log_weights = log_weights_of_all(potts_grid(1, 2, 3, 0.7).graph)
    np.testing.assert_allclose(log_weights.reshape(3, 3), 0.7 * np.eye(3))


def test_fields_belong_to_values():
    log_weights = log_weights_of_all(potts_grid(1, 2, 3, 0.0, [[[1, 2, 3], [10, 20, 30]]]).graph)
    expected = np.add.outer([1, 2, 3], [10, 20, 30]).reshape(-1)
    np.testing.assert_allclose(log_weights, expected)


def test_two_states_are_an_ising_model_with_half_the_coupling():
    potts = enumerate_states(potts_grid(2, 3, 2, 0.8, [-0.3, 0.3], periodic=True).graph)
    ising = enumerate_states(ising_grid(2, 3, 0.4, 0.3, periodic=True).graph)
    np.testing.assert_allclose(potts.marginals, ising.marginals, atol=1e-13)


def test_a_model_needs_states():
    with pytest.raises(InputError, match="at least one state"):
        potts_grid(2, 2, 0, 1.0)
