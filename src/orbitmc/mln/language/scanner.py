"""Cut the text of a program into statements, without comments, every character at its place."""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

from orbitmc._util.text import Text
from orbitmc.errors import InputError

# How programs are written, and where in a file something stands.

Dialect = Literal["alchemy", "pracmln", "tuffy", "lomrf"]


class Notation(NamedTuple):
    """How formulas are written: a dialect, and whether variables are marked by ? as in pracmln."""

    dialect: Dialect
    marked: bool = False

    def is_variable(self, word: str) -> bool:
        """Whether a word without quotes stands for a variable."""
        if self.marked:
            return word.startswith("?")
        return not (word[0].isupper() or word[0].isdigit())


class Place(NamedTuple):
    """Where something stands in a file, counted from 1."""

    source: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.source}:{self.line}:{self.column}"

    def error(self, message: str) -> InputError:
        return InputError(message, source=self.source or None, line=self.line, column=self.column)


NO_PLACE = Place("", 0, 0)


OPEN_STRING = r'"(?:[^"\\\n]|\\[^\n])*+'  # a string that may lack its end
STRING = OPEN_STRING + '"'
STRINGS = re.compile(OPEN_STRING + '"?')
TEXT_LINE = re.compile(r"[^\n]+")
MLN_COMMENT = re.compile(rf'{OPEN_STRING}"?|//[^\n]*|/\*')
NO_BREAK = re.compile(r"[^\n]")
UNFINISHED = ("=>", "^", "|", ",")
STATEMENT_LIKE = re.compile(r"[=(]")
ESCAPED_LETTERS = {"n": "\n", "t": "\t", "b": "\b", "r": "\r", "f": "\f"}


@dataclass(frozen=True)
class Source:
    """A text whose comments are blanks, and where its characters stand."""

    name: str
    content: str

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0] + [match.end() for match in re.finditer("\n", self.content)]

    def place(self, offset: int) -> Place:
        line = bisect_right(self._line_starts, offset)
        return Place(self.name, line, offset - self._line_starts[line - 1] + 1)

    def line_start(self, number: int) -> int:
        """Give where a line begins; here lines count from 0."""
        return self._line_starts[number]

    def error(self, offset: int, message: str) -> InputError:
        return self.place(offset).error(message)


class Statement(NamedTuple):
    """A piece of a source: a declaration, a directive or a formula."""

    source: Source
    start: int
    text: str

    def place(self, offset: int) -> Place:
        return self.source.place(self.start + offset)

    def error(self, offset: int, message: str) -> InputError:
        return self.source.error(self.start + offset, message)

    def after(self, offset: int) -> "Statement":
        """Leave out what stands before a character, and the blanks that follow."""
        rest = self.text[offset:].lstrip()
        return Statement(self.source, self.start + len(self.text) - len(rest), rest)

    def before(self, offset: int) -> "Statement":
        return Statement(self.source, self.start, self.text[:offset].rstrip())


def without_comments(text: Text) -> Source:
    """Put blanks where comments are, so that all else keeps its line and column."""
    content, pieces, done = text.content, [], 0
    for start, end in _comments(content):
        pieces += [content[done:start], NO_BREAK.sub(" ", content[start:end])]
        done = end
    return Source(text.source, "".join([*pieces, content[done:]]))


def _comments(content: str) -> Iterator[tuple[int, int]]:
    """Give where comments begin and end; what begins like one and has no end is none."""
    at, last = 0, content.rfind("*/")
    while match := MLN_COMMENT.search(content, at):
        start, at = match.span()
        if match[0] == "/*" and at <= last:
            at = content.index("*/", at) + 2
        elif match[0] == "/*" or match[0].startswith('"'):
            continue
        yield start, at


def statements(source: Source) -> Iterator[Statement]:
    """Give the statements in order: a line each, or several lines if they are unfinished."""
    start = end = 0
    unfinished = listing = False
    for line in TEXT_LINE.finditer(source.content):
        whole = line[0]
        bare = STRINGS.sub("", whole) if '"' in whole else whole
        stripped = bare.rstrip()
        if not stripped and '"' not in whole:
            continue
        goes_on = not STATEMENT_LIKE.search(bare) if listing else unfinished
        if not goes_on:
            yield from _statement(source, start, end)
            start, listing = line.start(), False
        end = line.end()
        listing = "}" not in bare and (listing or "{" in bare)
        unfinished = _is_unfinished(stripped)
    yield from _statement(source, start, end)


def _is_unfinished(line: str) -> bool:
    """Say whether a line ends with a connective."""
    before = line[-2:-1]
    return line.endswith(UNFINISHED) or (
        line.endswith("v") and (before.isspace() or before in (")", "]"))
    )


def _statement(source: Source, start: int, end: int) -> Iterator[Statement]:
    text = source.content[start:end].rstrip()
    stripped = text.lstrip()
    if stripped:
        yield Statement(source, start + len(text) - len(stripped), stripped)


def unquote(word: str) -> str:
    """Give the name that a constant in the text stands for: without quotes and escapes."""
    if not word.startswith('"'):
        return word
    if "\\" not in word:
        return word[1:-1]
    return re.sub(r"\\(.)", lambda match: ESCAPED_LETTERS.get(match[1], match[1]), word[1:-1])
