"""What a trial of a chain shows."""

import numpy as np
import pytest

import orbitmc as om
from orbitmc.graph.prepared import prepare
from orbitmc.tuning.panel import panel
from orbitmc.tuning.recipe import Recipe
from orbitmc.tuning.trial import Track

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
