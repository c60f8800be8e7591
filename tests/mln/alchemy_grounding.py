"""The grounding tests of Alchemy 2: programs in its other syntax, evidence, and what must come out.

A program has the sections #domains, #predicates and #formulas; formulas are clauses in parentheses
with the weight behind `::`. The answers number the atoms of the predicates that formulas use, from
1 in clauses and from 0 in the list of true atoms; only up to renumbering do they mean anything.
"""

import re
from dataclasses import dataclass

from orbitmc.mln.data.database import Database
from orbitmc.mln.data.reader import parse_database
from orbitmc.mln.language.parser import parse
from orbitmc.mln.language.syntax import Program
from tests.shared_data import shared

NUMBERS = range(1, 10)
FOLDER = "mln-alchemy-small/grounding"


@dataclass(frozen=True)
class Groundings:
    """How many atoms there are, which are true, and the clauses of each weighted formula."""

    atoms: int
    true_atoms: tuple[int, ...]
    weights: tuple[float, ...]
    clauses: tuple[tuple[tuple[int, ...], ...], ...]


@dataclass(frozen=True)
class Case:
    """One of the tests; `program` and `database` are what our own reader makes of the text."""

    program: Program
    database: Database
    expected: Groundings


def case(number: int) -> Case:
    """Give one of the nine tests, or skip if the shared data is not here."""
    program = parse(as_alchemy(shared(f"{FOLDER}/testmln{number}.txt").read_text()))
    expected = groundings(shared(f"{FOLDER}/groundtruth{number}.txt").read_text())
    has_evidence = bool(expected.true_atoms)
    text = shared(f"{FOLDER}/testdb{number}.txt").read_text() if has_evidence else ""
    return Case(program, parse_database(text, program), expected)


def as_alchemy(text: str) -> str:
    """Write a program of the other syntax in the usual one."""
    lines = []
    for line in text.splitlines():
        weighted = re.fullmatch(r"\s*\((?P<clause>.*)\)\s*::\s*(?P<weight>\S+)\s*", line)
        if weighted:
            lines.append(f"{weighted['weight']} {weighted['clause'].replace('|', ' v ')}")
        elif not line.startswith("#"):
            lines.append(line)
    return "\n".join(lines)


def groundings(text: str) -> Groundings:
    """Read an expected answer."""
    lines = [line.split() for line in text.splitlines() if line.strip()]
    (atoms,), true_atoms, (_, *weights), *rest = lines
    clauses = []
    for _ in weights:
        count = int(rest[0][0])
        clauses.append(tuple(tuple(map(int, line)) for line in rest[1 : count + 1]))
        rest = rest[count + 1 :]
    assert not rest
    known = () if true_atoms == ["NOEVIDENCE"] else tuple(map(int, true_atoms))
    return Groundings(int(atoms), known, tuple(map(float, weights)), tuple(clauses))
