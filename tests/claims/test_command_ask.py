"""`orbitmc ask` answers events, conditions, and what would tell most."""

import csv
import json

import pytest

from tests.cli.commands import answer_of, orbitmc, rain

WET, RAINY = "grass == 'wet'", "rain == 'yes'"


@pytest.fixture
def model(tmp_path):
    return rain(tmp_path)


def test_an_event_is_answered_with_one_line(model):
    done = orbitmc("ask", model, WET)
    assert (done.returncode, done.stdout) == (0, "0.24, exact\n")


def test_a_condition_is_taken_into_account(model):
    answer = answer_of("ask", model, RAINY, "--given", WET)["estimates"]["probability"]
    assert answer["value"] == pytest.approx(0.16 / 0.24)
    assert answer["verdict"] == "exact"
    either = answer_of("ask", model, RAINY, "--given", f"{WET} or mood == 'good'")
    both = 0.2 * (0.8 + 0.2 * 0.5) / (0.24 + 0.76 * 0.5)
    assert either["estimates"]["probability"]["value"] == pytest.approx(both)


def test_evidence_and_conditions_mean_the_same(model):
    one = answer_of("ask", model, RAINY, "-e", "grass=wet")["estimates"]
    other = answer_of("ask", model, RAINY, "--given", WET)["estimates"]
    assert one["probability"]["value"] == pytest.approx(other["probability"]["value"], abs=1e-12)


def test_sampled_answers_have_errors(model):
    done = orbitmc("ask", model, WET, "--method", "gibbs", "--samples", "300", "--seed", "1")
    assert done.returncode == 0
    assert " ± " in done.stdout
    assert abs(float(done.stdout.split()[0]) - 0.24) < 8 * float(done.stdout.split()[2])


def test_formulas_of_programs_are_answered():
    files = ("examples/smokers.mln", "Cancer(Bob) v Cancer(Dave)", "-e", "examples/smokers.db")
    answer = answer_of("ask", *files)["estimates"]["probability"]
    assert 0 < answer["value"] < 1


def test_about_lists_the_most_informative_first(model, tmp_path):
    done = orbitmc("ask", model, "--about", "rain")
    lines = [line.split() for line in done.stdout.splitlines()]
    assert lines[0] == ["variable", "bits", "verdict"]
    assert [line[0] for line in lines[1:]] == ["grass", "mood"]
    path = tmp_path / "about.csv"
    assert orbitmc("ask", model, "--about", "rain", "-q", "mood", "-o", path).returncode == 0
    rows = list(csv.DictReader(path.read_text().splitlines()))
    assert [row["name"] for row in rows] == ["mood"]
    assert float(rows[0]["value"]) == pytest.approx(float(lines[2][1]), rel=1e-4)


def test_about_an_atom_lists_atoms(tmp_path):
    words = ("examples/smokers.mln", "--about", "Cancer(Bob)", "-e", "examples/smokers.db")
    done = orbitmc(
        "ask", *words, "-q", "Cancer(x)", "-o", tmp_path / "a.json", "--set", "opened=Smokes"
    )
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "a.json").read_text())["estimates"]
    assert max(found, key=lambda name: found[name]["value"]) == "Cancer(Bob)"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "give an event, or --about"),
        ([WET, "--about", "rain"], "give an event, or --about"),
        (["--about", "rain", "--given", WET], "--given belongs to an event"),
        ([WET, "-q", "rain"], "it belongs to --about"),
        (["gras == 'wet'"], "event:1:1: unknown variable 'gras'; did you mean 'grass'?"),
        ([WET, "--given", "rain == 'maybe'"], "given:1:9: unknown value 'maybe'"),
        (["--about", "rian"], "did you mean 'rain'"),
    ],
)
def test_mistakes_are_explained(model, words, said):
    done = orbitmc("ask", model, *words)
    assert done.returncode == 2
    assert said in done.stderr


def test_impossible_conditions_end_with_the_code_of_contradictions(model):
    done = orbitmc("ask", model, RAINY, "--given", "grass == 'wet' and grass == 'dry'")
    assert done.returncode == 4
