"""The race chooses the jumps that a model was made for, though nobody names them."""

import numpy as np
import pytest

from orbitmc.conditionals.prepared import prepare
from orbitmc.kernels._orbital import Orbital
from orbitmc.kernels.exchange import Shuffle
from orbitmc.models._ising import ising
from orbitmc.tuning.race import run_race
from tests.tuning import conftest
from tests.tuning.models import assignment, cubic_gas, lattice_gas


def islands():
    """Strong rings, weakly joined, in fields that allow a ring to turn but not all of them."""
    rng = np.random.default_rng(1)
    spins = np.arange(72).reshape(12, 6)
    inside = np.stack([spins, np.roll(spins, 1, axis=1)], axis=2).reshape(-1, 2)
    between = np.stack([spins[:-1, 0], spins[1:, 1]], axis=1)
    couplings = [2.0 * rng.choice([-1, 1], len(inside)), np.full(len(between), 0.4)]
    fields = rng.normal(0.0, 0.5, spins.size)
    return ising(fields, np.concatenate([inside, between]), np.concatenate(couplings))


@pytest.mark.parametrize(
    ("model", "family"),
    [
        (islands, "gauge flips"),
        (lattice_gas, "reflections"),
        (cubic_gas, "generators"),
    ],
)
def test_a_family_is_chosen_where_it_frees_the_chain(counted, model, family):
    made = model()
    found = run_race(made, prepare(made.graph), seconds=0.5)
    assert family in found.recipe.families
    price = next(price for price in found.prices if price.family == family)
    assert price.verdict == "chosen"
    assert price.gain > 3


def test_the_first_win_does_not_end_a_race_that_leaves_much_to_gain(counted, monkeypatch):
    """Generators are tried first and win clearly, but exchanging groups is as good and cheaper."""
    monkeypatch.setitem(conftest.JUMPS, Orbital, 6e-5)
    monkeypatch.setitem(conftest.JUMPS, Shuffle, 1.2e-5)
    model = assignment(5)
    found = run_race(model, prepare(model.graph), seconds=0.5)
    verdicts = {price.family: price.verdict for price in found.prices}
    assert verdicts["generators"] == "chosen"
    assert verdicts["group exchange"] == "chosen"
    assert found.recipe.families == ("group exchange",)
