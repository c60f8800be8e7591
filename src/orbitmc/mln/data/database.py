"""What is known about ground atoms: evidence, as columns of constants."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from orbitmc._util.arrays import Floats
from orbitmc._util.text import MOST_DIGITS, quote
from orbitmc.mln.language.syntax import Program

FALSE, TRUE, UNKNOWN = 0, 1, 2


@dataclass(frozen=True)
class Facts:
    """Evidence on atoms of one predicate: no atom twice.

    `columns[k]` holds the names of the k-th arguments, aligned with `truth` (FALSE, TRUE or
    UNKNOWN) and `log_odds`, which soft evidence adds to an unknown atom.
    """

    columns: tuple[tuple[str, ...], ...]
    truth: NDArray[np.int8]
    log_odds: Floats


@dataclass(frozen=True)
class Database:
    """Evidence by predicate, and constants that are named without any atom, by type."""

    facts: Mapping[str, Facts]
    constants: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


# Evidence while it is gathered: one value for every atom, whatever is said last.

Key = str | tuple[str, ...]
"""The arguments of an atom: joined by commas if all are plain words, which is fast, or not."""


class FactTable:
    """Evidence on the atoms of one predicate."""

    def __init__(self, arity: int) -> None:
        self.arity = arity
        self.truth: dict[Key, int] = {}
        self.log_odds: dict[Key, float] = {}

    def put(self, key: Key, truth: int, log_odds: float = 0.0) -> bool:
        """Set the value of an atom; say whether it had another one."""
        known, odds = self.truth.get(key, truth), self.log_odds.get(key, 0.0)
        same = known == truth and math.isclose(odds, log_odds, rel_tol=1e-12)
        changed = key in self.truth and not same
        self.truth[key] = truth
        self.log_odds.pop(key, None)
        if log_odds:
            self.log_odds[key] = log_odds
        return changed

    def facts(self) -> Facts:
        """Give what was gathered, in columns."""
        truth = np.fromiter(self.truth.values(), np.int8, len(self.truth))
        log_odds = np.zeros(len(self.truth))
        if self.log_odds:
            soft = (self.log_odds.get(key, 0.0) for key in self.truth)
            log_odds = np.fromiter(soft, np.float64, len(self.truth))
        words = flat_words(self.truth)
        columns = tuple(tuple(words[place :: self.arity]) for place in range(self.arity))
        return Facts(columns, truth, log_odds)


def flat_words(keys: Iterable[Key]) -> list[str]:
    """Give the arguments of all atoms, one after the other."""
    gathered = list(keys)
    plain = [key for key in gathered if isinstance(key, str)]
    if len(plain) == len(gathered):
        return ",".join(plain).split(",") if plain else []
    split = (key.split(",") if isinstance(key, str) else key for key in gathered)
    return [word for words in split for word in words]


def merge_databases(databases: Sequence[Database]) -> Database:
    """Put databases together; where they differ, the later one counts, with a warning."""
    if len(databases) == 1:
        return databases[0]
    warnings = [warning for database in databases for warning in database.warnings]
    facts = {}
    for name in dict.fromkeys(name for database in databases for name in database.facts):
        parts = [database.facts[name] for database in databases if name in database.facts]
        facts[name], changed = _merge_facts(parts)
        if changed:
            warnings.append(
                f"{changed} {'atom' if changed == 1 else 'atoms'} of {name} with different values "
                "in different databases; the last one counts"
            )
    constants: dict[str, dict[str, None]] = {}
    for database in databases:
        for kind, names in database.constants.items():
            constants.setdefault(kind, {}).update(dict.fromkeys(names))
    every = {kind: tuple(listed) for kind, listed in constants.items()}
    return Database(facts, every, tuple(warnings))


def _merge_facts(parts: Sequence[Facts]) -> tuple[Facts, int]:
    if len(parts) == 1:
        return parts[0], 0
    table, changed = FactTable(len(parts[0].columns)), 0
    for part in parts:
        keys: Iterable[Key] = zip(*part.columns, strict=True) if part.columns else [()]
        for key, truth, log_odds in zip(
            keys, part.truth.tolist(), part.log_odds.tolist(), strict=True
        ):
            changed += table.put(key, truth, log_odds)
    return table.facts(), changed


# All constants of a program and its databases, numbered type by type.

Ints = NDArray[np.int64]

NO_NUMBER = np.iinfo(np.int64).min


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
    constants = _gather_constants(program, databases)
    _require_constants(program, constants)
    return Universe({kind: tuple(names) for kind, names in constants.items()})


def empty_types(program: Program, databases: Iterable[Database]) -> frozenset[str]:
    """Types of which no constant is known."""
    return frozenset(
        kind for kind, names in _gather_constants(program, databases).items() if not names
    )


def _gather_constants(
    program: Program, databases: Iterable[Database]
) -> dict[str, dict[str, None]]:
    constants: dict[str, dict[str, None]] = {kind: {} for kind in program.constants}
    for predicate in program.predicates.values():
        for kind in predicate.types:
            constants.setdefault(kind, {})
    for kind, names in program.constants.items():
        constants[kind].update(dict.fromkeys(names))
    for database in databases:
        for kind, names in database.constants.items():
            constants.setdefault(kind, {}).update(dict.fromkeys(names))
        for name, facts in database.facts.items():
            for kind, column in zip(program.predicates[name].types, facts.columns, strict=True):
                constants[kind].update(dict.fromkeys(column))
    return constants


def _require_constants(program: Program, constants: Mapping[str, Mapping[str, None]]) -> None:
    for predicate in program.predicates.values():
        for kind in predicate.types:
            if not constants[kind]:
                raise predicate.place.error(
                    f"type {quote(kind)} has no constant: name some, as in `{kind} = {{A, B}}`, "
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
