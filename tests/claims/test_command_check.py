"""`orbitmc check` counts right, prices right, and sees what looks wrong."""

import json

import pytest

import orbitmc as om
from tests.cli.commands import grid, orbitmc, rain


def checked(path, *words):
    done = orbitmc("check", path, "--json", *words)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_grid_is_counted(tmp_path):
    found = checked(grid(tmp_path, side=4))
    assert found["variables"] == 16
    assert found["factors"] == 16 + 24
    assert found["cardinalities"] == {"2": 16}
    assert (found["smallest_degree"], found["largest_degree"]) == (2, 4)
    assert found["mean_degree"] == pytest.approx(3.0)
    assert found["components"] == 1
    assert found["zeros"] == 0.0
    assert found["exact"]["width"] == 4
    assert found["exact"]["refusal"] is None
    assert found["remarks"] == []


def test_what_is_too_dear_says_why(tmp_path):
    found = checked(grid(tmp_path, side=40), "--memory", "1G")
    assert "GiB" in found["exact"]["refusal"] or "entries" in found["exact"]["refusal"]
    assert found["sampling_bytes"] > 40 * 40 * 256


def test_evidence_counts(tmp_path):
    found = checked(rain(tmp_path), "-e", "grass=wet")
    assert (found["variables"], found["observed"], found["components"]) == (3, 1, 2)


def test_people_get_words(tmp_path):
    done = orbitmc("check", rain(tmp_path))
    assert done.returncode == 0
    assert "variables     3 (0 observed, 0 forced)" in done.stdout
    assert "exact         about" in done.stdout


@pytest.mark.parametrize(
    ("factors", "remark"),
    [
        ([(["a"], [1, 2]), (["a", "b"], [[1, 2], [3, 4]])], "no factor reads c"),
        ([(["a"], [1, 2]), (["b", "c"], [[1, 2], [3, 4]])], "no factor connects a"),
        ([(["a", "b"], [[1, 2], [3, 4]])] * 2 + [(["c"], [1, 2])], "1 factors read the same"),
        ([(["a", "b", "c"], [[[2, 2], [2, 2]]] * 2)], "1 factors have equal entries only"),
        ([(["a", "b", "c"], [[[1, 0], [2, 2]]] * 2)], "some states are impossible"),
        ([(["a", "b", "c"], [[[1, 0], [2, 0]]] * 2)], "one value only to c"),
        (
            [
                (["a"], [0.5, 0.5]),
                (["a", "b"], [[0.1, 0.9], [0.3, 0.8]]),
                (["b", "c"], [[0.1, 0.9], [0.2, 0.8]]),
            ],
            "those of b given a=1 sum to 1.1",
        ),
    ],
)
def test_what_looks_wrong_is_said(factors, remark):
    model = om.model({name: ["0", "1"] for name in "abc"}, factors)
    assert any(remark in found for found in om.overview(model).remarks)


def test_a_model_without_variables_is_no_mishap():
    assert om.overview(om.model({}, [])).variables == 0
