"""Known programs with known probabilities; the figures are closed formulas, or of the snippets."""

from math import exp

import pytest

from orbitmc.errors import ContradictionError
from orbitmc.inference.program import ground_program
from orbitmc.mln.data.reader import parse_database
from orbitmc.mln.language.parser import parse

e = exp(1)


def s(weight: float) -> float:
    return 1 / (1 + exp(-weight))


SMOKERS = """
person = {P0, P1, P2}
Friends(person,person)
Smokes(person)
Cancer(person)
1.5 !Smokes(x) v Cancer(x)
1.1 !Friends(x,y) v !Smokes(x) v Smokes(y)
-1.0 Smokes(x)
-2.0 Cancer(x)
"""
FRIENDS = "Smokes(P0)\nFriends(P0,P1)\nFriends(P1,P2)\nFriends(P2,P1)"
COLOURS = "p = {A}\nc = {R, G, B}\nCol(p, c!)\n1 Col(x, R)"
TWO = "p = {A, B}\nF(p,p)\nX(p)\nY(p)\n"

LETTERS = "X\nY\nZ\n"
CASES = {
    "S1 clauses with negative weights": (
        SMOKERS,
        FRIENDS,
        "Smokes,Cancer",
        {
            "Smokes(P1)": 0.1311,
            "Smokes(P2)": 0.0663,
            "Cancer(P0)": 0.3775,
            "Cancer(P1)": 0.1531,
            "Cancer(P2)": 0.1363,
        },
    ),
    "S2 open friends": (
        SMOKERS + "-1.5 Friends(x,y)",
        "Smokes(P0)",
        "Smokes,Cancer,Friends",
        {
            "Smokes(P1)": 0.1069,
            "Friends(P0,P1)": 0.0813,
            "Friends(P1,P2)": 0.1719,
            "Friends(P0,P0)": 0.1824,
            "Cancer(P1)": 0.1468,
        },
    ),
    "S3 exist": (
        TWO + "2 EXIST y F(x,y)",
        "",
        "F",
        {"F(A,A)": 2 * e**2 / (3 * e**2 + 1), "F(B,A)": 2 * e**2 / (3 * e**2 + 1)},
    ),
    "S4 hard exist": (TWO + "EXIST y F(x,y).", "", "F", {"F(A,B)": 2 / 3}),
    "S5 equality": (TWO + "2 F(x,y) => x = y", "", "F", {"F(A,B)": s(-2), "F(A,A)": 0.5}),
    "S6 inequality": (
        TWO + "2 F(x,y) ^ x != y => X(x)",
        "",
        "F,X",
        {"X(A)": 0.6379, "F(A,B)": 0.3621, "F(A,A)": 0.5},
    ),
    "S7 order": (
        "t = {1, ..., 3}\nX(t)\nY(t)\n3 X(i) ^ i < j => Y(j)",
        "X(1)",
        "Y",
        {"Y(1)": 0.5, "Y(2)": s(3), "Y(3)": s(3)},
    ),
    "S8 successor": (
        "t = {1, ..., 4}\nX(t)\n3 X(i) => X(succ(i))",
        "X(1)",
        "X",
        {"X(1)": 1.0, "X(2)": 0.8833},
    ),
    "S8 infix": (
        "t = {1, ..., 4}\nX(t)\n3 X(i) => X(i + 1)",
        "X(1)",
        "X",
        {"X(2)": 0.8833},
    ),
    "S9 block": (COLOURS, "", "Col", {"Col(A,R)": e / (e + 2), "Col(A,G)": 1 / (e + 2)}),
    "S10 false evidence in a block": (
        COLOURS,
        "!Col(A,G)",
        "Col",
        {"Col(A,R)": e / (e + 1), "Col(A,G)": 0.0, "Col(A,B)": 1 / (e + 1)},
    ),
    "S11 equal clauses add up": (
        TWO + "1 X(x) v Y(x)\n0.5 Y(z) v X(z)",
        "!Y(B)",
        "X",
        {"X(B)": s(1.5)},
    ),
    "S12 constants in formulas": (
        "p = {1, ..., 3}\nX(p)\n1 X(2)\n-1 X(x)",
        "",
        "X",
        {"X(1)": s(-1), "X(2)": 0.5, "X(3)": s(-1)},
    ),
    "S13 hard conjunction": (
        "i = {I}\no = {O}\nH(i)\nS(o)\nH(a) ^ S(b).",
        "",
        "H,S",
        {"H(I)": 1.0, "S(O)": 1.0},
    ),
    "S15 closed": (
        TWO + "1 X(x) => Y(x)",
        "X(A)",
        "Y",
        {"Y(A)": s(1), "Y(B)": 0.5},
    ),
    "S15 open": (
        TWO + "1 X(x) => Y(x)",
        "X(A)",
        "Y,X",
        {"Y(A)": s(1), "Y(B)": 2 * e / (3 * e + 1)},
    ),
    "S16 star": (TWO + "1.5 *X(x) ^ *Y(x)", "", "X,Y", {"X(A)": 0.5, "Y(B)": 0.5}),
    "S17 propositions": ("Rain\nWet\n2 Rain => Wet", "Rain", "Wet", {"Wet": s(2)}),
    "S18 primes": (
        "p = {A}\nX(p)\nY(p)\n1 X(x) ^ X(x') => Y(x')",
        "X(A)",
        "Y",
        {"Y(A)": s(1)},
    ),
    "equivalence": (
        TWO + "3 X(x) <=> Y(x)",
        "Y(A)",
        "X",
        {"X(A)": s(3)},
    ),
    "conjunction on the right": (
        TWO + "Z(p)\n3 X(x) => Y(x) ^ Z(x)",
        "X(A)",
        "Y,Z",
        {"Y(A)": (e**3 + 1) / (e**3 + 3)},
    ),
    "disjunction over conjunction": (
        "p = {A}\nX(p)\nY(p)\nZ(p)\n3 X(x) ^ Y(x) v Z(x)",
        "",
        "Z",
        {"Z(A)": 4 * e**3 / (5 * e**3 + 3)},
    ),
    "forall": (
        "p = {A, B}\nX(p)\n2 FORALL x X(x)",
        "",
        "X",
        {"X(A)": (e**2 + 1) / (e**2 + 3)},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_answers_are_exact(name):
    program, evidence, query, expected = CASES[name]
    found = _ask(program, evidence, query)
    for atom, probability in expected.items():
        shown = float(found[atom].probability[0])
        # figures with four decimals are given so; the others are closed formulas
        tolerance = 5.1e-5 if round(probability, 4) == probability else 1e-9
        assert shown == pytest.approx(probability, abs=tolerance), atom


@pytest.mark.parametrize(
    ("program", "evidence", "query", "atom", "expected"),
    [
        (TWO + "3 X(x) <=> Y(x)", "Y(A)", "X", "X(A)", s(1.5)),
        (TWO + "Z(p)\n3 X(x) => Y(x) ^ Z(x)", "X(A)", "Y,Z", "Y(A)", s(1.5)),
        ("p={A}\nH(p)\nS(p)\n2 H(x) ^ S(x)", "", "H", "H(A)", (e**2 + 1) / (e**2 + 3)),
        ("p = {A, B}\nX(p)\n2 FORALL x X(x)", "", "X", "X(A)", s(2)),
        (LETTERS + "4 !(Z <=> Y)", "Y", "Z", "Z", s(-1)),  # four clauses, two are tautologies
        (LETTERS + "4 (Z v X) ^ (X v Z) ^ (Y v X)", "Y\n!X", "Z", "Z", s(8 / 3)),
        (LETTERS + "4 (Z v !Z) ^ (Z v X)", "!X", "Z", "Z", s(2)),
        (LETTERS + "4 Z ^ Z ^ (Y v X)", "!X", "Z", "Z", s(2)),  # single literals are one clause
    ],
)
def test_weights_may_mean_what_alchemy_means(program, evidence, query, atom, expected):
    found = _ask(program, evidence, query, meaning="alchemy")
    assert found[atom].probability[0] == pytest.approx(expected, abs=1e-9)


def test_disjunction_over_conjunction_as_alchemy_splits_it():
    program = "p = {A}\nX(p)\nY(p)\nZ(p)\n3 X(x) ^ Y(x) v Z(x)"
    assert _ask(program, "", "Z", meaning="alchemy")["Z(A)"].probability[0] == pytest.approx(
        0.7278, abs=5e-5
    )


def test_meanings_that_differ_are_announced():
    asked = ground_program(
        parse(TWO + "3 X(x) <=> Y(x)"), parse_database("", parse(TWO)), query="X"
    )
    assert any("whole formulas" in remark for remark in asked.remarks)
    plain = ground_program(parse(TWO + "3 X(x) => Y(x)"), parse_database("", parse(TWO)), query="X")
    assert not plain.remarks


def test_contradictory_hard_formulas_are_refused():
    with pytest.raises(ContradictionError, match=r"(?s)<text>:3:1: X\(x\).*<text>:4:1") as caught:
        _ask("p = {A}\nX(p)\nX(x).\n!X(x).\nX(x) v !X(x) v X(y).", "", "X")
    assert "<text>:5" not in str(caught.value)


def test_quoted_constants_leave_no_open_atom():
    program = parse("X(p)\n1 X(x)")
    asked = ground_program(
        program, parse_database('X("http://a.b/c")\n!X("a b")', program), query="X"
    )
    assert asked.model.graph.variables == 0
    assert asked.asked.names == ('X("http://a.b/c")', 'X("a b")')


def _ask(text, evidence, query, **options):
    program = parse(text)
    asked = ground_program(program, parse_database(evidence, program), query=query, **options)
    return asked.marginals(method="exact")
