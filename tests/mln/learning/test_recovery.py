"""Weights that made the data are found again."""

import numpy as np
import pytest

from orbitmc.mln.data.reader import parse_database
from orbitmc.mln.grounding.ground_model import model_of
from orbitmc.mln.grounding.grounding import World, ground
from orbitmc.mln.language.parser import parse
from orbitmc.mln.learning.learner import LearningSettings, learn
from tests.oracle.brute_force import distribution, states

PROGRAM = """
kind = {Near, Far}
Smokes(person)
Likes(person, kind)
Linked(person, person)
0.7 Smokes(x)
-0.8 Linked(x,y) ^ Smokes(x) ^ Smokes(y)
1.2 Likes(x,Near) => Smokes(x)
-0.6 Likes(x,+k)
"""
LINKS = "Linked(A{0},B{0})\nLinked(B{0},C{0})\n"
TRUE = np.array([0.7, -0.8, 1.2, -0.6, -0.6])
GROUPS, WORLDS, FAMILIES = 10, 2, 60


def sampled_databases(program):
    """Worlds of many small families, each drawn from its exact distribution."""
    query = World(query=frozenset({"Smokes", "Likes"}))
    model = model_of(ground(program, parse_database(LINKS.format(""), program), query))
    every, chances = states(model.graph), distribution(model.graph)
    rng = np.random.default_rng(5)
    for _ in range(GROUPS * WORLDS):
        text = ""
        for family, drawn in enumerate(rng.choice(len(every), size=FAMILIES, p=chances)):
            text += LINKS.format(family)
            for atom, value in zip(model.order, every[drawn], strict=True):
                for person in "ABC":
                    atom = atom.replace(f"({person}", f"({person}{family}")
                text += f"{atom}\n" if value else f"!{atom}\n"
        yield parse_database(text, program)


@pytest.mark.parametrize("method", ["conditional", "discriminative"])
def test_known_weights_are_recovered_within_their_errors(method):
    """Groups of worlds are learned apart; their spread is the error of their mean."""
    program = parse(PROGRAM)
    databases = list(sampled_databases(program))
    unlearned = parse(PROGRAM.replace("1.2 ", "").replace("-0.6 ", ""), learning=True)
    query = frozenset({"Smokes", "Likes"})
    settings = LearningSettings(
        method=method,
        query=query,
        deviation=10.0,
        iterations=40 if method != "conditional" else None,
    )
    found = np.array(
        [
            learn(unlearned, databases[first : first + WORLDS], settings).weights
            for first in range(0, len(databases), WORLDS)
        ]
    )
    error = found.std(axis=0, ddof=1) / np.sqrt(GROUPS)
    assert error.max() < 0.15
    assert (np.abs(found.mean(axis=0) - TRUE) < 4 * error).all()
