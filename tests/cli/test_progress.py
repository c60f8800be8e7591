"""Progress is shown seldom enough, and says how far a run is."""

from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np
import pytest

from orbitmc.cli.running import Display
from orbitmc.inference import progress
from orbitmc.inference.progress import COST, ProgressObserver, fraction
from orbitmc.sampling.schedule import Schedule


@dataclass
class FakeRun:
    """As much of a run as progress looks at."""

    schedule: Schedule = field(default_factory=lambda: Schedule(seconds=100.0))
    seconds: float = 0.0
    recorded: int = 100
    warmed: int = 0
    wanted: int | None = None
    piloted: bool = False
    updates: int = 10**9
    packs: tuple = (SimpleNamespace(tally=SimpleNamespace(sums=np.zeros(10))),)

    @property
    def ends(self):
        return self.schedule.seconds

    def statistics(self):
        clock.now += 0.02
        return SimpleNamespace(ess=np.array([500.0, 400.0]), r_hat=np.array([1.0, 1.003]))


class Clock:
    now = 0.0

    def perf_counter(self):
        return self.now


clock = Clock()


@pytest.fixture(autouse=True)
def _own_time(monkeypatch):
    clock.now = 0.0
    monkeypatch.setattr(progress, "time", clock)


def test_watching_takes_at_most_a_hundredth_of_the_time(capsys):
    run, watching, spent = FakeRun(), ProgressObserver(Display()), 0.0
    for _ in range(1000):
        clock.now += 0.1
        run.seconds = clock.now
        before = clock.now
        watching(run)
        spent += clock.now - before
    assert 0 < spent <= 1.1 * COST * clock.now
    lines = capsys.readouterr().err.splitlines()
    assert 3 < len(lines) < 30
    assert lines[-1].endswith("worst ESS 400, R-hat 1.003")


def test_quiet_watching_shows_and_costs_nothing(capsys):
    watching = ProgressObserver(None)
    for _ in range(100):
        clock.now += 10.0
        watching(FakeRun(seconds=clock.now))
    assert capsys.readouterr().err == ""
    assert clock.now == 1000.0


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        (FakeRun(seconds=25.0), 0.25),
        (FakeRun(seconds=125.0), 1.0),
        (FakeRun(Schedule(samples=80, warm_up=20), recorded=30, warmed=20, wanted=80), 0.5),
        (FakeRun(Schedule(standard_error=0.1), recorded=30, wanted=60, piloted=True), 0.5),
    ],
)
def test_the_fraction_done_follows_the_schedule(run, expected):
    assert fraction(run) == pytest.approx(expected)
