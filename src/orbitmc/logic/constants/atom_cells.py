"""Atoms that look alike when constants are known by their classes only."""

import numpy as np

from orbitmc.logic.constants.constant_classes import Classes
from orbitmc.logic.databases.universe import Ints
from orbitmc.logic.grounding.atoms import Atoms
from orbitmc.logic.grounding.grounding import Ground


def atom_cells(ground: Ground, atoms: Atoms, codes: Ints, classes: Classes) -> Ints:
    """Number atoms of a predicate so that permuting constants within classes joins equal numbers.

    Two atoms are joined when their constants have the same classes, place by place, and are equal
    to each other at the same places. Constants without a class stand for themselves.
    """
    columns = atoms.arguments(codes, ground.universe)
    kinds = atoms.predicate.types
    cell = np.zeros(len(codes), dtype=np.int64)
    for place, (kind, column) in enumerate(zip(kinds, columns, strict=True)):
        cell = _finer(cell, _own_classes(ground, kind, classes)[column])
        for other in range(place):
            if kinds[other] == kind:
                cell = _finer(cell, (columns[other] == column).astype(np.int64))
    return cell


def variable_cells(ground: Ground, classes: Classes) -> Ints:
    """Number the variables in the same way; variables of different predicates never share one."""
    found = np.zeros(len(ground.cardinality), dtype=np.int64)
    offset = 0
    for atoms in ground.atoms.values():
        if atoms.variables:
            cells = atom_cells(ground, atoms, atoms.variable_codes(), classes)
            found[atoms.first : atoms.first + atoms.variables] = offset + cells
            offset += int(cells.max()) + 1
    return _finer(found, ground.cardinality)


def _own_classes(ground: Ground, kind: str, classes: Classes) -> Ints:
    size = ground.universe.size(kind)
    own = classes.get(kind, np.full(size, -1))
    return np.asarray(np.where(own < 0, -1 - np.arange(size), own))


def _finer(cell: Ints, column: Ints) -> Ints:
    """Tell apart what differs in either, numbered from 0."""
    _, marks = np.unique(column, return_inverse=True)
    keys = cell * (int(marks.max(initial=0)) + 1) + marks.reshape(-1)
    _, numbers = np.unique(keys, return_inverse=True)
    return np.asarray(numbers.reshape(-1))
