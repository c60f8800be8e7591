"""Every sampler answers small programs as enumeration of their worlds does."""

from math import exp

import pytest

from orbitmc.inference.program import ground_program
from orbitmc.mln.data.reader import parse_database
from orbitmc.mln.language.parser import parse
from tests.mln.questions import question
from tests.oracle.random_programs import possible_case

MOST_ERRORS = 8.5
"""Standard errors: some of 500 honest numbers lies outside with a chance below 1e-6.

Errors come from eight columns of lanes in four packs, so they have 31 degrees of freedom; Student's
chance of eight and a half is 1.3e-9.
"""
ROUNDING = 1e-6  # of compiled draws


@pytest.mark.parametrize("method", ["gibbs", "mcsat"])
@pytest.mark.parametrize("seed", range(30))
def test_samplers_agree_with_enumeration(method, seed):
    case, truth = possible_case(seed, most_unknown=6)
    known = {str(atom): probability for atom, probability in truth.probability.items()}
    found = question(case, seed).marginals(method=method, samples=2000, seed=seed)
    for name, marginal in found.items():
        if marginal.verdict in ("frozen", "tied to frozen"):
            continue
        off = abs(marginal.probability[0] - known[name])
        assert off <= MOST_ERRORS * max(marginal.standard_error[0], ROUNDING)


def test_exchangeable_people_get_equal_answers():
    """A known bug of others: people whom nothing tells apart with different probabilities."""
    program = parse(
        "person = {Anna, Bob, Cloe}\nFriends(person,person)\nSmokes(person)\n"
        "1.1 Friends(x,y) ^ Smokes(x) => Smokes(y)\n-0.5 Smokes(x)\n-1 Friends(x,y)"
    )
    asked = ground_program(program, parse_database("", program), query="Smokes,Friends")
    exact = asked.marginals(method="exact")
    sampled = asked.marginals(method="mcsat", samples=2000, seed=1)
    people = [exact[f"Smokes({name})"].probability[0] for name in ("Anna", "Bob", "Cloe")]
    assert max(people) - min(people) < 1e-12
    for name, marginal in sampled.items():
        off = abs(marginal.probability[0] - exact[name].probability[0])
        assert off <= MOST_ERRORS * max(marginal.standard_error[0], ROUNDING)


def test_evidence_is_never_resampled():
    program = parse("p = {A, B, C}\nX(p)\nY(p)\n2 X(x) => Y(x)\n1 Y(x) => X(y)")
    asked = ground_program(program, parse_database("X(A)\n!X(B)\n!Y(C)", program), query="X,Y")
    found = asked.marginals(method="mcsat", samples=200)
    assert found["X(A)"].probability[0] == 1.0
    assert found["X(B)"].probability[0] == 0.0
    assert found["Y(C)"].probability[0] == 0.0


def test_weights_are_not_ignored():
    for weight in (-1.5, 0.0, 2.5):
        program = parse(f"p = {{A}}\nX(p)\n{weight} X(x)")
        found = ground_program(program, parse_database("", program), query="X").marginals(
            method="exact"
        )
        assert found["X(A)"].probability[0] == pytest.approx(1 / (1 + exp(-weight)), abs=1e-12)


@pytest.mark.parametrize("method", ["gibbs", "mcsat"])
def test_a_program_whose_atoms_are_all_known_leaves_nothing_to_sample(method):
    program = parse("p = {A}\nX(p)\nY(p)\n2 X(x) => Y(x)")
    asked = ground_program(program, parse_database("X(A)\n!Y(A)", program), query="X,Y")
    found = asked.marginals(method=method, samples=20)
    assert [found[name].probability[0] for name in ("X(A)", "Y(A)")] == [1.0, 0.0]
