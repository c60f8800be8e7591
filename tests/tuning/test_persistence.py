"""Lanes that start apart and stay apart are lost, and the race sees it."""

import numpy as np
import pytest

import orbitmc as om
from orbitmc.conditionals.prepared import prepare
from orbitmc.graph.builder import Builder
from orbitmc.graph.relevance import relevant
from orbitmc.tuning.families import forward_acceptance
from orbitmc.tuning.panel import LOST, STUCK, panel, penalise_stuck, persistence, statistics_of
from orbitmc.tuning.race import run_race
from orbitmc.tuning.record import Tuning
from orbitmc.tuning.trial import TrialChain, opposite_starts
from tests.tuning.test_panel import LANES, autoregressive

KIND = np.repeat([0, 1], [6, 4])


def test_series_that_forget_keep_nothing():
    """Correlations of 64 pairs have an error of 1/8; means of four, seven errors below 0.44."""
    series = autoregressive(np.random.default_rng(1), 0.3, 72, 10)
    kept = persistence(series, KIND)
    assert kept.shape == (10,)
    assert np.abs(kept).max() < 0.44


def test_series_in_different_modes_keep_everything():
    rng = np.random.default_rng(2)
    modes = rng.choice([0.0, 10.0], (1, 10, LANES))
    kept = persistence(modes + autoregressive(rng, 0.3, 72, 10), KIND)
    assert kept.min() > 0.99


def test_each_kind_of_statistics_is_judged_by_itself():
    rng = np.random.default_rng(3)
    series = autoregressive(rng, 0.0, 72, 10)
    series[:, 6:] += rng.choice([0.0, 10.0], (1, 4, LANES))
    kept = persistence(series, KIND)
    assert kept[:6].max() < LOST
    assert kept[6:].min() > 0.99


def test_constant_statistics_are_left_out():
    series = autoregressive(np.random.default_rng(5), 0.0, 72, 10)
    series[:, 1] = 3.0
    assert persistence(series, KIND).shape == (9,)


def test_lost_lanes_are_worth_less_than_a_sample_each():
    effective = np.array([500.0, 500.0, 64.0])
    found = penalise_stuck(effective, np.array([0.1, 0.9, 1.0]), 64)
    assert found[0] == 500.0
    assert found[1] == pytest.approx(-64 * np.log(0.9))
    assert found[2] == pytest.approx(-64 * np.log(STUCK))


def test_lanes_start_at_both_ends():
    graph = om.potts_grid(2, 2, 3, 0.5).graph
    values = opposite_starts(graph, 32)
    assert (values[:, ::4] == 0).all()
    assert (values[:, 1::4] == 2).all()
    assert len(np.unique(values[:, 2::2], axis=1).T) > 8


def test_starts_of_models_with_zeros_are_possible():
    model = om.read("examples/sprinkler.bif").given({"grass": "wet"})
    values = opposite_starts(model.graph, 32)
    weights = statistics_of(panel(model.graph, 0), model.graph, values)[-1]
    assert np.isfinite(weights).all()


@pytest.mark.parametrize(("coupling", "lost"), [(2.0, True), (0.05, False)])
def test_gibbs_is_lost_where_all_spins_agree_and_nowhere_else(coupling, lost):
    """At a coupling of 2, a spin turns against its neighbours once in millions of sweeps."""
    model = om.ising_grid(6, 6, coupling)
    prepared = prepare(model.graph)
    found = TrialChain(prepared, Tuning().kernel(model, prepared)).trial(
        panel(model.graph, 0), 0.002
    )
    assert found.lost() is lost
    assert found.rate <= found.least_rate


def test_a_network_with_little_evidence_is_drawn_anew_without_a_trial():
    model = om.read("examples/sprinkler.bif")
    found = run_race(model, prepare(model.graph), seconds=0.1)
    assert found.recipe.families == ("forward draws",)
    assert [(one.family, one.verdict) for one in found.prices] == [("forward draws", "chosen")]
    answer = om.marginals(model, method="lmh", samples=200, seed=1)
    exact = om.marginals(model, method="exact")
    for name in model.names:
        off = np.abs(answer[name].probability - exact[name].probability)
        # 51,200 independent states, most of them averaged: seven errors of 0.0022
        assert off.max() < 0.0155
    assert answer.converged


def random_network(seed, count):
    """Every variable has two or three parents among those before it; rows may be extreme."""
    rng = np.random.default_rng(seed)
    builder = Builder([2] * count)
    for child in range(count):
        parents = rng.choice(child, min(child, int(rng.integers(2, 4))), replace=False)
        rows = rng.dirichlet([1.0, 1.0], size=(2,) * len(parents))
        builder.add_factor([*sorted(parents.tolist()), child], np.log(rows))
    names = tuple(f"v{number}" for number in range(count))
    return om.Model(builder.build(), names, [("0", "1")] * count)


def test_draws_of_a_network_that_are_accepted_now_and_then_need_no_other_jumps():
    """Sweeps seem to forget at once, and leave extreme rows where they are for hundreds more."""
    model = random_network(1, 1200)
    findings = {f"v{number}": "1" for number in (431, 802, 977, 1100, 1150)}
    part, _ = relevant(model.given(findings), [0])
    assert 0.1 < forward_acceptance(part) < 0.25
    found = run_race(part, prepare(part.graph), seconds=0.5)
    assert found.recipe.families == ("forward draws",)
    assert [(one.family, one.gain) for one in found.prices] == [("forward draws", None)]


def test_a_run_with_draws_from_a_network_goes_on_as_if_never_stopped(tmp_path):
    model, kept = om.read("examples/sprinkler.bif").given({"grass": "wet"}), tmp_path / "kept.run"
    options = {"method": "lmh", "samples": 60, "packs": 1, "seed": 3}
    whole = om.marginals(model, **options)
    assert whole.about.moves["families"] == ["forward draws"]

    def stop(run):
        if run.recorded > 0:
            run.stop()

    om.marginals(model, checkpoint=kept, watchers=[stop], **options)
    resumed = om.resume(kept, model)
    for name in model.names:
        assert resumed[name].probability.tobytes() == whole[name].probability.tobytes()
