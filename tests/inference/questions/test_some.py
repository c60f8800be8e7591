"""Marginals of some variables: exact ones equal brute force, sampled ones fit their errors."""

import numpy as np
import pytest

import orbitmc as om
from orbitmc.errors import InputError
from tests.inference.questions.truth import hard_models, over, require_honest, soft_models


@pytest.fixture(params=["kept", "planned"])
def way(request, monkeypatch):
    """By an elimination that is kept for the next question, or by one that is planned anew."""
    if request.param == "planned":
        monkeypatch.setattr("orbitmc.inference.answer.find_elimination", lambda *question: None)


def test_exact_marginals_equal_brute_force(way):
    for seed, model, truth in hard_models(300):
        axes = np.random.default_rng(seed).permutation(5)[:2].tolist()
        found = om.marginals(model, query=[model.names[axis] for axis in axes], method="exact")
        assert list(found) == [model.names[axis] for axis in axes]
        for axis in axes:
            right = over(truth, [axis])
            np.testing.assert_allclose(found[model.names[axis]].probability, right, atol=1e-9)


@pytest.mark.parametrize("count", [60, pytest.param(300, marks=pytest.mark.slow)])
def test_sampled_marginals_lie_within_their_errors(count):
    off, inside = [], []
    for seed, model, truth in soft_models(count):
        options = {"method": "gibbs", "samples": 60, "seed": seed, "threads": 1}
        found = om.marginals(model, query=["B"], **options)
        assert list(found) == ["B"]
        one, right = found["B"], over(truth, [1])[0]
        if found.converged and one.standard_error[0] > 0:
            off.append((one.probability[0] - right) / one.standard_error[0])
            inside.append(one.low[0] <= right <= one.high[0])
    assert len(off) > 0.7 * count
    require_honest(np.array(off), np.array(inside))


def test_wrong_names_are_explained():
    with pytest.raises(InputError, match="did you mean 's0_0'"):
        om.marginals(om.ising_grid(2, 2, 0.3), query=["s0_00"])
