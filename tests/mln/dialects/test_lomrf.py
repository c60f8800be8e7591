"""What LoMRF writes: time steps, and definite clauses with their completion."""

import itertools
import math

import pytest

from orbitmc.errors import ManyInputError
from orbitmc.mln.language.parser import parse
from tests.mln.dialects.worlds import IMPOSSIBLE, answered, by_worlds
from tests.mln.shown import shown


def test_time_steps_go_forwards_and_backwards():
    text = "t = {1, ..., 3}\nX(t)\n3 X(i) => X(i++)\n1 X(i--) => X(i)\n"
    atoms = ["X(1)", "X(2)", "X(3)"]

    def log_weight(world):
        one, two, three = (world[atom] for atom in atoms)
        return 4 * ((not one or two) + (not two or three))

    assert answered(text, dialect="lomrf") == pytest.approx(by_worlds(atoms, log_weight), abs=1e-12)


HEADS = "v = {Foo, Bar}\nt = {1, 2}\nHead(v, t)\nP(t)\nQ(t, t)\n"
ATOMS = [
    *(f"Head({v},{t})" for v, t in itertools.product(("Foo", "Bar"), "12")),
    *(f"P({t})" for t in "12"),
    *(f"Q({t},{u})" for t, u in itertools.product("12", "12")),
]


def test_heads_are_true_only_where_a_body_is():
    text = HEADS + "1.5 Head(Foo,t) :- P(t)\n-0.7 Head(Foo,t) :- Q(t,u) ^ !P(u)\n"

    def log_weight(world):
        total = 0.0
        for t in "12":
            head, p = world[f"Head(Foo,{t})"], world[f"P({t})"]
            bodies = [world[f"Q({t},{u})"] and not world[f"P({u})"] for u in "12"]
            total += 1.5 * (not p or head) - 0.7 * sum(not body or head for body in bodies)
            if world[f"Head(Bar,{t})"] or (head and not (p or any(bodies))):
                return IMPOSSIBLE
        return total

    assert answered(text, dialect="lomrf") == pytest.approx(by_worlds(ATOMS, log_weight), abs=1e-12)


def test_a_variable_in_one_head_makes_the_others_conditions():
    text = HEADS + "Head(Foo,t) :- P(t).\n2 Head(v,t) :- Q(t,t)\n"

    def log_weight(world):
        total = 0.0
        for v, t in itertools.product(("Foo", "Bar"), "12"):
            head, p, q = world[f"Head({v},{t})"], world[f"P({t})"], world[f"Q({t},{t})"]
            total += 2 * (not q or head)
            if (v == "Foo" and p and not head) or (head and not (q or (v == "Foo" and p))):
                return IMPOSSIBLE
        return total

    assert answered(text, dialect="lomrf") == pytest.approx(by_worlds(ATOMS, log_weight), abs=1e-12)


def test_a_repeated_variable_of_a_head_is_a_condition():
    text = "p = {A, B}\nSame(p, p)\nX(p)\nSame(x,x) :- X(x).\n"
    atoms = [*(f"Same({x},{y})" for x, y in itertools.product("AB", "AB")), "X(A)", "X(B)"]

    def log_weight(world):
        met = all(
            world[f"Same({x},{y})"] == (x == y and world[f"X({x})"])
            for x, y in itertools.product("AB", "AB")
        )
        return 0.0 if met else IMPOSSIBLE

    assert answered(text, dialect="lomrf") == pytest.approx(by_worlds(atoms, log_weight), abs=1e-12)


FUNCTIONS = (
    "fluent meet(id, id)\nfluent move(id, id)\nStarted(fluent)\nClose(id, id)\n"
    "0.9 Started(meet(a,b)) :- Close(a,b)\n"
)
VALUES = "MAB = meet(A, B)\nVAB = move(A, B)\n"


def test_functions_in_heads():
    more = "0.3 Started(move(a,b)) :- !Close(a,b)\n"
    atoms = ["Started(MAB)", "Started(VAB)", "Close(A,B)"]

    def log_weight(world):
        meet, move, close = (world[atom] for atom in atoms)
        if (meet and not close) or (move and close):
            return IMPOSSIBLE
        return 0.9 * (not close or meet) + 0.3 * (close or move)

    found = answered(FUNCTIONS + more, VALUES, dialect="lomrf", query="Started,Close(A,B)")
    assert found == pytest.approx(by_worlds(atoms, log_weight), abs=1e-12)


def test_a_function_without_a_clause_makes_its_heads_false():
    found = answered(FUNCTIONS, VALUES, dialect="lomrf", query="Started")
    assert found["Started(VAB)"] == 0
    assert 0 < found["Started(MAB)"] < 1


def test_evidence_closes_predicates_as_in_alchemy():
    text = "p = {A, B}\nX(p)\nY(p)\n1 X(x) => Y(x)\n"
    found = answered(text, "X(A)", dialect="lomrf", query="Y/1")
    assert found["Y(B)"] == pytest.approx(0.5, abs=1e-12)
    assert found["Y(A)"] == pytest.approx(1 / (1 + math.exp(-1)), abs=1e-12)


def test_names_have_no_minus():
    program = parse("t = {1, 2}\nX(t)\n1 X(i) => X(i-1)\n", dialect="lomrf")
    assert shown(program.rules[0].formula) == "(X(i) => X(minus(i,'1')))"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("X(t) v Y(t) :- Z(t).", "one atom before :-"),
        ("X(t) :- Y(t) v Z(t).", r"joined by \^"),
        ("X(t) :- .", "expected an atom"),
        (":- X(t).", "expected an atom"),
        ("X(t) :- W(t).", "not declared"),
        ("1 X(++)", "expected"),
        ("1 X(t+++)", "expected"),
    ],
)
def test_malformed_clauses(text, words):
    with pytest.raises(ManyInputError, match=words):
        parse("X(t)\nY(t)\nZ(t)\n" + text + "\n", dialect="lomrf")
