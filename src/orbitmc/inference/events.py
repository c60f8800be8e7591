"""Events: conditions on names, how they are typed, and how a model is extended to show them.

Read events about variables: A == 'x' and (B != 'y' or C in ('u', 'v')).

Nothing is evaluated: names and values are looked up, and what is wrong is said with its column.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc._util.text import Text, quote, suggestion
from orbitmc.errors import InputError
from orbitmc.graph.evidence import value_number
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.transforms import Factor, extend
from orbitmc.inference.query import Target, View, atom_targets
from orbitmc.mln.grounding.queries import Pattern, query_atoms
from orbitmc.mln.language.grammar import Tree, parse_sentence
from orbitmc.mln.language.scanner import Source, Statement

if TYPE_CHECKING:
    from orbitmc.inference.program import MarkovLogic
    from orbitmc.mln.language.syntax import Predicate


# Events: conditions on names, joined by and, or, and if and only if.

MOST_DEPTH = 100  # brackets and negations within each other
Kind = Literal["and", "or", "iff"]
OPPOSITE: Mapping[Kind, Kind] = {"and": "or", "or": "and"}


@dataclass(frozen=True)
class Constant:
    """An event that is certain, or impossible."""

    holds: bool


@dataclass(frozen=True)
class Condition:
    """Which joint values of one or two names, none of them known, make an event true."""

    named: tuple[Target, ...]
    holds: NDArray[np.bool_]


@dataclass(frozen=True)
class Connective:
    """Several events; `iff` joins two."""

    kind: Kind
    parts: tuple[Event, ...]


Event = Constant | Condition | Connective


def condition(named: Sequence[Target], holds: NDArray[np.bool_]) -> Event:
    """A condition on names; what is known of them is settled."""
    known = tuple(slice(None) if target.known is None else target.known for target in named)
    left, open_ones = holds[known], tuple(target for target in named if target.known is None)
    if len(open_ones) == 2 and open_ones[0].name == open_ones[1].name:
        left, open_ones = left.diagonal(), open_ones[:1]
    if left.all() or not left.any():
        return Constant(bool(left.all()))
    return Condition(open_ones, left)


def combine_events(kind: Literal["and", "or"], events: Sequence[Event]) -> Event:
    """All of some events, or at least one; what is settled is left out."""
    decisive = kind == "or"
    parts: list[Event] = []
    for event in events:
        if isinstance(event, Constant):
            if event.holds == decisive:
                return event
        elif isinstance(event, Connective) and event.kind == kind:
            parts += event.parts
        else:
            parts.append(event)
    if not parts:
        return Constant(not decisive)
    return parts[0] if len(parts) == 1 else Connective(kind, tuple(parts))


def equivalent(left: Event, right: Event) -> Event:
    """Both of two events or none."""
    if isinstance(left, Constant):
        return right if left.holds else negate(right)
    if isinstance(right, Constant):
        return left if right.holds else negate(left)
    return Connective("iff", (left, right))


def negate(event: Event) -> Event:
    """The opposite event."""
    match event:
        case Constant(holds):
            return Constant(not holds)
        case Condition(named, holds):
            return Condition(named, ~holds)
        case Connective("iff", (left, right)):
            return Connective("iff", (negate(left), right))
        case Connective(kind, parts):
            return Connective(OPPOSITE[kind], tuple(map(negate, parts)))
    raise TypeError(event)


def names_in(event: Event) -> Iterator[Target]:
    """Every name in an event, repetitions included."""
    if isinstance(event, Condition):
        yield from event.named
    elif isinstance(event, Connective):
        for part in event.parts:
            yield from names_in(part)


def truth(event: Event, values: Callable[[Target], Any]) -> Any:
    """Whether an event holds, in one state or in many; `values` are those of a name in them."""
    match event:
        case Constant(holds):
            return np.bool_(holds)
        case Condition(named, holds):
            return holds[tuple(values(target) for target in named)]
        case Connective("iff", (left, right)):
            return truth(left, values) == truth(right, values)
        case Connective(kind, parts):
            holding = truth(parts[0], values)
            for part in parts[1:]:
                other = truth(part, values)
                holding = holding & other if kind == "and" else holding | other
            return holding
    raise TypeError(event)


def map_targets(event: Event, renew: Callable[[Target], Target]) -> Event:
    """The same event about other names."""
    match event:
        case Condition(named, holds):
            return condition([renew(target) for target in named], holds)
        case Connective("iff", (left, right)):
            return equivalent(map_targets(left, renew), map_targets(right, renew))
        case Connective("and" | "or" as kind, parts):
            return combine_events(kind, [map_targets(part, renew) for part in parts])
    return event


def masks_of(event: Event) -> dict[int, NDArray[np.bool_]] | None:
    """Which values each variable may have, if that is all an event says."""
    if isinstance(event, Condition) and len(event.named) == 1:
        target = event.named[0]
        return {target.variable: event.holds[target.meaning]}
    if not isinstance(event, Connective) or event.kind != "and":
        return None
    masks: dict[int, NDArray[np.bool_]] = {}
    for part in event.parts:
        part_masks = masks_of(part)
        if part_masks is None:
            return None
        for variable, mask in part_masks.items():
            masks[variable] = masks.get(variable, True) & mask
    return masks


TOKEN = re.compile(
    r"""\s*(?:(?P<string>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
    r"""|(?P<sign>==|!=|<>|<=|>=|&&|\|\||[=<>&|!~(),\[\]{}])"""
    r"""|(?P<word>(?!(?i:in)\[)[^\s'"=<>&|!~(),\[\]{}]+\[[0-9]+\]|[^\s'"=<>&|!~(),\[\]{}]+)"""
    r"""|(?P<wrong>\S)|(?P<end>\Z))""",
    re.DOTALL,
)  # a name may end in a time, as rain[3] does
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


def read_event(text: str, asked: View, source: str) -> Event:
    """Read an event about the variables of a model."""
    if not isinstance(text, str):
        raise InputError(f"{source}: an event is text such as \"A == 'x'\", not {quote(text)}")
    return _Reader(Text(source, text), asked).event()


class _Reader:
    """A text while it is read: one token is looked at, the ones before it are understood."""

    def __init__(self, text: Text, asked: View) -> None:
        self.text, self.asked = text, asked
        self.tokens = _tokens(text)
        self.place = 0

    def event(self) -> Event:
        event = self._any(0)
        self._take("end", "and, or, or the end")
        return event

    @property
    def now(self) -> Token:
        return self.tokens[self.place]

    def _accept(self, kind: str) -> Token | None:
        if self.now.kind != kind:
            return None
        self.place += 1
        return self.tokens[self.place - 1]

    def _take(self, kind: str, expected: str) -> Token:
        token = self._accept(kind)
        if token is None:
            raise self._wrong(f"expected {expected}, found {_quote_token(self.now)}")
        return token

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
            event = self._any(depth + 1)
            self._take(")", "and, or, or ')'")
        else:
            event = self._comparison()
        return negate(event) if opposite else event

    def _comparison(self) -> Event:
        """A name, what it is compared with, or the name alone if it is true or false."""
        token = self._take("name", "a variable" + (NAMES if self.now.kind in "[{," else ""))
        with self._at(token):
            left = self.asked.find(token.word)
        if self._accept("=="):
            return self._equal(left)
        if self._accept("!="):
            return negate(self._equal(left))
        if self._accept("in"):
            return self._among(left)
        if self.now.kind == "not" and self.tokens[self.place + 1].kind == "in":
            self.place += 2
            return negate(self._among(left))
        if self.now.kind in ("<", ">", "<=", ">="):
            raise self._wrong("values have no order: compare with == or !=, or list them after in")
        if self.now.kind not in ("end", "and", "or", ")"):
            quoted = _quote_token(self.now)
            raise self._wrong(f"expected ==, !=, in, and, or, or the end, found {quoted}{NAMES}")
        with self._at(token):
            return _is(left, value_number(left.name, True, left.values))

    def _equal(self, left: Target) -> Event:
        token = self._take("name", f"a value of {left.name}")
        if self._is_other(left, token):
            return self._alike(left, self.asked.find(token.word), token)
        return _is(left, self._value(left, token))

    def _is_other(self, left: Target, token: Token) -> bool:
        """Whether a word is no value, but the name of another variable."""
        plain = not token.quoted and token.word not in left.values
        return plain and token.word in self.asked.known

    def _alike(self, left: Target, right: Target, token: Token) -> Event:
        same = np.array([[value == other for other in right.values] for value in left.values])
        if not same.any():
            raise self._wrong(f"{left.name} and {right.name} have no value in common", token.at)
        return condition([left, right], same)

    def _among(self, left: Target) -> Event:
        bracket = self.now
        if bracket.kind not in BRACKETS:
            raise self._wrong(
                f"expected a list of values such as ('a', 'b'), found {_quote_token(self.now)}"
            )
        self.place += 1
        values = [self._value(left, self._take("name", f"a value of {left.name}"))]
        while self._accept(","):
            if self.now.kind == BRACKETS[bracket.kind]:
                break
            values.append(self._value(left, self._take("name", f"a value of {left.name}")))
        self._take(BRACKETS[bracket.kind], f"a comma or {BRACKETS[bracket.kind]!r}")
        return _is(left, *values)

    def _value(self, left: Target, token: Token) -> int:
        with self._at(token):
            return value_number(left.name, _lookup_value(token, left.values), left.values)


def _is(left: Target, *values: int) -> Event:
    return condition([left], np.isin(np.arange(len(left.values)), values))


def _lookup_value(token: Token, values: Sequence[str]) -> str | int | bool:
    """A value by its name; without quotes also by its number, or true or false."""
    word = token.word
    if token.quoted or word in values:
        return word
    if word.lower() in TRUTHS:
        return TRUTHS[word.lower()]
    return int(word) if word.isascii() and word.isdigit() and len(word) < 10 else word


def _tokens(text: Text) -> list[Token]:
    tokens: list[Token] = []
    at = 0
    while not tokens or tokens[-1].kind != "end":
        match = TOKEN.match(text.content, at)
        assert match is not None  # what fits nothing else is wrong
        kind = match.lastgroup or ""
        start, word, at = match.start(kind), match[kind], match.end()
        if kind == "wrong":
            raise text.error(start, "a quote is not closed")
        if kind == "string":
            tokens.append(Token("name", re.sub(r"\\(.)", r"\1", word[1:-1]), start, True))
        elif kind == "end":
            tokens.append(Token("end", "", start))
        else:
            means = WORDS.get(word.lower(), word if kind == "sign" else "name")
            tokens.append(Token(means, word, start))
    return tokens


def _quote_token(token: Token) -> str:
    return "the end" if token.kind == "end" else quote(token.word)


# Read events about ground atoms: formulas of Markov logic, as in Smokes(Anna) ^ !Cancer(Bob).

REFUSED = {
    "quantified": "an event is about ground atoms: quantifiers are not read here",
    "comparison": "an event is about ground atoms: comparisons of terms are not read here",
    "per_constant": "an event has no weights: leave out +",
    "starred": "an event is one formula: leave out *",
}


FindAtoms = Callable[[Pattern], Sequence[Target]]
"""Finds the ground atoms that fit a pattern."""


def read_formula(text: str, program: MarkovLogic, source: str) -> Event:
    """Read a formula of ground atoms, in the dialect of a program."""

    def find(pattern: Pattern) -> Sequence[Target]:
        return atom_targets(program, query_atoms(program.ground, [pattern]))

    return read_formula_about(text, program, source, find)


def read_formula_about(text: str, program: MarkovLogic, source: str, find: FindAtoms) -> Event:
    """Read a formula about ground atoms that somebody finds."""
    if not isinstance(text, str):
        raise InputError(f"{source}: an event is text such as Smokes(Anna), not {quote(text)}")
    statement = Statement(Source(source, text), 0, text)
    read = program.source.program
    tree = parse_sentence(statement, read.notation).tree
    return _Meaning(statement, read.predicates, find).of(tree, 0)


class _Meaning:
    """What the parts of a formula mean in a program."""

    def __init__(
        self, statement: Statement, predicates: Mapping[str, Predicate], find: FindAtoms
    ) -> None:
        self.statement, self.predicates, self.find = statement, predicates, find

    def of(self, tree: Tree, depth: int) -> Event:
        if depth > MOST_DEPTH:
            raise self._wrong(tree, f"it is nested more than {MOST_DEPTH} deep; write it with less")
        if tree.kind in ("application", "name"):
            return self._atom(tree)
        if tree.kind not in ("and", "or", "not", "implies", "iff"):
            raise self._wrong(tree, REFUSED.get(tree.kind, "expected a ground atom"))
        parts = [self.of(part, depth + 1) for part in tree.parts]
        if tree.kind == "not":
            return negate(parts[0])
        if tree.kind == "implies":
            return combine_events("or", [negate(parts[0]), parts[1]])
        if tree.kind == "iff":
            return equivalent(parts[0], parts[1])
        return combine_events("and" if tree.kind == "and" else "or", parts)

    def _wrong(self, tree: Tree, message: str) -> InputError:
        return self.statement.error(tree.start, message)

    def _atom(self, tree: Tree) -> Event:
        known = self.predicates
        if tree.word not in known:
            near = suggestion(tree.word, known)
            raise self._wrong(tree, f"there is no predicate {quote(tree.word)}{near}")
        arity = len(known[tree.word].types)
        if len(tree.parts) != arity:
            raise self._wrong(tree, f"{tree.word} takes {arity} arguments, not {len(tree.parts)}")
        words = tuple((self._constant(part), True) for part in tree.parts)
        try:
            named = self.find(Pattern(tree.word, words or None))
        except InputError as error:
            raise self._wrong(tree, error.message.replace("the query names", "it names")) from None
        if len(named) != 1:
            raise self._wrong(
                tree, f"{len(named)} atoms fit {quote(tree.word)}: name one ground atom"
            )
        return condition(named, np.array([False, True]))

    def _constant(self, tree: Tree) -> str:
        if tree.kind == "string":
            return re.sub(r"\\(.)", r"\1", tree.word[1:-1])
        if tree.kind not in ("name", "number"):
            raise self._wrong(tree, "expected a constant: an event is about ground atoms")
        return tree.word


# An event as helper variables of a graph, so that elimination finds its probability.
#
# A helper says whether a part of the event holds; a factor over it, and over what it depends on,
# allows nothing else. Each joins two others, so tables stay small however long the event is.

TRUE = np.array([False, True])


class Indicator(NamedTuple):
    """A variable, and those of its values that mean yes."""

    variable: int
    yes: NDArray[np.bool_]


class EventEncoder:
    """Helper variables behind those of a graph, with their `sizes` and `factors`."""

    def __init__(self, variables: int) -> None:
        self.variables = variables
        self.sizes: list[int] = []
        self.factors: list[Factor] = []

    def extend(self, graph: FactorGraph) -> FactorGraph:
        """The graph with all helpers."""
        return extend(graph, self.factors, self.sizes)

    def signal(self, event: Event) -> Indicator:
        """Where it can be seen whether an event, which is not settled, holds."""
        if isinstance(event, Condition):
            return self._condition(event)
        assert isinstance(event, Connective)
        signal = self.signal(event.parts[0])
        for part in event.parts[1:]:
            signal = self._join(event.kind, signal, self.signal(part))
        return signal

    def require(self, event: Event) -> None:
        """Make an event certain."""
        variable, yes = self.signal(event)
        self._add((variable,), yes)

    def _condition(self, event: Condition) -> Indicator:
        first = event.named[0]
        if len(event.named) == 1:
            return Indicator(first.variable, event.holds[first.meaning])
        second = event.named[1]
        holds = event.holds[np.ix_(first.meaning, second.meaning)]
        if first.variable == second.variable:
            return Indicator(first.variable, holds.diagonal())
        return self._helper((first.variable, second.variable), holds)

    def _join(self, kind: str, left: Indicator, right: Indicator) -> Indicator:
        if left.variable == right.variable:
            return Indicator(left.variable, _both(kind, left.yes, right.yes))
        holds = _both(kind, left.yes[:, None], right.yes[None, :])
        return self._helper((left.variable, right.variable), holds)

    def _helper(self, scope: Sequence[int], holds: NDArray[np.bool_]) -> Indicator:
        helper = self.variables + len(self.sizes)
        self.sizes.append(2)
        self._add((*scope, helper), holds[..., None] == TRUE)
        return Indicator(helper, TRUE)

    def _add(self, scope: tuple[int, ...], allowed: NDArray[np.bool_]) -> None:
        self.factors.append((scope, np.where(allowed, 0.0, -np.inf)))


def _both(kind: str, left: NDArray[np.bool_], right: NDArray[np.bool_]) -> NDArray[np.bool_]:
    both: NDArray[np.bool_] = (
        left & right if kind == "and" else left | right if kind == "or" else left == right
    )
    return both
