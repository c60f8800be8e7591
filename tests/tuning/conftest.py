"""A clock of our own, so that races end the same on any machine."""

from types import SimpleNamespace

import pytest

from orbitmc.kernels.combine.alternation import Alternation
from orbitmc.tuning import race as race_module
from orbitmc.tuning import trial as trial_module

STEP, JUMP = 2e-7, 2e-6  # seconds that a step and a jump take, by our clock


class Clock:
    """Stands still unless somebody works."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None


@pytest.fixture
def clock(monkeypatch):
    found = Clock()
    monkeypatch.setattr(race_module, "WorkClock", lambda: found)
    return found


@pytest.fixture
def counted(clock, monkeypatch):
    """Steps take as long as they should, whatever else this machine does."""

    def walk(graph, kernel, pack, count):
        jumps = count // kernel.period if isinstance(kernel, Alternation) else 0
        clock.now += STEP * count + JUMP * jumps
        original(graph, kernel, pack, count)

    original = trial_module.walk
    monkeypatch.setattr(trial_module, "walk", walk)
    monkeypatch.setattr(trial_module, "time", SimpleNamespace(thread_time=clock))
    return clock
