"""Energies of binary variables that are quadratic; states weigh exp(-beta E)."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc._util.arrays import Floats
from orbitmc.graph.builder import Builder
from orbitmc.graph.model import Model
from orbitmc.graph.transforms import require_beta
from orbitmc.models.ising_models import add_scaled

SPIN, BINARY = ("-1", "1"), ("0", "1")
NUMBERS: Mapping[str, tuple[str, str]] = {"SPIN": SPIN, "BINARY": BINARY}
PATTERNS: Mapping[str, tuple[list[float], list[float]]] = {
    "SPIN": ([-1.0, 1.0], [1.0, -1.0, -1.0, 1.0]),
    "BINARY": ([0.0, 1.0], [0.0, 0.0, 0.0, 1.0]),
}
"""What a linear and a quadratic bias of 1 add to the energy of each state, in order."""


class Quadratic(NamedTuple):
    """An energy: a bias of each variable and of each pair of them, and an offset.

    The variables are numbers -1 and 1 where `vartype` is SPIN, 0 and 1 where it is BINARY.
    """

    vartype: str
    names: tuple[str, ...]
    linear: Floats
    pairs: NDArray[np.int64]
    quadratic: Floats
    offset: float = 0.0


def quadratic_model(energy: Quadratic, beta: float = 1.0) -> Model:
    """The distribution exp(-beta E) of an energy; values are called as the numbers are."""
    require_beta(beta)
    alone, together = (np.array(pattern) for pattern in PATTERNS[energy.vartype])
    count = len(energy.names)
    builder = Builder(np.full(count, 2))
    add_scaled(builder, np.arange(count)[:, None], -beta * energy.linear, alone)
    add_scaled(builder, energy.pairs.reshape(-1, 2), -beta * energy.quadratic, together)
    builder.constant = -beta * energy.offset
    return Model(builder.build(), energy.names, (NUMBERS[energy.vartype],) * count)
