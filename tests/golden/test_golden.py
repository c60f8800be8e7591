"""Answers are those that were recorded: sampled ones to the byte, exact ones to rounding.

`python -m tests.golden.record` records them anew, after a change that is listed under *Results*.
"""

import json
import math

import pytest

from tests.golden.questions import EXACT, SAMPLED
from tests.golden.record import RECORDED, digest

ANSWERS = json.loads(RECORDED.read_text())
CLOSE = 1e-12


def test_all_questions_are_recorded():
    assert set(ANSWERS["exact"]) == set(EXACT)
    assert set(ANSWERS["sampled"]) == set(SAMPLED)
    assert len(EXACT) + len(SAMPLED) >= 80


@pytest.mark.parametrize("name", EXACT)
def test_an_exact_answer_is_as_recorded(name, tmp_path):
    require_close(json.loads(json.dumps(EXACT[name](tmp_path))), ANSWERS["exact"][name], name)


@pytest.mark.parametrize("name", SAMPLED)
def test_a_sampled_answer_is_as_recorded(name, tmp_path):
    assert digest(SAMPLED[name](tmp_path)) == ANSWERS["sampled"][name]


def test_another_number_is_seen():
    answer = {"a": [0.25, {"b": "0.5"}]}
    require_close({"a": [0.25 + 1e-14, {"b": "0.5"}]}, answer, "")
    for other in ({"a": [0.2501, {"b": "0.5"}]}, {"a": [0.25]}, {"a": [0.25, {"b": "0.4"}]}):
        with pytest.raises(AssertionError):
            require_close(other, answer, "")
    assert digest({"a": 0.1}) != digest({"a": 0.1 + 1e-16})


def require_close(found, expected, where):
    """Equal, but for numbers that differ by rounding."""
    if isinstance(expected, dict):
        assert list(found) == list(expected), where
        for key, one in expected.items():
            require_close(found[key], one, f"{where}/{key}")
    elif isinstance(expected, list):
        assert len(found) == len(expected), where
        for place, (one, other) in enumerate(zip(found, expected, strict=True)):
            require_close(one, other, f"{where}/{place}")
    elif isinstance(expected, float) and isinstance(found, float):
        assert math.isclose(found, expected, rel_tol=CLOSE, abs_tol=CLOSE), where
    else:
        assert found == expected, where
