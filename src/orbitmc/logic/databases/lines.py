"""One line of a database that is not a plain atom: soft, quoted, a function's value, several."""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from orbitmc._util.text import quoted, suggestion
from orbitmc.errors import InputError
from orbitmc.logic.databases.database import FALSE, TRUE, UNKNOWN
from orbitmc.logic.language.declarations import NAME, complaint_about
from orbitmc.logic.language.scanner import STRING, Statement, unquoted
from orbitmc.logic.language.syntax import Program
from orbitmc.logic.language.weights import NUMBER

TERM = rf"(?:{STRING}|[^\s(),\"=!?]++)"
ARGUMENTS = rf"\(\s*+(?P<arguments>(?:{TERM}(?:\s*+,\s*+{TERM})*+)?)\s*+\)"
ATOM = re.compile(
    rf"(?:(?P<probability>{NUMBER})\s++)?(?P<sign>[!?])?\s*+(?P<name>{NAME})\s*+(?:{ARGUMENTS})?"
)
VALUE = re.compile(rf"(?P<value>{TERM})\s*+=\s*+(?P<name>{NAME})\s*+{ARGUMENTS}")
BETWEEN = re.compile(r"[\s,]*")
REAL_VALUE = re.compile(rf"{NUMBER}\s*$")
TERMS = re.compile(TERM)
PIECE = re.compile(rf"{STRING}|[\w'.-]+|.", re.DOTALL)

SIGNS = {None: TRUE, "!": FALSE, "?": UNKNOWN}


@dataclass(frozen=True)
class Known:
    """What a line says about one atom."""

    predicate: str
    arguments: tuple[str, ...]
    truth: int
    log_odds: float = 0.0


def read_line(line: Statement, program: Program) -> Iterator[Known]:
    """Read the atoms of a line, in order."""
    offset = 0
    while offset < len(line.text):
        value = VALUE.match(line.text, offset) if "=" in line.text else None
        atom = value or ATOM.match(line.text, offset)
        if not atom:
            raise _complaint(line, offset)
        yield _function_value(line, atom, program) if value else _atom(line, atom, program)
        between = BETWEEN.match(line.text, atom.end())
        assert between
        offset = between.end()


def _complaint(line: Statement, offset: int) -> InputError:
    piece = PIECE.match(line.text, offset)
    assert piece
    if REAL_VALUE.match(line.text, offset) and offset:
        return line.error(offset, "real values of atoms (hybrid models) are not supported")
    if piece[0] == "=":
        return line.error(offset, "write Atom, !Atom or ?Atom; an atom is not compared")
    return line.error(offset, f"expected a ground atom such as P(A), found {quoted(piece[0])}")


def _atom(line: Statement, found: re.Match[str], program: Program) -> Known:
    name = found["name"]
    if name in program.functions:
        raise line.error(found.start("name"), f"{name} is a function: write Value = {name}(...)")
    if name not in program.predicates:
        near = suggestion(name, program.predicates)
        raise line.error(found.start("name"), f"the predicate {quoted(name)} is not declared{near}")
    if found["arguments"] is None and line.text[found.end() :].startswith("("):
        raise line.error(found.end(), "expected constants between commas, and ')' after them")
    arguments = _arguments(line, found, len(program.predicates[name].types), program)
    truth, log_odds = _value(line, found)
    return Known(name, arguments, truth, log_odds)


def _value(line: Statement, found: re.Match[str]) -> tuple[int, float]:
    sign = found["sign"]
    if found["probability"] is None:
        return SIGNS[sign], 0.0
    probability = float(found["probability"])
    if not 0 <= probability <= 1:
        raise line.error(
            found.start("probability"), f"expected a probability, found {found['probability']}"
        )
    if sign == "?":
        raise line.error(found.start("sign"), "an atom with a probability cannot have ?")
    return soft_value(probability, sign == "!")


def soft_value(probability: float, negated: bool) -> tuple[int, float]:
    """Give the truth and the log odds of an atom that holds with a probability.

    >>> soft_value(0.0, negated=True)
    (1, 0.0)
    """
    if probability in (0, 1):
        return (TRUE if (probability == 1) != negated else FALSE), 0.0
    log_odds = math.log(probability) - math.log1p(-probability)
    return UNKNOWN, -log_odds if negated else log_odds


def _function_value(line: Statement, found: re.Match[str], program: Program) -> Known:
    name = found["name"]
    if name not in program.functions:
        near = suggestion(name, program.functions)
        raise line.error(found.start("name"), f"the function {quoted(name)} is not declared{near}")
    predicate = program.functions[name]
    arity = len(program.predicates[predicate].types) - 1
    value = _constant(line, found["value"], found.start("value"), program)
    return Known(predicate, (value, *_arguments(line, found, arity, program)), TRUE)


def _arguments(
    line: Statement, found: re.Match[str], arity: int, program: Program
) -> tuple[str, ...]:
    start, end = found.span("arguments") if found["arguments"] else (0, 0)
    words = list(TERMS.finditer(line.text, start, end))
    if len(words) != arity:
        wanted = f"{arity} argument{'s' if arity != 1 else ''}"
        raise line.error(found.start("name"), f"{found['name']} takes {wanted}, found {len(words)}")
    return tuple(_constant(line, word[0], word.start(), program) for word in words)


def _constant(line: Statement, word: str, offset: int, program: Program) -> str:
    if word.startswith('"'):
        return unquoted(word)
    complaint = complaint_about(word, program.dialect)
    if complaint:
        raise line.error(offset, complaint)
    return word
