"""Every figure is measured, in little, and drawn from its CSV."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from orbitmc.compare.figures import curves, read_curves

pytest.importorskip("matplotlib")

EXPERIMENTS = Path(__file__).parents[2] / "experiments"

OURS = ("Gibbs", "LMH, tuned")


def run(name, out, *more):
    words = [sys.executable, EXPERIMENTS / f"{name}.py", "--quick", "--seeds", "2", "--out", out]
    environment = {**os.environ, "MPLBACKEND": "Agg"}
    done = subprocess.run(
        [*words, *more], capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


COMPILING = pytest.mark.slow  # kernels and estimators that no other test compiles: minutes


@pytest.mark.parametrize(
    "name",
    [
        "webkb",
        "osa_bias",
        pytest.param("ising", marks=COMPILING),
        pytest.param("chimera", marks=COMPILING),
        "beside_peers",
    ],
)
def test_a_figure_is_measured_and_drawn(name, tmp_path):
    only = {"webkb": ["look-alike 1"], "ising": ["figure"], "beside_peers": ["ising"]}
    more = ["--only", *only[name]] if name in only else []
    run(name, tmp_path, "--seconds", "0.1", *more)
    name = {"beside_peers": "peers"}.get(name, name)
    rows = read_curves(tmp_path / f"{name}.csv")
    methods = {row.method for row in rows}
    assert "Gibbs" in methods
    assert len(methods) > (1 if name == "peers" else 2)
    for (method, _), curve in curves(rows, "seconds", "kl").items():
        if method in OURS or name != "peers":
            assert len(curve.axis), method  # how many depends on how busy the machine is
            assert (np.diff(curve.axis) > 0).all(), method
    assert {row.seed for row in rows} == {1, 2}
    manifest = json.loads((tmp_path / f"{name}.json").read_text())
    assert manifest["settings"]["seeds"] == [1, 2]
    assert manifest["versions"]["orbitmc"]
    if name == "osa_bias":
        table = (tmp_path / "osa_counted.csv").read_text().splitlines()
        assert {line.split(",")[1] for line in table[2:]} == {
            "counting",
            "lifted MCMC",
            "Count-Gibbs",
        }
    if "web" in name or "osa" in name:
        assert "SYNTHETIC" in manifest["title"]
    assert "<svg" in (tmp_path / f"{name}.svg").read_text()


def test_the_table_of_blocks_respects_its_limit(tmp_path):
    printed = run("blocks_table", tmp_path)
    assert printed.startswith("| model |")
    lines = (tmp_path / "blocks_table.csv").read_text().splitlines()[1:]
    assert len(lines) % 4 == 0
    assert any("Ising" in line for line in lines)
