"""The probability of every atom of a small Markov logic program, by listing its worlds."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tests.oracle.alchemy_clauses import clauses
from tests.oracle.markov_logic import Atom, Case, Predicate, Rule, bindings, copies, free, holds


@dataclass(frozen=True)
class Answers:
    """Probabilities by atom, none if no world is possible; and what evidence alone leaves open."""

    probability: dict[Atom, float]
    unknown: frozenset[Atom]

    @property
    def contradiction(self) -> bool:
        return not self.probability


def answers(case: Case) -> Answers:
    worlds, count = _worlds(case)
    unknown = frozenset(
        atom for atom, truth in worlds.items() if truth.min(initial=1) < truth.max(initial=0)
    )
    logs = np.zeros(count)
    for rule in case.rules:
        logs = logs + _log_weights(case, rule, worlds)
    for atom, given in case.evidence.items():
        if given is not None and 0 < given < 1:
            logs = logs + np.log(given / (1 - given)) * worlds[atom]
    highest = logs.max(initial=-np.inf)
    if highest == -np.inf:
        return Answers({}, unknown)
    weights = np.exp(logs - highest)
    return Answers({a: float(weights @ t / weights.sum()) for a, t in worlds.items()}, unknown)


def unknown_atoms(case: Case) -> int:
    """How many atoms may be true or false before blocks are looked at."""
    return sum(len(_options(case, atom)) == 2 for atom in _atoms(case))


def is_open(case: Case, predicate: Predicate) -> bool:
    """Whether unlisted atoms of a predicate are unknown. Blocks are: one of each must be true."""
    name = predicate.name
    if any(predicate.exclusive) or name in case.opened or name in (case.query or ()):
        return True
    if predicate.starred or name in case.closed:
        return False
    return case.dialect != "alchemy" or all(atom.name != name for atom in case.evidence)


def _atoms(case: Case) -> Iterator[Atom]:
    for predicate in case.predicates.values():
        for terms in itertools.product(*(case.domains[kind] for kind in predicate.types)):
            yield Atom(predicate.name, terms)


def _options(case: Case, atom: Atom) -> list[bool]:
    if atom in case.evidence:
        given = case.evidence[atom]
        return [given == 1] if given in (0, 1) else [False, True]
    return [False, True] if is_open(case, case.predicates[atom.name]) else [False]


def _worlds(case: Case) -> tuple[dict[Atom, np.ndarray], int]:
    """The truth of every atom in every world that evidence and blocks allow."""
    atoms = list(_atoms(case))
    options = [_options(case, atom) for atom in atoms]
    table = np.array(list(itertools.product(*options)), dtype=bool).reshape(-1, len(atoms))
    allowed = np.ones(len(table), dtype=bool)
    for members in _blocks(case, atoms):
        allowed &= table[:, members].sum(axis=1) == 1
    table = table[allowed]
    return dict(zip(atoms, table.T, strict=True)), len(table)


def _blocks(case: Case, atoms: list[Atom]) -> list[list[int]]:
    """Numbers of the atoms of which exactly one is true."""
    found: dict[tuple[str, ...], list[int]] = {}
    for number, atom in enumerate(atoms):
        marks = case.predicates[atom.name].exclusive
        if any(marks):
            fixed = [term for term, mark in zip(atom.terms, marks, strict=True) if not mark]
            found.setdefault((atom.name, *fixed), []).append(number)
    return list(found.values())


def _log_weights(case: Case, rule: Rule, worlds: dict[Atom, np.ndarray]) -> np.ndarray | float:
    total: np.ndarray | float = 0.0
    for formula in copies(rule.formula):
        paid = [(rule.weight, formula)]
        if case.meaning == "alchemy" and rule.weight != np.inf:
            paid = clauses(rule.weight, formula, case.domains)
        for weight, part in paid:
            for bound in bindings(free(part) | rule.per, case.domains):
                truth = holds(part, bound, worlds, case.domains)
                total = total + (
                    np.where(truth, 0.0, -np.inf) if weight == np.inf else weight * truth
                )
    return total
