"""A kernel of one's own: registered, proven, mixed, sampled."""

from typing import NamedTuple

import numpy as np
import pytest

import orbitmc as om
from orbitmc.errors import InputError
from orbitmc.kernels import bernoulli, integer


class Heat(NamedTuple):
    """Give one variable a value that is drawn without looking at the model."""

    bias: float

    @property
    def outcomes(self):
        return ("draws",)

    def memory(self, prepared, lanes):
        return ()


@om.kernels.step(Heat)
def heat(prepared, kernel, memory, values, outcomes, rng):
    variable = integer(rng, len(values))
    if bernoulli(rng, kernel.bias):
        for lane in range(values.shape[1]):
            values[variable, lane] = 0
    outcomes[0] += 1


def test_gibbs_passes_the_check():
    report = om.testing.check_kernel(om.kernels.gibbs())
    assert report.models == 8
    assert report.stationary <= 1e-12


def test_a_kernel_that_ignores_the_model_is_found_out():
    with pytest.raises(AssertionError, match="Heat does not keep the distribution"):
        om.testing.check_kernel(Heat(0.5))


def test_a_kernel_that_does_nothing_keeps_every_distribution():
    assert om.testing.check_kernel(Heat(0.0)).stationary <= 1e-12


def test_a_kernel_is_checked_on_some_model():
    with pytest.raises(InputError, match="at least one model"):
        om.testing.check_kernel(Heat(0.0), models=[])


def test_a_given_kernel_answers_and_is_named():
    model = om.ising_grid(3, 3, 0.2, 0.1)
    kernel = om.kernels.lifted(om.kernels.gibbs(), [Heat(0.0)], alpha=0.7)
    found = om.marginals(model, kernel=kernel, samples=100, seed=1)
    exact = om.marginals(model, method="exact")
    assert found.about.method == "Mixture"
    assert found.about.outcomes["draws"] > 0
    for name in model.names:
        error = found[name].standard_error
        assert (np.abs(found[name].probability - exact[name].probability) < 8 * error).all()
    with pytest.raises(InputError, match="leave out the method 'gibbs'"):
        om.marginals(model, kernel=kernel, method="gibbs")
    with pytest.raises(InputError, match="leave out base"):
        om.marginals(model, kernel=kernel, base="mcsat")
