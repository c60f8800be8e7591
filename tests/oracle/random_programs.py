"""Small random Markov logic programs: nested, repetitive, with everything that has a meaning."""

import itertools

import numpy as np

from tests.oracle.alchemy_clauses import TooManyClausesError
from tests.oracle.markov_logic import (
    Atom,
    Case,
    Equal,
    Formula,
    Join,
    Not,
    Predicate,
    Quantified,
    Rule,
    Star,
    atoms_of,
    children,
    free,
    is_constant,
)
from tests.oracle.markov_logic_answers import Answers, answers, unknown_atoms

MOST_UNKNOWN = 11
VARIABLES = {"x": "person", "y": "person", "v": "person", "c": "colour", "u": "colour"}
CONSTANTS = {"person": ("Anna", "Bob", "Cleo"), "colour": ("R", "G", "S")}
PREDICATES = [
    Predicate("Rain", (), ()),
    Predicate("X", ("person",), (False,)),
    Predicate("Y", ("person",), (False,)),
    Predicate("F", ("person", "person"), (False, False)),
    Predicate("L", ("person", "colour"), (False, False)),
    Predicate("Col", ("person", "colour"), (False, True)),
    Predicate("One", ("colour",), (True,)),
    Predicate("Pair", ("colour", "person"), (True, True)),
]


def random_case(seed: int, most_unknown: int = MOST_UNKNOWN) -> tuple[Case, Answers]:
    """A program whose worlds can be listed, and its answers."""
    rng = np.random.default_rng(seed)
    while True:
        case = _Maker(rng).case()
        if unknown_atoms(case) > most_unknown:
            continue
        try:
            found = answers(case)
        except TooManyClausesError:
            continue
        if found.unknown or found.contradiction:
            return case, found


def possible_case(number: int, most_unknown: int = MOST_UNKNOWN) -> tuple[Case, Answers]:
    """A program that does not contradict itself."""
    for seed in itertools.count(100 * number):
        case, found = random_case(seed, most_unknown)
        if not found.contradiction:
            return case, found
    raise AssertionError


class _Maker:
    """Draws one program; atoms that were drawn come again."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        chosen = rng.permutation(len(PREDICATES))[: rng.integers(1, 4)]
        self.predicates = [self._predicate(PREDICATES[number]) for number in sorted(chosen)]
        sizes = {"person": rng.choice([1, 2, 2, 2, 3]), "colour": rng.choice([1, 2, 3, 3])}
        self.constants = {kind: CONSTANTS[kind][:size] for kind, size in sizes.items()}
        self.atoms: list[Atom] = []

    def case(self) -> Case:
        rng = self.rng
        names = [predicate.name for predicate in self.predicates]
        query = None if rng.random() < 0.5 else frozenset(self._some(names, 0.5)) or None
        opened = frozenset(self._some(names, 0.15))
        rules = tuple(self._rule() for _ in range(rng.choice([0, 1, 2, 2, 3, 4])))
        return Case(
            constants=self.constants,
            predicates={predicate.name: predicate for predicate in self.predicates},
            variables=VARIABLES,
            rules=rules,
            evidence=self._evidence(),
            query=query,
            opened=opened,
            closed=frozenset(self._some(names, 0.15)) - opened,
            dialect="alchemy" if rng.random() < 0.75 else "pracmln",
            meaning="formula" if rng.random() < 0.6 else "alchemy",
        )

    def _predicate(self, predicate: Predicate) -> Predicate:
        starred = self.rng.random() < 0.08
        return Predicate(predicate.name, predicate.types, predicate.exclusive, starred)

    def _some(self, items: list, chance: float) -> list:
        return [item for item in items if self.rng.random() < chance]

    def _rule(self) -> Rule:
        self.atoms = []
        formula = self._formula(int(self.rng.integers(0, 4)))
        while not _typed(formula):
            formula = self._formula(int(self.rng.integers(0, 4)))
        if self.rng.random() < 0.25:
            return Rule(np.inf, formula)
        weight = float(np.round(self.rng.normal(scale=1.5), int(self.rng.integers(0, 4))))
        marked = {term for atom in _outside(formula) for term in atom.terms} & free(formula)
        return Rule(weight, formula, frozenset(self._some(sorted(marked), 0.1)))

    def _formula(self, depth: int) -> Formula:
        kind = self.rng.random()
        if depth == 0:
            return self._leaf()
        if kind < 0.15:
            return Not(self._formula(depth - 1))
        if kind < 0.35:
            word = "EXIST" if self.rng.random() < 0.6 else "FORALL"
            names = self.rng.permutation(sorted(VARIABLES))[: self.rng.choice([1, 1, 1, 2])]
            return Quantified(word, tuple(map(str, names)), self._formula(depth - 1))
        if kind < 0.75:
            count = self.rng.integers(2, 4)
            parts = [self._part(depth - 1) for _ in range(count)]
            return Join("^" if kind < 0.55 else "v", tuple(parts))
        word = "=>" if kind < 0.9 else "<=>"
        return Join(word, (self._part(depth - 1), self._part(depth - 1)))

    def _part(self, depth: int) -> Formula:
        part = self._formula(depth)
        return Star(part) if isinstance(part, Atom) and self.rng.random() < 0.04 else part

    def _leaf(self) -> Formula:
        kind = self.rng.random()
        if kind < 0.1:
            return Equal(self._term("person"), self._term("person"))
        if kind < 0.4 and self.atoms:
            return self.atoms[self.rng.integers(len(self.atoms))]
        predicate = self.predicates[self.rng.integers(len(self.predicates))]
        self.atoms.append(Atom(predicate.name, tuple(map(self._term, predicate.types))))
        return self.atoms[-1]

    def _term(self, kind: str) -> str:
        if self.rng.random() < 0.2:
            most = len(self.constants[kind]) + (self.rng.random() < 0.05)
            return CONSTANTS[kind][self.rng.integers(min(most, len(CONSTANTS[kind])))]
        return str(self.rng.choice([name for name, own in VARIABLES.items() if own == kind]))

    def _evidence(self) -> dict[Atom, float | None]:
        found: dict[Atom, float | None] = {}
        for predicate in self.predicates:
            share = self.rng.choice([0.0, 0.0, 0.2, 0.5])
            wanted = (self.rng.random() < share for _ in range(4))
            for _ in filter(None, wanted):
                terms = tuple(
                    str(self.rng.choice(self.constants[kind])) for kind in predicate.types
                )
                found[Atom(predicate.name, terms)] = self._given()
        return found

    def _given(self) -> float | None:
        kind = self.rng.random()
        if kind < 0.7:
            return float(kind < 0.35)
        return None if kind < 0.8 else float(np.round(self.rng.uniform(0.05, 0.95), 2))


def _typed(formula: Formula) -> bool:
    """Whether every variable stands in an atom, where its quantifier is or outside of all."""
    compared = {term for part in _parts(formula, Equal) for term in (part.left, part.right)}
    if any(
        not is_constant(term) and not _speaks(formula, term) for term in compared & free(formula)
    ):
        return False
    return all(
        _typed(part.body)
        and all(_speaks(part.body, n) or n not in free(part.body) for n in part.names)
        for part in _parts(formula, Quantified)
    )


def _parts(formula: Formula, kind: type) -> list:
    """The outermost parts of a kind, nothing inside of quantifiers."""
    if isinstance(formula, kind):
        return [formula]
    if isinstance(formula, Quantified):
        return []
    return [found for part in children(formula) for found in _parts(part, kind)]


def _outside(formula: Formula) -> list[Atom]:
    return _parts(formula, Atom)


def _speaks(formula: Formula, name: str) -> bool:
    """Whether some atom has the variable, as free as it is in the formula."""
    return any(name in free(atom) for atom in _free_atoms(formula, name))


def _free_atoms(formula: Formula, name: str) -> list[Atom]:
    if isinstance(formula, Atom):
        return [formula]
    if isinstance(formula, Quantified) and name in formula.names:
        return []
    return [atom for part in children(formula) for atom in _free_atoms(part, name)]


def describes(case: Case) -> set[str]:
    """What a program has, to see that random ones have everything."""
    formulas = [rule.formula for rule in case.rules]
    seen = {type(part).__name__ for formula in formulas for part in _every(formula)}
    seen |= {part.word for formula in formulas for part in _every(formula) if hasattr(part, "word")}
    seen |= {case.dialect, case.meaning}
    seen |= {"repeated" for formula in formulas if _repeats(formula)}
    seen |= {"hard" for rule in case.rules if rule.weight == np.inf}
    seen |= {"negative" for rule in case.rules if rule.weight < 0}
    seen |= {"soft" for given in case.evidence.values() if given not in (None, 0, 1)}
    seen |= {"block" for predicate in case.predicates.values() if any(predicate.exclusive)}
    seen |= {"per constant" for rule in case.rules if rule.per}
    seen |= {"opened"} if case.opened else set()
    seen |= {"closed"} if case.closed else set()
    return seen


def _every(formula: Formula) -> list[Formula]:
    return [formula, *(found for part in children(formula) for found in _every(part))]


def _repeats(formula: Formula) -> bool:
    found = list(atoms_of(formula))
    return len(set(found)) < len(found)
