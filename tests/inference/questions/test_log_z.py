"""Log Z: exact where elimination affords it, elsewhere within its error or not believed."""

import math

import numpy as np
import pytest

import orbitmc as om
from orbitmc.errors import ContradictionError, InputError, LimitError
from orbitmc.inference import _log_z as shrinking
from orbitmc.sampling import annealed_importance as importance
from tests.inference.questions.truth import hard_models, require_honest, soft_models
from tests.oracle.enumeration import log_weights_of_all


def enumerated(model):
    """Log Z as the sum over all states."""
    return float(np.logaddexp.reduce(log_weights_of_all(model.graph)))


def test_exact_values_are_sums_over_all_states(way):
    for _, model, _ in hard_models(300):
        found = om.log_z(model)
        assert found.verdict == "exact"
        assert found.value == pytest.approx(enumerated(model), abs=1e-9)


def test_of_a_network_it_is_the_probability_of_the_evidence():
    model = om.read("examples/sprinkler.bif")
    wet = om.marginals(model, method="exact")["grass"].probability[1]
    assert om.log_z(model, {"grass": "wet"}).value == pytest.approx(math.log(wet), abs=1e-9)


def scores(models, samples=40):
    """How many errors believed values are off, and how many intervals hold the truth."""
    off, inside = [], []
    for seed, model, _ in models:
        found = om.log_z(model, method="gibbs", samples=samples, seed=seed)
        truth = enumerated(model)
        if found.converged and found.verdict != "exact":
            off.append((found.value - truth) / found.standard_error)
            inside.append(found.low <= truth <= found.high)
    return np.array(off), np.array(inside)


@pytest.mark.parametrize("make", [soft_models, hard_models])
@pytest.mark.parametrize("count", [30, pytest.param(300, marks=pytest.mark.slow)])
def test_sampled_values_lie_within_their_errors(make, count, all_sampled):
    off, inside = scores(make(count))
    assert len(off) > 0.8 * count
    require_honest(off, inside)


@pytest.mark.parametrize("make", [soft_models, hard_models])
def test_what_is_left_after_summing_out_is_sampled_rightly(make, monkeypatch):
    monkeypatch.setattr(
        "orbitmc.inference._log_z.eliminate_cheap_variables",
        lambda graph, plain=shrinking.eliminate_cheap_variables: plain(graph, 12),
    )
    off, inside = scores(make(60))
    assert len(off) > 20
    require_honest(off, inside)


def test_what_can_be_summed_out_needs_no_samples():
    grid = om.ising_grid(4, 4, 0.3, 0.1)
    found = om.log_z(grid, method="gibbs")
    assert "nothing is left to sample" in found.about.reason
    assert found.value == pytest.approx(om.log_z(grid).value, abs=1e-9)


def test_weights_taken_after_the_step_would_be_noticed(monkeypatch, all_sampled):
    """A lane's weight must change before its state does; else nothing is believed, or it is off."""
    assert len(scores(soft_models(10), samples=4)[0]) > 5
    plain = importance._Cooling.cool

    def too_late(self, *, gain, to):
        plain(self, gain=0.0, to=to)
        self.log_weight += gain * importance.log_weights(self.soft, self.values).reshape(8, 64)

    monkeypatch.setattr(importance._Cooling, "cool", too_late)
    off, _ = scores(soft_models(10), samples=4)
    assert len(off) == 0 or np.abs(off).max() > 10


def test_a_hidden_state_is_found_or_the_number_is_not_believed(all_sampled):
    names = [f"v{k}" for k in range(14)]
    table = np.zeros((2,) * 14)
    table[(1,) * 14] = 16.0
    heavy = om.model({name: ["0", "1"] for name in names}, [(names, np.exp(table))])
    truth = math.log(2**14 - 1 + math.exp(16.0))
    assert om.log_z(heavy, method="exact").value == pytest.approx(truth, abs=1e-9)
    for seed in range(4):
        found = om.log_z(heavy, method="gibbs", samples=60, seed=seed)
        assert not found.converged or abs(found.value - truth) < 10 * found.standard_error


def test_the_same_seed_gives_the_same_number_on_any_number_of_threads(all_sampled):
    model = om.ising_grid(4, 4, 0.3, 0.1)
    asked = {"method": "gibbs", "samples": 30, "seed": 5}
    first, again = om.log_z(model, **asked, threads=1), om.log_z(model, **asked, threads=2)
    assert first == again
    assert om.log_z(model, **{**asked, "seed": 6}).value != first.value


def test_an_error_that_was_asked_for_is_reached(all_sampled):
    found = om.log_z(om.ising_grid(4, 4, 0.3, 0.1), method="gibbs", standard_error=0.01)
    assert found.standard_error <= 0.01
    assert found.converged


def test_a_program_is_asked_with_its_databases():
    program = om.read("examples/smokers.mln", "examples/smokers.db")
    assert om.log_z(program).value == pytest.approx(enumerated(program.model), abs=1e-9)


def test_what_cannot_answer_is_refused():
    model = om.ising_grid(3, 3, 0.3)
    expected = "log Z is found by auto, exact, counting, gibbs, not by 'mcsat'"
    with pytest.raises(InputError, match=expected):
        om.log_z(model, method="mcsat")
    with pytest.raises(LimitError, match="limit"):
        om.log_z(om.ising_grid(12, 12, 0.3), method="exact", memory=2**15)


def test_a_model_without_states_is_refused_however_it_is_asked():
    tables = [(["A", "B"], [[1, 0], [0, 1]]), (["A", "B"], [[0, 1], [1, 0]])]
    model = om.model({"A": ["x", "y"], "B": ["x", "y"]}, tables)
    for method in ("exact", "gibbs"):
        with pytest.raises(ContradictionError):
            om.log_z(model, method=method, samples=4)


@pytest.fixture
def all_variables(monkeypatch):
    """Nothing is summed out before chains begin."""
    monkeypatch.setattr("orbitmc.inference._log_z.eliminate_cheap_variables", lambda graph: graph)


def test_a_ladder_that_does_not_reach_the_model_is_refused(monkeypatch, all_variables):
    """Chains stay in two modes whose log-weights differ by 12,000: steps are that small."""
    monkeypatch.setattr(importance, "MOST_RUNGS", 100)
    weights = [(["A", "B"], np.exp([[350.0, 0.0], [0.0, 50.0]]))] * 40
    model = om.model({"A": ["x", "y"], "B": ["x", "y"]}, weights)
    with pytest.raises(LimitError, match="too far apart"):
        om.log_z(model, method="gibbs", samples=10)


def test_a_variable_with_too_many_values_is_not_cooled_down(all_variables):
    model = om.model({"A": [f"x{k}" for k in range(300)]}, [(["A"], np.arange(1.0, 301.0))])
    assert om.log_z(model).value == pytest.approx(math.log(300 * 301 / 2), abs=1e-9)
    with pytest.raises(LimitError, match="sampling handles up to 256"):
        om.log_z(model, method="gibbs", samples=4)
