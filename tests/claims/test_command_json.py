"""The JSON object has the shape that docs/reference/json.md promises."""

import json
import numbers

import pytest

from tests.cli.commands import answer_of, orbitmc, rain

WORD, TRUTH, NUMBER, COUNT = str, bool, numbers.Real, int
NULL = type(None)

OUTCOMES = {"updates"}
"""Counts of a Gibbs run; an exact answer has none."""

SCHEMA = {
    "method": WORD,
    "reason": WORD,
    "seconds": NUMBER,
    "seed": (COUNT, NULL),
    "samples": COUNT,
    "chains": COUNT,
    "updates": COUNT,
    "updates_per_second": NUMBER,
    "outcomes": OUTCOMES,
    "estimator": WORD,
    "log_z": (NUMBER, NULL),
    "log_z_error": (NUMBER, NULL),
    "converged": TRUTH,
    "verdict": str,
    "interrupted": TRUTH,
    "warnings": [WORD],
    "moves": (dict, NULL),
    "race": [dict],
    "variables": {
        "values": [WORD],
        "probability": [NUMBER],
        "standard_error": [NUMBER],
        "low": [NUMBER],
        "high": [NUMBER],
        "ess": [(NUMBER, NULL)],
        "r_hat": [NUMBER],
        "verdict": WORD,
        "rare": [TRUTH],
    },
}


def require(held, schema, place="answer"):
    if isinstance(schema, dict):
        assert list(held) == list(schema), place
        for key, inner in schema.items():
            if key == "variables":
                for name, variable in held[key].items():
                    require(variable, inner, f"{place}.{name}")
            else:
                require(held[key], inner, f"{place}.{key}")
    elif isinstance(schema, set):
        assert set(held) <= schema, place
        assert all(isinstance(count, int) for count in held.values()), place
    elif isinstance(schema, list):
        assert isinstance(held, list), place
        for number, one in enumerate(held):
            require(one, schema[0], f"{place}[{number}]")
    else:
        assert isinstance(held, schema), place


@pytest.mark.parametrize("method", ["exact", "gibbs"])
def test_the_object_has_the_documented_shape(tmp_path, method):
    path = rain(tmp_path)
    answer = answer_of("infer", path, "-e", "rain=no", "--method", method, "--samples", "50")
    require(answer, SCHEMA)
    for variable in answer["variables"].values():
        lengths = {len(held) for held in variable.values() if isinstance(held, list)}
        assert lengths == {len(variable["values"])}
        assert sum(variable["probability"]) == pytest.approx(1.0)
        for low, p, high in zip(
            variable["low"], variable["probability"], variable["high"], strict=True
        ):
            assert 0 <= low <= p <= high <= 1


def error_of(*words):
    done = orbitmc(*words, "--json")
    assert "orbitmc: " in done.stderr
    return done.returncode, json.loads(done.stdout)


def test_errors_are_objects_too(tmp_path):
    model = rain(tmp_path)
    assert error_of("infer", tmp_path / "none.bif") == (
        2,
        {
            "error": "there is no such file",
            "kind": "input",
            "where": {"file": str(tmp_path / "none.bif"), "line": None, "column": None},
            "hint": None,
        },
    )
    code, error = error_of("infer", model, "-e", "rian=no")
    assert (code, error["kind"], error["where"]) == (2, "input", None)
    assert error["hint"] == "did you mean 'rain'?"
    broken = tmp_path / "broken.uai"
    broken.write_text("MARKOV\n1\ntwo\n")
    code, error = error_of("check", broken)
    assert (code, error["where"]["line"]) == (2, 3)
    assert error_of("infer", model, "--memory", "16")[1]["kind"] == "limit"


def test_impossible_evidence_is_a_contradiction(tmp_path):
    path = tmp_path / "never.uai"
    path.write_text("MARKOV\n1\n2\n1\n1 0\n2\n0 1\n")
    code, error = error_of("infer", path, "-e", "0=0")
    assert (code, error["kind"]) == (4, "contradiction")
