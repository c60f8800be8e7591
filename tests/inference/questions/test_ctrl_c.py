"""Ctrl-C, as the system sends it, gives the partial answer to every sampled question."""

import signal

import numpy as np
import pytest

import orbitmc as om
from orbitmc.exact.map import Neighbourhoods
from orbitmc.sampling.annealed_importance import _Cooling
from tests.inference.questions.every import about, questions

GRID = om.ising_grid(4, 4, 0.3, 0.1)
QUESTIONS = questions(GRID)
LONG = {"method": "gibbs", "samples": 10**7}
SAMPLED = (
    "marginals",
    "joint",
    "probability",
    "expect",
    "information",
    "draws",
    "sweep",
    "predict",
)


class Pressing:
    """Presses Ctrl-C once, after the first samples."""

    def __init__(self):
        self.pressed = False

    def __call__(self, run):
        if run.recorded > 10 and not self.pressed:
            self.press()

    def press(self):
        self.pressed = True
        signal.raise_signal(signal.SIGINT)


@pytest.fixture(autouse=True)
def _as_in_a_terminal():
    """Programs in the background of a shell ignore Ctrl-C; handlers are left as they were."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("question", SAMPLED)
def test_what_was_sampled_so_far_is_the_answer(question):
    pressing = Pressing()
    more = {"samples": 10**5} if question == "draws" else {}
    found = QUESTIONS[question](**LONG | {"warm_up": 20, "watchers": [pressing]} | more)
    assert pressing.pressed
    assert about(found).interrupted
    assert 10 < about(found).samples < 10**5 or question == "predict"
    assert np.isfinite(numbers(question, found)).all()


def numbers(question, found):
    """Some numbers of an answer."""
    if question in ("joint", "predict"):
        return found.probability
    if question == "draws":
        return found.log_weight
    if question == "sweep":
        return [float(found[0].energy), float(found[0].heat_capacity)]
    values = [found] if question == "probability" else found.values()
    return np.concatenate([np.ravel(getattr(one, "probability", one)) for one in values]).astype(
        float
    )


def test_the_best_states_so_far_are_the_answer(monkeypatch):
    pressing, plain = Pressing(), Neighbourhoods.improve

    def pressed(self, state):
        if not pressing.pressed:
            pressing.press()
        return plain(self, state)

    monkeypatch.setattr(Neighbourhoods, "improve", pressed)
    found = om.best(GRID, k=2, method="gibbs", seconds=600)
    assert found.about.interrupted
    assert len(found) == 2


class Cooling:
    """Presses Ctrl-C at some step of cooling chains down."""

    def __init__(self, monkeypatch, at):
        self.pressing, self.at, self.steps = Pressing(), at, 0
        plain = _Cooling.cool

        def cool(one, **rung):
            self.steps += 1
            if self.steps == self.at:
                self.pressing.press()
            return plain(one, **rung)

        monkeypatch.setattr(_Cooling, "cool", cool)


def test_log_z_of_the_last_complete_pass_is_the_answer(monkeypatch, all_sampled):
    cooling = Cooling(monkeypatch, at=2 * 30 + 5)  # two packs, thirty temperatures, then sixty
    found = om.log_z(GRID, method="gibbs", samples=60, threads=1)
    assert found.about.interrupted
    assert cooling.steps < 2 * 90
    assert (found.about.samples, found.verdict) == (30, "too few samples")
    assert abs(found.value - om.log_z(GRID).value) < 10 * found.standard_error


def test_before_any_pass_is_complete_there_is_no_log_z(monkeypatch, all_sampled):
    Cooling(monkeypatch, at=5)
    with pytest.raises(KeyboardInterrupt):
        om.log_z(GRID, method="gibbs", samples=60, threads=1)
