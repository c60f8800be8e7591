"""Benchmarks run on tiny settings and write what they measured; how fast is nobody's business."""

import csv
import importlib
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from orbitmc.sampling.executor import digest
from tests.shared_data import shared

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


NAMES = (
    "gibbs_updates",
    "accuracy",
    "irregular",
    "lifted",
    "startup",
    "kept_seconds",
    "budgets",
    "memory",
    "markov_logic",
    "orbital_moves",
    "scale",
    "symmetry_detection",
    "variance",
    "webkb_like",
    "questions",
    "stuck",
    "through",
    "wide_networks",
    "mixed",
)


@pytest.mark.parametrize("name", NAMES)
def test_a_benchmark_runs_and_writes_its_results(name, tmp_path):
    run_and_look(name, tmp_path)


def test_proofs_are_measured_where_the_data_are(tmp_path):
    shared("uai2014-mar")
    run_and_look("map_proofs", tmp_path)


def test_learning_is_measured_where_the_data_are(tmp_path):
    shared("webkb")
    run_and_look("webkb_learning", tmp_path)


@pytest.mark.parametrize(
    "name",
    [path.stem for path in BENCHMARKS.glob("*.py") if "use_one_core()\n" in path.read_text()],
)
def test_libraries_are_told_of_one_thread_before_they_are_loaded(name):
    """Two threads on one core wait for each other: products of matrices took ten times as long."""
    look = f"import {name}, sys; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", look], capture_output=True, text=True, check=True, cwd=BENCHMARKS
    )
    loaded = done.stdout.split()
    assert loaded.index("measuring") < [*loaded, "numpy"].index("numpy")


def run_and_look(name, tmp_path):
    script = BENCHMARKS / f"{name}.py"
    command = [sys.executable, script, "--quick", "--no-peers", "--results", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    written = json.loads((tmp_path / f"{name}.json").read_text())
    assert written["results"]
    assert {"commit", "processor", "versions", "repetitions"} <= written.keys()


def test_rows_that_were_not_measured_again_keep_their_origin(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    measuring = importlib.import_module("measuring")
    old = {"commit": "abc", "processor": "old", "results": {"a": 1, "b": 2}}
    (tmp_path / "x.json").write_text(json.dumps(old))
    measuring.write_results(tmp_path, "x", {"b": 3}, quick=True, only=["b"])
    written = json.loads((tmp_path / "x.json").read_text())
    assert written["results"] == {"a": 1, "b": 3}
    assert written["rows"]["a"] == {"commit": "abc", "processor": "old"}
    assert written["rows"]["b"] == {key: written[key] for key in ("commit", "processor")}


def test_the_readme_has_the_numbers_that_were_measured(monkeypatch):
    """Those of which results are kept; `front_page.py --write` puts them there."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    page = importlib.import_module("front_page")
    text, found = page.README.read_text(), page.lines()
    assert len(found) >= 4
    for start, line in found.items():
        assert page.replaced(text, start, line) == text, line


SHORT = ("--seeds", "2", "--seconds", "0.02", "--only", "random: pairs, weak")


def never_worse(tmp_path, *options):
    script = BENCHMARKS / "never_worse.py"
    command = [sys.executable, script, *options, "--results", tmp_path]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_never_worse_measures_a_model_and_goes_on_with_its_table(tmp_path):
    path = tmp_path / "table.csv"
    done = never_worse(tmp_path, *SHORT, "-o", path)
    assert done.returncode == 0, done.stderr
    (row,) = csv.DictReader(path.read_text().splitlines())
    assert (row["kind"], row["name"], row["variables"]) == ("random", "pairs, weak", "30")
    assert row["moves"] == "Gibbs alone 2"  # it forgets at once; only the race is paid for
    assert float(row["gain"]) == pytest.approx(1.0 - float(row["race"]), rel=1e-9)
    assert float(row["doubt"]) == 0.0  # both are the same chains
    assert "worst ratio" in done.stdout
    written = json.loads((tmp_path / "never_worse.json").read_text())
    assert written["results"]["rows"][0]["gain"] == float(row["gain"])
    before = path.read_text()
    again = never_worse(tmp_path, *SHORT, "-o", path)
    assert again.returncode == 0, again.stderr
    assert path.read_text() == before  # nothing was left to measure
    refused = never_worse(tmp_path, *SHORT, "--seeds", "3", "-o", path)
    assert refused.returncode == 1
    assert "other seeds or seconds" in refused.stderr


def test_parts_are_counted_from_one(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    worse = importlib.import_module("never_worse")
    assert worse.part("2/3") == (1, 3)
    with pytest.raises(ValueError, match="no part"):
        worse.part("4/3")


def test_the_doubt_of_a_ratio_is_that_of_theory(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    doubt_of = importlib.import_module("versus_gibbs").doubt_of
    rng = np.random.default_rng(1)
    draws = rng.gamma(4.0, 1.0, (2, 400, 20))  # a relative error of 1/2 each
    found = np.array([doubt_of(*pair) for pair in draws.transpose(1, 0, 2)])
    theory = np.sqrt(2 * 0.25 / 20)
    assert found.mean() == pytest.approx(theory, rel=0.05)
    ratios = np.log(draws[0].mean(axis=1) / draws[1].mean(axis=1))
    assert ratios.std() == pytest.approx(theory, rel=0.15)  # 4 errors of a spread from 400
    assert doubt_of([1.0], [2.0]) == np.inf


def test_held_out_models_are_others_and_stay_the_same(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    held_out = importlib.import_module("held_out_models").held_out_models
    varied = importlib.import_module("varied_models").varied_models
    assert len(held_out()) >= 40
    assert not held_out().keys() & varied().keys()
    graphs = [models["ordered Ising", name]().graph for models, name in _first_ordered(held_out)]
    assert digest(graphs[0]) == digest(graphs[1])


def _first_ordered(held_out):
    models = held_out(), held_out()
    name = next(name for kind, name in models[0] if kind == "ordered Ising")
    return [(one, name) for one in models]
