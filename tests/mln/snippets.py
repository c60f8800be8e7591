"""Small programs that show one trait of the language each, with evidence and exact marginals.

The probabilities hold when a ground formula earns its weight where it is true. Evidence on a
predicate makes its other atoms false, except for the predicates in `open`, where they are unknown.
"""

import math
from dataclasses import dataclass

E = math.e


@dataclass(frozen=True)
class Snippet:
    """A program, its evidence, and the probability that each of some atoms is true."""

    program: str
    marginals: dict[str, float]
    evidence: str = ""
    formulas: tuple[str, ...] = ()
    open: tuple[str, ...] = ()
    digits: int = 12


def sigmoid(weight: float) -> float:
    return 1 / (1 + math.exp(-weight))


SMOKERS = """person = {P0, P1, P2}
Friends(person,person)
Smokes(person)
Cancer(person)
1.5 !Smokes(x) v Cancer(x)
1.1 !Friends(x,y) v !Smokes(x) v Smokes(y)
-1.0 Smokes(x)
-2.0 Cancer(x)
"""
SMOKERS_FORMULAS = (
    "(!Smokes(x) v Cancer(x))",
    "(!Friends(x,y) v !Smokes(x) v Smokes(y))",
    "Smokes(x)",
    "Cancer(x)",
)
PEOPLE = "p={A,B}\nF(p,p)\nX(p)\nY(p)\n"
COLOURS = "p={A}\nc={R,G,B}\nCol(p,c!)\n1 Col(x,R)\n"

SNIPPETS = {
    "negative weights": Snippet(
        SMOKERS,
        {
            "Smokes(P1)": 0.1311,
            "Smokes(P2)": 0.0663,
            "Cancer(P0)": 0.3775,
            "Cancer(P1)": 0.1531,
            "Cancer(P2)": 0.1363,
        },
        "Smokes(P0)\nFriends(P0,P1)\nFriends(P1,P2)\nFriends(P2,P1)\n",
        SMOKERS_FORMULAS,
        open=("Smokes",),
        digits=4,
    ),
    "open friends": Snippet(
        SMOKERS + "-1.5 Friends(x,y)\n",
        {
            "Smokes(P1)": 0.1069,
            "Friends(P0,P1)": 0.0813,
            "Friends(P1,P2)": 0.1719,
            "Friends(P0,P0)": 0.1824,
            "Cancer(P1)": 0.1468,
        },
        "Smokes(P0)\n",
        (*SMOKERS_FORMULAS, "Friends(x,y)"),
        open=("Smokes",),
        digits=4,
    ),
    "some": Snippet(
        PEOPLE + "2 EXIST y F(x,y)\n",
        {"F(A,B)": 2 * E**2 / (3 * E**2 + 1)},
        "",
        ("EXIST y F(x,y)",),
    ),
    "some, hard": Snippet(
        PEOPLE + "EXIST y F(x,y).\n", {"F(A,B)": 2 / 3, "F(B,B)": 2 / 3}, "", ("EXIST y F(x,y)",)
    ),
    "equality": Snippet(
        PEOPLE + "2 F(x,y) => x = y\n",
        {"F(A,B)": sigmoid(-2), "F(A,A)": 0.5},
        "",
        ("(F(x,y) => (x = y))",),
    ),
    "inequality": Snippet(
        PEOPLE + "2 F(x,y) ^ x != y => X(x)\n",
        {
            "X(A)": 2 * E**2 / (3 * E**2 + 1),
            "F(A,B)": (E**2 + 1) / (3 * E**2 + 1),
            "F(A,A)": 0.5,
        },
        "",
        ("((F(x,y) ^ (x != y)) => X(x))",),
    ),
    "order": Snippet(
        "t={1,...,3}\nX(t)\nY(t)\n3 X(i) ^ i < j => Y(j)\n",
        {"Y(1)": 0.5, "Y(2)": sigmoid(3), "Y(3)": sigmoid(3)},
        "X(1)\n",
        ("((X(i) ^ (i < j)) => Y(j))",),
    ),
    "successor": Snippet(
        "t={1,...,4}\nX(t)\n3 X(i) => X(succ(i))\n",
        {"X(2)": 0.8833},
        "X(1)\n",
        ("(X(i) => X(succ(i)))",),
        open=("X",),
        digits=4,
    ),
    "successor by a sum": Snippet(
        "t={1,...,4}\nX(t)\n3 X(i) => X(i+1)\n",
        {"X(2)": 0.8833},
        "X(1)\n",
        ("(X(i) => X(plus(i,'1')))",),
        open=("X",),
        digits=4,
    ),
    "block": Snippet(COLOURS, {"Col(A,R)": E / (E + 2)}, "", ("Col(x,'R')",)),
    "block without one value": Snippet(
        COLOURS,
        {"Col(A,R)": E / (E + 1), "Col(A,B)": 1 / (E + 1)},
        "!Col(A,G)\n",
        ("Col(x,'R')",),
        open=("Col",),
    ),
    "clauses that are equal": Snippet(
        PEOPLE + "1 X(x) v Y(x)\n0.5 Y(z) v X(z)\n",
        {"X(B)": sigmoid(1.5)},
        "!Y(B)\n",
        ("(X(x) v Y(x))", "(Y(z) v X(z))"),
    ),
    "a constant in a formula": Snippet(
        "p={1,...,3}\nX(p)\n1 X(2)\n-1 X(x)\n",
        {"X(1)": sigmoid(-1), "X(2)": 0.5, "X(3)": sigmoid(-1)},
        "",
        ("X('2')", "X(x)"),
    ),
    "hard conjunction": Snippet(
        "a={A}\nb={B}\nH(a)\nS(b)\nH(i) ^ S(o).\n",
        {"H(A)": 1.0, "S(B)": 1.0},
        "",
        ("(H(i) ^ S(o))",),
    ),
    "implication": Snippet(
        PEOPLE + "1 X(x) => Y(x)\n",
        {"Y(A)": sigmoid(1), "Y(B)": 0.5},
        "X(A)\n",
        ("(X(x) => Y(x))",),
    ),
    "implication, open": Snippet(
        PEOPLE + "1 X(x) => Y(x)\n",
        {"Y(A)": sigmoid(1), "Y(B)": 2 * E / (3 * E + 1)},
        "X(A)\n",
        ("(X(x) => Y(x))",),
        open=("X",),
    ),
    "stars": Snippet(
        PEOPLE + "1.5 *X(x) ^ *Y(x)\n",
        {"X(A)": 0.5, "Y(A)": 0.5},
        "",
        ("(X(x) ^ Y(x))", "(X(x) ^ !Y(x))", "(!X(x) ^ Y(x))", "(!X(x) ^ !Y(x))"),
    ),
    "no arguments": Snippet(
        "Rain\nWet\n2 Rain => Wet\n", {"Wet": sigmoid(2)}, "Rain\n", ("(Rain => Wet)",)
    ),
    "primes": Snippet(
        "p={A}\nX(p)\nY(p)\n1 X(x) ^ X(x') => Y(x')\n",
        {"Y(A)": sigmoid(1)},
        "X(A)\n",
        ("((X(x) ^ X(x')) => Y(x'))",),
    ),
}
