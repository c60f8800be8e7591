"""`--set NAME=VALUE`: what it takes, and how it says that it does not."""

import json

import pytest

from orbitmc.cli.options import parse_assignments
from orbitmc.errors import InputError
from tests.cli.commands import answer_of, orbitmc, rain


def test_values_are_read_by_the_types_of_their_settings():
    typed = ["scan=random", "alpha=0.5", "packs = 2", "opened=Smokes, Friends", "dialect=tuffy"]
    assert parse_assignments("infer", typed) == {
        "scan": "random",
        "alpha": 0.5,
        "packs": 2,
        "opened": ("Smokes", "Friends"),
        "dialect": "tuffy",
    }


def test_moves_are_text_or_a_file(tmp_path):
    moves = {"families": ["flip"], "period": 3}
    (tmp_path / "first.json").write_text(json.dumps({"moves": moves}))
    for text in (json.dumps(moves), str(tmp_path / "first.json")):
        assert parse_assignments("infer", [f"moves={text}"])["moves"] == moves


@pytest.mark.parametrize(
    ("verb", "typed", "said"),
    [
        ("infer", "scan", "--set scan: expected NAME=VALUE"),
        ("infer", "scam=random", "did you mean 'scan'"),
        ("infer", "warm-up=3", "did you mean 'warm_up'"),
        ("infer", "wurble=3", "no such setting; --help-all lists them"),
        ("infer", "seconds=3", "it has an option of its own, --seconds"),
        ("infer", "standard_error=1", "it has an option of its own, --error"),
        ("infer", "scan=sideways", "--set scan: expected systematic or random, not 'sideways'"),
        ("infer", "packs=two", "--set packs: expected a whole number of 1 or more, not 'two'"),
        ("infer", "packs=0", "--set packs: expected a whole number of 1 or more, not '0'"),
        ("infer", "packs=1.5", "--set packs: expected a whole number"),
        ("infer", "alpha=much", "--set alpha: expected a number, not 'much'"),
        ("resume", "scan=random", "no such setting"),
        ("learn", "opened=Smokes", "no such setting"),
        ("check", "dialect=latin", "expected alchemy, pracmln, tuffy or lomrf, not 'latin'"),
    ],
)
def test_what_makes_no_sense_is_said(verb, typed, said):
    with pytest.raises(InputError) as caught:
        parse_assignments(verb, [typed])
    assert said in str(caught.value)


def test_a_setting_is_set_once():
    with pytest.raises(InputError, match="--set scan: it is set twice"):
        parse_assignments("infer", ["scan=random", "scan=systematic"])


def test_settings_reach_the_run(tmp_path):
    few = ("--method", "gibbs", "--samples", "20", "--set", "packs=2", "--set", "lanes=32")
    assert answer_of("infer", rain(tmp_path), *few)["chains"] == 64


def test_settings_of_programs_are_refused_for_models(tmp_path):
    done = orbitmc("infer", rain(tmp_path), "--set", "dialect=tuffy")
    assert done.returncode == 2
    assert "the setting dialect belongs to Markov logic programs (.mln, .pracmln)" in done.stderr


def test_threads_may_be_written_as_an_option(tmp_path):
    for words in (["--threads", "1"], ["--threads=1"], ["--set", "threads=1"]):
        done = orbitmc("infer", rain(tmp_path), *words, "--method", "gibbs", "--samples", "9")
        assert done.returncode in (0, 3)
        assert "9 samples" in done.stderr
    wrong = orbitmc("infer", rain(tmp_path), "--threads", "none")
    assert wrong.returncode == 2
    assert "threads: expected a whole number of 1 or more" in wrong.stderr


def test_removed_options_are_not_understood(tmp_path):
    for option in ("--alpha", "--scan", "--packs", "--open", "--dialect"):
        assert orbitmc("infer", rain(tmp_path), option, "1").returncode == 2
