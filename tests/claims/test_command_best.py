"""`orbitmc best` prints, writes and explains the most probable states."""

import json
from pathlib import Path

import pytest

import orbitmc as om
from tests.cli.commands import answer_of, orbitmc


@pytest.fixture(autouse=True)
def _at_home(monkeypatch):
    monkeypatch.chdir(Path(__file__).parents[2])


SPRINKLER = "examples/sprinkler.bif"
SMOKERS = ("examples/smokers.mln", "-e", "examples/smokers.db")


def test_states_are_printed_as_columns():
    done = orbitmc("best", SPRINKLER, "-e", "grass=wet", "-k", "2")
    assert done.returncode == 0
    expected = om.best(om.read(SPRINKLER), {"grass": "wet"}, k=2)
    rows = dict(line.split(maxsplit=1) for line in done.stdout.splitlines()[2:6])
    assert {name: words.split() for name, words in rows.items()} == {
        name: [state[name] for state in expected] for name in expected[0]
    }
    assert "proven" in done.stderr


def test_json_holds_all_that_is_known():
    held = answer_of("best", SPRINKLER, "-k", "3", "-q", "rain,grass")
    expected = om.best(om.read(SPRINKLER), k=3, over=["rain", "grass"])
    assert [one["values"] for one in held["states"]] == [dict(one) for one in expected]
    assert [one["log_weight"] for one in held["states"]] == [one.log_weight for one in expected]
    assert held["proven"] is True
    assert held["bound"] == held["states"][0]["log_weight"]


@pytest.mark.parametrize("name", ["states.csv", "states.json"])
def test_states_are_written_to_files(name, tmp_path):
    done = orbitmc("best", SPRINKLER, "-o", tmp_path / name)
    assert done.returncode == 0
    assert done.stdout == ""
    text = (tmp_path / name).read_text()
    if name.endswith(".json"):
        assert json.loads(text)["proven"] is True
    else:
        assert text.splitlines()[0] == "rank,log_weight,season,sprinkler,rain,grass"


def test_of_a_program_the_true_atoms_are_printed():
    done = orbitmc("best", *SMOKERS, "-q", "Smokes,Cancer")
    assert done.returncode == 0
    asked = om.read_logic(SMOKERS[0], SMOKERS[2], query="Smokes,Cancer")
    state = om.best(asked)[0]
    told = done.stdout.splitlines()
    assert told[0].startswith("# state 1, probability")
    assert told[1:] == [name for name, value in state.items() if value == "true"]
    assert len(told) > 1


def test_mistakes_are_explained(tmp_path):
    done = orbitmc("best", SPRINKLER, "-q", "rian")
    assert done.returncode == 2
    assert "did you mean 'rain'" in done.stderr
    done = orbitmc("best", SPRINKLER, "-k", "0")
    assert done.returncode == 2
    assert "at least 1" in done.stderr
    done = orbitmc("best", SPRINKLER, "-o", tmp_path / "states.txt")
    assert done.returncode == 2
    assert ".json or .csv" in done.stderr


def test_a_contradiction_has_its_own_exit_code(tmp_path):
    path = tmp_path / "no.mln"
    path.write_text("t = {A}\nP(t)\nP(x).\n!P(x).\n")
    done = orbitmc("best", path)
    assert done.returncode == 4
    assert "no.mln" in done.stderr
