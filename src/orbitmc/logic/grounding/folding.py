"""Rules that differ only in constants, as learning writes them, are ground together."""

import itertools
import sys
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from orbitmc.logic.databases.universe import Ints, Universe
from orbitmc.logic.grounding.features import Features, taken
from orbitmc.logic.language.syntax import (
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

FEWEST = 16  # rules that are worth a template
SHARE = 0.5  # of a template's copies that must be rules, as all of them are ground


@dataclass(frozen=True)
class Template:
    """A rule whose copies stand for rules of the program: `weight_of` a copy, or -1 for no rule."""

    rule: Rule
    weight_of: Ints


def templates(
    rules: Sequence[Rule],
    first_weight: Ints,
    predicates: Mapping[str, Predicate],
    universe: Universe,
) -> Iterator[Template]:
    """Fold rules into templates where that pays; all others stand for themselves."""
    alike: dict[object, dict[tuple[str, ...], int]] = {}
    for number, rule in enumerate(rules):
        constants = tuple(name for name, _ in _constants(rule.formula, predicates))
        if constants and not rule.per_constant and rule.weight != np.inf:
            key = shape_of(rule.formula), tuple(rule.types.items())
            alike.setdefault(key, {}).setdefault(constants, number)
    folded: dict[int, Template | None] = {}
    for members in alike.values():
        template = _template(members, rules, first_weight, predicates, universe)
        if template is not None:
            folded |= dict.fromkeys(members.values())
            folded[min(members.values())] = template
    for number, rule in enumerate(rules):
        own = Template(rule, np.arange(first_weight[number], first_weight[number + 1]))
        found = folded.get(number, own)
        if found is not None:
            yield found


def shape_of(formula: Formula) -> Formula:
    """The formula with variables for all constants of its atoms."""
    return _abstract(formula, range(sys.maxsize))


def renumbered(features: Features, weight_of: Ints) -> Features:
    """Features of a template's copies as those of the rules; copies of no rule are left out."""
    weight = weight_of[features.weight]
    kept = weight >= 0
    found = features if kept.all() else taken(features, kept)
    return replace(found, weight=weight[kept])


def _template(
    members: Mapping[tuple[str, ...], int],
    rules: Sequence[Rule],
    first_weight: Ints,
    predicates: Mapping[str, Predicate],
    universe: Universe,
) -> Template | None:
    if len(members) < FEWEST:
        return None
    rule = rules[min(members.values())]
    columns = list(zip(*members, strict=True))
    places = [place for place, column in enumerate(columns) if len(set(column)) > 1]
    kinds = [kind for _, kind in _constants(rule.formula, predicates)]
    sizes = [universe.size(kinds[place]) for place in places]
    if len(members) < SHARE * np.prod(sizes, dtype=np.float64):
        return None
    copy = np.zeros(len(members), dtype=np.int64)
    for place, size in zip(places, sizes, strict=True):
        numbers = universe.numbers[kinds[place]]
        copy = copy * size + np.array([numbers[name] for name in columns[place]])
    weight_of = np.full(int(np.prod(sizes)), -1, dtype=np.int64)
    weight_of[copy] = first_weight[list(members.values())]
    names = {_name(place): kinds[place] for place in places}
    formula = _abstract(rule.formula, places)
    types = {**rule.types, **names}
    return Template(
        replace(rule, formula=formula, types=types, per_constant=tuple(names)), weight_of
    )


def _constants(formula: Formula, predicates: Mapping[str, Predicate]) -> Iterator[tuple[str, str]]:
    """Every constant that is an argument of an atom, and its type."""
    for atom in atoms_of(formula):
        for term, kind in zip(atom.arguments, predicates[atom.predicate].types, strict=True):
            if isinstance(term, Constant):
                yield term.name, kind


def _name(place: int) -> str:
    return f"#{place}"  # as no variable of a program can be named


def _abstract(formula: Formula, places: Container[int]) -> Formula:
    """The formula with variables for those of its constants, counted from left to right."""
    count = itertools.count()

    def changed(term: Term) -> Term:
        if isinstance(term, Constant) and (place := next(count)) in places:
            return Variable(_name(place))
        return term

    def inside(part: Formula) -> Formula:
        if isinstance(part, Atom):
            return replace(part, arguments=tuple(map(changed, part.arguments)))
        return with_parts(part, inside)

    return inside(formula)
