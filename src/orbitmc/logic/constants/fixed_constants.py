"""Which constants formulas tell apart, so that no renaming may move them."""

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from orbitmc.logic.databases.universe import Universe
from orbitmc.logic.language.syntax import (
    Arithmetic,
    Atom,
    Comparison,
    Constant,
    Predicate,
    Program,
    Term,
    Variable,
    parts_of,
    variables,
)

Marks = dict[str, NDArray[np.bool_]]


def fixed_constants(program: Program, universe: Universe) -> Marks:
    """For each type, which constants are named in a formula, or compared by more than identity."""
    marks = {kind: np.zeros(len(names), bool) for kind, names in universe.constants.items()}
    for rule in program.rules:
        for part in parts_of(rule.formula):
            named = (
                _in_atom(part, program.predicates[part.predicate], rule.types)
                if isinstance(part, Atom)
                else _in_comparison(part, rule.types)
            )
            for kind, name in named:
                if name is None:
                    marks[kind][:] = True
                elif name in universe.numbers[kind]:
                    marks[kind][universe.numbers[kind][name]] = True
    return marks


Named = Iterator[tuple[str, str | None]]
"""Types with a name each; None stands for every constant of the type."""


def _in_atom(atom: Atom, predicate: Predicate, types: Mapping[str, str]) -> Named:
    for term, kind in zip(atom.arguments, predicate.types, strict=True):
        if isinstance(term, Constant):
            yield kind, term.name
        elif isinstance(term, Arithmetic):
            yield kind, None
            yield from _whole(term, types)


def _in_comparison(comparison: Comparison, types: Mapping[str, str]) -> Named:
    identity = comparison.operator in ("=", "!=")
    match comparison.left, comparison.right:
        case Variable(one), Variable(other) if identity and types[one] == types[other]:
            return
        case (Variable(one), Constant(name)) | (Constant(name), Variable(one)) if identity:
            yield types[one], name
        case left, right:
            yield from _whole(left, types)
            yield from _whole(right, types)


def _whole(term: Term, types: Mapping[str, str]) -> Named:
    return ((types[name], None) for name in variables(term))
