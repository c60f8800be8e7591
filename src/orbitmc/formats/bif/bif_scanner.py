"""The words, marks and numbers of a BIF text, with the place of each."""

import math
import re
from collections.abc import Container, Sequence

from orbitmc._util.text import Text, quoted
from orbitmc.errors import InputError
from orbitmc.formats.bif.bayes import Beginnings

# Possessive (`++`): what was taken is not given back, so no place to go back to takes memory.
BARE = r"""[^\s{}()\[\]|,;"]"""
WORD = rf"{BARE}++(?:\({BARE}*+\))*+"  # the parentheses that some names end in touch them
PIECE = re.compile(
    rf"""\s*+(?:(?P<mark>[{{}}()\[\]|,;])|"(?P<quoted>[^"\n]*+)"|(?P<keyword>probability)(?=\s*\()"""
    rf"""|(?P<word>{WORD}))""",
    re.IGNORECASE,
)
COMMENT = re.compile(r'"[^"\n]*"|//[^\n]*|/\*.*?\*/|/\*', re.DOTALL)
COMMENTED = re.compile(r"//|/\*")
PROPERTY = re.compile(r'(?:"[^"\n]*+"|[^";{}]++)*+;')
NUMBERS = re.compile(r'[^;{}()\[\]|"]*')
WEIGHT = re.compile(r"[+]?(\d+[.]?\d*|[.]\d+)(e[-+]?\d+)?", re.ASCII | re.IGNORECASE)
SPACE = re.compile(r"\s*")
MOST_WORDS = 1000  # of a name without quotes


class Scanner:
    """Takes a BIF text piece by piece; comments are blanked first, so places stay true."""

    def __init__(self, text: Text) -> None:
        self.text = text
        self.content = _without_comments(text)
        self.offset = 0

    @property
    def at(self) -> int:
        """Where the next piece stands."""
        match = SPACE.match(self.content, self.offset)
        return match.end() if match else self.offset

    def ended(self) -> bool:
        return self.at == len(self.content)

    def name(self, what: str) -> str:
        match = PIECE.match(self.content, self.offset)
        if match is None or match["mark"] is not None:
            raise self._unexpected(what)
        self.offset = match.end()
        return str(match["quoted"] if match["quoted"] is not None else match[match.lastgroup or 0])

    def names(self, closing: str, what: str, count: int) -> list[str]:
        """Take so many names up to a closing mark; commas between them may be left out.

        If that makes too many, they are what stands between commas: some programs write names
        with spaces and without quotes.
        """
        begun, commas = self.offset, 0
        words: list[str] = []
        while not self.took(closing):
            words.append(self.name(what))
            commas += self.took(",")
        if not len(words) > count == commas + 1:
            return words
        self.offset = begun
        return self._phrases(closing, what)

    def _phrases(self, closing: str, what: str) -> list[str]:
        """Take what stands between commas, up to a closing mark."""
        phrases: list[str] = []
        words: list[str] = []
        while not self.took(closing):
            self._require_few(words)
            words.append(self.name(what))
            if self.took(","):
                phrases.append(" ".join(words))
                words = []
        return [*phrases, " ".join(words)]

    def phrase(self, ends: str, what: str) -> str:
        """Take a name up to a mark, which stays; one without quotes may have spaces."""
        words = [self.name(what)]
        while not self.content.startswith(ends, self.at):
            self._require_few(words)
            words.append(self.name(repr(ends)))
        return " ".join(words)

    def known(self, what: str, known: Container[str], beginnings: Beginnings) -> str:
        """Take a name that should be known, and more of its words while one is that begins so."""
        name = self.name(what)
        while name not in known and beginnings.have(name):
            name = f"{name} {self.name(what)}"
        return name

    def _require_few(self, words: Sequence[str]) -> None:
        if len(words) == MOST_WORDS:
            raise self.error(
                self.at,
                f"a name of more than {MOST_WORDS:,} words; put a name with spaces in quotes",
            )

    def took(self, mark: str) -> bool:
        at = self.at
        found = self.content.startswith(mark, at)
        self.offset = at + len(mark) if found else self.offset
        return found

    def take(self, mark: str) -> None:
        if not self.took(mark):
            raise self._unexpected(repr(mark))

    def took_word(self, word: str) -> bool:
        match = PIECE.match(self.content, self.offset)
        found = match is not None and (match["word"] or "").lower() == word
        if match and found:
            self.offset = match.end()
        return found

    def skip_property(self) -> None:
        if not self.took_word("property"):
            raise self._unexpected("property or '}'")
        match = PROPERTY.match(self.content, self.offset)
        if match is None:
            raise self._unexpected("';' after the property")
        self.offset = match.end()

    def weights(self, what: str) -> list[float]:
        """Take numbers, finite and not negative, and the semicolon after them."""
        match = NUMBERS.match(self.content, self.offset)
        assert match  # it may be empty, but it always matches
        words = match.group().replace(",", " ").split()
        try:
            numbers = list(map(float, words))
        except ValueError:
            numbers = [math.nan]
        if not all(0 <= number < math.inf for number in numbers) or "_" in match.group():
            raise self._wrong_weight(what)
        self.offset = match.end()
        self.take(";")
        return numbers

    def error(self, at: int, message: str) -> InputError:
        return self.text.error(at, message)

    def _wrong_weight(self, what: str) -> InputError:
        while True:
            at, word = self.at, self.name(what)
            if WEIGHT.fullmatch(word) is None or float(word) == math.inf:
                found = quoted(word)
                return self.error(at, f"expected {what} (finite, not negative), found {found}")
            self.took(",")

    def _unexpected(self, what: str) -> InputError:
        place = self.at
        match = PIECE.match(self.content, place)
        rest = match.group() if match else self.content[place : place + 1]
        found = quoted(rest) if rest else "the end of the file"
        return self.text.error(place, f"expected {what}, found {found}")


def written_name(name: str) -> str:
    """Write a name so that it reads back, in quotes only where it needs them."""
    if '"' in name or "\n" in name:
        raise InputError(f"BIF cannot hold the name {quoted(name)}; write .json instead")
    match = None if COMMENTED.search(name) else PIECE.fullmatch(name)
    return name if match and match["word"] == name else f'"{name}"'


def _without_comments(text: Text) -> str:
    if "//" not in text.content and "/*" not in text.content:
        return text.content
    for match in COMMENT.finditer(text.content):
        if match.group() == "/*":
            raise text.error(match.start(), "the comment that begins here never ends")
    return COMMENT.sub(_blank, text.content)


def _blank(match: re.Match[str]) -> str:
    found = match.group()
    if found.startswith('"'):
        return found
    return "\n".join(" " * len(line) for line in found.split("\n"))
