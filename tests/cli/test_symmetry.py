"""`orbitmc symmetry` and the lifted methods, as people call them."""

import json
from pathlib import Path

import pytest

from tests.cli.commands import answer_of
from tests.cli.commands import orbitmc as run

RING = Path(__file__).parents[2] / "examples" / "ring.uai"


def test_the_group_of_a_ring_in_json():
    found = json.loads(run("symmetry", RING, "--exact-only", "--json").stdout)
    assert found["order"] == "8"
    assert found["orbits"] == [["0", "1", "2", "3"]]
    assert found["complete"] is True
    assert found["seconds"] >= 0
    assert found["approximations"] == []
    moved = {name for cycles in found["generators"] for cycle in cycles for name in cycle}
    assert moved == {"0", "1", "2", "3"}


def test_values_double_the_group():
    found = json.loads(run("symmetry", RING, "--exact-only", "--values", "--json").stdout)
    assert found["order"] == "16"


def test_evidence_breaks_symmetries():
    found = json.loads(run("symmetry", RING, "--exact-only", "-e", "0=1", "--json").stdout)
    assert found["order"] == "2"


def test_own_generators_are_taken_as_they_are():
    done = run("symmetry", RING, "--exact-only", "-g", "(0 1 2)")
    assert "(0 1 2)" in done.stdout
    assert "given" in done.stdout


@pytest.mark.parametrize("typed", ["(0 1 1)", "(0 9)", "(0 1", "nonsense"])
def test_generators_that_are_no_permutations_are_refused(typed):
    done = run("symmetry", RING, "-g", typed)
    assert done.returncode == 2
    assert done.stderr.startswith("orbitmc: ")
    assert "Traceback" not in done.stderr


def test_approximations_say_how_often_the_model_accepts(tmp_path):
    found = json.loads(run("symmetry", RING, "--json").stdout)
    names = [one["name"] for one in found["approximations"]]
    assert names[0] == "without fields"
    for one in found["approximations"]:
        assert one["acceptance"] is None or 0 < one["acceptance"] <= 1


@pytest.mark.parametrize("method", ["lifted", "lmh"])
def test_lifted_methods_answer_and_count_their_jumps(method):
    answer = answer_of("infer", RING, "--method", method, "--samples", "200", "--seed", "1")
    assert answer["method"] == method
    counts = answer["outcomes"]
    assert counts["proposals"] >= counts["null proposals"] + counts["accepted"] > 0
    for variable in answer["variables"].values():
        # The ring has no fields, so each value has probability one half; 9.5 errors are passed
        # by Student's t with 31 degrees about once in 1e10 draws.
        error = abs(variable["probability"][1] - 0.5)
        assert error <= 9.5 * variable["standard_error"][1] + 1e-7
