"""An exact answer says which settings it had no use for: once, and without a warning."""

import warnings

import pytest

import orbitmc as om
from tests.cli.commands import orbitmc, rain
from tests.inference.questions.every import about, questions

GRID = om.ising_grid(3, 3, 0.3)
QUESTIONS = questions(GRID)
SAID = "only sampling would use"


@pytest.mark.parametrize("method", ["auto", "exact"])
@pytest.mark.parametrize("question", QUESTIONS)
def test_settings_of_sampling_are_named_once(question, method):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = about(QUESTIONS[question](method=method, spacing=3, packs=2, seed=5))
    assert found.method == "exact"
    assert found.reason.endswith(f"; {SAID} spacing, packs")
    assert found.reason.count(SAID) == 1
    assert found.warnings == ()


@pytest.mark.parametrize("question", QUESTIONS)
def test_nothing_is_said_where_nothing_was_set_or_all_was_used(question, all_sampled):
    plain = about(QUESTIONS[question](seconds=2.0 if question != "draws" else None, threads=1))
    assert (plain.method, SAID in plain.reason) == ("exact", False)
    sampled = about(QUESTIONS[question](method="gibbs", samples=20, seed=1))
    assert sampled.method != "exact"
    assert SAID not in sampled.reason


def test_answers_that_are_planned_anew_say_so_too(monkeypatch):
    monkeypatch.setattr("orbitmc.inference.answer.find_elimination", lambda *question: None)
    for name in ("joint", "probability", "expect", "information", "log_z"):
        found = QUESTIONS[name](samples=30)
        assert found.about.reason.endswith(f"; {SAID} samples"), name


def test_draws_use_samples():
    assert SAID not in om.draws(GRID, samples=9, chains=2).about.reason
    assert om.draws(GRID, samples=9, warm_up=5).about.reason.endswith(f"; {SAID} warm_up")


@pytest.mark.parametrize(
    "words",
    [
        ["infer", "--samples", "50"],
        ["joint", "rain", "grass", "--samples", "50"],
        ["ask", "rain == yes", "--set", "spacing=3"],
        ["draw", "-n", "8", "--set", "spacing=3"],
        ["sweep", "--beta", "1", "--samples", "50"],
    ],
)
def test_commands_say_so_on_standard_error(words, tmp_path):
    done = orbitmc(words[0], rain(tmp_path), *words[1:])
    assert done.returncode == 0
    assert done.stderr.count(SAID) == 1
    assert SAID not in done.stdout
