"""What Alchemy pays weights for: the clauses of a formula, which share its weight.

FORALL is dropped where its variables can become free, other quantifiers are replaced by their
instances, the rest becomes a conjunction of clauses, each a set of literals. Clauses of a single
literal are taken together as one conjunction. All have an equal share, tautologies and repetitions
too; a tautology earns its share always, which makes no difference.
"""

import itertools
from collections.abc import Iterator

from tests.oracle.markov_logic import (
    Atom,
    Domains,
    Equal,
    Formula,
    Join,
    Not,
    Quantified,
    bindings,
    free,
)

Literal = tuple[Atom | Equal, bool]
MOST = 400


class TooManyClausesError(Exception):
    """The formula is too large for this slow way."""


def clauses(weight: float, formula: Formula, domains: Domains) -> list[tuple[float, Formula]]:
    """Formulas and their weights, which Alchemy uses in place of a soft formula."""
    renamed = _renamed(formula, {}, itertools.count())
    found = _conjunction(_dropped(_pushed(renamed, True)), {}, domains)
    single = [next(iter(clause)) for clause in found if len(clause) == 1]
    longer = [Join("v", _formulas(clause)) for clause in found if len(clause) > 1]
    paid = longer + ([Join("^", _formulas(single))] if single else [])
    return [(weight / len(paid), part) for part in paid]


def _formulas(literals: frozenset[Literal] | list[Literal]) -> tuple[Formula, ...]:
    return tuple(atom if sign else Not(atom) for atom, sign in literals)


def _renamed(formula: Formula, names: dict[str, str], number: Iterator[int]) -> Formula:
    """Let no two quantifiers bind the same name, nor any a name that stands nowhere."""
    match formula:
        case Atom(name, terms):
            return Atom(name, tuple(names.get(term, term) for term in terms))
        case Equal(left, right):
            return Equal(names.get(left, left), names.get(right, right))
        case Not(body):
            return Not(_renamed(body, names, number))
        case Join(word, parts):
            return Join(word, tuple(_renamed(part, names, number) for part in parts))
        case Quantified(word, bound, body):
            used = [name for name in bound if name in free(body)]
            fresh = {name: f"{name}#{next(number)}" for name in used}
            renamed = _renamed(body, names | fresh, number)
            return Quantified(word, tuple(fresh.values()), renamed) if used else renamed
    raise TypeError(formula)


def _pushed(formula: Formula, wanted: bool) -> Formula:
    """Only ^, v, quantifiers, and negations of atoms."""
    other = {"^": "v", "v": "^", "EXIST": "FORALL", "FORALL": "EXIST"}
    match formula:
        case Not(body):
            return _pushed(body, not wanted)
        case Join("=>", (left, right)):
            return _pushed(Join("v", (Not(left), right)), wanted)
        case Join("<=>", (left, right)):
            ways = Join("=>", (left, right)), Join("=>", (right, left))
            return _pushed(Join("^", ways), wanted)
        case Join(word, parts):
            return Join(word if wanted else other[word], tuple(_pushed(p, wanted) for p in parts))
        case Quantified(word, names, body):
            return Quantified(word if wanted else other[word], names, _pushed(body, wanted))
    return formula if wanted else Not(formula)


def _dropped(formula: Formula) -> Formula:
    match formula:
        case Quantified("FORALL", _, body):
            return _dropped(body)
        case Join(word, parts):
            return Join(word, tuple(map(_dropped, parts)))
    return formula


def _conjunction(formula: Formula, bound: dict[str, str], domains: Domains) -> list[frozenset]:
    """Clauses that a formula is the conjunction of, each a set of literals."""

    def at(term: str) -> str:
        return bound.get(term, term)

    match formula:
        case Atom(name, terms):
            return [frozenset([(Atom(name, tuple(map(at, terms))), True)])]
        case Equal(left, right):
            return [frozenset([(Equal(at(left), at(right)), True)])]
        case Not(body):
            ((literal,),) = _conjunction(body, bound, domains)
            return [frozenset([(literal[0], False)])]
        case Join("^", parts):
            return [one for part in parts for one in _conjunction(part, bound, domains)]
        case Join("v", parts):
            return _multiplied([_conjunction(part, bound, domains) for part in parts])
        case Quantified(word, names, body):
            more = [{**bound, **chosen} for chosen in bindings(names, domains)]
            parts = [_conjunction(body, one, domains) for one in more]
            return list(itertools.chain(*parts)) if word == "FORALL" else _multiplied(parts)
    raise TypeError(formula)


def _multiplied(parts: list[list[frozenset]]) -> list[frozenset]:
    products: list[frozenset] = [frozenset()]
    for part in parts:
        if len(products) * len(part) > MOST:
            raise TooManyClausesError
        products = [left | right for left in products for right in part]
    return products
