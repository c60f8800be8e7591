"""The JSON object has the shape that docs/reference/json.md promises."""

import numbers

import pytest

from tests.cli.commands import answer_of, rain

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
