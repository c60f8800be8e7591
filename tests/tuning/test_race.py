"""The race chooses what helps, freezes it, and the record of its choice gives the same numbers."""

import json
from dataclasses import replace

import numpy as np
import pytest

import orbitmc as om
from orbitmc.conditionals.prepared import prepare
from orbitmc.estimate.verdicts import TIED, UNMIXED
from orbitmc.inference._marginals import execute_plan
from orbitmc.inference.plan import choose_kernel, plan_model
from orbitmc.inference.settings import Settings
from orbitmc.kernels._clusters import Clusters
from orbitmc.sampling.checkpoint import load, save
from orbitmc.sampling.executor import digest
from orbitmc.sampling.sampler import continue_sampling, sample
from orbitmc.sampling.schedule import Schedule
from orbitmc.tuning.race import run_race
from tests.tuning import conftest
from tests.tuning.models import ordered_grid, two_far_modes, weak_grid

TEMPERED = {
    "base": "tempering",
    "families": ["flip"],
    "period": 32,
    "betas": [1.0, 0.6, 0.35],
}
SETTINGS = Settings(method="lmh", samples=300, seed=5, packs=2, threads=1)


@pytest.fixture(scope="module")
def decided():
    """An ordered grid, and what was decided for it."""
    model = ordered_grid()
    return model, plan_model(model, SETTINGS)


def test_a_flip_is_chosen_where_all_spins_agree(decided):
    _, decision = decided
    assert decision.settings.moves["families"] == ["flip"]
    (price,) = decision.choice.prices
    assert (price.family, price.verdict) == ("flip", "chosen")
    assert price.gain > 3
    assert price.acceptance > 0.5
    assert "change their values at once" in decision.reason


def test_gibbs_alone_is_chosen_where_it_forgets_fast():
    model = weak_grid()
    found = run_race(model, prepare(model.graph), seconds=0.2)
    assert found.recipe.families == ()
    assert found.recipe.alpha == 1.0
    assert found.prices == ()
    watched = f"watched (32 of {model.graph.variables} variables, "
    assert watched in found.about
    assert found.about.endswith("within 6 sweeps")


def critical_grid(side=32):
    """Gibbs takes hundreds of sweeps for the square of the sum, which no flip changes."""
    return om.ising_grid(side, side, 0.5 * np.log(1 + np.sqrt(2)), 0.0, periodic=True)


def test_clusters_win_by_the_slowest_kind_where_flips_win_by_the_mean(counted, monkeypatch):
    """By our clock a cluster jump costs as much as 10 sweeps, about as it does."""
    monkeypatch.setitem(conftest.JUMPS, Clusters, 10 * 32**2 * conftest.STEP)
    model = critical_grid()
    found = run_race(model, prepare(model.graph), seconds=4.0)
    assert found.recipe.families == ("clusters",)
    assert {price.family: price.verdict for price in found.prices}["clusters"] == "chosen"
    assert found.memory > 10 * model.graph.variables
    assert "sweeps to forget" in found.about


def test_a_quick_chain_is_not_said_to_be_slow(decided):
    _, decision = decided
    assert decision.choice.memory is None
    assert decision.settings.spacing is None


def test_nothing_changes_once_sampling_begins(decided):
    model, decision = decided
    prepared = prepare(model.graph)
    kernel = choose_kernel(model, prepared, decision.settings).kernel
    before = digest(kernel)
    run = sample(prepared, kernel, Schedule(samples=100), packs=1)
    assert run.kernel is kernel
    assert digest(kernel) == before
    again = choose_kernel(model, prepare(model.graph), decision.settings).kernel
    assert digest(again) == before


def test_a_replay_gives_the_same_numbers_without_a_race(decided):
    model, decision = decided
    tuned = execute_plan(decision)
    recorded = json.loads(json.dumps(tuned.about.moves))
    assert tuned.about.race
    replayed = om.marginals(model, settings=SETTINGS, moves=recorded)
    assert replayed.about.race == ()
    for name, marginal in tuned.items():
        assert replayed[name].probability.tolist() == marginal.probability.tolist()
        assert replayed[name].standard_error.tolist() == marginal.standard_error.tolist()
    assert tuned.converged


def test_a_tuned_run_goes_on_from_a_checkpoint(decided, tmp_path):
    model, decision = decided
    check_resumed(model, decision.settings, tmp_path)


def test_a_tempered_run_goes_on_from_a_checkpoint(tmp_path):
    """The hot copies, whose turn it is and the rest of the ladder are the pack's, too."""
    check_resumed(ordered_grid(4), replace(SETTINGS, moves=TEMPERED), tmp_path)


def test_a_tempered_run_is_replayed_from_its_record():
    model = ordered_grid(4)
    first = om.marginals(model, settings=SETTINGS, moves=TEMPERED)
    assert first.about.outcomes["accepted with rung 1"] > 0
    assert first.about.outcomes["accepted"] > 0
    again = om.marginals(
        model, settings=SETTINGS, moves=json.loads(json.dumps(first.about.moves)), threads=2
    )
    for name, marginal in first.items():
        assert again[name].probability.tolist() == marginal.probability.tolist()
        assert again[name].standard_error.tolist() == marginal.standard_error.tolist()
    assert again.about.outcomes == first.about.outcomes


def check_resumed(model, settings, tmp_path):
    """A run that was stopped, kept and resumed ends as one that never stopped."""

    def stop(found):
        if found.recorded > 40:
            found.stop()

    def run(watchers=()):
        prepared = prepare(model.graph)
        kernel = choose_kernel(model, prepared, settings).kernel
        return sample(
            prepared,
            kernel,
            Schedule(samples=3000),
            packs=2,
            watchers=watchers,
        )

    partial = run([stop])
    assert 40 < partial.recorded < 3000
    save(partial, tmp_path / "x.run", {"kernel": settings.kernel()})
    kept = load(tmp_path / "x.run")
    prepared = prepare(model.graph)
    kernel = choose_kernel(model, prepared, Settings(**kept.question["kernel"])).kernel
    resumed = continue_sampling(kept.restore(prepared, kernel))
    whole = run()
    for one, other in zip(resumed.packs, whole.packs, strict=True):
        assert (one.values == other.values).all()
        assert (one.tally.sums == other.tally.sums).all()
        assert (one.outcomes == other.outcomes).all()


def test_the_answer_agrees_with_the_exact_one(decided):
    model, decision = decided
    found = execute_plan(decision)
    exact = om.marginals(model, method="exact")
    names = list(model.names)
    off = np.array([found[name].probability[1] - exact[name].probability[1] for name in names])
    errors = np.array([found[name].standard_error[1] for name in names])
    # spins go together, so this is about one deviation; 15 degrees of freedom: below 1e-4
    assert np.abs(off / errors).max() < 5.2


def test_missing_a_mode_is_not_called_converged():
    model = two_far_modes()
    found = om.marginals(
        model, settings=SETTINGS, moves={"families": [], "period": 48}, samples=500
    )
    assert not found.converged
    assert {found[name].verdict for name in model.names[:8]} == {UNMIXED}
    assert any("have not mixed" in warning for warning in found.about.warnings)
    # the others look calm in every chain, but hang on those that do not
    assert {found[name].verdict for name in model.names[8:]} == {TIED}
