"""Read events about variables: A == 'x' and (B != 'y' or C in ('u', 'v')).

Nothing is evaluated: names and values are looked up, and what is wrong is said with its column.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from orbitmc._util.text import Text, quoted
from orbitmc.ask.questions.events.expressions import (
    MOST_DEPTH,
    Event,
    combine_events,
    condition,
    negated,
)
from orbitmc.ask.questions.subject import Named, Subject
from orbitmc.errors import InputError
from orbitmc.graph.evidence import value_number

TOKEN = re.compile(
    r"""\s*(?:(?P<string>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
    r"""|(?P<sign>==|!=|<>|<=|>=|&&|\|\||[=<>&|!~(),\[\]{}])"""
    r"""|(?P<word>[^\s'"=<>&|!~(),\[\]{}]+)|(?P<wrong>\S)|(?P<end>\Z))""",
    re.DOTALL,
)
WORDS: Mapping[str, str] = {
    **dict.fromkeys(("and", "&", "&&"), "and"),
    **dict.fromkeys(("or", "|", "||"), "or"),
    **dict.fromkeys(("not", "!", "~"), "not"),
    **dict.fromkeys(("==", "="), "=="),
    **dict.fromkeys(("!=", "<>"), "!="),
    "in": "in",
}
BRACKETS = {"(": ")", "[": "]", "{": "}"}
TRUTHS = {"true": True, "false": False}
NAMES = "; put names with blanks or brackets in quotes"


class Token(NamedTuple):
    """A piece of the text: kind is name, end, or what it means; `at` is where it begins."""

    kind: str
    word: str
    at: int
    quoted: bool = False


def read_event(text: str, asked: Subject, source: str) -> Event:
    """Read an event about the variables of a model."""
    if not isinstance(text, str):
        raise InputError(f"{source}: an event is text such as \"A == 'x'\", not {quoted(text)}")
    return _Reader(Text(source, text), asked).event()


class _Reader:
    """A text while it is read: one token is looked at, the ones before it are understood."""

    def __init__(self, text: Text, asked: Subject) -> None:
        self.text, self.asked = text, asked
        self.tokens = _tokens(text)
        self.place = 0

    def event(self) -> Event:
        found = self._any(0)
        self._take("end", "and, or, or the end")
        return found

    @property
    def now(self) -> Token:
        return self.tokens[self.place]

    def _accept(self, kind: str) -> Token | None:
        if self.now.kind != kind:
            return None
        self.place += 1
        return self.tokens[self.place - 1]

    def _take(self, kind: str, expected: str) -> Token:
        found = self._accept(kind)
        if found is None:
            raise self._wrong(f"expected {expected}, found {_shown(self.now)}")
        return found

    def _wrong(self, message: str, at: int | None = None) -> InputError:
        return self.text.error(self.now.at if at is None else at, message)

    @contextmanager
    def _at(self, token: Token) -> Iterator[None]:
        """Say where a name or a value stands that nobody knows."""
        try:
            yield
        except InputError as error:
            raise self._wrong(error.message, token.at) from None

    def _any(self, depth: int) -> Event:
        parts = [self._all(depth)]
        while self._accept("or"):
            parts.append(self._all(depth))
        return combine_events("or", parts)

    def _all(self, depth: int) -> Event:
        parts = [self._one(depth)]
        while self._accept("and"):
            parts.append(self._one(depth))
        return combine_events("and", parts)

    def _one(self, depth: int) -> Event:
        opposite = False
        while self._accept("not"):
            opposite = not opposite
        if bracket := self._accept("("):
            if depth >= MOST_DEPTH:
                message = f"brackets are nested more than {MOST_DEPTH} deep; write it with fewer"
                raise self._wrong(message, bracket.at)
            found = self._any(depth + 1)
            self._take(")", "and, or, or ')'")
        else:
            found = self._compared()
        return negated(found) if opposite else found

    def _compared(self) -> Event:
        """A name, what it is compared with, or the name alone if it is true or false."""
        token = self._take("name", "a variable" + (NAMES if self.now.kind in "[{," else ""))
        with self._at(token):
            left = self.asked.find(token.word)
        if self._accept("=="):
            return self._equal(left)
        if self._accept("!="):
            return negated(self._equal(left))
        if self._accept("in"):
            return self._among(left)
        if self.now.kind == "not" and self.tokens[self.place + 1].kind == "in":
            self.place += 2
            return negated(self._among(left))
        if self.now.kind in ("<", ">", "<=", ">="):
            raise self._wrong("values have no order: compare with == or !=, or list them after in")
        if self.now.kind not in ("end", "and", "or", ")"):
            found = _shown(self.now)
            raise self._wrong(f"expected ==, !=, in, and, or, or the end, found {found}{NAMES}")
        with self._at(token):
            return _is(left, value_number(left.name, True, left.values))

    def _equal(self, left: Named) -> Event:
        token = self._take("name", f"a value of {left.name}")
        if self._is_other(left, token):
            return self._alike(left, self.asked.find(token.word), token)
        return _is(left, self._value(left, token))

    def _is_other(self, left: Named, token: Token) -> bool:
        """Whether a word is no value, but the name of another variable."""
        plain = not token.quoted and token.word not in left.values
        return plain and token.word in self.asked.known

    def _alike(self, left: Named, right: Named, token: Token) -> Event:
        same = np.array([[one == other for other in right.values] for one in left.values])
        if not same.any():
            raise self._wrong(f"{left.name} and {right.name} have no value in common", token.at)
        return condition([left, right], same)

    def _among(self, left: Named) -> Event:
        bracket = self.now
        if bracket.kind not in BRACKETS:
            raise self._wrong(
                f"expected a list of values such as ('a', 'b'), found {_shown(self.now)}"
            )
        self.place += 1
        values = [self._value(left, self._take("name", f"a value of {left.name}"))]
        while self._accept(","):
            if self.now.kind == BRACKETS[bracket.kind]:
                break
            values.append(self._value(left, self._take("name", f"a value of {left.name}")))
        self._take(BRACKETS[bracket.kind], f"a comma or {BRACKETS[bracket.kind]!r}")
        return _is(left, *values)

    def _value(self, left: Named, token: Token) -> int:
        with self._at(token):
            return value_number(left.name, _meant(token, left.values), left.values)


def _is(left: Named, *values: int) -> Event:
    return condition([left], np.isin(np.arange(len(left.values)), values))


def _meant(token: Token, values: Sequence[str]) -> str | int | bool:
    """A value by its name; without quotes also by its number, or true or false."""
    word = token.word
    if token.quoted or word in values:
        return word
    if word.lower() in TRUTHS:
        return TRUTHS[word.lower()]
    return int(word) if word.isascii() and word.isdigit() and len(word) < 10 else word


def _tokens(text: Text) -> list[Token]:
    found: list[Token] = []
    at = 0
    while not found or found[-1].kind != "end":
        match = TOKEN.match(text.content, at)
        assert match is not None  # what fits nothing else is wrong
        kind = match.lastgroup or ""
        start, word, at = match.start(kind), match[kind], match.end()
        if kind == "wrong":
            raise text.error(start, "a quote is not closed")
        if kind == "string":
            found.append(Token("name", re.sub(r"\\(.)", r"\1", word[1:-1]), start, True))
        elif kind == "end":
            found.append(Token("end", "", start))
        else:
            means = WORDS.get(word.lower(), word if kind == "sign" else "name")
            found.append(Token(means, word, start))
    return found


def _shown(token: Token) -> str:
    return "the end" if token.kind == "end" else quoted(token.word)
