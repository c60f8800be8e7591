"""What renaming constants does to variables: `P(a, b)` goes to `P(s(a), s(b))`."""

from collections.abc import Mapping, Sequence

import numpy as np

from orbitmc._util.arrays import starts
from orbitmc.errors import InputError
from orbitmc.groups.permutations import Permutation, normal
from orbitmc.logic.databases.database import UNKNOWN
from orbitmc.logic.databases.universe import Ints, Universe
from orbitmc.logic.grounding.atoms import Atoms
from orbitmc.logic.grounding.grounding import Ground


def induced(ground: Ground, images: Mapping[str, Ints]) -> Permutation:
    """What a renaming does to the variables and their values.

    `images[kind][c]` is where constant `c` of a type goes; types that are missing stay. It must
    respect what is known: unknown atoms go to unknown ones.
    """
    codes_here, codes_there = [], []
    for atoms in ground.atoms.values():
        here = _moved(atoms, images, ground.universe)
        columns = atoms.arguments(here, ground.universe)
        for place, kind in enumerate(atoms.predicate.types):
            if kind in images:
                columns[place] = images[kind][columns[place]]
        there = atoms.codes(columns, len(here))
        if (atoms.status(there) != UNKNOWN).any():
            raise InputError(
                f"this renaming carries unknown atoms of {atoms.predicate.name} to known ones"
            )
        codes_here.append(atoms.literals(here))
        codes_there.append(atoms.literals(there))
    variable, value = np.concatenate([np.zeros((2, 0), np.int64), *codes_here], axis=1)
    image, image_value = np.concatenate([np.zeros((2, 0), np.int64), *codes_there], axis=1)
    return _permutation(ground.cardinality, variable, value, image, image_value)


def _moved(atoms: Atoms, images: Mapping[str, Ints], universe: Universe) -> Ints:
    """Codes of the unknown atoms that speak of a constant that moves, with all of their blocks."""
    kinds, exclusive = atoms.predicate.types, atoms.predicate.exclusive
    moving = [_moving(images.get(kind)) for kind in kinds]
    values_move = any(len(some) and mark for some, mark in zip(moving, exclusive, strict=True))
    if atoms.default == UNKNOWN and not values_move:
        codes = _speaking(atoms, moving, universe)
        return np.asarray(codes[atoms.status(codes) == UNKNOWN])
    codes = atoms.unknown()
    concerned = np.zeros(len(codes), dtype=bool)
    for column, some in zip(atoms.arguments(codes, universe), moving, strict=True):
        concerned |= np.isin(column, some)
    blocks = np.unique(codes[concerned] // atoms.width)
    return np.asarray(codes[np.isin(codes // atoms.width, blocks)])


def _moving(images: Ints | None) -> Ints:
    if images is None:
        return np.zeros(0, dtype=np.int64)
    return np.flatnonzero(images != np.arange(len(images)))


def _speaking(atoms: Atoms, moving: Sequence[Ints], universe: Universe) -> Ints:
    """Codes of all atoms with one of the constants at some place."""
    found = [np.zeros(0, dtype=np.int64)]
    for place, some in enumerate(moving):
        codes = np.zeros(1, dtype=np.int64)
        for other, kind in enumerate(atoms.predicate.types):
            digits = some if other == place else np.arange(universe.size(kind))
            codes = (codes[:, None] + atoms.radix[other] * digits).reshape(-1)
        found.append(codes)
    return np.unique(np.concatenate(found))


def _permutation(
    cardinality: Ints, variable: Ints, value: Ints, image: Ints, image_value: Ints
) -> Permutation:
    """Put literals that move together; a variable of two values keeps them."""
    moved, first = np.unique(variable, return_index=True)
    goal = image[first]
    sizes = cardinality[moved]
    begin = np.cumsum(sizes) - sizes
    value_map = np.arange(sizes.sum()) - np.repeat(begin, sizes)
    value_map[begin[np.searchsorted(moved, variable)] + value] = image_value
    kept = value_map == np.arange(sizes.sum()) - np.repeat(begin, sizes)
    if kept.all():
        return normal(len(cardinality), moved, goal)
    return normal(len(cardinality), moved, goal, starts(sizes), value_map)
