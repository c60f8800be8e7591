"""Large models get as many chains as memory and time allow; what was asked for stays."""

import numpy as np
import pytest

import orbitmc as om
from orbitmc.ask.method.decisions import decide
from orbitmc.ask.method.fitting import ENOUGH, LARGE, SHARE, fitted, sample_seconds
from orbitmc.ask.method.memory import sampling_bytes
from orbitmc.ask.settings import Settings
from orbitmc.errors import LimitError

SIDE = 230
GRAPH = om.ising_grid(SIDE, SIDE, 0.3).graph


def shape(settings):
    return settings.pack_count, settings.lane_count, settings.spacing


def test_the_grid_is_large():
    assert GRAPH.variables > LARGE


@pytest.mark.parametrize("seconds", [0.01, 10.0])
def test_small_models_have_the_usual_packs(seconds):
    asked = Settings(seconds=seconds, memory=10**6)
    assert fitted(om.ising_grid(10, 10, 0.3).graph, asked) is asked


def test_little_time_means_fewer_lanes_and_then_fewer_sweeps_between_samples():
    found = [fitted(GRAPH, Settings(seconds=seconds)) for seconds in (30.0, 2.0, 1.0, 0.5, 1e-3)]
    assert shape(found[0]) == (4, 64, None)
    lanes = [one.lane_count for one in found]
    sweeps = [(one.spacing or 4 * GRAPH.variables) // GRAPH.variables for one in found]
    assert lanes == sorted(lanes, reverse=True)
    assert sweeps == sorted(sweeps, reverse=True)
    assert (lanes[-1], sweeps[-1]) == (32, 1)


@pytest.mark.parametrize("seconds", [30.0, 1.0])
def test_there_is_time_for_enough_samples(seconds):
    found = fitted(GRAPH, Settings(seconds=seconds))
    assert ENOUGH * sample_seconds(GRAPH, found) <= SHARE * seconds


def test_counted_samples_take_as_long_as_they_take():
    assert shape(fitted(GRAPH, Settings(samples=10**6))) == (4, 64, None)


def test_little_memory_means_fewer_packs_and_then_fewer_lanes():
    needed = {
        (packs, lanes): sampling_bytes(GRAPH, Settings(packs=packs, lanes=lanes))
        for packs in (1, 2, 3, 4)
        for lanes in (32, 64)
    }
    for packs in (1, 2, 3, 4):
        found = fitted(GRAPH, Settings(memory=needed[packs, 64]))
        assert shape(found)[:2] == (packs, 64)
    assert shape(fitted(GRAPH, Settings(memory=needed[1, 64] - 1)))[0] >= 1
    assert shape(fitted(GRAPH, Settings(memory=needed[1, 64] - 1)))[1] == 32


def test_what_was_asked_for_stays():
    asked = Settings(packs=4, lanes=64, spacing=7, seconds=0.01, memory=10**6)
    assert shape(fitted(GRAPH, asked)) == (4, 64, 7)
    assert fitted(GRAPH, Settings(lanes=96, seconds=0.01)).lane_count == 96


def test_what_does_not_fit_is_refused_with_the_figure():
    model = om.ising_grid(SIDE, SIDE, 0.3)
    with pytest.raises(LimitError, match=r"1 pack of 32 chains need .* give it more memory"):
        decide(model, Settings(method="gibbs", memory=10**6))
    with pytest.raises(LimitError, match=r"4 packs of 64 chains need .* fewer packs or lanes"):
        decide(model, Settings(method="gibbs", memory=10**6, packs=4, lanes=64))


def test_a_large_model_is_answered_within_little_memory():
    model = om.ising_grid(SIDE, SIDE, 0.1, np.full((SIDE, SIDE), 0.2))
    memory = sampling_bytes(model.graph, Settings(packs=1, lanes=32)) + 10**5
    found = om.marginals(model, method="gibbs", samples=2, warm_up=4, memory=memory, seed=1)
    assert found.about.chains == 32
    up = np.array([found[name].probability[1] for name in list(model.names)[:200]])
    assert abs(up.mean() - 0.65) < 0.1


def test_the_same_question_has_the_same_packs_again():
    one, two = (fitted(GRAPH, Settings(seconds=0.7, seed=seed)) for seed in (1, 2))
    assert shape(one) == shape(two)
