"""Chains that forget slowly are fewer and longer, and are looked at less often."""

import numpy as np
import pytest

import orbitmc as om
from orbitmc import tuning
from orbitmc._util.arrays import LANE_UNIT
from orbitmc.inference.plan import LOOKS_PER_MEMORY, MEMORIES, SHARE, fit_to_memory, plan_model
from orbitmc.inference.settings import Settings
from orbitmc.sampling.schedule import LANES, PACKS, SWEEPS_PER_SAMPLE
from orbitmc.tuning.race import RaceResult
from orbitmc.tuning.record import Tuning

VARIABLES, STEP = 100, 1e-7
TIMED = Settings(seconds=10.0, threads=1)
STEPS = SHARE * 10.0 / STEP  # of one pack that has all the time


@pytest.mark.parametrize(
    ("memories", "shape"),
    [
        (PACKS * MEMORIES, (PACKS, LANES)),
        (MEMORIES, (1, LANES)),
        (0.5 * MEMORIES, (1, LANE_UNIT)),
        (0.01 * MEMORIES, (1, LANE_UNIT)),
    ],
)
def test_a_chain_has_enough_memories_where_that_is_possible(memories, shape):
    fitted = fit_to_memory(TIMED, STEPS / memories * 0.999, STEP, VARIABLES, sparse=True)
    assert (fitted.packs, fitted.lanes) == shape


def test_two_threads_have_a_pack_each():
    settings = Settings(seconds=10.0, threads=2)
    assert fit_to_memory(settings, STEPS / 10.0, STEP, VARIABLES, sparse=True).packs == 2


def test_samples_of_slow_chains_are_further_apart_where_much_is_done_with_each():
    memory = 100.0 * SWEEPS_PER_SAMPLE * VARIABLES

    def spacing(memory, *, sparse=True):
        return fit_to_memory(TIMED, memory, STEP, VARIABLES, sparse=sparse).spacing

    assert spacing(memory) == int(memory / LOOKS_PER_MEMORY)
    assert spacing(memory, sparse=False) is None
    assert spacing(2.0 * VARIABLES) is None
    assert 2 * STEPS / spacing(1e30) >= 400


def test_what_was_asked_for_stays():
    asked = Settings(seconds=10.0, packs=3, lanes=64, spacing=7)
    assert fit_to_memory(asked, 1e9, STEP, VARIABLES, sparse=True) == asked
    untimed = Settings(samples=100)
    assert fit_to_memory(untimed, 1e9, STEP, VARIABLES, sparse=True) == untimed


def test_a_plan_fits_what_the_race_has_seen(monkeypatch):
    model = om.ising_grid(4, 4, 0.5)
    slow = RaceResult(Tuning(("flip",), 16), "a slow chain", memory=1e9, step=1e-7)
    monkeypatch.setattr(tuning, "run_race", lambda *asked, **limits: slow)
    plan = plan_model(model, Settings(method="lmh", seconds=1.0, threads=1))
    assert (plan.settings.packs, plan.settings.lanes) == (1, LANE_UNIT)
    quick = RaceResult(Tuning(("flip",), 16), "a quick chain")
    monkeypatch.setattr(tuning, "run_race", lambda *asked, **limits: quick)
    plan = plan_model(model, Settings(method="lmh", seconds=1.0, threads=1))
    assert (plan.settings.packs, plan.settings.lanes, plan.settings.spacing) == (None,) * 3


def test_a_race_watches_what_is_asked_for(monkeypatch):
    model = om.ising_grid(4, 4, 0.5)
    seen = []

    def race(model, prepared, *, features, **limits):
        values = np.zeros((model.graph.variables, 3), dtype=np.uint8)
        values[:, 1] = 1
        seen.append((features.count, features.evaluate(values).tolist()))
        return RaceResult(Tuning(), "no race")

    monkeypatch.setattr(tuning, "run_race", race)
    asked = {"sum": lambda s: s.array().sum(axis=0), "first": lambda s: s[model.names[0]]}
    om.expect(model, asked, method="lmh", samples=10, seed=1)
    assert seen == [(2, [[0.0, 16.0, 0.0], [0.0, 1.0, 0.0]])]
