"""Which unlisted atoms are unknown, and which are false."""

import pytest

from orbitmc.errors import InputError
from orbitmc.inference.program import ground_program
from orbitmc.mln.data.reader import parse_database
from orbitmc.mln.language.parser import parse

TWO = "p = {P1, P2}\nA(p)\nB(p)\n1 A(x)\n"


def answers(text, evidence="", dialect="alchemy", **options):
    program = parse(text, dialect=dialect)
    asked = ground_program(program, parse_database(evidence, program), **options)
    found = asked.marginals(method="exact")
    return {
        name: pytest.approx(float(one.probability[0]), abs=1e-12) for name, one in found.items()
    }


def test_a_predicate_is_open_though_no_formula_uses_it():
    found = answers(TWO, "0.7 B(P1)", opened=["B"])
    assert found["B(P1)"] == 0.7
    assert found["B(P2)"] == 0.5


def test_evidence_closes_a_predicate_that_no_formula_uses():
    found = answers(TWO, "0.7 B(P1)")
    assert found["B(P1)"] == 0.7
    assert found["B(P2)"] == 0.0


def test_a_predicate_without_evidence_is_open():
    assert answers(TWO)["B(P1)"] == 0.5


def test_what_is_not_asked_about_takes_no_variables():
    program = parse(TWO)
    asked = ground_program(program, parse_database("", program), query="A")
    assert asked.model.names == ("A(P1)", "A(P2)")


def test_a_program_without_formulas_says_that_all_worlds_are_alike():
    found = answers("p = {P1, P2}\nc = {R, G, S}\nRain\nA(p)\nCol(p,c!)\n", "A(P1)", opened=["A"])
    assert found == {
        "Rain": 0.5,
        "A(P1)": 1.0,
        "A(P2)": 0.5,
        **{f"Col({person},{colour})": 1 / 3 for person in ("P1", "P2") for colour in "RGS"},
    }


def test_evidence_may_decide_every_atom():
    with pytest.raises(InputError, match="evidence decides every atom"):
        answers("p = {P1}\nA(p)\n", "A(P1)")


@pytest.mark.parametrize(
    ("dialect", "expected"), [("alchemy", 0.0), ("pracmln", 0.5), ("tuffy", 0.5)]
)
def test_evidence_closes_a_predicate_in_alchemy_only(dialect, expected):
    found = answers("A(p)\nB(p)\n1 A(x) v B(x)\n", "B(P1)\n?B(P2)\nA(P3)", dialect)
    assert found["B(P3)"] == expected


@pytest.mark.parametrize("dialect", ["pracmln", "tuffy"])
def test_predicates_are_closed_by_name_in_every_dialect(dialect):
    evidence = "B(P1)\n!B(P2)\n?A(P2)"
    found = answers("A(p)\nB(p)\n1 A(x) v B(x)\n", evidence, dialect, closed=["A"])
    assert found == {"A(P1)": 0.0, "A(P2)": pytest.approx(0.731058578630, abs=1e-9)}


def test_a_star_closes_a_predicate_in_tuffy():
    found = answers("A(p)\n*B(p)\n1 A(x) v B(x)\n", "B(P1)\nA(P2)\n?A(P1)", "tuffy")
    assert found == {"A(P1)": 0.5, "A(P2)": 1.0}
