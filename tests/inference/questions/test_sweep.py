"""Temperatures: exact numbers equal sums over all states, sampled ones lie within their errors."""

import numpy as np
import pytest

import orbitmc as om
from orbitmc.errors import InputError, LimitError
from orbitmc.exact.joints import mean_log_weight
from orbitmc.inference import _observables
from orbitmc.inference import _sweep as asking
from orbitmc.inference import _sweep as tempered
from orbitmc.inference._sweep import EnergyFeature
from orbitmc.inference.feature_sampling import join_models
from orbitmc.inference.plan import plan_elimination
from tests.inference.questions.truth import hard_models, require_honest, soft_models
from tests.oracle.enumeration import log_weights_of_all

BETAS = (0.3, 1.0, 2.0)


def enumerated(model, beta):
    """The mean energy and the heat capacity as sums over all possible states."""
    logs = log_weights_of_all(model.graph)
    energy = -logs[np.isfinite(logs)]
    p = np.exp(-beta * energy - (-beta * energy).max())
    p /= p.sum()
    mean = p @ energy
    return mean, beta**2 * (p @ (energy - mean) ** 2)


@pytest.mark.parametrize("count", [30, pytest.param(300, marks=pytest.mark.slow)])
def test_exact_numbers_are_sums_over_all_states(count):
    for _, model, _ in hard_models(count):
        for rung in om.sweep(model, BETAS):
            energy, heat = enumerated(model, rung.beta)
            assert rung.verdict == "exact"
            assert rung.energy.value == pytest.approx(energy, rel=1e-9, abs=1e-9)
            assert rung.heat_capacity.value == pytest.approx(heat, rel=1e-7, abs=1e-7)


def test_marginals_are_those_of_the_cooled_model():
    model = om.ising_grid(3, 3, 0.4, 0.1)
    for rung in om.sweep(model, BETAS):
        alone = om.marginals(model.at(rung.beta), method="exact")
        for name, one in rung.marginals.items():
            np.testing.assert_allclose(one.probability, alone[name].probability, atol=1e-12)


def scores(models, method="gibbs"):
    off, inside = [], []
    for seed, model, _ in models:
        for rung in om.sweep(model, [0.5, 1.5], method=method, samples=100, seed=seed, threads=1):
            expected = enumerated(model, rung.beta)
            for one, right in zip((rung.energy, rung.heat_capacity), expected, strict=True):
                if one.converged and one.standard_error > 0:
                    off.append((one.value - right) / one.standard_error)
                    inside.append(one.low <= right <= one.high)
    return np.array(off), np.array(inside)


def test_sampled_numbers_lie_within_their_errors():
    off, inside = scores(soft_models(20))
    assert len(off) > 40
    require_honest(off, inside)


@pytest.fixture
def too_wide(monkeypatch):
    """Nothing is affordable, so that temperatures exchange their states."""
    monkeypatch.setattr(asking, "plan_elimination", lambda graph, settings: (None, "too wide"))


@pytest.mark.parametrize("make", [soft_models, hard_models])
@pytest.mark.parametrize("count", [10, pytest.param(300, marks=pytest.mark.slow)])
def test_temperatures_that_exchange_states_lie_within_their_errors(too_wide, make, count):
    off, inside = scores(((seed, model, None) for seed, model, _ in make(count)), method="auto")
    assert len(off) > 2 * count
    require_honest(off, inside)


def test_the_kernel_of_a_sweep_keeps_all_temperatures():
    model = om.model({"A": ["x", "y"], "B": ["x", "y"]}, [(["A", "B"], [[3, 1], [2, 5]])])
    betas = [1.0, 0.3]
    both = join_models([model.at(beta) for beta in betas], ["cold", "hot"])
    coldest = both.graph
    kernel = tempered._kernel(both, betas, coldest, om.Settings())
    assert om.testing.check_kernel(kernel, models=[both]).stationary < 1e-12


def test_hot_chains_help_cold_ones_out_of_their_modes(too_wide):
    """A magnet with two modes, one of them 9 times as heavy: cold chains alone never leave one."""
    magnet = om.ising_grid(4, 4, 1.2, 0.07)
    betas = [1.0, 0.7, 0.5, 0.35, 0.2]
    options = {"samples": 1000, "seed": 1}
    cold = om.sweep(magnet, betas, **options)[0]
    alone = om.sweep(magnet, betas, method="gibbs", scan="systematic", **options)[0]
    truth = om.marginals(magnet, method="exact")["s1_1"].probability[1]
    found = cold.marginals["s1_1"]
    assert cold.marginals.about.method == "tempering"
    assert found.verdict in ("good", "fair")
    assert abs(found.probability[1] - truth) < 8 * found.standard_error[1]
    assert not alone.marginals.converged


def test_a_forgotten_constant_would_be_noticed(monkeypatch):
    plain = EnergyFeature.energies
    monkeypatch.setattr(EnergyFeature, "energies", lambda self, states: plain(self, states) + 1.0)
    assert np.abs(scores(soft_models(5))[0]).max() > 8


def test_a_program_is_cooled_too():
    program = om.read("examples/smokers.mln", "examples/smokers.db")
    found = om.sweep(program, [0.5, 1.0])
    alone = om.marginals(program, method="exact")
    assert {**found[1].marginals}.keys() == {**alone}.keys()
    for name, one in alone.items():
        np.testing.assert_allclose(found[1].marginals[name].probability, one.probability)


@pytest.mark.parametrize("betas", [[], [-1.0], [float("nan")], [float("inf")], ["hot"], 3])
def test_betas_that_are_none_are_refused(betas):
    with pytest.raises(InputError, match="beta"):
        om.sweep(om.ising_grid(2, 2, 0.3), betas)


def test_a_model_at_another_temperature_keeps_its_names_and_evidence():
    model = om.read("examples/sprinkler.bif").given(grass="wet")
    cold = model.at(2.0)
    assert cold.names == model.names
    assert cold.observed == model.observed
    np.testing.assert_allclose(cold.graph.table, 2.0 * model.graph.table)


def switch(spins):
    """A switch that frees spins: as probable as all of them together at beta 1."""
    values = {"A": ["0", "1"], **{f"s{k}": ["0", "1"] for k in range(spins)}}
    held = [(["A", f"s{k}"], [[1, 0], [1, 1]]) for k in range(spins)]
    return om.model(values, [(["A"], [2.0**spins, 1]), *held])


def test_exact_numbers_at_a_sharp_transition():
    """The energy is 0 or -60 log 2, equally probable: all within 2 per cent of beta."""
    rung = om.sweep(switch(60), [1.0], method="exact")[0]
    depth = 60 * np.log(2)
    assert rung.energy.value == pytest.approx(-depth / 2, rel=1e-12)
    assert rung.heat_capacity.value == pytest.approx(depth**2 / 4, rel=1e-6)
    assert rung.heat_capacity.low <= depth**2 / 4 <= rung.heat_capacity.high


@pytest.mark.parametrize("beta", [1e-300, 1e-9])
def test_exact_numbers_of_a_hot_model(beta):
    rung = om.sweep(om.model({"A": ["x", "y"]}, [(["A"], [1.0, np.e])]), [beta])[0]
    assert rung.energy.value == pytest.approx(-0.5, rel=1e-9)
    assert rung.heat_capacity.value == pytest.approx(beta**2 / 4, rel=0.1)


def test_temperatures_that_look_the_same_are_sampled_too():
    model = om.ising_grid(2, 2, 0.4)
    found = om.sweep(model, [0.44068679, 0.4406868, 0.44068679], method="gibbs", samples=20)
    assert [rung.beta for rung in found] == [0.44068679, 0.4406868, 0.44068679]
    assert all(list(rung.marginals) == list(model.names) for rung in found)


def test_energies_that_were_all_the_same_still_have_an_error():
    """No chain sees the other value, whose energy is 20 higher."""
    model = om.model({"A": ["x", "y"]}, [(["A"], [1.0, np.exp(-20)])])
    rung = om.sweep(model, [1.0], method="gibbs", samples=20)[0]
    assert rung.energy.value == 0.0
    assert rung.energy.low < 0 < rung.energy.standard_error < rung.energy.high < 1
    assert rung.heat_capacity.high > 0


def test_one_plan_does_for_all_temperatures_unless_weights_are_large(monkeypatch):
    planned = []

    def plan(*given):
        planned.append(given)
        return plan_elimination(*given)

    for module in (tempered, _observables):
        monkeypatch.setattr(module, "plan_elimination", plan)
    om.sweep(om.ising_grid(3, 3, 1.0), [0.2, 0.4, 0.8])
    assert len(planned) == 2  # whether elimination is affordable, and the plan itself
    planned.clear()
    om.sweep(om.ising_grid(2, 2, 1e6), [0.5, 1.0])
    assert len(planned) > 2


def test_a_plan_at_another_temperature_is_the_plan_of_the_model_there():
    for _, model, _ in hard_models(60):
        plan = om.exact.predict(model.graph)
        for beta in (0.3, 1.7):
            energy, _ = enumerated(model, beta)
            assert -mean_log_weight(plan.at(beta)) / beta == pytest.approx(energy, abs=1e-9)


def test_a_sweep_with_tables_beyond_its_seconds_is_refused(monkeypatch):
    monkeypatch.setattr(tempered, "SECONDS_PER_ENTRY", 1e3)
    with pytest.raises(LimitError, match=r"before the first sample.*fewer temperatures"):
        om.sweep(om.ising_grid(3, 3, 1.0), [0.2, 0.4], method="gibbs", seconds=5.0)
