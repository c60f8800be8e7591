"""Small random programs with blocks, quantifiers, equality, evidence and every connective."""

import numpy as np

from orbitmc.logic.database import FALSE, TRUE, UNKNOWN, Database, Facts
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
    Predicate,
    Program,
    Rule,
    Variable,
)

PREDICATES = {
    "X": Predicate("X", ("p",), (False,)),
    "F": Predicate("F", ("p", "p"), (False, False)),
    "Col": Predicate("Col", ("c", "p"), (True, False)),
}
CONSTANTS = {"p": ("A", "B"), "c": ("R", "G", "B")}
TYPES = {"x": "p", "y": "p", "u": "c", "z": "p"}


def random_program(seed: int) -> tuple[Program, Database, set[str]]:
    """A program, evidence, and the names of its closed predicates."""
    rng = np.random.default_rng(seed)
    rules = []
    for number in range(3):
        formula = _formula(rng, depth=int(rng.integers(1, 4)))
        if rng.random() < 0.3:
            kind = Exist if rng.random() < 0.5 else Forall
            formula = Or((kind(("z",), _formula(rng, 1, ("x", "z"))), formula))
        hard = number == 2 and rng.random() < 0.3
        weight = np.inf if hard else float(np.round(rng.normal(), 2))
        rules.append(Rule(_possible(formula) if hard else formula, weight, TYPES))
    program = Program(CONSTANTS, PREDICATES, tuple(rules))
    facts, closed = _evidence(rng)
    return program, Database(facts), closed


def _possible(formula: Formula) -> Formula:
    """Weaken a formula so that it can be satisfied whatever the evidence."""
    return Or((formula, Atom("X", (Variable("x"),)), Not(Atom("X", (Variable("y"),)))))


def _formula(rng, depth: int, variables=("x", "y")) -> Formula:
    if depth == 0:
        return _part(rng, variables)

    def inner() -> Formula:
        return _formula(rng, depth - 1, variables)

    kind = rng.integers(5)
    if kind == 0:
        return Not(inner())
    if kind == 1:
        return And((inner(), inner()))
    if kind == 2:
        return Or((inner(), inner(), inner()))
    return Implies(inner(), inner()) if kind == 3 else Iff(inner(), inner())


def _part(rng, variables) -> Formula:
    def person():
        if rng.random() < 0.2:
            return Constant(str(rng.choice(CONSTANTS["p"])))
        return Variable(str(rng.choice(variables)))

    kind = rng.integers(5)
    if kind == 0:
        return Atom("X", (person(),))
    if kind == 1:
        return Comparison(str(rng.choice(["=", "!="])), person(), person())
    if kind == 2:
        colour = Variable("u") if rng.random() < 0.5 else Constant(str(rng.choice(CONSTANTS["c"])))
        return Atom("Col", (colour, person()))
    return Atom("F", (person(), person()))


def _evidence(rng) -> tuple[dict[str, Facts], set[str]]:
    facts, closed = {}, set()
    for name, pairs in (("X", ("A", "B")), ("F", ("AA", "AB", "BA", "BB"))):
        chosen = [pair for pair in pairs if rng.random() < 0.4]
        if chosen:
            truth = rng.choice([FALSE, TRUE, UNKNOWN], len(chosen)).astype(np.int8)
            odds = np.where(truth == UNKNOWN, rng.normal(size=len(chosen)), 0.0)
            facts[name] = Facts(tuple(zip(*chosen, strict=True)), truth, odds)
            closed.add(name)
    if rng.random() < 0.4:
        truth = np.array([rng.choice([FALSE, TRUE])], dtype=np.int8)
        facts["Col"] = Facts((("R",), ("A",)), truth, np.zeros(1))
    return facts, closed
