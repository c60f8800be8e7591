"""What a weight means to Alchemy: formulas are split into clauses, which share the weight.

A formula becomes a conjunction of clauses; those of a single literal are joined into one negated
clause with the opposite weight; the weight is divided by the number of clauses. Then tautologies
go, with their shares, and clauses that stand there several times get several shares. Each clause is
grounded over its own variables. Hard formulas mean the same either way and stay whole.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from orbitmc.errors import LimitError
from orbitmc.logic.databases.universe import Universe
from orbitmc.logic.grounding.expansion import negation_normal, without_quantifiers
from orbitmc.logic.language.syntax import (
    And,
    Exist,
    Forall,
    Formula,
    Not,
    Or,
    Program,
    Rule,
    Truth,
    parts,
    with_parts,
)

MOST_CLAUSES = 2**12

Clause = tuple[Formula, ...]


def split_into_clauses(program: Program, universe: Universe) -> Program:
    """The program with every soft formula split as Alchemy does."""
    rules = [clause for rule in program.rules for clause in _split(rule, universe)]
    return replace(program, rules=tuple(rules))


def meanings_differ(rule: Rule) -> bool:
    """Whether splitting a formula into clauses changes what its weight means."""
    if rule.weight == np.inf:
        return False
    formula = negation_normal(rule.formula)
    return _has(formula, Forall) or not _is_simple(formula)


def quantified_types(rule: Rule) -> set[str]:
    """Types of the variables whose constants a split writes out."""
    if rule.weight == np.inf:
        return set()
    return {rule.types[name] for name in _quantified(_dropped(negation_normal(rule.formula)))}


def _quantified(formula: Formula) -> Iterator[str]:
    match formula:
        case Exist(variables, body) | Forall(variables, body):
            yield from variables
            yield from _quantified(body)
            return
    for part in parts(formula):
        yield from _quantified(part)


def _is_simple(formula: Formula) -> bool:
    """Whether it is a disjunction, perhaps under EXIST, or a conjunction of literals."""
    match formula:
        case And(found) | Or(found):
            return not any(parts(part) and not isinstance(part, Not) for part in found)
        case Exist(_, body):
            return (isinstance(body, Or | Exist) and _is_simple(body)) or not parts(body)
    return True


def _has(formula: Formula, kind: type) -> bool:
    return isinstance(formula, kind) or any(_has(part, kind) for part in parts(formula))


def _split(rule: Rule, universe: Universe) -> Iterator[Rule]:
    if rule.weight == np.inf:
        yield rule
        return
    formula = _dropped(negation_normal(rule.formula))
    formula = negation_normal(without_quantifiers(formula, rule.types, universe))
    clauses = [_without_repetitions(clause) for clause in _distributed(formula, rule)]
    units = tuple(dict.fromkeys(clause[0] for clause in clauses if len(clause) == 1))
    longer = [clause for clause in clauses if len(clause) > 1]
    count = len(longer) + bool(units)
    for clause, times in _counted(longer):
        yield replace(rule, formula=Or(clause), weight=_shared(rule.weight, times, count))
    if units:
        joined = units[0] if len(units) == 1 else And(units)
        yield replace(rule, formula=joined, weight=_shared(rule.weight, 1, count))


def _shared(weight: float | None, times: int, count: int) -> float | None:
    """Some shares of a weight that so many clauses share; a weight to be learned is none yet."""
    return None if weight is None else weight * times / count


def _without_repetitions(clause: Clause) -> Clause:
    """A clause with every literal once; what is false adds nothing to it."""
    return tuple(dict.fromkeys(part for part in clause if part != Truth(False))) or (Truth(False),)


def _counted(clauses: Iterable[Clause]) -> Iterable[tuple[Clause, int]]:
    """Each clause that is no tautology, and how often it stands there."""
    first: dict[frozenset[Formula], Clause] = {}
    times = Counter[frozenset[Formula]]()
    for clause in clauses:
        literals = frozenset(clause)
        if Truth(True) not in literals and literals.isdisjoint(
            negation_normal(part, False) for part in clause
        ):
            first.setdefault(literals, clause)
            times[literals] += 1
    return [(clause, times[literals]) for literals, clause in first.items()]


def _dropped(formula: Formula) -> Formula:
    """Leave FORALL out where its variables can become free."""
    match formula:
        case Forall(_, body):
            return _dropped(body)
        case And() | Or():
            return with_parts(formula, _dropped)
    return formula


def _distributed(formula: Formula, rule: Rule) -> list[Clause]:
    match formula:
        case And(found):
            return [clause for part in found for clause in _distributed(part, rule)]
        case Or(found):
            products: list[Clause] = [()]
            for part in found:
                own = _distributed(part, rule)
                if len(products) * len(own) > MOST_CLAUSES:
                    raise LimitError(
                        f"{rule.place}: splitting this formula gives more than {MOST_CLAUSES} "
                        "clauses; the weight meaning `formula` needs no splitting"
                    )
                products = [left + right for left in products for right in own]
            return products
    return [(formula,)]
