"""Runs note how their errors shrink, and show a bar in notebooks."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

import orbitmc as om
from orbitmc.inference import progress
from orbitmc.inference.progress import in_notebook
from orbitmc.sampling import observers as snapshots
from orbitmc.sampling.observers import COST, Course


def test_a_run_notes_how_its_errors_shrink(monkeypatch):
    monkeypatch.setattr(snapshots, "COST", 1.0)  # however fast the machine is
    grid = om.ising_grid(6, 6, 0.3)
    answer = om.marginals(grid, method="gibbs", samples=8000, seed=1, estimator="rao-blackwell")
    course = answer.about.course
    assert len(course) >= 3
    samples = [point.samples for point in course]
    assert samples == sorted(set(samples))
    assert all(0 < point.middle <= point.largest for point in course)
    # errors of 64 columns each are known to a tenth, and their middle much better
    scaled = np.array([point.middle * np.sqrt(point.samples) for point in course])
    assert scaled.max() < 1.5 * scaled.min()


def test_notes_take_a_small_share_of_the_time(monkeypatch):
    clock, run = SimpleNamespace(now=0.0), SimpleNamespace(seconds=0.0, recorded=0, course=[])
    run.packs = (SimpleNamespace(tally=SimpleNamespace(sums=np.zeros(10))),)

    def statistics():
        clock.now += 0.05
        return SimpleNamespace(standard_error=np.array([0.1, 0.2]))

    run.statistics = statistics
    fake = SimpleNamespace(perf_counter=lambda: clock.now)
    monkeypatch.setattr("orbitmc.sampling.observers.time", fake)
    course = Course()
    for _ in range(1000):
        run.seconds += 0.1
        run.recorded += 100
        if course.is_due(run):
            run.course.append(course.point(run))
    assert 1 < len(run.course) < 20
    assert clock.now <= COST * run.seconds + 0.05


class FakePage:
    """What IPython shows, without IPython."""

    def __init__(self):
        self.shown = []

    def display(self, bar, display_id):
        self.shown.append(bar)
        return SimpleNamespace(update=self.shown.append)

    def modules(self, kernel):
        shell = SimpleNamespace(kernel=kernel)
        python = SimpleNamespace(get_ipython=lambda: shell)
        return {
            "IPython": python,
            "IPython.display": SimpleNamespace(HTML=str, display=self.display),
        }


def test_a_notebook_shows_a_bar_while_a_run_takes_long_and_then_removes_it(monkeypatch):
    page = FakePage()
    for name, module in page.modules(kernel=object()).items():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(progress.NotebookBar, "seconds", 0.0)
    om.marginals(om.ising_grid(6, 6, 0.3), method="gibbs", seconds=1.0)
    assert "<progress" in page.shown[0]
    assert "million updates/s" in page.shown[-2]
    assert page.shown[-1] == ""


@pytest.mark.parametrize("kernel", [None, object()])
def test_a_terminal_is_no_notebook(monkeypatch, kernel):
    for name, module in FakePage().modules(kernel).items():
        monkeypatch.setitem(sys.modules, name, module)
    assert in_notebook() == (kernel is not None)
