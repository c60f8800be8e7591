"""`orbitmc sweep` prints a line for each temperature, and reads several ways to name them."""

import json

import pytest

from orbitmc.cli.questions import betas_in
from orbitmc.errors import InputError
from tests.cli.commands import orbitmc

RING = "examples/ring.uai"


def test_a_table_a_file_and_an_object(tmp_path):
    done = orbitmc("sweep", RING, "--beta", "0.5:1:2", "--json", "-o", tmp_path / "x.csv")
    assert done.returncode == 0
    found = json.loads(done.stdout)["betas"]
    assert [rung["beta"] for rung in found] == [0.5, 1.0]
    assert found[0]["energy"]["verdict"] == "exact"
    lines = (tmp_path / "x.csv").read_text().splitlines()
    assert lines[0].startswith("beta,quantity,value")
    assert len(lines) == 5
    shown = orbitmc("sweep", RING, "--beta", "0.5,1").stdout.splitlines()
    assert shown[0].split()[:2] == ["beta", "energy"]
    assert len(shown) == 3


@pytest.mark.parametrize("text", ["", "hot", "1:2", "1:2:x", "0.1:1:0", "1:2:3:4"])
def test_what_names_no_temperatures_is_refused(text):
    with pytest.raises(InputError, match="temperature"):
        betas_in(text)
    done = orbitmc("sweep", RING, f"--beta={text}")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
