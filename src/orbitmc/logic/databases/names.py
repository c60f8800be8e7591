"""How ground atoms, and the variables that they became, are written."""

import itertools
import re

import numpy as np

from orbitmc.logic.databases.universe import Ints, Universe
from orbitmc.logic.grounding.atoms import Atoms

PLAIN = re.compile(r"[A-Z0-9][\w'-]*|-?\d+", re.ASCII)
WORDS = {"exist", "forall", "and", "or", "not"}  # of formulas, in some dialect
ESCAPES = str.maketrans(
    {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\b": "\\b", "\r": "\\r", "\f": "\\f"}
)
TRUTH = ("false", "true")


def constant_text(name: str) -> str:
    """A constant as programs write it: in quotes unless it could be mistaken for nothing else.

    >>> constant_text("Anna"), constant_text("Mary Ann")
    ('Anna', '"Mary Ann"')
    """
    if PLAIN.fullmatch(name) and name.lower() not in WORDS:
        return name
    return f'"{name.translate(ESCAPES)}"'


def atom_names(atoms: Atoms, codes: Ints, universe: Universe) -> list[str]:
    """The names of atoms."""
    columns = _columns(atoms, codes, universe)
    return _joined(atoms.predicate.name, columns, len(codes))


def variable_names(atoms: Atoms, universe: Universe) -> list[str]:
    """Names of a predicate's variables: the atom, or the block with `_` for its values."""
    codes = atoms.variable_codes()
    columns = _columns(atoms, codes, universe)
    for place, exclusive in enumerate(atoms.predicate.exclusive):
        if exclusive:
            columns[place] = ["_"] * len(codes)
    return _joined(atoms.predicate.name, columns, len(codes))


def value_names(atoms: Atoms, universe: Universe) -> list[tuple[str, ...]]:
    """Names of the values of a predicate's variables."""
    if not atoms.in_blocks:
        return [TRUTH] * atoms.variables
    columns = _columns(atoms, np.arange(atoms.width), universe)
    chosen = itertools.compress(columns, atoms.predicate.exclusive)
    words = tuple(",".join(row) for row in zip(*chosen, strict=True))
    excluded = {block: set(values) for block, values in atoms.excluded().items()}
    return [
        tuple(word for value, word in enumerate(words) if value not in excluded[block])
        if block in excluded
        else words
        for block in np.flatnonzero(atoms.fixed < 0).tolist()
    ]


def _columns(atoms: Atoms, codes: Ints, universe: Universe) -> list[list[str]]:
    found = []
    numbers = atoms.arguments(codes, universe)
    for kind, column in zip(atoms.predicate.types, numbers, strict=True):
        words = [constant_text(name) for name in universe.constants[kind]]
        found.append([words[number] for number in column.tolist()])
    return found


def _joined(name: str, columns: list[list[str]], count: int) -> list[str]:
    if not columns:
        return [name] * count
    return [f"{name}({','.join(row)})" for row in zip(*columns, strict=True)]
