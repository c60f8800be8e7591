"""`orbitmc draw` writes the states it was asked for."""

import csv
import gzip
import json

import numpy as np
import pytest
from scipy.io import netcdf_file

from tests.cli.commands import orbitmc, rain


@pytest.fixture
def model(tmp_path):
    return rain(tmp_path)


def rows(text):
    return list(csv.DictReader(text.splitlines()))


def test_states_are_printed_as_csv(model):
    done = orbitmc("draw", model, "-e", "grass=wet", "-n", "12", "--seed", "1")
    assert done.returncode == 0
    found = rows(done.stdout)
    assert len(found) == 12
    assert set(found[0]) == {"chain", "draw", "rain", "grass", "mood", "log_weight"}
    assert {row["grass"] for row in found} == {"wet"}
    assert "independent" in done.stderr


@pytest.mark.parametrize("states", [1, 7, 100, 1000])
def test_exactly_so_many_states_are_drawn(model, states):
    assert len(rows(orbitmc("draw", model, "-n", str(states)).stdout)) == states


def test_all_kinds_of_files_hold_the_same_states(model, tmp_path):
    for name in ("s.csv", "s.csv.gz", "s.npz", "s.nc"):
        done = orbitmc("draw", model, "-n", "40", "--seed", "3", "-o", tmp_path / name)
        assert done.returncode == 0, done.stderr
        assert done.stdout == ""
    text = (tmp_path / "s.csv").read_text()
    assert gzip.decompress((tmp_path / "s.csv.gz").read_bytes()).decode() == text
    with np.load(tmp_path / "s.npz") as file:
        arrays = dict(file)
    domains = json.loads(str(arrays["domains"]))
    words = [
        [domains[place][value] for place, value in enumerate(state)]
        for state in arrays["values"].reshape(40, 3)
    ]
    assert words == [[row["rain"], row["grass"], row["mood"]] for row in rows(text)]
    with netcdf_file(tmp_path / "s.nc", mmap=False) as data:
        assert (data.variables["values"][:] == arrays["values"]).all()
        assert (data.variables["log_weight"][:] == arrays["log_weight"]).all()
        names = [b"".join(letters).decode() for letters in data.variables["variable"][:]]
        assert names == arrays["names"].tolist() == ["rain", "grass", "mood"]
        assert json.loads(data.domains) == domains


def test_json_has_everything(model):
    done = orbitmc("draw", model, "-n", "6", "--chains", "2", "--json", "--method", "gibbs")
    answer = json.loads(done.stdout)
    assert np.array(answer["values"]).shape == (2, 3, 3)
    assert np.array(answer["log_weight"]).shape == (2, 3)
    assert (answer["verdict"], answer["converged"], answer["method"]) == ("good", True, "gibbs")
    assert answer["names"] == ["rain", "grass", "mood"]


def test_frozen_chains_end_with_the_code_of_what_has_not_converged(tmp_path):
    path = tmp_path / "frozen.uai"
    path.write_text("MARKOV\n2\n2 2\n1\n2 0 1\n4 1 0 0 1\n")
    done = orbitmc(
        "draw", path, "-n", "64", "--method", "gibbs", "--set", "scan=systematic", "--quiet"
    )
    assert done.returncode == 3
    assert "frozen" in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-n", "10", "--chains", "3"], "cannot be drawn in 3 chains"),
        (["-o", "states.txt"], "written as .csv"),
        (["-o", "missing/states.csv"], "there is no folder"),
        (["--set", "spacings=3"], "did you mean 'spacing'"),
        (["-e", "gras=wet"], "did you mean 'grass'"),
    ],
)
def test_mistakes_are_explained(model, words, said):
    done = orbitmc("draw", model, *words)
    assert done.returncode == 2
    assert said in done.stderr


def test_a_model_is_not_overwritten(model):
    before = model.read_bytes()
    done = orbitmc("draw", model, "-o", model)
    assert done.returncode == 2
    assert model.read_bytes() == before


def test_no_more_states_are_drawn_than_there_is_time_to_write(model):
    done = orbitmc("draw", model, "-n", "640000", "--seconds", "0.01")
    assert "there is time to write" in done.stderr
    assert 64 <= len(rows(done.stdout)) < 640_000
