"""Ctrl-C ends any sampled question early: exit code 130, and what was found so far."""

import csv
import json
import signal

import numpy as np
import pytest

from orbitmc.exact.map import Neighbourhoods
from orbitmc.inference.progress import ProgressObserver
from orbitmc.sampling.annealed_importance import _Cooling
from tests.cli.commands import grid, orbitmc, rain

SAMPLED = ("--method", "gibbs", "--seed", "1", "--set", "warm_up=20")
LONG = (*SAMPLED, "--samples", "1000000")


@pytest.fixture
def model(tmp_path):
    return rain(tmp_path)


@pytest.fixture
def pressed(monkeypatch):
    """Presses Ctrl-C once, when the first samples are there; the list says how often it was."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    found, plain = [], ProgressObserver.__call__

    def press(watching, run):
        plain(watching, run)
        if run.recorded > 10 and not found:
            found.append(run.recorded)
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(ProgressObserver, "__call__", press)
    yield found
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize(
    "words",
    [
        ["infer", *LONG],
        ["joint", "rain", "grass", *LONG],
        ["ask", "rain == yes", *LONG],
        ["ask", "--about", "rain", *LONG],
        ["sweep", "--beta", "0.5,1", *LONG],
    ],
)
def test_partial_answers_are_printed_as_json(words, model, pressed):
    done = orbitmc(words[0], model, *words[1:], "--json")
    assert len(pressed) == 1
    assert done.returncode == 130
    assert "interrupted: the answer uses" in done.stderr
    assert json.loads(done.stdout)


def test_states_so_far_are_drawn(model, tmp_path, pressed):
    path = tmp_path / "states.csv"
    done = orbitmc("draw", model, "-n", "200000", "--chains", "2", *SAMPLED, "-o", path)
    assert done.returncode == 130
    assert "interrupted" in done.stderr
    rows = list(csv.DictReader(path.read_text().splitlines()))
    assert 2 * pressed[0] <= len(rows) < 200_000
    assert {row["rain"] for row in rows} == {"no", "yes"}
    assert all(np.isfinite(float(row["log_weight"])) for row in rows)


def test_rows_so_far_are_predicted(model, tmp_path, pressed):
    table = tmp_path / "rows.csv"
    table.write_text("grass\nwet\ndry\n")
    done = orbitmc("predict", model, table, "-q", "rain", *LONG)
    assert done.returncode == 130
    rows = list(csv.DictReader(done.stdout.splitlines()))
    assert [float(row["rain=no"]) > 0 for row in rows] == [True, True]


def test_the_best_states_so_far_are_printed(model, pressed, monkeypatch):
    plain = Neighbourhoods.improve

    def press(steps, state):
        if not pressed:
            pressed.append(1)
            signal.raise_signal(signal.SIGINT)
        return plain(steps, state)

    monkeypatch.setattr(Neighbourhoods, "improve", press)
    done = orbitmc("best", model, "--method", "gibbs", "-k", "2", "--seconds", "600", "--json")
    assert done.returncode == 130
    assert len(json.loads(done.stdout)["states"]) == 2


@pytest.mark.parametrize("at", [3, 2 * 8 + 3])
def test_marginals_are_kept_when_log_z_is_interrupted(tmp_path, at, monkeypatch):
    """In the first pass log Z is not known yet; later it is that of the last complete pass."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    steps, plain = [], _Cooling.cool

    def press(one, **rung):
        steps.append(1)
        if len(steps) == at:
            signal.raise_signal(signal.SIGINT)
        return plain(one, **rung)

    monkeypatch.setattr(_Cooling, "cool", press)
    words = ["--log-z", "--samples", "16", "--memory", "32M", "--set", "threads=1"]
    try:
        done = orbitmc("infer", grid(tmp_path, 24), *words, "--set", "scan=random", "--json")
    finally:
        signal.signal(signal.SIGINT, before)
    assert done.returncode == 130, done.stderr
    answer = json.loads(done.stdout)
    assert len(answer["variables"]) == 24 * 24
    assert (answer["log_z"] is None) == (at == 3)
    assert ("interrupted before log Z was known" in done.stderr) == (at == 3)


def test_what_is_asked_between_two_runs_ends_the_next_one():
    from functools import partial
    from types import SimpleNamespace

    from orbitmc.cli.running import Stopping

    stopping = Stopping()
    stopped = []
    first, second = (SimpleNamespace(stop=partial(stopped.append, name)) for name in ("1", "2"))
    stopping(first)
    assert stopped == []
    stopping._ask(signal.SIGINT, None)
    assert stopped == ["1"]
    stopping(second)
    assert stopped == ["1", "2"]
