"""Help fits on a screen and a half; the rest is one `--help-all` away."""

import shlex
from dataclasses import fields

import pytest

from orbitmc._util.settings import settings_of
from orbitmc.cli.main import VERBS
from orbitmc.cli.options import OPTIONS, metavar, settable
from orbitmc.inference.settings import Settings
from tests.cli.commands import orbitmc
from tests.pages import enter

MOST_LINES = 40
EXAMPLES = {verb: example for verb, (_, example) in VERBS.items()}
WITH_SET = [
    "infer",
    "ask",
    "joint",
    "draw",
    "compare",
    "symmetry",
    "check",
    "ground",
    "learn",
    "resume",
]


@pytest.fixture(autouse=True)
def _narrow(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")


@pytest.mark.parametrize("verb", EXAMPLES)
def test_help_fits_on_a_screen_and_a_half_and_shows_an_example(verb):
    lines = orbitmc(verb, "--help").stdout.splitlines()
    assert len(lines) <= MOST_LINES
    assert max(map(len, lines)) <= 80
    assert lines[-2:] == ["Example:", f"  {EXAMPLES[verb]}"]


def test_infer_shows_a_dozen_options_in_groups():
    lines = orbitmc("infer", "--help").stdout.splitlines()
    titles = [line for line in lines if line.endswith(":") and not line.startswith(" ")]
    assert titles == ["Arguments:", "Question:", "Method:", "Budget:", "Output:", "Example:"]
    shown = [line.split()[0] for line in lines if line.startswith("  -")]
    assert len(shown) <= 16
    assert not {"-i", "-r,", "--debug"} & set(shown)


def joined(words):
    """Words that a line ended in, at their hyphen, in one piece again."""
    return words.replace("- ", "-")


@pytest.mark.parametrize("verb", WITH_SET)
def test_all_help_lists_every_setting_with_its_help(verb):
    done = orbitmc(verb, "--help-all")
    assert done.returncode == 0
    words = joined(" ".join(done.stdout.split()))
    assert settable(verb)
    for one in settable(verb).values():
        assert joined(f"{one.name}={metavar(one)} {one.about}") in words
    assert "--debug" in words
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_all_help_leaves_the_short_one_as_it_was():
    before = orbitmc("infer", "--help").stdout
    assert "-i PROGRAM" in orbitmc("infer", "--help-all").stdout
    assert orbitmc("infer", "--help").stdout == before


def test_every_setting_has_an_option_or_can_be_set():
    names = {one.name for one in fields(Settings)}
    assert names == set(OPTIONS) | (names & set(settable("infer")))
    assert not set(OPTIONS) & set(settable("infer"))
    text = orbitmc("infer", "--help-all").stdout
    for name, option in OPTIONS.items():
        assert option in text, name


def test_which_methods_listen_is_said():
    assert settings_of(Settings)["scan"].about.endswith("[for gibbs; default: systematic]")


@pytest.mark.parametrize("verb", ["infer", "symmetry", "check", "convert", "unroll", "ground"])
def test_examples_in_help_run(verb, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    enter(tmp_path)
    program, *words = shlex.split(EXAMPLES[verb])
    assert program == "orbitmc"
    done = orbitmc(*words)
    assert done.returncode == 0, done.stderr
