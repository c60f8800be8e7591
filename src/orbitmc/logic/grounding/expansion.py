"""Rewrite formulas: replace quantifiers by their bindings, push negations, find guards."""

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from orbitmc.errors import LimitError
from orbitmc.logic.databases.universe import Universe
from orbitmc.logic.language.grammar import MOST_PARTS
from orbitmc.logic.language.syntax import (
    And,
    Arithmetic,
    Atom,
    Comparison,
    Constant,
    Count,
    Exist,
    Forall,
    Formula,
    Iff,
    Implies,
    Not,
    Or,
    Term,
    Truth,
    Variable,
    parts,
    parts_of,
    with_parts,
)

OPPOSITE = {"=": "!=", "!=": "=", "<=": ">", ">": "<=", ">=": "<", "<": ">="}


@dataclass(frozen=True)
class Guard:
    """An atom or comparison, and the truth it needs for the formula to be undecided."""

    part: Atom | Comparison
    needed: bool


def without_quantifiers(formula: Formula, types: Mapping[str, str], universe: Universe) -> Formula:
    """Replace EXIST by a disjunction and FORALL by a conjunction over all constants."""
    size = _expanded_size(formula, types, universe)
    if size > MOST_PARTS:
        raise LimitError(
            f"{_why_so_many(formula)} {size:,.0f} atoms in each grounding, over the limit of "
            f"{MOST_PARTS:,}"
        )
    return _expanded(formula, types, universe, {})


def _why_so_many(formula: Formula) -> str:
    """What makes a formula long: what it says of all constants, or its own atoms."""
    if sum(1 for _ in parts_of(formula)) > MOST_PARTS:
        return "this formula has"
    return "replacing the quantifiers of this formula gives"


def _expanded_size(formula: Formula, types: Mapping[str, str], universe: Universe) -> float:
    match formula:
        case Exist(variables, body) | Forall(variables, body):
            copies = math.prod(universe.size(types[name]) for name in variables)
            return copies * _expanded_size(body, types, universe)
        case Count(variables, found, _, _):
            copies = math.prod(universe.size(types[name]) for name in variables)
            return copies * sum(_expanded_size(part, types, universe) for part in found)
        case Atom() | Comparison() | Truth():
            return 1.0
    return sum(_expanded_size(part, types, universe) for part in parts(formula))


def _expanded(
    formula: Formula, types: Mapping[str, str], universe: Universe, bound: Mapping[str, Constant]
) -> Formula:
    match formula:
        case Exist(variables, body):
            return Or(tuple(_instances(variables, body, types, universe, bound)))
        case Forall(variables, body):
            return And(tuple(_instances(variables, body, types, universe, bound)))
        case Count(variables, found, operator, number):
            each = [_instances(variables, part, types, universe, bound) for part in found]
            return Count((), tuple(itertools.chain(*each)), operator, number)
        case Atom():
            return replace(
                formula, arguments=tuple(_bound(term, bound) for term in formula.arguments)
            )
        case Comparison(operator, left, right):
            return Comparison(operator, _bound(left, bound), _bound(right, bound))
    return with_parts(formula, lambda part: _expanded(part, types, universe, bound))


def _instances(
    variables: tuple[str, ...],
    body: Formula,
    types: Mapping[str, str],
    universe: Universe,
    bound: Mapping[str, Constant],
) -> Iterator[Formula]:
    constants = [map(Constant, universe.constants[types[name]]) for name in variables]
    for chosen in itertools.product(*constants):
        inner = {**bound, **dict(zip(variables, chosen, strict=True))}
        yield _expanded(body, types, universe, inner)


def _bound(term: Term, bound: Mapping[str, Constant]) -> Term:
    match term:
        case Variable(name):
            return bound.get(name, term)
        case Arithmetic(function, arguments):
            return Arithmetic(function, tuple(_bound(part, bound) for part in arguments))
    return term


def negation_normal(formula: Formula, wanted: bool = True) -> Formula:
    """Push negations down to atoms; implications and equivalences become and, or."""
    match formula:
        case Not(body):
            return negation_normal(body, not wanted)
        case And(parts) | Or(parts):
            pushed = tuple(negation_normal(part, wanted) for part in parts)
            conjunction = isinstance(formula, And) == wanted
            return _flat(And if conjunction else Or, pushed)
        case Implies(left, right):
            return negation_normal(Or((Not(left), right)), wanted)
        case Iff(left, right):
            both = And((Or((Not(left), right)), Or((left, Not(right)))))
            return negation_normal(both, wanted)
        case Exist(variables, body) | Forall(variables, body):
            some = isinstance(formula, Exist) == wanted
            return (Exist if some else Forall)(variables, negation_normal(body, wanted))
        case Truth(holds):
            return Truth(holds == wanted)
        case Count(variables, found, operator, number):
            inner = tuple(negation_normal(part) for part in found)
            return Count(variables, inner, operator if wanted else OPPOSITE[operator], number)
        case Comparison("!=", first, second):
            return negation_normal(Comparison("=", first, second), not wanted)
    return formula if wanted else Not(formula)


def _flat(kind: type[And] | type[Or], parts: tuple[Formula, ...]) -> Formula:
    flat: list[Formula] = []
    for part in parts:
        flat += part.parts if isinstance(part, kind) else (part,)
    return flat[0] if len(flat) == 1 else kind(tuple(flat))


def guards(formula: Formula, decided: bool) -> list[Guard]:
    """What must hold for the formula to be anything but `decided`."""
    match formula:
        case Atom() | Comparison():
            return [Guard(formula, not decided)]
        case Not(body):
            return guards(body, not decided)
        case Implies(left, right):
            return guards(left, False) + guards(right, True) if decided else []
        case Or(parts) if decided:
            return [guard for part in parts for guard in guards(part, True)]
        case And(parts) if not decided:
            return [guard for part in parts for guard in guards(part, False)]
        case Or((part,)) | And((part,)):
            return guards(part, decided)
    return []
