"""The usual questions, on small models: asking them compiles what the usual commands need.

Each compiles something that the others do not, so several processes can ask them at once.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from orbitmc.ask.marginals import marginals
from orbitmc.ask.settings import Settings
from orbitmc.graph.model import Model
from orbitmc.machine.code import tiers
from orbitmc.machine.code.remarks import LOGGER, REMARKS
from orbitmc.models.ising_models import ising_grid
from orbitmc.models.potts import potts_grid
from orbitmc.symmetry.detection.automorphisms import automorphisms

SIDE = 4
FAMILIES = ("flip", "labels", "reflections", "clusters", "shuffle")
"""Families of jumps that compile something that no other one does."""


def spins() -> Model:
    """A small grid of spins, each with a field of its own."""
    fields = np.random.default_rng(0).normal(size=(SIDE, SIDE))
    return ising_grid(SIDE, SIDE, 0.4, fields)


def plain_spins() -> Model:
    """A small grid of spins without fields, which has symmetries."""
    return ising_grid(SIDE, SIDE, 0.4)


def labels() -> Model:
    """A small grid of sites that have one label of three."""
    return potts_grid(3, 3, 3, 0.5, np.random.default_rng(0).normal(size=(3, 3, 3)))


def _ask(make: Callable[[], Model], **settings: Any) -> None:
    marginals(make(), settings=Settings(samples=2, warm_up=1, packs=1, **settings))


def _symmetries() -> None:
    for model in (spins(), plain_spins()):
        automorphisms(model.graph)
        automorphisms(model.graph, values=True)


def _jumps(family: str) -> Callable[[], None]:
    make = labels if family == "labels" else spins
    return partial(_ask, make, method="lmh", moves={"families": [family], "period": 1})


QUESTIONS: Mapping[str, Callable[[], None]] = {
    "gibbs": partial(_ask, spins, method="gibbs"),
    "symmetry": _symmetries,
    "lmh": partial(_ask, spins, method="lmh", alpha=0.8),
    "exact": partial(_ask, spins, method="exact"),
    "mcsat": partial(_ask, spins, method="mcsat"),
    "lifted": partial(_ask, plain_spins, method="lifted"),
    **{family: _jumps(family) for family in FAMILIES},
}
"""What to ask, by the name of what it compiles."""


def compile_for(name: str) -> tuple[int, float]:
    """Compile what a usual question needs; gives how many functions, and seconds."""
    tiers.compile_everything()
    LOGGER.disabled = True  # whoever asks speaks of it
    functions, seconds = REMARKS.functions, REMARKS.seconds
    QUESTIONS[name]()
    return REMARKS.functions - functions, REMARKS.seconds - seconds
