"""`orbitmc compare` writes curves, a manifest and a figure, and says who was closest."""

import importlib.util
import json

import pytest

from orbitmc.compare.figures import read_curves
from tests.cli.commands import grid, orbitmc

DRAWS = importlib.util.find_spec("matplotlib") is not None


def test_compare_writes_curves_of_all_methods(tmp_path):
    out = tmp_path / "out"
    words = ["compare", grid(tmp_path), "--methods", "gibbs,lmh", "--seconds", "0.3"]
    done = orbitmc(*words, "--seeds", "2", "--seed", "7", "-o", out)
    assert done.returncode == 0, done.stderr
    rows = read_curves(out / "comparison.csv")
    assert {(row.method, row.seed) for row in rows} == {
        (method, seed) for method in ("gibbs", "lmh") for seed in (7, 8)
    }
    assert all(row.kl_floor == 0.0 for row in rows)
    manifest = json.loads((out / "comparison.json").read_text())
    assert manifest["settings"]["seeds"] == [7, 8]
    assert manifest["panels"]["grid.uai"]["truth"] == "exact"
    assert {"orbitmc", "numba", "numpy"} <= manifest["versions"].keys()
    assert (out / "comparison.svg").exists() == DRAWS
    assert ("matplotlib" in done.stderr) == (not DRAWS)
    assert "gibbs" in done.stdout
    assert "lmh" in done.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--methods", "gips"], "unknown method 'gips'"),
        (["--methods", ","], "at least one method"),
        (["--seconds", "0"], "above 0"),
        (["-o", "no/such/folder"], "there is no folder"),
    ],
)
def test_what_makes_no_sense_is_refused(tmp_path, words, said):
    where = [] if "-o" in words else ["-o", tmp_path / "out"]
    done = orbitmc("compare", grid(tmp_path), *where, *words)
    assert done.returncode == 2
    assert said in done.stderr
