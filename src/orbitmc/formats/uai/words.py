"""Words between white space, read in order; where one stands is found again only for errors."""

import itertools
import math
import re
from collections.abc import Sequence

import numpy as np

from orbitmc._util.text import Text, number_in, quoted, require_memory
from orbitmc.errors import InputError

BYTES_PER_WORD = 100
"""What a word takes in memory, as text and then as a number in a model."""

MOST_DIGITS = 18  # what fits in 64 bits


class Words:
    """The words of a text, taken one after the other.

    `what` says, in errors, what was expected; `{}` in it is filled from `about` only then.
    """

    def __init__(self, text: Text, *, memory: int) -> None:
        self.text = text = _without_comments(text)
        _require_ascii(text)
        require_memory(text.source, BYTES_PER_WORD * _count(text.content), memory)
        self.words = text.content.split()
        self.taken = 0

    @property
    def left(self) -> int:
        return len(self.words) - self.taken

    def word(self, what: str) -> str:
        (word,) = self.take(1, what)
        return word

    def take(self, count: int, what: str, *about: object) -> Sequence[str]:
        """Take the next few words, all of which must be there."""
        if count > self.left:
            found = "the end of the file" if not self.left else f"only {self.left} more words"
            raise self.error(len(self.words), f"expected {what.format(*about)}, found {found}")
        self.taken += count
        return self.words[self.taken - count : self.taken]

    def integer(self, what: str, *about: object) -> int:
        word = self.words[self.taken] if self.left else ""
        if not word.isdigit() or len(word) > MOST_DIGITS:
            found = quoted(word) if word else "the end of the file"
            raise self.error(self.taken, f"expected {what.format(*about)}, found {found}")
        self.taken += 1
        return int(word)

    def integers(self, count: int, what: str, *about: object) -> list[int]:
        words = self.take(count, what, *about)
        for place, word in enumerate(words, self.taken - count):
            if not word.isdigit() or len(word) > MOST_DIGITS:
                raise self.error(place, f"expected a whole number, found {quoted(word)}")
        return list(map(int, words))

    def weights(self, count: int, what: str, *about: object) -> list[float]:
        """Take numbers that are finite and not negative."""
        words = self.take(count, what, *about)
        try:
            numbers = list(map(float, words))
        except ValueError:
            numbers = [number_in(word) for word in words]
        for place, number in enumerate(numbers):
            if not 0 <= number < math.inf or "_" in words[place]:
                raise self.error(
                    self.taken - count + place,
                    f"expected a weight (finite, not negative), found {quoted(words[place])}",
                )
        return numbers

    def end(self) -> None:
        if self.left:
            found = quoted(self.words[self.taken])
            raise self.error(self.taken, f"expected the end of the file, found {found}")

    def error(self, place: int, message: str) -> InputError:
        """Give an error at the word number `place`, or at the end of the text."""
        matches = itertools.islice(re.finditer(r"\S+", self.text.content), place, None)
        match = next(matches, None)
        return self.text.error(match.start() if match else len(self.text.content), message)


def _without_comments(text: Text) -> Text:
    """Blank what follows a `#`, as pyAgrum writes it; places stay true."""
    if "#" not in text.content:
        return text
    return Text(text.source, re.sub(r"#[^\n]*", lambda found: " " * len(found[0]), text.content))


def _require_ascii(text: Text) -> None:
    if not text.content.isascii():
        match = re.search(r"[^\x00-\x7f]", text.content)
        assert match
        raise text.error(match.start(), f"expected words and numbers, found {match.group()!r}")


def _count(content: str) -> int:
    ink = np.frombuffer(content.encode(), dtype=np.uint8) > ord(" ")
    return int(np.count_nonzero(ink[1:] & ~ink[:-1])) + 1
