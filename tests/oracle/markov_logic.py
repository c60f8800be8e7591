"""Markov logic by its definition: list all worlds, add up the weights of what holds in each.

Nothing here knows the package. A term that starts with a capital is a constant, any other a
variable. The truth of a formula is an array, with an entry for each world.
"""

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Atom:
    name: str
    terms: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.name}({','.join(self.terms)})" if self.terms else self.name


@dataclass(frozen=True)
class Star:
    """An atom that stands for itself in one copy of the formula, negated in another."""

    atom: Atom


@dataclass(frozen=True)
class Equal:
    left: str
    right: str


@dataclass(frozen=True)
class Not:
    body: "Formula"


@dataclass(frozen=True)
class Join:
    """Parts joined by ^ or v; or two, joined by => or <=>."""

    word: str
    parts: tuple["Formula", ...]


@dataclass(frozen=True)
class Quantified:
    """EXIST or FORALL."""

    word: str
    names: tuple[str, ...]
    body: "Formula"


Formula = Atom | Star | Equal | Not | Join | Quantified
Worlds = Mapping[Atom, np.ndarray]
Bound = Mapping[str, str]
Domains = Mapping[str, tuple[str, ...]]
"""The constants that a variable, or an argument of a type, ranges over."""


@dataclass(frozen=True)
class Predicate:
    name: str
    types: tuple[str, ...]
    exclusive: tuple[bool, ...]
    starred: bool = False


@dataclass(frozen=True)
class Rule:
    """A weight (infinite if hard) and a formula, with a copy for each constant of the `per`."""

    weight: float
    formula: Formula
    per: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Case:
    """A program, what is known, and what is asked. Evidence is a probability, or None: unknown."""

    constants: Mapping[str, tuple[str, ...]]
    predicates: Mapping[str, Predicate]
    variables: Mapping[str, str]
    rules: tuple[Rule, ...]
    evidence: Mapping[Atom, float | None]
    query: frozenset[str] | None = None
    opened: frozenset[str] = frozenset()
    closed: frozenset[str] = frozenset()
    dialect: str = "alchemy"
    meaning: str = "formula"
    domains: Domains = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "domains", _domains(self))


def children(formula: Formula) -> tuple[Formula, ...]:
    match formula:
        case Not(body) | Quantified(_, _, body):
            return (body,)
        case Join(_, parts):
            return parts
        case Star(atom):
            return (atom,)
    return ()


def atoms_of(formula: Formula) -> Iterator[Atom]:
    if isinstance(formula, Atom):
        yield formula
    for part in children(formula):
        yield from atoms_of(part)


def is_constant(term: str) -> bool:
    return term[0].isupper()


def free(formula: Formula, bound: frozenset[str] = frozenset()) -> set[str]:
    """The variables that no quantifier binds."""
    match formula:
        case Atom(_, terms):
            return {term for term in terms if not is_constant(term)} - bound
        case Equal(left, right):
            return {term for term in (left, right) if not is_constant(term)} - bound
        case Quantified(_, names, body):
            return free(body, bound | set(names))
    return set().union(*(free(part, bound) for part in children(formula)))


def copies(formula: Formula) -> list[Formula]:
    """The formulas that one with stars stands for."""
    match formula:
        case Star(atom):
            return [atom, Not(atom)]
        case Not(body):
            return [Not(one) for one in copies(body)]
        case Quantified(word, names, body):
            return [Quantified(word, names, one) for one in copies(body)]
        case Join(word, parts):
            return [Join(word, chosen) for chosen in itertools.product(*map(copies, parts))]
    return [formula]


def bindings(names: set[str] | tuple[str, ...], domains: Domains) -> Iterator[dict[str, str]]:
    """All values of variables; what follows # in a name tells variables of one type apart."""
    ordered = sorted(names)
    for constants in itertools.product(*(domains[name.partition("#")[0]] for name in ordered)):
        yield dict(zip(ordered, constants, strict=True))


def holds(formula: Formula, bound: Bound, worlds: Worlds, domains: Domains) -> np.ndarray:
    """In which worlds a formula is true."""

    def inner(part: Formula, more: Bound | None = None) -> np.ndarray:
        return holds(part, {**bound, **(more or {})}, worlds, domains)

    match formula:
        case Atom(name, terms):
            return worlds[Atom(name, tuple(bound.get(term, term) for term in terms))]
        case Equal(left, right):
            return np.array([bound.get(left, left) == bound.get(right, right)])
        case Not(body):
            return ~inner(body)
        case Join("=>", (left, right)):
            return ~inner(left) | inner(right)
        case Join("<=>", (left, right)):
            return inner(left) == inner(right)
        case Join(word, parts):
            truths = [inner(part) for part in parts]
            return _all(truths) if word == "^" else ~_all([~truth for truth in truths])
        case Quantified(word, names, body):
            truths = [inner(body, more) for more in bindings(names, domains)]
            return _all(truths) if word == "FORALL" else ~_all([~truth for truth in truths])
    raise TypeError(formula)


def _all(truths: list[np.ndarray]) -> np.ndarray:
    total = truths[0]
    for truth in truths[1:]:
        total = total & truth
    return total


def _domains(case: Case) -> Domains:
    """Constants of types, from lists, formulas and evidence; and those of variables."""
    found = {kind: dict.fromkeys(names) for kind, names in case.constants.items()}
    spoken = itertools.chain(case.evidence, *(atoms_of(rule.formula) for rule in case.rules))
    for atom in spoken:
        for kind, term in zip(case.predicates[atom.name].types, atom.terms, strict=True):
            if is_constant(term):
                found.setdefault(kind, {})[term] = None
    domains = {kind: tuple(names) for kind, names in found.items()}
    return domains | {name: domains[kind] for name, kind in case.variables.items() if kind in found}
