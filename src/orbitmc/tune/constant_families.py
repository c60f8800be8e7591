"""Jumps of ground programs: constants that are nearly alike are swapped in all their atoms."""

import numpy as np
from numpy.typing import NDArray

from orbitmc.approximate.constants import by_evidence
from orbitmc.arrays import Bytes
from orbitmc.graph.conditionals import Conditionals
from orbitmc.graph.model import Model
from orbitmc.groups.constant_swaps import NOBODY, ConstantSwaps, swapped
from orbitmc.kernels.kernel import Kernel
from orbitmc.kernels.renaming import renaming
from orbitmc.logic.assembly import GroundModel
from orbitmc.logic.constant_classes import constant_swaps
from orbitmc.tune.family import Propose, remembered

CLUSTERS = 6  # of constants, for each type


def constants(model: Model, prepared: Conditionals) -> Kernel | None:
    swaps = _swaps(model)
    return None if swaps is None else renaming(model.graph, prepared, swaps)


def guessed_constants(model: Model) -> Propose | None:
    swaps = _swaps(model)
    if swaps is None:
        return None

    def propose(values: Bytes, rng: np.random.Generator) -> Bytes:
        place = int(rng.integers(len(swaps.member)))
        company = np.flatnonzero(swaps.class_of == swaps.class_of[place])
        partner = int(rng.choice(company[company != place]))
        one, other = swaps.member[[place, partner]].astype(np.int64)
        turned = values.copy()
        for own, their in ((one, other), (other, one)):
            mentioned, image = _images(swaps, own, their)
            turned[image] = values[mentioned]
        return turned

    return propose


@remembered
def _swaps(model: Model) -> ConstantSwaps | None:
    """Swaps of constants of which much the same is known, if the model is a ground program's."""
    if not isinstance(model, GroundModel):
        return None
    found = constant_swaps(model.ground, by_evidence(model.ground, CLUSTERS))
    return found if found.classes else None


def _images(swaps: ConstantSwaps, one: int, other: int) -> tuple[NDArray[np.int64], ...]:
    """Variables that speak of a constant, and where its swap with another carries them."""
    speak = swaps.mention[swaps.mention_start[one] : swaps.mention_start[one + 1]].astype(np.int64)
    images = np.array([swapped(swaps, variable, one, other)[0] for variable in speak], np.int64)
    return speak[images != NOBODY], images[images != NOBODY]
