"""Benchmarks run on tiny settings and write what they measured; how fast is nobody's business."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.shared_data import shared

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


NAMES = (
    "gibbs_updates",
    "accuracy",
    "startup",
    "memory",
    "markov_logic",
    "orbital_moves",
    "symmetry_detection",
    "webkb_like",
)


@pytest.mark.parametrize("name", NAMES)
def test_a_benchmark_runs_and_writes_its_results(name, tmp_path):
    run_and_look(name, tmp_path)


def test_learning_is_measured_where_the_data_are(tmp_path):
    shared("webkb")
    run_and_look("webkb_learning", tmp_path)


def run_and_look(name, tmp_path):
    script = BENCHMARKS / f"{name}.py"
    command = [sys.executable, script, "--quick", "--no-peers", "--results", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    written = json.loads((tmp_path / f"{name}.json").read_text())
    assert written["results"]
    assert {"commit", "processor", "versions", "repetitions"} <= written.keys()


def test_never_worse_measures_a_model_and_writes_its_table(tmp_path):
    script, path = BENCHMARKS / "never_worse.py", tmp_path / "table.csv"
    brief = ["--seeds", "2", "--seconds", "0.02", "--only", "random: pairs, weak", "-o", path]
    done = subprocess.run(
        [sys.executable, script, *brief], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    (row,) = csv.DictReader(path.read_text().splitlines())
    assert (row["kind"], row["name"], row["variables"]) == ("random", "pairs, weak", "30")
    assert row["moves"] == "Gibbs alone 2"  # it forgets at once; only the race is paid for
    assert float(row["gain"]) == pytest.approx(1.0 - float(row["race"]), rel=1e-9)
    assert "worst ratio" in done.stdout
