"""Answers and draws as arrays with labels."""

import sys
import types

import numpy as np
import pytest

import orbitmc as om
from orbitmc.errors import InputError
from tests.interop.libraries import library

xarray = library("xarray")

MODEL = om.model(
    {"z": ["p", "q"], "a": ["x", "y", "z"], "m": ["p", "q"]},
    [(["z", "a"], [[1, 2, 3], [4, 5, 7]]), (["a", "m"], [[1, 2], [5, 1], [2, 2]])],
)


def test_marginals_are_padded_where_values_are_few():
    found = om.marginals(MODEL, method="exact")
    data = found.to_xarray()
    assert dict(data.sizes) == {"variable": 3, "place": 3}
    for name in found:
        own = data.sel(variable=name)
        size = len(found[name].values)
        assert own.label.values[:size].tolist() == list(found[name].values)
        np.testing.assert_array_equal(own.probability.values[:size], found[name].probability)
        assert np.isnan(own.probability.values[size:]).all()
        assert str(own.verdict.values) == "exact"
    assert data.attrs["method"] == "exact"


def test_a_joint_has_an_axis_for_each_name():
    data = om.joint(MODEL, ["m", "z"]).to_xarray()
    swapped = om.joint(MODEL, ["z", "m"]).to_xarray()
    for m in "pq":
        for z in "pq":
            one = float(data.probability.sel(m=m, z=z))
            assert one == pytest.approx(float(swapped.probability.sel(m=m, z=z)), abs=1e-12)
    assert abs(data.probability.values - swapped.probability.values).max() > 0.01


def test_draws_keep_chains_draws_and_variables():
    drawn = om.draws(MODEL, samples=7, chains=3, seed=1)
    data = drawn.to_xarray()
    assert data["values"].dims == ("chain", "draw", "variable")
    np.testing.assert_array_equal(data["values"].sel(variable="a"), drawn.values[:, :, 1])
    np.testing.assert_array_equal(data.log_weight, drawn.log_weight)


def test_estimates_and_sweeps_have_their_errors():
    found = om.expect(MODEL, {"load": lambda state: state["z"] == "q"}, method="exact")
    data = found.to_xarray()
    assert float(data.value.sel(variable="load")) == found["load"].value
    sweep = om.sweep(om.ising_grid(2, 2, 0.3), [0.5, 1.0])
    curves = sweep.to_xarray()
    assert curves.energy.values.tolist() == [rung.energy.value for rung in sweep]
    hot = curves.probability.sel(beta=0.5, variable="s0_1").values
    assert hot.tolist() == sweep[0].marginals["s0_1"].probability.tolist()


def test_arviz_summarises_draws():
    arviz = library("arviz")
    drawn = om.draws(MODEL, samples=200, chains=4, seed=1)
    data = drawn.to_arviz()
    np.testing.assert_array_equal(data.posterior["a"].values, drawn.values[:, :, 1])
    means = arviz.summary(data, kind="stats", round_to="none")["mean"]
    assert means["a"] == pytest.approx(drawn.values[:, :, 1].mean(), abs=1e-12)


def test_from_version_1_on_arviz_takes_groups(monkeypatch):
    taken = []
    fake = types.SimpleNamespace(__version__="1.3.0", from_dict=taken.append)
    monkeypatch.setitem(sys.modules, "arviz", fake)
    om.draws(MODEL, samples=2, chains=1).to_arviz()
    assert list(taken[0]) == ["posterior", "sample_stats"]
    assert list(taken[0]["posterior"]) == ["z", "a", "m"]


def test_a_variable_called_like_a_dimension_is_refused(monkeypatch):
    monkeypatch.setitem(sys.modules, "arviz", types.SimpleNamespace(__version__="1.3.0"))
    model = om.model({"chain": ["p", "q"]}, [(["chain"], [1, 2])])
    with pytest.raises(InputError, match="dimension called 'chain'"):
        om.draws(model, samples=2, chains=1).to_arviz()
