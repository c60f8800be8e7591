"""Ladders are found in a warm-up and stay as they are."""

import numpy as np
import pytest

from orbitmc.conditionals.prepared import prepare
from orbitmc.errors import InputError
from orbitmc.kernels._tempering import tempering
from orbitmc.models._ising import ising_grid
from orbitmc.sampling.ladder import choose_ladder, exchange_rates
from orbitmc.sampling.sampler import sample
from orbitmc.sampling.schedule import Schedule


@pytest.fixture(scope="module")
def prepared():
    return prepare(ising_grid(8, 8, 1.0, field=0.1).graph)


def test_neighbours_of_a_chosen_ladder_exchange_about_equally_often(prepared):
    betas = choose_ladder(prepared, hottest=0.2, acceptance=0.4, seed=3)
    assert betas[0] == 1.0
    assert betas[-1] == 0.2
    rates = exchange_rates(prepared, tempering(prepared, betas), seed=9, number=0, sweeps=400)
    assert rates.min() > 0.2
    assert rates.max() < 0.75
    assert betas == choose_ladder(prepared, hottest=0.2, acceptance=0.4, seed=3)


def test_a_run_leaves_the_ladder_frozen_and_is_repeated_by_it(prepared):
    betas = (1.0, 0.6, 0.3)
    runs = [
        sample(prepared, tempering(prepared, betas), Schedule(samples=20), seed=4, packs=1)
        for _ in range(2)
    ]
    assert tuple(runs[0].kernel.betas) == betas
    assert np.array_equal(runs[0].packs[0].tally.sums, runs[1].packs[0].tally.sums)
    assert runs[0].outcomes["accepted with rung 1"] > 0


def test_impossible_wishes_are_refused(prepared):
    for wrong in ({"hottest": 0.0}, {"hottest": 1.0}, {"acceptance": 1.0}, {"sweeps": 0}):
        with pytest.raises(InputError):
            choose_ladder(prepared, **wrong)
