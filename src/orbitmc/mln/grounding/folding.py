"""Rules that differ only in constants, as learning writes them, are ground together."""

import itertools
import sys
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from orbitmc.mln.data.database import Ints, Universe
from orbitmc.mln.language.syntax import (
    Atom,
    Constant,
    Formula,
    Predicate,
    Rule,
    Term,
    Variable,
    atoms_of,
    with_parts,
)

FEWEST_RULES = 16  # rules that are worth a template
COPY = "#"  # stands for the number of a copy, and as no variable of a program can be named


@dataclass(frozen=True)
class Template:
    """A rule that stands for `members`, which differ only in constants, or for one as it is.

    `constants` has a column for every variable that stands for such constants: their numbers in
    each of the copies. `weight_of` says which weight a copy has.
    """

    rule: Rule
    members: tuple[Rule, ...]
    weight_of: Ints
    constants: Mapping[str, Ints] = field(default_factory=dict)


def templates(
    rules: Sequence[Rule],
    first_weight: Ints,
    predicates: Mapping[str, Predicate],
    universe: Universe,
    *,
    fewest: int = FEWEST_RULES,
) -> Iterator[Template]:
    """Fold rules into templates where so many are alike; all others stand for themselves."""
    alike: dict[object, dict[int, tuple[str, ...]]] = {}
    for number, rule in enumerate(rules):
        constants = tuple(name for name, _ in _constants(rule.formula, predicates))
        if constants and not rule.per_constant:
            key = shape_of(rule.formula), tuple(rule.types.items()), rule.weight == np.inf
            alike.setdefault(key, {})[number] = constants
    folded: dict[int, Template | None] = {}
    for members in alike.values():
        if len(members) >= fewest:
            folded |= dict.fromkeys(members)
            folded[min(members)] = _template(members, rules, first_weight, predicates, universe)
    for number, rule in enumerate(rules):
        weights = np.arange(first_weight[number], first_weight[number + 1])
        entry = folded.get(number, Template(rule, (rule,), weights))
        if entry is not None:
            yield entry


def shape_of(formula: Formula) -> Formula:
    """The formula with variables for all constants of its atoms."""
    return _abstract(formula, range(sys.maxsize))


def _template(
    members: Mapping[int, tuple[str, ...]],
    rules: Sequence[Rule],
    first_weight: Ints,
    predicates: Mapping[str, Predicate],
    universe: Universe,
) -> Template:
    rule = rules[min(members)]
    columns = list(zip(*members.values(), strict=True))
    places = [place for place, column in enumerate(columns) if len(set(column)) > 1]
    kinds = [kind for _, kind in _constants(rule.formula, predicates)]
    constants = {
        _name(place): np.array([universe.numbers[kinds[place]][name] for name in columns[place]])
        for place in places
    }
    types = {**rule.types, **{_name(place): kinds[place] for place in places}}
    formula = _abstract(rule.formula, places)
    return Template(
        replace(rule, formula=formula, types=types, per_constant=(COPY,)),
        tuple(rules[number] for number in members),
        first_weight[list(members)],
        constants,
    )


def _constants(formula: Formula, predicates: Mapping[str, Predicate]) -> Iterator[tuple[str, str]]:
    """Every constant that is an argument of an atom, and its type."""
    for atom in atoms_of(formula):
        for term, kind in zip(atom.arguments, predicates[atom.predicate].types, strict=True):
            if isinstance(term, Constant):
                yield term.name, kind


def _name(place: int) -> str:
    return f"{COPY}{place}"


def _abstract(formula: Formula, places: Container[int]) -> Formula:
    """The formula with variables for those of its constants, counted from left to right."""
    count = itertools.count()

    def abstract(term: Term) -> Term:
        if isinstance(term, Constant) and (place := next(count)) in places:
            return Variable(_name(place))
        return term

    def inside(part: Formula) -> Formula:
        if isinstance(part, Atom):
            return replace(part, arguments=tuple(map(abstract, part.arguments)))
        return with_parts(part, inside)

    return inside(formula)
