"""Which ground atoms a question is about."""

import itertools
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc._util.text import MEMORY, quote, suggestion
from orbitmc.errors import InputError
from orbitmc.mln.data.database import UNKNOWN, Ints, Universe
from orbitmc.mln.grounding.atoms import Atoms, atom_names
from orbitmc.mln.grounding.grounding import Ground
from orbitmc.mln.language.declarations import SMALL_LETTER_DIALECTS
from orbitmc.mln.language.projects import read_source
from orbitmc.mln.language.scanner import STRING, unquote, without_comments
from orbitmc.mln.language.syntax import Program

PATTERN = re.compile(rf"\s*([^\s(),;^]+)\s*(?:\(((?:[^()\"]|{STRING})*)\))?\s*")
QUERY_PART = re.compile(rf"((?:[^,\"]|{STRING})*),")  # up to a comma outside quotes
WITH_ARITY = re.compile(r"(.+)/(\d{1,4})")
QUERY_WORD = re.compile(rf"\s*(?:({STRING})|([^\s,\"]+))\s*")


@dataclass(frozen=True)
class Pattern:
    """Atoms of a predicate: all, or those whose constants fit.

    An argument is a constant (name, True) or a variable (name, False); equal variables stand for
    equal constants.
    """

    predicate: str
    arguments: tuple[tuple[str, bool], ...] | None


@dataclass(frozen=True)
class QueryAtoms:
    """Ground atoms: their names, truth, and the variable and value of the unknown ones."""

    names: tuple[str, ...]
    status: NDArray[np.int8]
    variable: Ints
    value: Ints


def read_query(text: str, program: Program) -> tuple[Pattern, ...]:
    """Read atoms as in `Smokes,Cancer(x),Friends(Anna,x)`; commas or semicolons separate them.

    Of conjunctions `Smokes(x) ^ Cancer(x)` all atoms are given; `read_conjunctions` finds them.
    """
    return tuple(pattern for pattern, _ in _read(text, program))


def read_conjunctions(text: str, program: Program) -> tuple[tuple[Pattern, ...], ...]:
    """Read those parts of a query that join atoms by ^."""
    groups: list[list[Pattern]] = [[]]
    for pattern, ends in _read(text, program):
        groups[-1].append(pattern)
        if ends:
            groups.append([])
    several = [tuple(group) for group in groups if len(group) > 1]
    for pattern in itertools.chain(*several):
        if pattern.arguments is None and program.predicates[pattern.predicate].types:
            raise InputError(f"write the arguments of {pattern.predicate} in a conjunction")
    return tuple(several)


def _read(text: str, program: Program) -> list[tuple[Pattern, bool]]:
    """Patterns, and whether what they belong to ends with them."""
    patterns: list[tuple[Pattern, bool]] = []
    position = 0
    while position < len(text):
        match = PATTERN.match(text, position)
        after = text[match.end() : match.end() + 1] if match else ""
        if not match or after not in ("", ",", ";", "^"):
            raise InputError(
                f"cannot read the query {quote(text)} from its character {position + 1} on; write "
                "for example Smokes,Friends(Anna,x)"
            )
        patterns.append((_pattern(match[1], match[2], program), after != "^"))
        position = match.end() + 1
    if not patterns:
        raise InputError("the query is empty; write for example Smokes,Friends(Anna,x)")
    if not patterns[-1][1]:
        raise InputError("the query ends with ^; write for example Smokes(x) ^ Cancer(x)")
    return patterns


def query_lines(path: str | Path, *, memory: int = MEMORY) -> list[str]:
    """The atoms and predicates that a file asks about, one in each line."""
    text = without_comments(read_source(path, memory=memory)).content
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        raise InputError("it asks about nothing: expected an atom in each line", source=str(path))
    return lines


def predicates_by_name(names: Iterable[str], program: Program) -> frozenset[str]:
    """Predicates by name, or by name and number of arguments as in `Friends/2`."""
    return frozenset(_strip_arity(name, program) for name in names)


def _strip_arity(name: str, program: Program) -> str:
    """Leave out the number of arguments that may follow a name, once it is found right."""
    match = WITH_ARITY.fullmatch(name)
    if not match or name in program.predicates or match[1] not in program.predicates:
        return name
    arity = len(program.predicates[match[1]].types)
    if int(match[2]) != arity:
        raise InputError(f"{name}: {match[1]} takes {_count_arguments(arity)}")
    return match[1]


def _count_arguments(arity: int) -> str:
    return "1 argument" if arity == 1 else f"{arity} arguments"


def _pattern(name: str, inside: str | None, program: Program) -> Pattern:
    name = _strip_arity(name, program)
    if name.startswith("!"):
        raise InputError(f"a query cannot deny, as {name} does; `orbitmc ask` takes any formula")
    if name not in program.predicates:
        raise InputError(
            f"the query names {quote(name)}, which is no predicate"
            f"{suggestion(name, program.predicates)}"
        )
    if name in program.fuzzy:
        raise InputError(
            f"{name} is fuzzy: its atoms have the degrees of truth that evidence gives, so no "
            "query is about them"
        )
    if inside is None:
        return Pattern(name, None)
    words = [QUERY_WORD.fullmatch(part[1]) for part in QUERY_PART.finditer(f"{inside},")]
    arity = len(program.predicates[name].types)
    if len(words) != arity or not all(words):
        raise InputError(
            f"the query gives {name} {quote(inside)}, but it takes {_count_arguments(arity)}"
        )
    notation = program.notation
    arguments = [
        (unquote(word[1]), True)
        if word[1] is not None
        else (word[2], not notation.is_variable(word[2]))
        for word in words
        if word
    ]
    return Pattern(name, tuple(arguments))


def query_atoms(ground: Ground, patterns: Sequence[Pattern]) -> QueryAtoms:
    """The atoms that fit any of the patterns, each once, in the order of the patterns."""
    names: list[str] = []
    columns: list[tuple[NDArray[np.int8], Ints, Ints]] = []
    codes_of: dict[str, list[Ints]] = {}
    for pattern in patterns:
        atoms = ground.atoms[pattern.predicate]
        codes = fit_pattern(ground.program, ground.universe, atoms, pattern).codes()
        for earlier in codes_of.setdefault(pattern.predicate, []):
            codes = np.setdiff1d(codes, earlier)
        codes_of[pattern.predicate].append(codes)
        status = atoms.status(codes)
        unknown = status == UNKNOWN
        variable, value = np.full((2, len(codes)), -1, dtype=np.int64)
        variable[unknown], value[unknown] = atoms.literals(codes[unknown])
        names += atom_names(atoms, codes, ground.universe)
        columns.append((status, variable, value))
    status, variable, value = (np.concatenate(column) for column in zip(*columns, strict=True))
    return QueryAtoms(tuple(names), status, variable, value)


class Fitting(NamedTuple):
    """The codes of atoms that fit a pattern: a first one, and steps of each free variable."""

    first: int
    steps: tuple[tuple[int, int], ...]

    @property
    def size(self) -> int:
        """How many atoms fit."""
        return math.prod(size for _, size in self.steps)

    def codes(self) -> Ints:
        """All codes, ascending."""
        codes = np.array([self.first], dtype=np.int64)
        for step, size in self.steps:
            codes = (codes[:, None] + step * np.arange(size)).reshape(-1)
        return np.sort(codes)


def fit_pattern(program: Program, universe: Universe, atoms: Atoms, pattern: Pattern) -> Fitting:
    """Which atoms of a predicate fit a pattern."""
    if pattern.arguments is None:
        return Fitting(0, ((1, atoms.size),))
    first, steps = 0, dict[str, tuple[int, int]]()
    kinds = atoms.predicate.types
    small = program.dialect in SMALL_LETTER_DIALECTS
    for (word, plain), radix, kind in zip(
        pattern.arguments, atoms.radix.tolist(), kinds, strict=True
    ):
        numbers = universe.numbers[kind]
        if plain or (small and word in numbers):
            if word not in numbers:
                raise InputError(
                    f"the query names {quote(word)}, which is no constant of type {kind}"
                    f"{suggestion(word, numbers)}"
                )
            first += radix * numbers[word]
        else:
            step, size = steps.get(word, (0, len(numbers)))
            steps[word] = (step + radix, min(size, len(numbers)))
    return Fitting(first, tuple(steps.values()))
