"""No phase takes more than its share of time for each variable when a model gets larger.

Only CPU time is looked at, and only growth that no noise makes: eight times the variables may take
eight times as long, and four times more for the noise. A quadratic phase takes eight times more.
"""

import contextlib
import importlib
import io
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
KINDS = (
    *("sparse", "network", "observed", "zeros", "components"),
    *("hubs", "chain", "tree", "values"),
)
SMALL, TIMES = 1_000, 8
NOISE = 4.0
FAST = 0.25  # CPU seconds: less may be anything
LIMITED = {"check": 2.0}  # phases that look for a good order so long, whatever the size


@pytest.fixture
def irregular(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("irregular")


def models(irregular):
    return importlib.import_module("irregular_models")


def test_all_kinds_of_models_are_looked_at(irregular):
    assert set(models(irregular).KINDS) == set(KINDS)


SLOW = {"zeros": "to draw a state, blocks are chosen and annealed, which takes minutes"}


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=[pytest.mark.slow] * (kind in SLOW)) for kind in KINDS]
)
def test_phases_take_time_in_proportion_to_the_model(irregular, kind):
    _, small, large = (
        costs(irregular, models(irregular).irregular(kind, size))
        for size in (300, SMALL, TIMES * SMALL)  # the first compiles
    )
    steep = {
        phase: (small[phase], seconds)
        for phase, seconds in large.items()
        if seconds > LIMITED.get(phase, 0.0) + FAST and seconds > NOISE * TIMES * small[phase]
    }
    assert not steep


def costs(irregular, model):
    """CPU seconds of each phase; one that says no costs something too."""
    with contextlib.redirect_stdout(io.StringIO()):
        found = {name: irregular._measured(work, 2) for name, work in irregular._phases(model)}
    return {phase: one["seconds"] for phase, one in found.items()}


def test_a_quadratic_phase_is_seen(irregular):
    def quadratic(size):
        return sum(1 for _ in range(size) for _ in range(size // 4))

    seconds = [
        irregular._measured(lambda n=n: (quadratic(n), None)[1], 3)["seconds"] for n in (1000, 8000)
    ]
    assert seconds[1] > NOISE * TIMES * seconds[0]
    assert seconds[1] > FAST


def test_what_is_refused_is_named(irregular):
    from orbitmc.errors import LimitError

    def refuse():
        raise LimitError("too much")

    assert irregular._measured(refuse, 3)["refused"] == "too much"
