"""All constants of a program and its databases, numbered type by type."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from orbitmc._util.text import quoted
from orbitmc.logic.databases.database import Database
from orbitmc.logic.language.syntax import Program

Ints = NDArray[np.int64]

NO_NUMBER = np.iinfo(np.int64).min
MOST_DIGITS = 18  # of an integer constant


@dataclass(frozen=True)
class Universe:
    """The constants of each type, in the order in which they were first named."""

    constants: Mapping[str, tuple[str, ...]]

    @cached_property
    def numbers(self) -> Mapping[str, Mapping[str, int]]:
        """Number of each constant, by type and name."""
        return {
            kind: {name: number for number, name in enumerate(names)}
            for kind, names in self.constants.items()
        }

    @cached_property
    def sizes(self) -> Mapping[str, int]:
        return {kind: len(names) for kind, names in self.constants.items()}

    def size(self, kind: str) -> int:
        return len(self.constants[kind])

    @cached_property
    def integers(self) -> Mapping[str, Ints]:
        """The integer that each constant of a type is; NO_NUMBER for those that are none."""
        return {
            kind: np.array([integer_of(name) for name in names], dtype=np.int64)
            for kind, names in self.constants.items()
        }


def universe(program: Program, databases: Iterable[Database]) -> Universe:
    """Number the constants of a program and of what is known; a type without any is an error."""
    found = _gathered(program, databases)
    _require_constants(program, found)
    return Universe({kind: tuple(names) for kind, names in found.items()})


def empty_types(program: Program, databases: Iterable[Database]) -> frozenset[str]:
    """Types of which no constant is known."""
    return frozenset(kind for kind, own in _gathered(program, databases).items() if not own)


def _gathered(program: Program, databases: Iterable[Database]) -> dict[str, dict[str, None]]:
    found: dict[str, dict[str, None]] = {kind: {} for kind in program.constants}
    for predicate in program.predicates.values():
        for kind in predicate.types:
            found.setdefault(kind, {})
    for kind, names in program.constants.items():
        found[kind].update(dict.fromkeys(names))
    for database in databases:
        for kind, names in database.constants.items():
            found.setdefault(kind, {}).update(dict.fromkeys(names))
        for name, facts in database.facts.items():
            for kind, column in zip(program.predicates[name].types, facts.columns, strict=True):
                found[kind].update(dict.fromkeys(column))
    return found


def _require_constants(program: Program, found: Mapping[str, Mapping[str, None]]) -> None:
    for predicate in program.predicates.values():
        for kind in predicate.types:
            if not found[kind]:
                raise predicate.place.error(
                    f"type {quoted(kind)} has no constant: name some, as in `{kind} = {{A, B}}`, "
                    "or give a database that does"
                )


def number_of(name: str) -> float | None:
    """The finite number that a constant is, if any."""
    try:
        value = float(name)
    except ValueError:
        return None
    return value if math.isfinite(value) and name.isascii() and "_" not in name else None


def integer_of(name: str) -> int:
    """The integer that a constant is, or NO_NUMBER."""
    digits = name.removeprefix("-")
    plain = digits.isascii() and digits.isdigit() and len(digits) <= MOST_DIGITS
    return int(name) if plain else NO_NUMBER
