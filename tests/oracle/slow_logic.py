"""Markov logic by the book: every world, every binding, every formula, in plain Python."""

import itertools
import math
from collections.abc import Iterator, Mapping

from orbitmc.logic.database import FALSE, TRUE, Database
from orbitmc.logic.syntax import (
    And,
    Atom,
    Comparison,
    Constant,
    Exist,
    Forall,
    Formula,
    Iff,
    Implies,
    Not,
    Or,
    Program,
    Rule,
    Term,
    Truth,
    Variable,
    free_variables,
)

World = Mapping[tuple[str, ...], bool]


def slow_marginals(
    program: Program, database: Database, closed: set[str] = frozenset()
) -> dict[tuple[str, ...], float]:
    """Probability of every ground atom by enumerating worlds; nothing if none is possible."""
    constants = _constants(program, database)
    atoms = [
        (name, *arguments)
        for name, predicate in program.predicates.items()
        for arguments in itertools.product(*(constants[kind] for kind in predicate.types))
    ]
    total, sums = 0.0, dict.fromkeys(atoms, 0.0)
    for world in _worlds(program, database, atoms, constants, closed):
        weight = math.exp(_log_weight(program, database, world, constants))
        total += weight
        for atom in atoms:
            sums[atom] += weight * world[atom]
    if total == 0.0:
        return {}
    return {atom: part / total for atom, part in sums.items()}


def _constants(program: Program, database: Database) -> dict[str, list[str]]:
    found = {kind: list(names) for kind, names in program.constants.items()}
    for name, facts in database.facts.items():
        for kind, column in zip(program.predicates[name].types, facts.columns, strict=True):
            for constant in column:
                if constant not in found.setdefault(kind, []):
                    found[kind].append(constant)
    return found


def _given(database: Database) -> dict[tuple[str, ...], int]:
    return {
        (name, *arguments): int(truth)
        for name, facts in database.facts.items()
        for *arguments, truth in zip(*facts.columns, facts.truth, strict=True)
    }


def _worlds(program, database, atoms, constants, closed) -> Iterator[dict]:
    known = _given(database)
    options = []
    for atom in atoms:
        if known.get(atom) in (FALSE, TRUE):
            options.append([known[atom] == TRUE])
        elif atom[0] in closed and atom not in known:
            options.append([False])
        else:
            options.append([False, True])
    for values in itertools.product(*options):
        world = dict(zip(atoms, values, strict=True))
        if _exclusive(program, world, constants):
            yield world


def _exclusive(program: Program, world: World, constants) -> bool:
    for name, predicate in program.predicates.items():
        if not predicate.is_block:
            continue
        counts: dict[tuple, int] = {}
        for arguments in itertools.product(*(constants[kind] for kind in predicate.types)):
            fixed = tuple(
                a for a, mark in zip(arguments, predicate.exclusive, strict=True) if not mark
            )
            counts[fixed] = counts.get(fixed, 0) + world[(name, *arguments)]
        if any(count != 1 for count in counts.values()):
            return False
    return True


def _log_weight(program: Program, database: Database, world: World, constants) -> float:
    total = 0.0
    for rule in program.rules:
        for bound in _bindings(free_variables(rule.formula), rule, constants):
            holds = _holds(rule.formula, bound, rule, world, constants)
            if rule.weight == math.inf:
                total += 0.0 if holds else -math.inf
            else:
                total += rule.weight if holds else 0.0
    for name, facts in database.facts.items():
        for *arguments, log_odds in zip(*facts.columns, facts.log_odds, strict=True):
            total += log_odds * world[(name, *arguments)]
    return total


def _bindings(variables, rule: Rule, constants) -> Iterator[dict[str, str]]:
    domains = [constants[rule.types[name]] for name in variables]
    for values in itertools.product(*domains):
        yield dict(zip(variables, values, strict=True))


def _name(term: Term, bound: Mapping[str, str]) -> str:
    match term:
        case Constant(name):
            return name
        case Variable(name):
            return bound[name]
    raise NotImplementedError


def _holds(formula: Formula, bound, rule: Rule, world: World, constants) -> bool:
    def inner(part: Formula) -> bool:
        return _holds(part, bound, rule, world, constants)

    match formula:
        case Atom(predicate, arguments):
            return world[(predicate, *(_name(term, bound) for term in arguments))]
        case Comparison("=", left, right):
            return _name(left, bound) == _name(right, bound)
        case Comparison("!=", left, right):
            return _name(left, bound) != _name(right, bound)
        case Comparison("<", left, right):
            return int(_name(left, bound)) < int(_name(right, bound))
        case Truth(holds):
            return holds
        case Not(body):
            return not inner(body)
        case And(parts):
            return all(inner(part) for part in parts)
        case Or(parts):
            return any(inner(part) for part in parts)
        case Implies(left, right):
            return not inner(left) or inner(right)
        case Iff(left, right):
            return inner(left) == inner(right)
        case Exist(variables, body):
            more = _bindings(variables, rule, constants)
            return any(_holds(body, {**bound, **b}, rule, world, constants) for b in more)
        case Forall(variables, body):
            more = _bindings(variables, rule, constants)
            return all(_holds(body, {**bound, **b}, rule, world, constants) for b in more)
    raise NotImplementedError(formula)
