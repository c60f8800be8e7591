"""Blocks are drawn where single variables freeze, or where they are asked for, and only there."""

import subprocess
import sys

import numpy as np
import pytest

import orbitmc as om
from orbitmc.errors import InputError, LimitError
from orbitmc.inference.plan import plan_model
from orbitmc.inference.settings import Settings
from tests.shared_data import shared

FROZEN = {"frozen", "tied to frozen"}
WITHIN = 8.5  # errors with 31 degrees of freedom: some of 500 lies outside with a chance below 1e-6


def pairs():
    """Two pairs of equal coins, and a soft tie between them."""
    coin = ["0", "1"]
    return om.model(
        {"a": coin, "b": coin, "c": coin, "d": coin},
        [
            (["a", "b"], [[1, 0], [0, 3]]),
            (["c", "d"], [[2, 0], [0, 1]]),
            (["b", "c"], [[2, 1], [1, 2]]),
        ],
    )


def off(model, found):
    """How far an answer is from the truth, in its own errors, at most."""
    exact = om.marginals(model, method="exact")
    return max(
        np.abs(found[v].probability - exact[v].probability).max()
        / max(found[v].standard_error.max(), 1e-9)
        for v in found
    )


@pytest.mark.parametrize("estimator", ["rao-blackwell", "values"])
def test_gibbs_draws_blocks_where_single_variables_freeze(estimator):
    found = om.marginals(pairs(), method="gibbs", estimator=estimator, samples=400, seed=1)
    assert "4 variables are frozen if changed one at a time" in found.about.reason
    assert "all 4 variables with a choice are drawn as a whole" in found.about.reason
    assert found.converged
    assert off(pairs(), found) < WITHIN


def test_who_asks_for_an_order_of_variables_gets_them_one_at_a_time():
    found = om.marginals(pairs(), method="gibbs", scan="systematic", samples=50, seed=1)
    assert set(found.verdicts()) <= FROZEN
    assert "blocks" not in found.about.reason


@pytest.mark.parametrize("asked", [{}, {"base": "low-width"}])
def test_auto_draws_blocks_too_where_it_samples(asked, monkeypatch):
    def refuse(*arguments, **limits):
        raise LimitError("too large")

    monkeypatch.setattr("orbitmc.inference.plan.predict", refuse)
    chosen = plan_model(pairs(), Settings(samples=50, **asked))
    assert (chosen.settings.method, chosen.settings.base) == ("gibbs", "low-width")
    assert chosen.reason.startswith("too large")
    alone = plan_model(pairs(), Settings(samples=50, scan="random"))
    assert (alone.settings.method, alone.settings.base) == ("gibbs", "gibbs")


@pytest.mark.parametrize("method", ["gibbs", "lifted", "lmh"])
def test_blocks_can_be_asked_for(method):
    model = om.ising_grid(3, 3, 0.4, 0.1)
    found = om.marginals(model, method=method, base="low-width", samples=400, seed=1)
    assert found.about.outcomes["blocks"] > 0
    assert off(model, found) < WITHIN


def test_other_zeros_leave_single_variables():
    model = om.model({"a": ["0", "1"], "b": ["0", "1"]}, [(["a", "b"], [[1, 2], [1, 0]])])
    found = om.marginals(model, method="gibbs", samples=50, seed=1)
    assert "blocks" not in found.about.outcomes
    assert found.about.reason == "gibbs was asked for"


def test_without_zeros_nothing_of_blocks_is_loaded():
    program = (
        "import sys, orbitmc as om\n"
        "om.marginals(om.ising_grid(3, 3, 0.4, 0.1), method='gibbs', samples=2, packs=1)\n"
        "print([name for name in sys.modules if 'low_width' in name or 'freezing' in name])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"method": "gibbs", "base": "mcsat"}, "for lifted and lmh"),
        ({"method": "gibbs", "base": "low-width", "scan": "random"}, "one at a time"),
        ({"method": "mcsat", "base": "low-width"}, "not for mcsat"),
        (
            {"method": "gibbs", "base": "high-width"},
            "expected gibbs, mcsat, low-width, relations or counts",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(settings, message):
    with pytest.raises(InputError, match=message):
        om.marginals(pairs(), samples=1, **settings)


def test_blocks_take_memory_that_is_known_beforehand():
    with pytest.raises(LimitError, match="100 packs of 64 chains need"):
        om.marginals(pairs(), method="gibbs", base="low-width", packs=100, memory=2**28, samples=1)


def test_a_kept_run_goes_on(tmp_path):
    file = tmp_path / "pairs.run"
    whole = om.marginals(pairs(), method="gibbs", samples=40, seed=1, checkpoint=file)
    again = om.resume(file, pairs())
    assert again["c"].probability.tolist() == whole["c"].probability.tolist()
    assert again.about.outcomes == whole.about.outcomes


def test_a_network_full_of_zeros_is_answered_within_its_errors():
    model = om.read(shared("bn-bif/hailfinder.bif"))
    found = om.marginals(model, method="gibbs", samples=60, seed=1)
    assert not FROZEN & set(found.verdicts())
    assert off(model, found) < WITHIN
