"""Degrees of truth without fuzzy logic: a formula at each level that degrees reach.

In pracmln's fuzzy logic, a conjunction has the least degree of its parts, a disjunction the
greatest, and a negation what is missing to 1. The degree of a formula is the integral, over levels
from 0 to 1, of whether it reaches the level. And it reaches a level exactly where the ordinary
formula holds whose atoms say whether they reach it. So a formula of weight w is a sum of ordinary
ones, each with w times the distance between two levels.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from orbitmc._util.arrays import Floats
from orbitmc.errors import LimitError
from orbitmc.logic.databases.database import FALSE, TRUE, Database, Facts
from orbitmc.logic.grounding.expansion import negation_normal
from orbitmc.logic.language.syntax import (
    Atom,
    Formula,
    Not,
    Predicate,
    Program,
    Rule,
    atoms_of,
    parts,
    with_parts,
)

MOST_RULES = 2**16


def without_degrees(program: Program, database: Database) -> tuple[Program, Database]:
    """The same distribution in a program and a database without fuzzy predicates."""
    if not program.fuzzy:
        return program, database
    levels = _Levels(program, database)
    rules = [one for rule in program.rules for one in levels.rules(rule)]
    if len(rules) > MOST_RULES:
        raise LimitError(
            f"degrees of truth make {len(rules):,} formulas of this program, the most is "
            f"{MOST_RULES:,}; give fewer different degrees"
        )
    ordinary = {n: own for n, own in program.predicates.items() if n not in program.fuzzy}
    return (
        replace(
            program,
            predicates={**ordinary, **{one.predicate.name: one.predicate for one in levels.made}},
            rules=tuple(rules),
            fuzzy=frozenset(),
        ),
        levels.database(),
    )


@dataclass(frozen=True)
class _Reached:
    """A predicate that says which atoms reach a level, and the atoms that do."""

    predicate: Predicate
    facts: Facts


class _Levels:
    """The ordinary predicates that levels of fuzzy ones need, made when they are first used."""

    def __init__(self, program: Program, known: Database) -> None:
        self.program, self.known = program, known
        self.degree = {
            name: _degrees(known.facts[name]) if name in known.facts else np.zeros(0)
            for name in program.fuzzy
        }
        self._made: dict[str, _Reached] = {}

    @property
    def made(self) -> list[_Reached]:
        return list(self._made.values())

    def rules(self, rule: Rule) -> Iterator[Rule]:
        """A rule at each level; what must hold must hold to the full degree."""
        if not any(atom.predicate in self.program.fuzzy for atom in atoms_of(rule.formula)):
            yield rule
            return
        formula = negation_normal(rule.formula)
        reached = sorted({*self._thresholds(formula), 1.0})
        if rule.weight == math.inf:
            reached = [1.0]
        for below, level in zip([0.0, *reached], reached, strict=False):
            weight = rule.weight
            if weight is not None and weight != math.inf:
                weight *= level - below
            yield replace(rule, formula=self._at(formula, level), weight=weight)

    def _thresholds(self, formula: Formula) -> Iterator[float]:
        match formula:
            case Not(Atom(name, _)) if name in self.degree:
                yield from (1 - self.degree[name][self.degree[name] < 1]).tolist()
            case Atom(name, _) if name in self.degree:
                yield from self.degree[name][self.degree[name] > 0].tolist()
            case _:
                for part in parts(formula):
                    yield from self._thresholds(part)

    def _at(self, formula: Formula, level: float) -> Formula:
        """Whether a formula in negation normal form reaches a level."""
        match formula:
            case Not(Atom(name, arguments)) if name in self.degree:
                missing = 1 - self.degree[name] < level
                return Not(Atom(self._name(f"{name} < 1 - {level!r}", name, missing), arguments))
            case Atom(name, arguments) if name in self.degree:
                enough = self.degree[name] >= level
                return Atom(self._name(f"{name} >= {level!r}", name, enough), arguments)
        return with_parts(formula, lambda part: self._at(part, level))

    def _name(self, name: str, fuzzy: str, chosen: NDArray[np.bool_]) -> str:
        if name not in self._made:
            own = replace(self.program.predicates[fuzzy], name=name, closed=True)
            columns: tuple[tuple[str, ...], ...] = tuple(() for _ in own.types)
            if chosen.any():
                rows = np.flatnonzero(chosen).tolist()
                before = self.known.facts[fuzzy].columns
                columns = tuple(tuple(column[row] for row in rows) for column in before)
            count = int(chosen.sum())
            facts = Facts(columns, np.full(count, TRUE, np.int8), np.zeros(count))
            self._made[name] = _Reached(own, facts)
        return name

    def database(self) -> Database:
        """What is known without degrees; constants stay known that only had degrees."""
        facts: Mapping[str, Facts] = {
            name: own for name, own in self.known.facts.items() if name not in self.program.fuzzy
        }
        constants = {kind: dict.fromkeys(own) for kind, own in self.known.constants.items()}
        for name in self.program.fuzzy & self.known.facts.keys():
            kinds = self.program.predicates[name].types
            for kind, column in zip(kinds, self.known.facts[name].columns, strict=True):
                constants.setdefault(kind, {}).update(dict.fromkeys(column))
        own = {one.predicate.name: one.facts for one in self.made if len(one.facts.truth)}
        named = {kind: tuple(words) for kind, words in constants.items()}
        return replace(self.known, facts={**facts, **own}, constants=named)


def _degrees(facts: Facts) -> Floats:
    """Degrees of truth, from what the database says of atoms: true, false or a probability."""
    with np.errstate(over="ignore"):
        degree = 1 / (1 + np.exp(-facts.log_odds))
    degree[facts.truth == TRUE] = 1.0
    degree[facts.truth == FALSE] = 0.0
    return np.asarray(np.round(degree, 12))
