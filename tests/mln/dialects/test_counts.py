"""Counts, as pracmln and RockIt write them, against a list of all worlds."""

import itertools
import math

import pytest

from orbitmc.errors import ContradictionError, LimitError, ManyInputError
from orbitmc.mln.language.parser import parse
from tests.mln.dialects.worlds import IMPOSSIBLE, answered, by_worlds

STUDENTS = "s = {A, B}\nc = {X, Y, Z}\ntakes(s, c)\n0.8 takes(x,X)\n"
ATOMS = [f"takes({s},{c})" for s, c in itertools.product("AB", "XYZ")]
HOLDS = {"=": int.__eq__, "<=": int.__le__, ">=": int.__ge__}


def by_student(world, student):
    return sum(world[f"takes({student},{c})"] for c in "XYZ")


def plain(world):
    return 0.8 * (world["takes(A,X)"] + world["takes(B,X)"])


@pytest.mark.parametrize("operator", HOLDS)
@pytest.mark.parametrize("number", [0, 1, 2, 3])
@pytest.mark.parametrize("form", ["count(takes(x,y)|x)", "COUNT(y | takes(x,y))"])
def test_hard_and_soft_counts(operator, number, form):
    def soft(world):
        return plain(world) + sum(
            1.3 for s in "AB" if HOLDS[operator](by_student(world, s), number)
        )

    def hard(world):
        met = all(HOLDS[operator](by_student(world, s), number) for s in "AB")
        return plain(world) if met else IMPOSSIBLE

    for text, log_weight in (
        (f"1.3 {form} {operator} {number}", soft),
        (f"{form} {operator} {number}.", hard),
    ):
        found = answered(STUDENTS + text + "\n", dialect="pracmln")
        assert found == pytest.approx(by_worlds(ATOMS, log_weight), abs=1e-12)


def test_a_count_over_everything_and_with_a_constant():
    def fits(world):
        met = sum(world[f"takes({s},Y)"] for s in "AB") == 1
        return plain(world) if met else IMPOSSIBLE

    found = answered(STUDENTS + "count(takes(x,Y)) = 1.\n", dialect="pracmln")
    assert found == pytest.approx(by_worlds(ATOMS, fits), abs=1e-12)


def test_a_count_inside_a_formula():
    text = STUDENTS + "1.1 takes(x,X) => COUNT(y | takes(x,y)) >= 2\n"

    def log_weight(world):
        return plain(world) + sum(
            1.1 for s in "AB" if not world[f"takes({s},X)"] or by_student(world, s) >= 2
        )

    assert answered(text, dialect="pracmln") == pytest.approx(
        by_worlds(ATOMS, log_weight), abs=1e-12
    )


def test_a_hard_count_of_many_atoms_becomes_clauses():
    text = "p = {1, ..., 18}\nX(p)\nCOUNT(x | X(x)) <= 1.\n"  # a table of 2^18 is refused
    found = answered(text, dialect="pracmln")
    assert found["X(7)"] == pytest.approx(1 / 19, abs=1e-12)


def test_what_no_state_can_count():
    with pytest.raises(ContradictionError):
        answered("p = {A, B}\nX(p)\nCOUNT(x | X(x)) >= 3.\n", dialect="pracmln")
    with pytest.raises(LimitError, match="unknown atoms"):
        answered("p = {1, ..., 40}\nX(p)\n1 COUNT(x | X(x)) = 20\n", dialect="pracmln")


ROCKIT = "*person(p)\n*weighed(p, w)\nlikes(p, p)\nrich(p)\n"
PEOPLE = 'person("A")\nperson("B")\nweighed("A", "0.7")\nweighed("C", "-0.4")\n'
LIKES = [f"likes({x},{y})" for x, y in itertools.product("ABC", "ABC")]


@pytest.mark.parametrize("operator", ["<=", ">="])
def test_cardinalities_count_where_observed_conditions_hold(operator):
    text = ROCKIT + f"|y| !person(x) v !person(y) v likes(x,y) {operator} 1\n0.5 likes(x,y)\n"

    def log_weight(world):
        counts = [sum(world[f"likes({x},{y})"] for y in "AB") for x in "AB"]
        met = all(HOLDS[operator](count, 1) for count in counts)
        return 0.5 * sum(world.values()) if met else IMPOSSIBLE

    found = answered(text, PEOPLE, dialect="tuffy", query="likes")
    assert found == pytest.approx(by_worlds(LIKES, log_weight), abs=1e-12)


def test_weights_are_joined_from_the_data():
    found = answered(ROCKIT + "w: !weighed(x,w) v rich(x)\n", PEOPLE, dialect="tuffy", query="rich")
    expected = {"A": 0.7, "B": 0.0, "C": -0.4}
    assert found == {
        f"rich({name})": pytest.approx(1 / (1 + math.exp(-weight)), abs=1e-12)
        for name, weight in expected.items()
    }


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("|y| likes(x,y)", "<= or >="),
        ("|z| likes(x,y) <= 1", "does not occur"),
        ("|y| !person(y) <= 1", "nothing is counted"),
        ("w: likes(x,y)", "no variable of this formula"),
    ],
)
def test_malformed_cardinalities_and_weights(text, words):
    with pytest.raises(ManyInputError, match=words):
        parse(ROCKIT + text + "\n", dialect="tuffy")


def test_a_weight_that_is_no_number():
    with pytest.raises(Exception, match="no number"):
        answered(
            ROCKIT + "w: !weighed(x,w) v rich(x)\n", 'weighed("A", "heavy")\n', dialect="tuffy"
        )
