"""`orbitmc infer` gives the right numbers to the right place, and the right exit code."""

import csv
import gzip
import json
import math
import re

import pytest

import orbitmc as om
from orbitmc.inference import progress
from tests.cli.commands import answer_of, grid, orbitmc, rain

FEW = ("--method", "gibbs", "--samples", "200", "--seed", "1", "--set", "threads=1")


@pytest.fixture
def model(tmp_path):
    return rain(tmp_path)


def test_a_small_model_is_answered_exactly(model):
    answer = answer_of("infer", model)
    assert answer["method"] == "exact"
    assert answer["variables"]["grass"]["probability"] == pytest.approx([0.76, 0.24])
    assert answer["log_z"] == pytest.approx(0.0)
    assert answer["converged"] is True


def test_sampling_agrees_with_the_exact_answer_within_its_errors(model):
    answer = answer_of("infer", model, *FEW)
    grass = answer["variables"]["grass"]
    assert answer["method"] == "gibbs"
    assert answer["log_z"] is None
    assert abs(grass["probability"][1] - 0.24) < 4 * grass["standard_error"][1]
    assert grass["low"][1] < grass["probability"][1] < grass["high"][1]


def test_a_variable_of_one_value_is_certain(tmp_path):
    file = tmp_path / "one.uai"
    file.write_text("MARKOV\n2\n1 2\n1\n2 0 1\n2 1.0 3.0\n")
    only = answer_of("infer", file, *FEW)["variables"]["0"]
    assert (only["probability"], only["standard_error"]) == ([1], [0])
    assert (only["ess"], only["verdict"]) == ([None], "forced")


def test_the_same_seed_gives_the_same_answer_for_any_number_of_threads(model):
    words = ("infer", model, "--method", "gibbs", "--samples", "100", "--seed", "7", "--set")
    one, two = answer_of(*words, "threads=1"), answer_of(*words, "threads=2")
    assert one["variables"] == two["variables"]


@pytest.mark.parametrize("options", [("--set", "scan=random"), ("--set", "estimator=values")])
def test_other_ways_to_sample_agree_too(model, options):
    grass = answer_of("infer", model, *FEW, *options)["variables"]["grass"]
    assert abs(grass["probability"][1] - 0.24) < 4 * grass["standard_error"][1]


@pytest.mark.parametrize("scan", ["random", "systematic"])
def test_auto_takes_a_scan_because_it_may_end_up_with_gibbs(model, scan):
    assert answer_of("infer", model, "--set", f"scan={scan}")["method"] == "exact"


def test_evidence_comes_inline_and_from_files_and_adds_up(model, tmp_path):
    seen = tmp_path / "seen.json"
    seen.write_text('{"rain": {"no": 1, "yes": 4}}')
    answer = answer_of("infer", model, "-e", "mood=good", "-e", str(seen))
    weights = [0.8 * (0.9 * 0.5 + 0.1 * 0.2), 4 * 0.2 * (0.2 * 0.5 + 0.8 * 0.2)]
    expected = [weight / sum(weights) for weight in weights]
    assert answer["variables"]["rain"]["probability"] == pytest.approx(expected)
    assert answer["variables"]["mood"]["probability"] == [0, 0, 1]
    assert answer["variables"]["mood"]["verdict"] == "observed"


def test_answers_go_to_standard_output_and_remarks_to_standard_error(model):
    done = orbitmc("infer", model, *FEW)
    lines = done.stdout.splitlines()
    assert lines[0].split()[:4] == ["variable", "value", "P", "±"]
    assert lines[0].split()[-3:] == ["ESS", "R-hat", "verdict"]
    assert len(lines) == 1 + 7
    said = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ orbitmc: .+"  # with the time, as logs want it
    assert all(re.fullmatch(said, line) for line in done.stderr.splitlines())
    assert "converged: every R-hat is at most 1.01" in done.stderr
    assert "million updates/s" in done.stderr


def test_quiet_says_nothing_when_all_is_well(model):
    assert orbitmc("infer", model, *FEW, "--quiet").stderr == ""


def test_a_log_gets_lines_of_progress(tmp_path, monkeypatch):
    monkeypatch.setattr(progress, "LINE_SECONDS", 0.0)  # a line each time somebody looks
    done = orbitmc(
        "infer", grid(tmp_path), "--method", "gibbs", "--samples", "20000", "--seed", "1"
    )
    assert " samples, " in done.stderr
    assert "worst ESS" in done.stderr


def test_mar_files_hold_all_variables_in_order(model, tmp_path):
    done = orbitmc("infer", model, "-e", "rain=yes", "-o", tmp_path / "x.MAR")
    assert done.returncode == 0
    assert done.stdout == ""
    found = om.formats.read_mar(tmp_path / "x.MAR")
    assert [list(one) for one in found][:2] == [[0, 1], pytest.approx([0.2, 0.8])]


def test_json_and_csv_files_hold_the_answer(model, tmp_path):
    for name in ("x.json.gz", "x.csv"):
        assert orbitmc("infer", model, "-o", tmp_path / name).returncode == 0
    kept = json.loads(gzip.decompress((tmp_path / "x.json.gz").read_bytes()))
    assert kept["variables"]["rain"]["probability"] == pytest.approx([0.8, 0.2])
    rows = list(csv.DictReader((tmp_path / "x.csv").read_text().splitlines()))
    assert [row["value"] for row in rows if row["variable"] == "mood"] == ["bad", "fair", "good"]
    assert float(rows[0]["probability"]) == pytest.approx(0.8)


def test_a_standard_error_can_be_asked_for(model):
    answer = answer_of("infer", model, "--method", "gibbs", "--error", "0.002", "--seed", "1")
    errors = [max(one["standard_error"]) for one in answer["variables"].values()]
    assert max(errors) < 0.003


def test_json_has_no_infinities(model):
    done = orbitmc("infer", model, "-e", "rain=no", *FEW, "--json")

    def refuse(word):
        raise AssertionError(word)

    answer = json.loads(done.stdout, parse_constant=refuse)
    assert answer["variables"]["rain"]["ess"] == [None, None]
    assert all(math.isfinite(ess) for ess in answer["variables"]["grass"]["ess"])


def test_log_z_gets_a_share_of_the_seconds_and_not_as_many_again(monkeypatch, tmp_path):
    from orbitmc.inference import _log_z as log_z
    from orbitmc.inference import answer

    given = {}
    answer_query, ask = answer.answer, log_z.log_z

    def answered(*words, reserve, **more):
        given["after"] = reserve
        return answer_query(*words, reserve=reserve, **more)

    def asked(model, *, settings):
        given["seconds"] = settings.seconds
        return ask(model, settings=settings)

    monkeypatch.setattr(answer, "answer", answered)
    monkeypatch.setattr("orbitmc.inference.log_z", asked)
    words = ("--method", "gibbs", "--seconds", "1", "--log-z", "--json")
    done = orbitmc("infer", grid(tmp_path), *words)
    assert json.loads(done.stdout)["log_z"] is not None
    assert given["seconds"] == pytest.approx(0.4)
    assert given["after"] >= 0.4
