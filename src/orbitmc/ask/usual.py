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
from orbitmc.graph.model import model as model_of
from orbitmc.graph.weights.potentials import log_weight
from orbitmc.machine.code import tiers
from orbitmc.machine.code.remarks import LOGGER, REMARKS
from orbitmc.models.ising_models import ising_grid
from orbitmc.models.potts import potts_grid
from orbitmc.symmetry.detection.automorphisms import automorphisms

SIDE = 4
MOVES: Mapping[str, Mapping[str, Any]] = {
    **{
        family: {"families": [family], "period": 1}
        for family in ("flip", "labels", "reflections", "clusters", "shuffle", "one-hot")
    },
    "tempering": {"base": "tempering", "families": [], "period": 1, "betas": [1.0, 0.5]},
}
"""Jumps that compile something that no others do."""


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


def network() -> Model:
    """A small network with zeros in its tables, in which two variables can be exchanged."""
    names = [f"v{number}" for number in range(6)]
    table = [[0.5, 0.3, 0.2], [0.0, 0.9, 0.1]]
    factors = [((names[0], leaf), table) for leaf in names[1:3]]
    factors += [((names[number], names[number + 1]), table[1:] * 3) for number in (3, 4)]
    return model_of({names[0]: ["no", "yes"], **dict.fromkeys(names[1:], "abc")}, factors)


def at_most_one() -> Model:
    """Three variables of which no two are 1 together."""
    pairs = [((one, other), [[1, 1], [1, 0]]) for one, other in ("ab", "ac", "bc")]
    return model_of(dict.fromkeys("abc", "01"), [*pairs, (("a",), [1, 2])])


def _symmetries() -> None:
    for model in (spins(), plain_spins()):
        automorphisms(model.graph)
        automorphisms(model.graph, values=True)


def _weighed() -> None:
    """Mix jumps in, and weigh states as a race does that guesses how often jumps succeed."""
    _ask(spins, method="lmh", alpha=0.8)
    graph = spins().graph
    log_weight(graph, np.zeros((graph.variables, 1), dtype=np.uint8))


def _lifted() -> None:
    for make in (plain_spins, network):
        _ask(make, method="lifted")


def _jumps(name: str) -> None:
    make = {"labels": labels, "one-hot": at_most_one}.get(name, spins)
    _ask(make, method="lmh", moves=MOVES[name])


QUESTIONS: Mapping[str, Callable[[], None]] = {
    "gibbs": partial(_ask, spins, method="gibbs"),
    "symmetry": _symmetries,
    "lmh": _weighed,
    "exact": partial(_ask, spins, method="exact"),
    "mcsat": partial(_ask, network, method="mcsat"),
    "lifted": _lifted,
    "zeros": partial(_ask, network, method="gibbs"),
    **{name: partial(_jumps, name) for name in MOVES},
}
"""What to ask, by the name of what it compiles."""


def compile_for(name: str) -> tuple[int, float]:
    """Compile what a usual question needs; gives how many functions, and seconds."""
    tiers.compile_everything()
    LOGGER.disabled = True  # whoever asks speaks of it
    functions, seconds = REMARKS.functions, REMARKS.seconds
    QUESTIONS[name]()
    return REMARKS.functions - functions, REMARKS.seconds - seconds
