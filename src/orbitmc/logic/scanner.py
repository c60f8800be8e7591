"""Cut the text of a program into statements, without comments, every character at its place."""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from orbitmc.errors import InputError
from orbitmc.logic.syntax import Place
from orbitmc.text import Text

STRING = r'"(?:[^"\\\n]|\\[^\n])*"'
STRINGS = re.compile(STRING)
LINE = re.compile(r"[^\n]+")
COMMENT = re.compile(rf"({STRING})|//[^\n]*|/\*.*?\*/", re.DOTALL)
UNFINISHED = re.compile(r"(?:=>|\^|\||,|(?:(?<=\s)|(?<=[)\]]))v)\s*\Z")
STATEMENT_LIKE = re.compile(r"[=(]")
ESCAPES = {"n": "\n", "t": "\t", "b": "\b", "r": "\r", "f": "\f"}


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
        return error_at(self.place(offset), message)


@dataclass(frozen=True)
class Statement:
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
        kept = self.text[offset:].lstrip()
        return Statement(self.source, self.start + len(self.text) - len(kept), kept)

    def before(self, offset: int) -> "Statement":
        return Statement(self.source, self.start, self.text[:offset].rstrip())


def error_at(place: Place, message: str) -> InputError:
    return InputError(message, source=place.source, line=place.line, column=place.column)


def without_comments(text: Text) -> Source:
    """Put blanks where comments are, so that all else keeps its line and column."""
    content = text.content
    if "/" in content:
        content = COMMENT.sub(lambda found: found[1] or re.sub(r"[^\n]", " ", found[0]), content)
    return Source(text.source, content)


def statements(source: Source) -> Iterator[Statement]:
    """Give the statements in order: a line each, or several lines if they are unfinished."""
    start = end = 0
    unfinished = listing = False
    for line in LINE.finditer(source.content):
        bare = STRINGS.sub("", line[0])
        if not bare.strip() and '"' not in line[0]:
            continue
        goes_on = not STATEMENT_LIKE.search(bare) if listing else unfinished
        if not goes_on:
            yield from _statement(source, start, end)
            start, listing = line.start(), False
        end = line.end()
        listing = "}" not in bare and (listing or "{" in bare)
        unfinished = bool(UNFINISHED.search(bare))
    yield from _statement(source, start, end)


def _statement(source: Source, start: int, end: int) -> Iterator[Statement]:
    whole = Statement(source, start, source.content[start:end]).after(0)
    if whole.text:
        yield whole.before(len(whole.text))


def unquoted(word: str) -> str:
    """Give the name that a constant in the text stands for: without quotes and escapes."""
    if not word.startswith('"'):
        return word
    if "\\" not in word:
        return word[1:-1]
    return re.sub(r"\\(.)", lambda found: ESCAPES.get(found[1], found[1]), word[1:-1])
