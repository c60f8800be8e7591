"""Hugin's .net: Bayesian networks with named states.

`node NAME { states = ("a" "b"); }` declares a variable, `potential (C | P Q) { data = (...); }` its
probabilities: the child changes fastest, then the last parent. Parentheses within data only group.
Other attributes are skipped; `%` begins a comment. A potential without data is uniform. One formula
is read: `model_data = ( NoisyOR (A, 0.1, B, 0.2) )`, where each number is how probably a true
parent fails to make the child true.
"""

import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from orbitmc._util.text import (
    MEMORY,
    Text,
    number_in,
    quote,
    read_text,
    require_memory,
    suggestion,
)
from orbitmc.errors import InputError
from orbitmc.formats import assembly as bayes
from orbitmc.formats.bif import BYTES_PER_ENTRY, MOST_WORDS
from orbitmc.graph.causal_influence import Influences, noisy_or
from orbitmc.graph.model import Model

NET_PIECE = re.compile(
    r'\s++|%[^\n]*+|(?P<text>"[^"\\]*+(?:\\.[^"\\]*+)*+")|(?P<mark>[{}()|;=])'
    r'|(?P<word>[^\s{}()|;="%]++)'
)
NET_PLAIN = re.compile(r'[^{}|;="%]*+')
NET_WORD = re.compile(r"[^\s()]+")
NET_BYTES_PER_CHARACTER = 60
NODE_KINDS = ("node", "discrete")
NET_REFUSED = ("decision", "utility", "continuous", "function", "class")
"""What a network may hold that is no table of probabilities of values."""


class Piece(NamedTuple):
    """Where a piece stands, what it is, and what it says; at the end of a file it is nothing."""

    at: int
    kind: str
    text: str


class Pieces:
    """Words, texts and marks of a file, one after the other; none is kept."""

    def __init__(self, text: Text) -> None:
        self.text = text
        self.offset = 0
        self.next = self._scan()

    def _scan(self) -> Piece:
        """Find the next piece, after white space and comments."""
        at, content = self.offset, self.text.content
        while at < len(content):
            match = NET_PIECE.match(content, at)
            if match is None:
                raise self.text.error(at, "the text that begins here never ends")
            if match.lastgroup is not None:
                self.offset = match.end()
                return Piece(at, match.lastgroup, match.group())
            at = match.end()
        self.offset = at
        return Piece(at, "", "")

    @property
    def at(self) -> int:
        """Where the next piece stands."""
        return self.next.at

    def at_end(self) -> bool:
        return not self.next.kind

    def accept(self, mark: str) -> bool:
        matches = self.next_is(mark)
        if matches:
            self.next = self._scan()
        return matches

    def take(self, mark: str) -> None:
        if not self.accept(mark):
            raise self.unexpected(repr(mark))

    def word(self, what: str) -> str:
        """Take a word, or a text in quotes without them."""
        if self.at_end() or self.next.kind == "mark":
            raise self.unexpected(what)
        piece = self.next
        self.next = self._scan()
        if piece.kind == "word":
            return piece.text
        plain = piece.text[1:-1]
        return re.sub(r"\\(.)", r"\1", plain) if "\\" in plain else plain

    def plain(self) -> str:
        """Take words and brackets, as many as follow each other."""
        match = NET_PLAIN.match(self.text.content, self.next.at)
        assert match  # it may be empty, but it always matches
        if match.end() > self.next.at:
            self.offset = match.end()
            self.next = self._scan()
        return match.group()

    def phrase(self, ends: Callable[[], bool], what: str) -> str:
        """Take words up to an end: some programs write names with spaces and without quotes."""
        words = [self.word(what)]
        while not ends():
            if len(words) == MOST_WORDS:
                raise self.unexpected(f"{what} of at most {MOST_WORDS:,} words")
            words.append(self.word(what))
        return " ".join(words)

    def next_is(self, *marks: str) -> bool:
        """Whether one of some marks comes next."""
        return self.next.kind == "mark" and self.next.text in marks

    def unexpected(self, what: str) -> InputError:
        token = "the end of the file" if self.at_end() else quote(self.next.text)
        return self.text.error(self.at, f"expected {what}, found {token}")


def read_net(path: str | Path, *, memory: int = MEMORY) -> Model:
    """Read a Bayesian network: one factor per potential, in the order of the file."""
    text = read_text(path, memory=memory)
    require_memory(text.source, NET_BYTES_PER_CHARACTER * len(text.content), memory)
    pieces, network = Pieces(text), bayes.BayesianNetwork()
    while not pieces.at_end() or not network.domains:
        at = pieces.at
        kind = pieces.word("net, node or potential")
        if kind == "net":
            _skip_attributes(pieces)
        elif kind in NODE_KINDS:
            _read_node(pieces, network, kind)
        elif kind == "potential":
            _read_potential(pieces, network, memory)
        elif kind in NET_REFUSED:
            raise text.error(at, f"a {kind} is no table of probabilities of discrete nodes")
        else:
            raise text.error(at, f"expected net, node or potential, found {quote(kind)}")
    _require_complete(text, network)
    return network.model(text)


def _read_node(pieces: Pieces, network: bayes.BayesianNetwork, kind: str) -> None:
    if kind == "discrete" and pieces.word("node") != "node":
        raise pieces.unexpected("node after discrete")
    at = pieces.at
    name = pieces.phrase(lambda: pieces.next_is("{"), "the name of a node")
    if name in network.domains:
        raise pieces.text.error(at, f"node {quote(name)} is declared twice")
    states: list[str] = []
    pieces.take("{")
    while not pieces.accept("}"):
        if pieces.word("an attribute or '}'") == "states":
            states = _read_states(pieces)
        else:
            _skip_value(pieces)
    if not states or len(set(states)) != len(states):
        raise pieces.text.error(at, f"node {quote(name)} needs states = (...), all different")
    network.declare(name, states)


def _read_states(pieces: Pieces) -> list[str]:
    pieces.take("=")
    pieces.take("(")
    states = []
    while not pieces.accept(")"):
        states.append(pieces.word("a state or ')'"))
    pieces.take(";")
    return states


def _read_potential(pieces: Pieces, network: bayes.BayesianNetwork, memory: int) -> None:
    pieces.take("(")
    at = pieces.at
    child = _known_node(pieces, network)
    parents = []
    if pieces.accept("|"):
        while not pieces.next_is(")"):
            parents.append(_known_node(pieces, network))
    if not pieces.accept(")"):
        raise pieces.unexpected("'|' or ')': a potential has one child")
    if child in network.blocks:
        raise pieces.text.error(at, f"a second potential of {quote(child)}")
    if len({child, *parents}) <= len(parents):
        raise pieces.text.error(at, f"a node stands twice in the potential of {quote(child)}")
    sizes = [len(network.domains[name]) for name in [*parents, child]]
    body = _read_body(pieces)
    network.places[child] = at
    if body.formula is not None:
        network.entries += sizes[-1] ** 2 * sum(sizes)
        require_memory(pieces.text.source, BYTES_PER_ENTRY * network.entries, memory)
        network.blocks[child] = _noisy_or(pieces.text, body.formula, child, parents, network)
        return
    weights = body.weights
    network.entries += math.prod(sizes)
    require_memory(pieces.text.source, BYTES_PER_ENTRY * network.entries, memory)
    if not weights:
        weights = [1.0 / sizes[-1]] * math.prod(sizes)
    if len(weights) != math.prod(sizes):
        wanted, count = math.prod(sizes), len(weights)
        raise pieces.text.error(at, f"{quote(child)} needs {wanted} numbers, found {count}")
    network.blocks[child] = bayes.Block(parents, np.array(weights))


def _known_node(pieces: Pieces, network: bayes.BayesianNetwork) -> str:
    """Take the name of a node; one with spaces is longer than a word."""
    at, name = pieces.at, pieces.word("the name of a node")
    while name not in network.domains and network.beginnings.have(name):
        name = f"{name} {pieces.word('the rest of the name of a node')}"
    if name not in network.domains:
        near = suggestion(name, network.domains)
        raise pieces.text.error(at, f"unknown node {quote(name)}{near} (declare it before)")
    return name


class _Body(NamedTuple):
    """What a potential says: numbers, or a formula and where it stands."""

    weights: list[float]
    formula: tuple[int, str] | None = None


def _read_body(pieces: Pieces) -> _Body:
    body = _Body([])
    pieces.take("{")
    while not pieces.accept("}"):
        at, word = pieces.at, pieces.word("data or '}'")
        if word == "data":
            body = body._replace(weights=_read_data(pieces))
        elif word == "model_data":
            pieces.take("=")
            body = body._replace(formula=(at, pieces.plain()))
            if not pieces.accept(";"):
                raise pieces.text.error(at, ONE_FORMULA)
        else:
            _skip_value(pieces)
    return body


NOISY_OR = re.compile(r"\(\s*NoisyOR\s*\(([^()]*)\)\s*\)\s*", re.IGNORECASE)
ONE_FORMULA = (
    "a potential given by a formula: save it as a table (the formula that is read is NoisyOR of "
    "parents and numbers)"
)


def _noisy_or(
    text: Text,
    formula: tuple[int, str],
    child: str,
    parents: Sequence[str],
    network: bayes.BayesianNetwork,
) -> Influences:
    """Causes and how probably each fails; `true` stands for a cause that is always there."""
    at, words = formula
    match = NOISY_OR.fullmatch(words.strip())
    terms = [] if match is None else [term.strip() for term in match[1].split(",")]
    if not terms or len(terms) % 2:
        raise text.error(at, ONE_FORMULA)
    leak, causes = 1.0, dict[str, float]()
    for name, word in zip(terms[::2], terms[1::2], strict=True):
        fails = number_in(word)
        if not 0 <= fails <= 1:
            raise text.error(at, f"expected a probability after {quote(name)}, found {quote(word)}")
        if name.casefold() == "true":
            leak *= fails
        elif name not in parents:
            near = suggestion(name, parents)
            raise text.error(at, f"{quote(name)} is no parent of {quote(child)}{near}")
        else:
            causes[name] = 1.0 - (1.0 - causes.get(name, 0.0)) * fails
    try:
        return noisy_or(child, causes, leak=1.0 - leak).resolve(network.domains)
    except InputError as error:
        raise text.error(at, error.message) from None


def _read_data(pieces: Pieces) -> list[float]:
    pieces.take("=")
    weights: list[float] = []
    depth = 0
    while not pieces.accept(";"):
        at, text = pieces.at, pieces.plain()
        if not text:
            raise pieces.unexpected("a number")
        depth = _depth_after(pieces.text, at, text, depth)
        weights += _numbers(pieces.text, at, text)
    if depth:
        raise pieces.unexpected("as many ')' as '('")
    return weights


def _depth_after(text: Text, at: int, plain: str, depth: int) -> int:
    """How many brackets are open after a piece of text that stands there."""
    if ")" not in plain:
        return depth + plain.count("(")
    letters = np.frombuffer(plain.encode("utf-32-le"), dtype=np.int32)
    steps = (letters == ord("(")).astype(np.int8) - (letters == ord(")"))
    depths = depth + np.cumsum(steps, dtype=np.int32)
    if depths.min() < 0:
        raise text.error(at + int((depths < 0).argmax()), "expected no more ')', found ')'")
    return int(depths[-1])


def _numbers(text: Text, at: int, plain: str) -> list[float]:
    """The numbers in a piece of text that stands there, finite and not negative."""
    words = plain.replace("(", " ").replace(")", " ").split()
    numbers = list(map(number_in, words))
    for word, number in zip(words, numbers, strict=True):
        if not 0 <= number < math.inf:
            place = next(m.start() for m in NET_WORD.finditer(plain) if m.group() == word)
            wanted = "a number (finite, not negative)"
            raise text.error(at + place, f"expected {wanted}, found {quote(word)}")
    return numbers


def _skip_attributes(pieces: Pieces) -> None:
    pieces.take("{")
    while not pieces.accept("}"):
        pieces.word("an attribute or '}'")
        _skip_value(pieces)


def _skip_value(pieces: Pieces) -> None:
    pieces.take("=")
    while not pieces.accept(";"):
        if not (pieces.accept("(") or pieces.accept(")")):
            pieces.word("the value of an attribute and ';'")


def _require_complete(text: Text, network: bayes.BayesianNetwork) -> None:
    for name in network.domains:
        if name not in network.blocks:
            raise text.error(len(text.content), f"node {quote(name)} has no potential")
