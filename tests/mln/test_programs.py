"""Exact answers to random programs are those that listing all worlds gives."""

import numpy as np
import pytest

from orbitmc.errors import ContradictionError, InputError
from orbitmc.mln.grounding import ground_features as patterns
from orbitmc.mln.grounding.grounding import RuleGrounder
from tests.mln.questions import question
from tests.oracle.markov_logic import Atom, Case, Equal, Join, Not, Predicate, Rule
from tests.oracle.markov_logic_answers import answers
from tests.oracle.markov_logic_text import database_text, program_text
from tests.oracle.random_programs import describes, random_case

CASES = 200
TOLERANCE = 1e-9


def disagreement(seed):
    """What is wrong with our answers to a random program, or nothing."""
    case, truth = random_case(seed)
    try:
        found = question(case, seed).marginals(method="exact")
    except ContradictionError as error:
        wrong = "" if truth.contradiction else f"{error}, but some world is possible"
    else:
        wrong = "no contradiction found" if truth.contradiction else _worst(case, found, truth)
    return wrong and f"{wrong}\n{_shown(case, seed)}"


def _shown(case, seed):
    rng = np.random.default_rng(seed)
    texts = f"{program_text(case, rng)}--\n{database_text(case, rng)}"
    asked = f"query {case.query}, open {case.opened}, closed {case.closed}"
    return f"{texts}({case.dialect}, {case.meaning}, {asked})"


def _worst(case, found, truth):
    known = {str(atom): probability for atom, probability in truth.probability.items()}
    asked = [atom for atom in truth.unknown if case.query is None or atom.name in case.query]
    missing = [str(atom) for atom in asked if str(atom) not in found]
    values = {name: float(marginal.probability[0]) for name, marginal in found.items()}
    off = [name for name, value in values.items() if not abs(value - known[name]) <= TOLERANCE]
    wrong = [f"{name}: {values[name]}, not {known[name]}" for name in off]
    return "\n".join(wrong + [f"{name} is missing" for name in missing])


def test_exact_answers_are_those_of_all_worlds():
    wrong = [found for found in map(disagreement, range(CASES)) if found]
    assert not wrong, f"{len(wrong)} of {CASES} programs: {wrong[0]}"


@pytest.mark.slow
@pytest.mark.parametrize("first", range(CASES, CASES + 5_000, 100))
def test_exact_answers_of_many_programs(first):
    wrong = [found for found in map(disagreement, range(first, first + 100)) if found]
    assert not wrong, wrong[0]


def test_random_programs_have_everything_that_has_a_meaning():
    seen = set().union(*(describes(random_case(seed)[0]) for seed in range(CASES)))
    assert seen >= {
        *("Atom", "Star", "Equal", "Not", "^", "v", "=>", "<=>", "EXIST", "FORALL", "repeated"),
        *("hard", "negative", "soft", "block", "per constant", "opened", "closed"),
        *("alchemy", "pracmln", "formula"),
    }


def test_random_programs_are_possible_or_not():
    found = [random_case(seed)[1].contradiction for seed in range(CASES)]
    assert 10 <= sum(found) <= CASES // 2


def by_atom(monkeypatch):
    """Look the truth of a clause's literals up by their atoms: the last of equal ones counts."""
    original = RuleGrounder._features

    def mistaken(self, columns):
        if self.clause is not None:
            atoms = [atom for atom, _ in self.clause[0]]

            def truth(signs, holds):
                def of(truths):
                    last = dict(zip(atoms, truths, strict=True))
                    signed = zip(atoms, signs, strict=True)
                    return np.any([last[atom] == sign for atom, sign in signed], axis=0) == holds

                return of

            monkeypatch.setattr(patterns, "clause_truth", truth)
        return list(original(self, columns))

    monkeypatch.setattr(RuleGrounder, "_features", mistaken)


def all_closed(monkeypatch):
    monkeypatch.setattr("orbitmc.mln.grounding.grounding.is_closed", lambda *_: True)


def undivided(monkeypatch):
    monkeypatch.setattr("orbitmc.inference.program.split_into_clauses", lambda program, _: program)


def soft_ignored(monkeypatch):
    monkeypatch.setattr("orbitmc.mln.data.reader.soft_value", lambda *_: (2, 0.0))
    monkeypatch.setattr("orbitmc.mln.data.reader.soft_value", lambda *_: (2, 0.0))


def test_a_comparison_beside_its_negation_is_a_tautology():
    """Alchemy's weights are shared by three clauses: the fourth, x = y v x != y, is none."""
    same, x, y = Equal("x", "y"), Atom("X", ("x",)), Atom("X", ("y",))
    formula = Join("v", (Join("^", (same, x)), Join("^", (Not(same), y))))
    case = Case(
        {"person": ("Anna", "Bob")},
        {"X": Predicate("X", ("person",), (False,))},
        {"x": "person", "y": "person"},
        (Rule(3.0, formula),),
        {},
        meaning="alchemy",
    )
    truth = answers(case)
    for seed in range(8):  # some write !=, others !(x = y)
        found = question(case, seed).marginals(method="exact")
        assert _worst(case, found, truth) == ""


@pytest.mark.parametrize("mistake", [by_atom, all_closed, undivided, soft_ignored])
def test_the_comparison_notices(monkeypatch, mistake):
    mistake(monkeypatch)
    assert any(_fails(seed) for seed in range(CASES))


def _fails(seed):
    try:
        return bool(disagreement(seed))
    except InputError:
        return True
