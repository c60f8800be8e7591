"""A clock of our own, so that races end the same on any machine."""

from types import SimpleNamespace

import pytest

from orbitmc.kernels._alternation import Alternation
from orbitmc.kernels._tempering import Tempering
from orbitmc.sampling import ladder as ladder_module
from orbitmc.tuning import race as race_module
from orbitmc.tuning import trial as trial_module

STEP, JUMP = 2e-7, 2e-6  # seconds that a step and a jump take, by our clock
JUMPS = {}  # those that take longer, by the type of their kernel
LOOK, JUDGEMENT = 4e-5, 2e-3  # to look at a state, and to count effective samples


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

    def stepper(graph, kernel, pack):
        def take(count):
            clock.now += seconds_of(kernel, pack.memory, count)
            walk(count)

        walk = original(graph, kernel, pack)
        return take

    original = trial_module.stepper
    monkeypatch.setattr(trial_module, "stepper", stepper)
    monkeypatch.setattr(ladder_module, "stepper", stepper)
    monkeypatch.setattr(trial_module, "time", SimpleNamespace(thread_time=clock))
    return clock


def seconds_of(kernel, memory, count):
    """How long steps of a kernel take by our clock."""
    if isinstance(kernel, Alternation):
        before = kernel.period - memory.left[0]
        jumps = int(before + count) // kernel.period
        jump = JUMPS.get(type(kernel.jump), JUMP)
        return seconds_of(kernel.base, memory.base, count) + jump * jumps
    rungs = len(kernel.betas) if isinstance(kernel, Tempering) else 1
    return STEP * count * rungs


@pytest.fixture
def all_counted(counted, monkeypatch):
    """To look at states and to judge them takes time, too."""

    def taking(seconds, function):
        def called(*arguments):
            counted.now += seconds
            return function(*arguments)

        return called

    for name, seconds in (("statistics_of", LOOK), ("effective_samples", JUDGEMENT)):
        monkeypatch.setattr(trial_module, name, taking(seconds, getattr(trial_module, name)))
    return counted
