"""An atom that stands in a formula twice is one atom; the truths are worked out by hand."""

from math import exp

import numpy as np
import pytest

from orbitmc.inference.program import ground_program
from orbitmc.mln.data.reader import parse_database
from orbitmc.mln.grounding.atoms import possibly_equal
from orbitmc.mln.grounding.ground_model import graph_of
from orbitmc.mln.grounding.grounding import ground
from orbitmc.mln.language.parser import parse
from orbitmc.mln.language.syntax import parts_of
from orbitmc.mln.learning.worlds import TrueCounts
from tests.mln.questions import question
from tests.oracle.random_programs import possible_case

PEOPLE = "p = {P1, P2}\nB(p)\nSmokes(p)\nCancer(p)\nFriends(p,p)\nCol(p,c!)\nc = {R, G}\n"
ALL_FRIENDS = "\n".join(f"Friends(P{one},P{other})" for one in (1, 2) for other in (1, 2))
W = exp(1.5)
MEANINGS = ("formula", "alchemy")


def probability(text, atom, evidence="", meaning="formula"):
    program = parse(PEOPLE + text)
    asked = ground_program(program, parse_database(evidence, program), query=atom, meaning=meaning)
    return float(asked.marginals(method="exact")[atom].probability[0])


@pytest.mark.parametrize("meaning", MEANINGS)
@pytest.mark.parametrize(
    ("text", "atom", "truth"),
    [
        ("2 B(x) v B(x)", "B(P1)", exp(2) / (exp(2) + 1)),
        ("2 B(x) v B(x) v B(x)", "B(P1)", exp(2) / (exp(2) + 1)),
        ("2 !B(x) v !B(x)", "B(P1)", 1 / (exp(2) + 1)),
        ("2 B(x) ^ B(x)", "B(P1)", exp(2) / (exp(2) + 1)),
        ("2 B(x) ^ !B(x)", "B(P1)", 1 / 2),
        ("2 B(x) v !B(x)", "B(P1)", 1 / 2),
        ("1.5 Smokes(x) ^ (Smokes(x) ^ Cancer(x))", "Smokes(P1)", (W + 1) / (W + 3)),
        ("1.5 (Smokes(x) => Cancer(x)) v Cancer(x)", "Smokes(P1)", (W + 1) / (3 * W + 1)),
        ("2 Col(x,R) v Col(x,R)", "Col(P1,R)", exp(2) / (exp(2) + 1)),
        ("2 !Col(x,R) v !Col(x,R)", "Col(P1,G)", exp(2) / (exp(2) + 1)),
        ("2 Col(x,R) ^ !Col(x,G)", "Col(P1,R)", exp(2) / (exp(2) + 1)),
        ("2 Col(x,R) ^ Col(x,G)", "Col(P1,R)", 1 / 2),
        ("B(x) v B(x).", "B(P1)", 1.0),
        ("!B(x) ^ !B(x).", "B(P1)", 0.0),
    ],
)
def test_a_repeated_literal_counts_once(text, atom, truth, meaning):
    assert probability(text, atom, meaning=meaning) == pytest.approx(truth, abs=1e-12)


@pytest.mark.parametrize("meaning", MEANINGS)
def test_repetitions_that_evidence_leaves(meaning):
    text = "1.5 EXIST y (!Friends(x,y) v Smokes(x))"
    found = probability(text, "Smokes(P1)", ALL_FRIENDS, meaning)
    assert found == pytest.approx(W / (W + 1), abs=1e-12)


@pytest.mark.parametrize("meaning", MEANINGS)
def test_a_hard_formula_with_repetitions_can_be_satisfied(meaning):
    text = "EXIST y (Friends(x,y) => Smokes(x))."
    assert probability(text, "Smokes(P1)", ALL_FRIENDS, meaning) == 1.0


@pytest.mark.parametrize("meaning", MEANINGS)
def test_variables_that_meet_in_one_constant(meaning):
    """Of the four groundings, all hold with both atoms, three with one of them, none without."""
    truth = (W**4 + W**3) / (W**4 + 2 * W**3 + 1)
    found = probability("1.5 B(x) v B(y)", "B(P1)", meaning=meaning)
    assert found == pytest.approx(truth, abs=1e-12)


@pytest.mark.parametrize(
    ("text", "true_in_all", "true_in_none"),
    [
        ("1 B(x) v B(x)", 2, 0),
        ("1 B(x) ^ B(x)", 2, 0),
        ("1 !B(x) v !B(x)", 0, 2),
        ("1 B(x) v !B(y) v B(x)", 4, 4),
        ("1 (B(x) => B(y)) v B(y)", 4, 4),
    ],
)
def test_learning_counts_true_groundings_with_repetitions(text, true_in_all, true_in_none):
    program = parse("p = {P1, P2}\nB(p)\n" + text)
    found = ground(program, parse_database("", program))
    counts = TrueCounts(found)(np.array([[1, 0], [1, 0]])) + found.decided[:, None]
    assert counts.tolist() == [[true_in_all, true_in_none]]


@pytest.mark.parametrize("number", range(20))
def test_rows_compared_by_pairs_and_rows_that_are_sorted_settle_alike(number, monkeypatch):
    case, _ = possible_case(number)
    by_pairs = question(case, number).model.graph
    monkeypatch.setattr("orbitmc.mln.grounding.ground_features.FEW_PAIRS", 0)
    by_sorting = question(case, number).model.graph
    for one, other in zip(by_pairs, by_sorting, strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("B(x) v B(y) v C(x,y)", [(0, 1)]),
        ("C(P1,x) v C(P2,x) v C(P1,y)", [(0, 2)]),
        ("C(P1,x) v C(x,P1) v C(P2,y)", [(0, 1), (1, 2)]),
        ("T(x,A) v T(y,D) v T(P1,A) v T(P2,D)", [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3)]),
        ("T(P1,A) v T(P1,D) v T(P2,A)", [(0, 1)]),
        ("C(x,y) v C(x,P1) v C(x,P2) v C(P2,P1)", [(0, 1), (0, 2), (0, 3), (1, 3)]),
        ("x = y v B(x)", []),
    ],
)
def test_only_atoms_that_may_be_one_variable_are_compared(formula, expected):
    program = parse(f"p = {{P1, P2}}\nc = {{A, D}}\nB(p)\nC(p,p)\nT(p,c!)\n1 {formula}\n")
    atoms = ground(program, parse_database("", program)).atoms
    assert sorted(possibly_equal(list(parts_of(program.rules[0].formula)), atoms)) == expected


def test_equal_sums_of_wide_tables_are_made_once():
    """Two orders of a pair read the same atoms: 4,950 sums of 2^14 entries would take 650 MB."""
    people = ", ".join(f"P{number}" for number in range(100))
    types = f"p = {{{people}}}\nplace = {{A, B, C, D, E, F, G}}\nK(p,place)\n"
    program = parse(types + "1 EXIST z (K(x,z) ^ K(y,z))\n")
    graph = graph_of(ground(program, parse_database("", program)))
    assert graph.factors == 100 + 4950
    assert len(graph.table) == 2**7 + 2**14
    pair = graph.table_values(graph.factors - 1)
    shared = np.indices((2,) * 14).reshape(2, 7, -1).prod(axis=0).any(axis=0)
    assert (pair.reshape(-1) == 2 * shared).all()
