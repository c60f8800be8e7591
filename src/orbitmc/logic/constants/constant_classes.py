"""Classes of constants that may be swapped, and the variables that speak of them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from orbitmc._util.arrays import indices, sealed, starts
from orbitmc.errors import InputError
from orbitmc.groups._exchange_blocks import ConstantSwaps
from orbitmc.logic.databases.universe import Ints, Universe
from orbitmc.logic.grounding.atoms import Atoms
from orbitmc.logic.grounding.grounding import Ground

Classes = Mapping[str, Ints]
"""For each type, the class of each constant. A type may be missing; -1 is nobody's class."""


@dataclass(frozen=True)
class _Family:
    """Variables of one predicate with the same values: which, their codes, and the digits."""

    variable: Ints
    code: Ints
    place_kind: Ints
    radix: Ints
    size: Ints


def constant_swaps(ground: Ground, classes: Classes) -> ConstantSwaps:
    """Let constants of one class be swapped.

    Constants at mutually exclusive places are values of variables: they stay. A class whose
    members no variable speaks of is left out.
    """
    universe = ground.universe
    kinds = list(universe.constants)
    sizes = np.array([universe.size(kind) for kind in kinds], dtype=np.int64)
    kind = np.repeat(np.arange(len(kinds)), sizes)
    digit = np.concatenate([np.zeros(0, np.int64), *map(np.arange, sizes)])
    families = [
        family for atoms in ground.atoms.values() for family in _families(atoms, universe, kinds)
    ]
    constant, variable = _mentions(families, np.cumsum(sizes) - sizes)
    members, which, count = _members(_row_of(classes, universe, value_kinds(ground)), constant)
    wanted = np.isin(constant, members)
    return ConstantSwaps(
        start=starts(count),
        member=indices(members),
        class_of=indices(which),
        digit=sealed(digit),
        kind=indices(kind),
        mention_start=starts(np.bincount(constant[wanted], minlength=len(kind))),
        mention=indices(variable[wanted]),
        **_by_variable(families, len(ground.cardinality)),
    )


def value_kinds(ground: Ground) -> set[str]:
    """Types whose constants are values of some variable."""
    return {
        kind
        for atoms in ground.atoms.values()
        for kind, mark in zip(atoms.predicate.types, atoms.predicate.exclusive, strict=True)
        if mark and atoms.variables
    }


def _row_of(classes: Classes, universe: Universe, kept: set[str]) -> Ints:
    """Classes of all constants in one row, numbered apart for each type."""
    row = [np.zeros(0, dtype=np.int64)]
    offset = 0
    for kind in universe.constants:
        own = classes.get(kind)
        if own is None or kind in kept:
            own = np.full(universe.size(kind), -1)
        elif len(own) != universe.size(kind):
            raise InputError(f"{universe.size(kind)} constants of {kind} need a class each")
        row.append(np.where(own < 0, -1, own + offset))
        offset += int(own.max(initial=-1)) + 1
    return np.concatenate(row)


def _members(row: Ints, mentioned: Ints) -> tuple[Ints, Ints, Ints]:
    """Constants with company, class by class; the number of their class; sizes of classes."""
    spoken_of = np.zeros(len(row), dtype=bool)
    spoken_of[mentioned] = True
    usual = np.bincount(row[spoken_of & (row >= 0)], minlength=int(row.max(initial=-1)) + 1)
    large = np.bincount(row[row >= 0], minlength=len(usual)) > 1
    chosen = (row >= 0) & np.concatenate([(usual > 0) & large, [False]])[row]
    members = np.flatnonzero(chosen)
    members = members[np.argsort(row[members], kind="stable")]
    _, which, count = np.unique(row[members], return_inverse=True, return_counts=True)
    return members, which.reshape(-1), count


def _families(atoms: Atoms, universe: Universe, kinds: list[str]) -> Iterator[_Family]:
    if not atoms.variables:
        return
    predicate = atoms.predicate
    places = [place for place, mark in enumerate(predicate.exclusive) if not mark]
    own = [predicate.types[place] for place in places]
    variable = atoms.first + np.arange(atoms.variables)
    code = atoms.variable_codes()
    alike = _same_values(atoms, code)
    for number in np.unique(alike):
        yield _Family(
            variable=variable[alike == number],
            code=code[alike == number],
            place_kind=np.array([kinds.index(kind) for kind in own], dtype=np.int64),
            radix=atoms.radix[places],
            size=np.array([universe.size(kind) for kind in own], dtype=np.int64),
        )


def _same_values(atoms: Atoms, code: Ints) -> Ints:
    """Number variables by which values evidence excludes from their blocks."""
    numbers: dict[tuple[int, ...], int] = {(): 0}
    found = np.zeros(len(code), dtype=np.int64)
    for block, values in atoms.excluded().items():
        place = np.searchsorted(code, block * atoms.width)
        if place < len(code) and code[place] == block * atoms.width:
            found[place] = numbers.setdefault(tuple(values), len(numbers))
    return found


def _mentions(families: list[_Family], first: Ints) -> tuple[Ints, Ints]:
    """Pairs of a constant and a variable that speaks of it, each once, by constant."""
    pairs = [np.zeros((0, 2), dtype=np.int64)]
    for family in families:
        for kind, radix, size in zip(family.place_kind, family.radix, family.size, strict=True):
            constant = first[kind] + family.code // radix % size
            pairs.append(np.stack([constant, family.variable], axis=1))
    every = np.concatenate(pairs)
    most = int(every[:, 1].max(initial=0)) + 1
    keys = np.sort(every[:, 0] * most + every[:, 1])
    keys = keys[np.diff(keys, prepend=-1) > 0]  # much faster here than `unique`
    return keys // most, keys % most


def _by_variable(families: list[_Family], variables: int) -> dict[str, np.ndarray]:
    """Families as arrays; within each, codes rise."""
    nothing = [np.zeros(0, dtype=np.int64)]
    owner = np.concatenate(nothing + [family.variable for family in families])
    known = np.concatenate(nothing + [family.code for family in families])
    counts = np.array([len(family.variable) for family in families], dtype=np.int64)
    places = np.array([len(family.radix) for family in families], dtype=np.int64)
    code, number = np.zeros((2, variables), dtype=np.int64)
    code[owner], number[owner] = known, np.repeat(np.arange(len(families)), counts)
    return {
        "family": indices(number),
        "code": sealed(code),
        "place_start": starts(places),
        "place_kind": indices(np.concatenate(nothing + [one.place_kind for one in families])),
        "radix": sealed(np.concatenate(nothing + [one.radix for one in families])),
        "size": sealed(np.concatenate(nothing + [one.size for one in families])),
        "code_start": starts(counts),
        "known_code": sealed(known),
        "owner": indices(owner),
    }
