"""A model that is written and read again is the same model, in every format that is written."""

import numpy as np
import pytest

import orbitmc as om
from orbitmc.errors import InputError

NETWORK = "examples/sprinkler.bif"


def numbers(model):
    answer = om.marginals(model, method="exact")
    return np.concatenate([answer[name].probability for name in answer])


@pytest.mark.parametrize("suffix", [".bif", ".xmlbif", ".xml", ".uai", ".json"])
def test_networks(tmp_path, suffix):
    model, path = om.read(NETWORK), tmp_path / f"again{suffix}"
    om.write(model, path)
    again = om.read(path)
    np.testing.assert_allclose(numbers(again), numbers(model), atol=1e-12)
    if suffix != ".uai":  # the format has no names
        assert (again.names, again.values) == (model.names, model.values)


@pytest.mark.parametrize("suffix", [".uai", ".json"])
def test_spins(tmp_path, suffix):
    model, path = om.ising_grid(3, 3, 0.37, 0.11), tmp_path / f"again{suffix}"
    om.write(model, path)
    again = om.read(path)
    np.testing.assert_allclose(numbers(again), numbers(model), atol=1e-12)
    assert om.log_z(again).value == pytest.approx(om.log_z(model).value, abs=1e-9)


@pytest.mark.parametrize("suffix", [".net", ".xdsl", ".coo", ".ising", ".bqm"])
def test_formats_that_are_only_read_say_so_and_write_nothing(tmp_path, suffix):
    path = tmp_path / f"again{suffix}"
    with pytest.raises(InputError, match="write"):
        om.write(om.read(NETWORK), path)
    assert not path.exists()


def test_a_format_that_cannot_hold_a_model_says_what_can(tmp_path):
    path = tmp_path / "grid.bif"
    with pytest.raises(InputError, match=r"BIF holds Bayesian networks only.*\.uai or \.json"):
        om.write(om.ising_grid(2, 2, 0.3), path)
    assert not path.exists()
