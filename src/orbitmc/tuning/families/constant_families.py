"""Jumps of ground programs: two constants are swapped in all their atoms."""

from functools import partial

import numpy as np
from numpy.typing import NDArray

from orbitmc.graph.model import Model
from orbitmc.graph.prepared import PreparedGraph
from orbitmc.groups.elements.constant_swaps import NOBODY, ConstantSwaps, swapped
from orbitmc.kernels.jumps.renaming import renaming
from orbitmc.kernels.kernel import Kernel
from orbitmc.logic.constants.approximate_classes import by_evidence
from orbitmc.logic.constants.constant_classes import Classes, constant_swaps
from orbitmc.logic.grounding.assembly import GroundModel
from orbitmc.logic.grounding.grounding import Ground
from orbitmc.machine.arrays import Bytes
from orbitmc.tuning.families.family import Family, Propose, remembered

CLASSES = {"constants in 6 classes": 6, "constants in 2 classes": 2, "constants of one type": 1}
"""How many classes the constants of each type are put in."""


def constant_families() -> dict[str, Family]:
    """Swaps within few or many classes, the most cautious first."""
    words = {
        name: "two constants are swapped in all their atoms"
        + ("" if classes == 1 else f", of {classes} classes of nearly equal ones")
        for name, classes in CLASSES.items()
    }
    return {
        name: Family(
            words[name],
            partial(_build, classes=classes),
            guess=partial(_guess, classes=classes),
        )
        for name, classes in CLASSES.items()
    }


def _build(model: Model, prepared: PreparedGraph, classes: int) -> Kernel | None:
    swaps = _swaps(model, classes=classes)
    return None if swaps is None else renaming(model.graph, swaps)


def _guess(model: Model, classes: int) -> Propose | None:
    swaps = _swaps(model, classes=classes)
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
def _swaps(model: Model, classes: int) -> ConstantSwaps | None:
    """Swaps of constants of which much the same is known, if the model is a ground program's."""
    if not isinstance(model, GroundModel):
        return None
    found = constant_swaps(model.ground, _classes(model.ground, classes))
    return found if found.classes else None


def _classes(ground: Ground, classes: int) -> Classes:
    """Classes of constants; where there is only one, those that formulas name are in it too."""
    if classes > 1:
        return by_evidence(ground, classes)
    sizes = {kind: ground.universe.size(kind) for kind in ground.universe.constants}
    return {kind: np.zeros(size, dtype=np.int64) for kind, size in sizes.items()}


def _images(swaps: ConstantSwaps, one: int, other: int) -> tuple[NDArray[np.int64], ...]:
    """Variables that speak of a constant, and where its swap with another carries them."""
    speak = swaps.mention[swaps.mention_start[one] : swaps.mention_start[one + 1]].astype(np.int64)
    images = np.array([swapped(swaps, variable, one, other)[0] for variable in speak], np.int64)
    return speak[images != NOBODY], images[images != NOBODY]
