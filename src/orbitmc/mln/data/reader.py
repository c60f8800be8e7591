"""Read databases: plain lines all at once by one expression, odd lines one by one."""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from orbitmc._util.text import MEMORY, Text, quote, require_memory, suggestion
from orbitmc.errors import MOST_ERRORS, InputError, ManyInputError
from orbitmc.mln.data.database import FALSE, TRUE, UNKNOWN, Database, FactTable, Key, flat_words
from orbitmc.mln.language.declarations import TYPE_NAME, constants, explain_bad_constant
from orbitmc.mln.language.projects import read_source
from orbitmc.mln.language.scanner import STRING, Source, Statement, unquote, without_comments
from orbitmc.mln.language.syntax import Program
from orbitmc.mln.language.weights import NUMBER

# One line of a database that is not a plain atom: soft, quoted, a function's value, several.

TERM = rf"(?:{STRING}|[^\s(),\"=!?]++)"
ARGUMENTS = rf"\(\s*+(?P<arguments>(?:{TERM}(?:\s*+,\s*+{TERM})*+)?)\s*+\)"
ATOM = re.compile(
    rf"(?:(?P<probability>{NUMBER})\s++)?(?P<sign>[!?])?\s*+(?P<name>{TYPE_NAME})\s*+(?:{ARGUMENTS})?"
)
VALUE = re.compile(rf"(?P<value>{TERM})\s*+=\s*+(?P<name>{TYPE_NAME})\s*+{ARGUMENTS}")
BETWEEN = re.compile(r"[\s,]*")
REAL_VALUE = re.compile(rf"{NUMBER}\s*$")
TERMS = re.compile(TERM)
FACT_PIECE = re.compile(rf"{STRING}|[\w'.-]+|.", re.DOTALL)

SIGNS = {None: TRUE, "!": FALSE, "?": UNKNOWN}


@dataclass(frozen=True)
class ParsedFact:
    """What a line says about one atom."""

    predicate: str
    arguments: tuple[str, ...]
    truth: int
    log_odds: float = 0.0


def read_line(line: Statement, program: Program) -> Iterator[ParsedFact]:
    """Read the atoms of a line, in order."""
    offset = 0
    while offset < len(line.text):
        value = VALUE.match(line.text, offset) if "=" in line.text else None
        atom = value or ATOM.match(line.text, offset)
        if not atom:
            raise _syntax_error(line, offset)
        yield _function_value(line, atom, program) if value else _atom(line, atom, program)
        between = BETWEEN.match(line.text, atom.end())
        assert between
        offset = between.end()


def _syntax_error(line: Statement, offset: int) -> InputError:
    piece = FACT_PIECE.match(line.text, offset)
    assert piece
    if REAL_VALUE.match(line.text, offset) and offset:
        return line.error(offset, "real values of atoms (hybrid models) are not supported")
    if piece[0] == "=":
        return line.error(offset, "write Atom, !Atom or ?Atom; an atom is not compared")
    return line.error(offset, f"expected a ground atom such as P(A), found {quote(piece[0])}")


def _atom(line: Statement, match: re.Match[str], program: Program) -> ParsedFact:
    name = match["name"]
    if name in program.functions:
        raise line.error(match.start("name"), f"{name} is a function: write Value = {name}(...)")
    if name not in program.predicates:
        near = suggestion(name, program.predicates)
        raise line.error(match.start("name"), f"the predicate {quote(name)} is not declared{near}")
    if match["arguments"] is None and line.text[match.end() :].startswith("("):
        raise line.error(match.end(), "expected constants between commas, and ')' after them")
    arguments = _arguments(line, match, len(program.predicates[name].types), program)
    truth, log_odds = _value(line, match)
    return ParsedFact(name, arguments, truth, log_odds)


def _value(line: Statement, match: re.Match[str]) -> tuple[int, float]:
    sign = match["sign"]
    if match["probability"] is None:
        return SIGNS[sign], 0.0
    probability = float(match["probability"])
    if not 0 <= probability <= 1:
        raise line.error(
            match.start("probability"), f"expected a probability, found {match['probability']}"
        )
    if sign == "?":
        raise line.error(match.start("sign"), "an atom with a probability cannot have ?")
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


def _function_value(line: Statement, match: re.Match[str], program: Program) -> ParsedFact:
    name = match["name"]
    if name not in program.functions:
        near = suggestion(name, program.functions)
        raise line.error(match.start("name"), f"the function {quote(name)} is not declared{near}")
    predicate = program.functions[name]
    arity = len(program.predicates[predicate].types) - 1
    value = _constant(line, match["value"], match.start("value"), program)
    return ParsedFact(predicate, (value, *_arguments(line, match, arity, program)), TRUE)


def _arguments(
    line: Statement, match: re.Match[str], arity: int, program: Program
) -> tuple[str, ...]:
    start, end = match.span("arguments") if match["arguments"] else (0, 0)
    words = list(TERMS.finditer(line.text, start, end))
    if len(words) != arity:
        wanted = f"{arity} argument{'s' if arity != 1 else ''}"
        raise line.error(match.start("name"), f"{match['name']} takes {wanted}, found {len(words)}")
    return tuple(_constant(line, word[0], word.start(), program) for word in words)


def _constant(line: Statement, word: str, offset: int, program: Program) -> str:
    if word.startswith('"'):
        return unquote(word)
    complaint = explain_bad_constant(word, program.dialect)
    if complaint:
        raise line.error(offset, complaint)
    return word


# Every line gives a match: the probability, sign, predicate and arguments of a plain atom, or all.
FACT_LINE = re.compile(
    r"^[ \t]*+(?:([01]?\.?\d++)[ \t]++)?+(!?)[ \t]*+([^\W\d][\w'-]*+)[ \t]*+\("
    r"[ \t]*+([\w'-]++(?:[ \t]*+,[ \t]*+[\w'-]++)*+)[ \t]*+\)[ \t\r]*+$|^(.*)$",
    re.MULTILINE,
)
SEPARATOR = re.compile(r"^-{3,}[ \t\r]*$", re.MULTILINE)
FACT_BYTES_PER_CHARACTER = 20
MOST_WARNINGS = 10


def read_database(path: str | Path, program: Program, *, memory: int = MEMORY) -> Database:
    """Read the evidence of one file, packed or not."""
    text = read_source(path, memory=memory)
    return parse_database(text.content, program, source=str(path), memory=memory)


def read_databases(
    path: str | Path, program: Program, *, memory: int = MEMORY
) -> tuple[Database, ...]:
    """Read independent databases that lines of --- separate in one file."""
    text = read_source(path, memory=memory)
    return parse_databases(text.content, program, source=str(path), memory=memory)


def parse_database(
    text: str, program: Program, *, source: str = "<text>", memory: int = MEMORY
) -> Database:
    """Read evidence in the dialect of its program."""
    content = _content(text, source, memory)
    separator = SEPARATOR.search(content.content)
    if separator:
        raise content.error(separator.start(), "--- separates databases; expected only one")
    return _Reading(content, program, memory).database()


def parse_databases(
    text: str, program: Program, *, source: str = "<text>", memory: int = MEMORY
) -> tuple[Database, ...]:
    """Read independent databases that lines of --- separate."""
    content = _content(text, source, memory).content
    gaps = [match.span() for match in SEPARATOR.finditer(content)]
    starts, ends = [0, *(end for _, end in gaps)], [*(start for start, _ in gaps), len(content)]
    parts = [
        "\n" * content.count("\n", 0, start) + content[start:end]
        for start, end in zip(starts, ends, strict=True)
    ]
    return tuple(_Reading(Source(source, part), program, memory).database() for part in parts)


def _content(text: str, source: str, memory: int) -> Source:
    require_memory(source, FACT_BYTES_PER_CHARACTER * len(text), memory)
    return without_comments(Text(source, text))


class _Reading:
    """A database while it is read."""

    def __init__(self, source: Source, program: Program, memory: int) -> None:
        self.source, self.program, self.memory = source, program, memory
        self.errors: list[InputError] = []
        self.warnings: list[str] = []
        self.constants: dict[str, dict[str, None]] = {}
        self.tables = {
            name: FactTable(len(predicate.types)) for name, predicate in program.predicates.items()
        }
        self.values: dict[tuple[str, tuple[str, ...]], Key] = {}
        self.undeclared: dict[str, list[int]] = {}
        self.lines: list[tuple[str, ...]] = FACT_LINE.findall(source.content)

    def database(self) -> Database:
        self._gather()
        self._check_undeclared()
        for name, table in self.tables.items():
            self._check(name, table)
        if self.errors:
            ordered = sorted(self.errors, key=lambda error: (error.line, error.column))
            raise ManyInputError(ordered, unread=self._has_too_many_errors)
        more = len(self.warnings) - MOST_WARNINGS
        hidden = (
            [f"{self.source.name}: {more} more atoms had another value before"] if more > 0 else []
        )
        return Database(
            {name: table.facts() for name, table in self.tables.items() if table.truth},
            {kind: tuple(names) for kind, names in self.constants.items()},
            (*self.warnings[:MOST_WARNINGS], *hidden),
        )

    @property
    def _has_too_many_errors(self) -> bool:
        """Say whether so much is wrong that reading on helps no one."""
        return len(self.errors) >= MOST_ERRORS

    def _gather(self) -> None:
        plain = {name: table.truth for name, table in self.tables.items()}
        for number, (probability, sign, name, arguments, odd) in enumerate(self.lines):
            if name:
                known = plain.get(name)
                if known is None:
                    self.undeclared.setdefault(name, []).append(number)
                    continue
                if " " in arguments or "\t" in arguments:
                    arguments = arguments.replace(" ", "").replace("\t", "")
                if probability and float(probability) > 1:
                    self._read_unusual(number, self._line_text(number))
                    continue
                if probability:
                    value = soft_value(float(probability), sign == "!")
                    self._store(name, arguments, *value, number)
                    continue
                truth = FALSE if sign else TRUE
                if known.setdefault(arguments, truth) != truth:
                    self._store(name, arguments, truth, 0.0, number)
            elif odd and not odd.isspace():
                self._read_unusual(number, odd)
                if self._has_too_many_errors:
                    return

    def _read_unusual(self, number: int, text: str) -> None:
        line = self._statement(number, text)
        try:
            named = sum(map(len, self.constants.values())) if "..." in text else 0
            listed = "{" in text and constants(line, self.program.dialect, self.memory, named)
            if listed and listed[0] not in self.program.constants:
                near = suggestion(listed[0], self.program.constants)
                raise line.error(0, f"the program has no type {quote(listed[0])}{near}")
            if listed:
                self.constants.setdefault(listed[0], {}).update(dict.fromkeys(listed[1]))
                return
            for known in read_line(line, self.program):
                self._add_fact(known, number)
        except ManyInputError as error:
            self.errors.extend(error.errors)
        except InputError as error:
            self.errors.append(error)

    def _add_fact(self, known: ParsedFact, number: int) -> None:
        plain = all(
            not explain_bad_constant(word, self.program.dialect) for word in known.arguments
        )
        key: Key = ",".join(known.arguments) if plain else known.arguments
        if known.predicate in self.program.functions.values():
            before = self.values.setdefault((known.predicate, known.arguments[1:]), key)
            if before != key:
                del self.tables[known.predicate].truth[before]
                self.values[known.predicate, known.arguments[1:]] = key
                self._warn(number, f"another value of {known.predicate[:-1]} was given before")
        self._store(known.predicate, key, known.truth, known.log_odds, number)

    def _store(self, name: str, key: Key, truth: int, log_odds: float, number: int) -> None:
        if self.tables[name].put(key, truth, log_odds):
            words = key if isinstance(key, str) else ",".join(key)
            self._warn(number, f"{name}({words}) had another value before; this one counts")

    def _warn(self, number: int, warning: str) -> None:
        self.warnings.append(f"{self.source.name}:{number + 1}: {warning}")

    def _check_undeclared(self) -> None:
        for name, numbers in islice(self.undeclared.items(), MOST_ERRORS):
            message = f"the predicate {quote(name)} is not declared"
            message += suggestion(name, self.program.predicates)
            if name in self.program.functions:
                message = f"{name} is a function: write Value = {name}(...)"
            if len(numbers) > 1:
                message += f" (in {len(numbers)} lines)"
            line = self._statement(numbers[0], self._line_text(numbers[0]))
            self.errors.append(line.error(line.text.index(name), message))

    def _check(self, name: str, table: FactTable) -> None:
        """Look at distinct words only; where a wrong one stands is found again when needed."""
        plain = [key for key in table.truth if isinstance(key, str)]
        wrong = any(key.count(",") + (key != "") != table.arity for key in plain)
        words = set(flat_words(plain)) - {""}
        complaints = {word: explain_bad_constant(word, self.program.dialect) for word in words}
        if wrong or any(complaints.values()):
            self.errors.extend(islice(self._errors_of(name, table.arity, complaints), MOST_ERRORS))

    def _errors_of(self, name: str, arity: int, complaints: dict[str, str]) -> Iterator[InputError]:
        for number, (_, _, predicate, arguments, _) in enumerate(self.lines):
            if predicate != name:
                continue
            line = self._statement(number, self._line_text(number))
            words = [word.strip() for word in arguments.split(",")]
            if len(words) != arity:
                wanted = f"{arity} argument{'s' if arity != 1 else ''}"
                yield line.error(
                    line.text.index(name), f"{name} takes {wanted}, found {len(words)}"
                )
                continue
            for word in words:
                if complaints[word]:
                    yield line.error(line.text.index(word, line.text.index("(")), complaints[word])

    def _line_text(self, number: int) -> str:
        start = self.source.line_start(number)
        end = self.source.content.find("\n", start)
        return self.source.content[start : end if end >= 0 else None]

    def _statement(self, number: int, text: str) -> Statement:
        return Statement(self.source, self.source.line_start(number), text).after(0)
