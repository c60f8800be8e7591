"""Progress is shown seldom enough, and says how far a run is."""

import re
import sys
from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np
import pytest

import orbitmc as om
from orbitmc._util.remarks import print_remark
from orbitmc.inference import progress
from orbitmc.inference.progress import COST, ProgressLines, ProgressObserver, fraction
from orbitmc.sampling.schedule import Schedule

GRID, UP = om.ising_grid(6, 6, 0.3, 0.1), "s0_0 == 'up'"


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
    run, watching, spent = FakeRun(), ProgressObserver(ProgressLines()), 0.0
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


def test_lines_in_a_pipe_begin_with_the_time_and_those_on_a_terminal_do_not(capsys, monkeypatch):
    print_remark("hello")
    assert re.fullmatch(
        r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ orbitmc: hello\n", capsys.readouterr().err
    )
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    print_remark("hello")
    assert capsys.readouterr().err == "orbitmc: hello\n"


class Quickly(ProgressLines):
    """Lines without a pause."""

    def __init__(self):
        super().__init__()
        self.seconds = 0.0


LONG_QUESTIONS = {
    "marginals": lambda **how: om.marginals(GRID, method="gibbs", samples=40, **how),
    "joint": lambda **how: om.joint(GRID, ["s0_0", "s1_1"], method="gibbs", samples=40, **how),
    "probability": lambda **how: om.probability(
        GRID, "s0_0 == 'up'", method="gibbs", samples=9, **how
    ),
    "best": lambda **how: om.best(GRID, method="gibbs", samples=2, **how),
    "log_z": lambda **how: om.log_z(
        om.ising_grid(14, 14, 0.3, 0.1), method="gibbs", samples=20, **how
    ),
    "draws": lambda **how: om.draws(GRID, method="gibbs", samples=30, **how),
    "sweep": lambda **how: om.sweep(GRID, [0.5, 1.0], method="gibbs", samples=30, **how),
    "observables": lambda **how: om.observables(GRID, "|m|", method="gibbs", samples=30, **how),
    "predict": lambda **how: om.predict(GRID, [{"s0_0": "up"}], query="s1_1", **how),
}


@pytest.mark.parametrize("name", LONG_QUESTIONS)
def test_questions_show_their_progress_where_python_asks_for_it(name, capsys, monkeypatch):
    monkeypatch.setattr(progress, "ProgressLines", Quickly)
    LONG_QUESTIONS[name]()
    assert capsys.readouterr().err == ""
    LONG_QUESTIONS[name](progress=True)
    lines = capsys.readouterr().err.splitlines()
    assert lines
    assert all(re.fullmatch(r"\S+Z orbitmc: +\d+% .+", line) for line in lines)


def test_a_program_that_listens_gets_progress_in_its_own_log(caplog, capsys, monkeypatch):
    monkeypatch.setattr(progress, "ProgressLines", Quickly)
    with caplog.at_level("INFO", logger="orbitmc"):
        LONG_QUESTIONS["marginals"](progress=True)
    assert capsys.readouterr().err == ""
    assert any(re.match(r"orbitmc: +\d+% ", record.getMessage()) for record in caplog.records)


def test_a_function_is_told_the_share_and_words():
    told = []
    LONG_QUESTIONS["marginals"](progress=lambda share, words: told.append((share, words)))
    assert all(0 <= share <= 1 for share, _ in told)
    assert "samples" in told[-1][1]
    before = len(told)
    LONG_QUESTIONS["marginals"]()  # nothing is left behind
    assert len(told) == before
