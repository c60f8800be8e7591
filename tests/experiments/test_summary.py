"""Tables are made from files alone, compare pairs, and never read below the floor."""

import importlib
import json
from pathlib import Path

import pytest

from orbitmc.compare.figures import Row, curves_text

EXPERIMENTS = Path(__file__).parents[2] / "experiments"
FLOOR = 1e-4


@pytest.fixture
def summary(monkeypatch):
    monkeypatch.syspath_prepend(str(EXPERIMENTS))
    return importlib.import_module("summary")


def row(method, seed, iterations, kl):
    numbers = [kl, kl, kl, FLOOR, FLOOR]
    return Row("p", method, "values", seed, iterations, 0, iterations / 100, *numbers)


@pytest.fixture
def rows():
    both = [row("Gibbs", seed, n, 1.0 / n) for seed in (1, 2) for n in (100, 200, 400, 40_000)]
    short = [row("LMH", seed, n, 0.5 / n) for seed in (1, 2) for n in (100, 200)]
    return [*both, *short, row("LMH", 1, 400, 0.5 / 400)]


def test_each_method_meets_gibbs_at_the_longest_length_of_both(summary, rows):
    assert summary.longest_of_both(rows, "LMH") == 200
    assert summary.longest_of_both(rows, "Gibbs") == 40_000


def test_a_table_says_ratios_and_stops_at_the_floor(summary, rows, tmp_path):
    step = "nanoseconds of a step of one chain"
    methods = {
        "Gibbs": {step: 2.0, "prepared in seconds": 0.0},
        "LMH": {step: 8.0, "prepared in seconds": 1.5},
    }
    (tmp_path / "figure.csv").write_text(curves_text(rows))
    (tmp_path / "figure.json").write_text(json.dumps({"panels": {"p": {"methods": methods}}}))
    (tmp_path / "figure-jumps.csv").write_text(
        "panel,method,estimator,seed,proposals,null proposals,accepted,moved variables\n"
        "p,LMH,values,1,100,20,40,90\n"
    )
    gibbs, lmh = summary.contest_lines(tmp_path / "figure.csv")
    assert gibbs[3:6] == ["40,000", "≤ 1.0e-04", summary.NOTHING]
    assert lmh[3:] == ["200", "2.50e-03", "2.00", "4.00", "0.50", "2.00", "1.50", "50.0%", "20.0%"]
