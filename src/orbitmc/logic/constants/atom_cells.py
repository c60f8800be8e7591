"""Atoms that look alike when constants are known by their classes only."""

from collections.abc import Iterator

import numpy as np

from orbitmc._util.arrays import row_classes
from orbitmc.logic.constants.constant_classes import Classes
from orbitmc.logic.databases.universe import Ints
from orbitmc.logic.grounding.atoms import Atoms
from orbitmc.logic.grounding.grounding import Ground


def variable_cells(ground: Ground, classes: Classes) -> Ints:
    """Number variables so that permuting constants within classes joins equal numbers.

    Two variables of a predicate, with as many values, are joined when their constants have the
    same classes, place by place, and are equal to each other at the same places. Constants without
    a class stand for themselves.
    """
    found = np.zeros(len(ground.cardinality), dtype=np.int64)
    offset = 0
    for atoms in ground.atoms.values():
        own = slice(atoms.first, atoms.first + atoms.variables)
        traits = [ground.cardinality[own], *_traits(ground, atoms, classes)]
        first, cells = row_classes(np.stack(traits, axis=1))
        found[own] = offset + cells
        offset += len(first)
    return found


def _traits(ground: Ground, atoms: Atoms, classes: Classes) -> Iterator[Ints]:
    """The classes of the constants of each variable, and which of them are equal."""
    columns = atoms.arguments(atoms.variable_codes(), ground.universe)
    kinds = atoms.predicate.types
    for place, (kind, column) in enumerate(zip(kinds, columns, strict=True)):
        size = ground.universe.size(kind)
        own = classes.get(kind, np.full(size, -1))
        yield np.where(own < 0, -1 - np.arange(size), own)[column]
        for other in range(place):
            if kinds[other] == kind:
                yield (columns[other] == column).astype(np.int64)
