"""Equal interactions leave the symmetries of the structure."""

import numpy as np
import pytest

from orbitmc.graph.builder import Builder
from orbitmc.models._ising import ising_grid
from orbitmc.symmetry.approximations import one_coupling, without_fields
from tests.symmetry.approximation.models import (
    assert_same_variables,
    factors_of,
    log_weights,
    named,
    noisy_grid,
    observed_grid,
    pairs_and_clauses,
)


def test_a_grid_without_fields_is_the_bare_grid():
    rng = np.random.default_rng(0)
    model = ising_grid(4, 4, 0.3, rng.normal(size=(4, 4)))
    assert factors_of(without_fields(model)) == factors_of(ising_grid(4, 4, 0.3))
    assert_same_variables(without_fields(model), model)


def test_a_grid_without_fields_has_its_reflections():
    rng = np.random.default_rng(1)
    model = ising_grid(3, 3, 0.4, rng.normal(size=(3, 3)))
    bare = log_weights(without_fields(model)).reshape((2,) * 9)
    reflected = np.arange(9).reshape(3, 3)[:, ::-1].reshape(-1)
    turned = np.rot90(np.arange(9).reshape(3, 3)).reshape(-1)
    for image in (reflected, turned):
        np.testing.assert_allclose(bare, bare.transpose(image), atol=1e-12)
        assert not np.allclose(
            log_weights(model).reshape((2,) * 9),
            log_weights(model).reshape((2,) * 9).transpose(image),
        )


def test_fields_hidden_in_couplings_are_dropped_too():
    builder = Builder([2, 2])
    builder.add_factor([0, 1], np.log([[3.0, 1.0], [1.0, 8.0]]))
    bare = log_weights(without_fields(named(builder.build()))).reshape(2, 2)
    assert bare[0, 0] == pytest.approx(bare[1, 1])
    assert bare[0, 1] == pytest.approx(bare[1, 0])


def test_one_coupling_is_the_mean_and_fields_stay():
    rng = np.random.default_rng(2)
    couplings, fields = rng.normal(size=12), rng.normal(size=(3, 3))
    model = ising_grid(3, 3, couplings, fields)
    expected = ising_grid(3, 3, couplings.mean(), fields)
    assert factors_of(one_coupling(model)) == factors_of(expected)


@pytest.mark.parametrize("make", [noisy_grid, observed_grid, pairs_and_clauses])
@pytest.mark.parametrize("change", [without_fields, one_coupling])
def test_variables_and_impossible_states_stay(make, change):
    model = make()
    approximation = change(model)
    assert_same_variables(approximation, model)
    np.testing.assert_array_equal(
        np.isneginf(log_weights(approximation)), np.isneginf(log_weights(model))
    )
