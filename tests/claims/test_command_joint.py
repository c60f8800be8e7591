"""`orbitmc joint` prints and writes joint tables."""

import csv
import json

import numpy as np
import pytest

from tests.cli.commands import answer_of, orbitmc, rain


@pytest.fixture
def model(tmp_path):
    return rain(tmp_path)


TRUTH = np.array([[0.8 * 0.9, 0.8 * 0.1], [0.2 * 0.2, 0.2 * 0.8]])


def test_a_table_is_printed(model):
    done = orbitmc("joint", model, "rain", "grass")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["rain", "grass", "P"]
    assert lines[1].split() == ["no", "dry", "0.72000"]
    assert len(lines) == 5
    assert "exact" in done.stderr


def test_json_has_nested_lists(model):
    answer = answer_of("joint", model, "rain", "grass")
    np.testing.assert_allclose(answer["probability"], TRUTH, atol=1e-12)
    assert answer["names"] == ["rain", "grass"]
    assert answer["values"] == [["no", "yes"], ["dry", "wet"]]
    assert (answer["verdict"], answer["method"], answer["converged"]) == ("exact", "exact", True)


def test_sampling_agrees_within_its_errors(model):
    answer = answer_of(
        "joint", model, "rain", "grass", "--method", "gibbs", "--samples", "500", "--seed", "1"
    )
    off = (np.array(answer["probability"]) - TRUTH) / answer["standard_error"]
    assert np.abs(off).max() < 8  # one in 1e9 for each
    assert answer["samples"] == 500


def test_files_hold_what_json_and_tables_hold(model, tmp_path):
    for name in ("a.json", "a.csv"):
        done = orbitmc("joint", model, "rain", "grass", "-o", tmp_path / name)
        assert (done.returncode, done.stdout) == (0, "")
    whole = json.loads((tmp_path / "a.json").read_text())
    np.testing.assert_allclose(whole["probability"], TRUTH, atol=1e-12)
    rows = list(csv.DictReader((tmp_path / "a.csv").read_text().splitlines()))
    assert [float(row["probability"]) for row in rows] == pytest.approx(TRUTH.reshape(-1).tolist())
    assert [(row["rain"], row["grass"]) for row in rows][1] == ("no", "wet")


def test_programs_are_asked_in_atoms():
    words = ("joint", "examples/smokers.mln", "Cancer(Anna)", "Cancer(Bob)")
    answer = answer_of(*words, "-e", "examples/smokers.db")
    assert np.sum(answer["probability"]) == pytest.approx(1)
    assert answer["values"] == [["false", "true"]] * 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["rian"], "did you mean 'rain'"),
        (["rain", "-o", "x.txt"], "written as .json or .csv"),
        (["rain", "--samples", "3", "--seconds", "1"], "give only one of"),
        (["rain", "-e", "rain=maybe"], "unknown value 'maybe'"),
    ],
)
def test_mistakes_are_explained(model, words, said):
    done = orbitmc("joint", model, *words)
    assert done.returncode == 2
    assert said in done.stderr
