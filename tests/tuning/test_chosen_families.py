"""The race chooses the jumps that a model was made for, though nobody names them."""

import numpy as np
import pytest

from orbitmc.ask.programs import logic
from orbitmc.graph.prepared import prepare
from orbitmc.logic.databases.evidence import parse_database
from orbitmc.logic.language.parser import parse
from orbitmc.models.ising_models import ising
from orbitmc.tuning.race import race
from tests.tuning.models import cubic_gas, lattice_gas


def leaders():
    """One of eight people leads, and all that goes with it; A would be a little better."""
    program = parse(
        "person = {A, B, C, D, E, F, G, H}\nLeads(person)\nDrives(person)\nRich(person)\n"
        "Likes(person, person)\n6 Leads(x) <=> Drives(x)\n6 Leads(x) <=> Rich(x)\n"
        "8 !Leads(x) v !Leads(y) v x = y\n3 Leads(x)\n0.3 Rich(A)\n"
        "0.3 Likes(x, y) => (Leads(x) => Rich(y))\n"
    )
    known = parse_database("Likes(A, B)\nLikes(B, C)\nLikes(F, G)", program)
    return logic(program, known).model


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
def test_a_family_is_chosen_where_it_frees_the_chain(model, family):
    made = model()
    found = race(made, prepare(made.graph), seconds=0.5)
    assert family in found.recipe.families
    price = next(price for price in found.prices if price.family == family)
    assert price.verdict == "chosen"
    assert price.gain > 3
