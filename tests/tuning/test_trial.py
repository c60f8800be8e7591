"""What a trial of a chain shows."""

import numpy as np
import pytest

import orbitmc as om
from orbitmc.graph.prepared import prepare
from orbitmc.tuning.panel import panel
from orbitmc.tuning.recipe import Recipe
from orbitmc.tuning.trial import Track, recorded_share

SAMPLE = 4  # sweeps


@pytest.mark.parametrize("seconds", [0.001, 0.003, 0.006, 0.012])
def test_flips_once_per_sample_are_seen_at_any_spacing(seconds):
    """An even number of samples apart, states that alternate would look as if they stood still."""
    fields = np.random.default_rng(3).normal(0.0, 0.01, (3, 3))
    model = om.ising_grid(3, 3, 2.0, fields)  # Gibbs keeps its mode for millions of sweeps
    graph, prepared = model.graph, prepare(model.graph)
    watched = panel(graph, 0)
    sample = SAMPLE * graph.variables
    lost, found = (
        Track(prepared, recipe.kernel(model, prepared)).trial(watched, seconds)
        for recipe in (Recipe(), Recipe(("flip",), sample))
    )
    assert found.spacing <= SAMPLE or found.spacing % (2 * SAMPLE) == SAMPLE
    assert found.fresh > 5 * lost.fresh


def test_states_between_recorded_ones_are_not_counted():
    """A chain that is independent at every look still gives a run one sample per record."""
    assert recorded_share(1.0, 0.25) == 0.25
    assert recorded_share(1.5, 0.25) == 0.25


def test_slow_chains_are_judged_alike_however_often_one_looks():
    assert recorded_share(1e-4, 0.25) == pytest.approx(1e-4, rel=1e-4)


def test_an_autoregression_is_judged_as_its_recorded_states_would_be():
    correlation = 0.6
    fresh, recorded = ((1 - c) / (1 + c) for c in (correlation, correlation**4))
    assert recorded_share(fresh, 0.25) == pytest.approx(recorded / 4)
    assert recorded_share(recorded, 1.0) == recorded
