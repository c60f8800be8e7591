"""Cycles are read as they are written."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orbitmc.errors import InputError
from orbitmc.groups.cycles import cycle_text, cycles, from_cycles, read_cycles
from tests.groups.builders import identity
from tests.groups.random_groups import permutations, random_permutation
from tests.groups.slow_groups import VALUES

ATOMS = ["Smokes(Anna)", "Friends(Anna, Bob)", "x", 'a "b"', "p)q", "1", "a,b", " ", "(", "f(g(x))"]


@given(permutations(maps_values=False))
def test_cycles_of_points_round_trip(made):
    (g,) = made
    assert from_cycles(g.degree, cycles(g)) == g


@given(permutations(most=6), st.data())
def test_written_cycles_round_trip_with_any_names(made, data):
    (g,) = made
    text = st.text(max_size=5) | st.sampled_from(ATOMS)
    size = g.degree
    names = data.draw(st.lists(text, min_size=size, max_size=size, unique=True))
    cardinality = VALUES if "=" in cycle_text(g) else None
    assert read_cycles(cycle_text(g), size, cardinality=cardinality) == g
    assert read_cycles(cycle_text(g, names), size, names, cardinality=cardinality) == g


def test_cycles_look_as_people_write_them():
    names = ["A", "B", "C", "D", "E"]
    assert cycle_text(from_cycles(5, [[0, 1], [2, 3, 4]]), names) == "(A B)(C D E)"
    assert cycle_text(from_cycles(5, [[4, 2, 3], [1, 0]])) == "(0 1)(2 3 4)"
    assert cycle_text(identity(5), names) == "()"
    friends = ["Friends(Anna, Bob)", "Friends(Bob, Anna)"]
    written = "(Friends(Anna, Bob) Friends(Bob, Anna))"
    assert cycle_text(from_cycles(2, [[0, 1]]), friends) == written
    flip = read_cycles("(S(x)=0 S(x)=1)", 2, ["S(x)", "T"], cardinality=2)
    assert flip.value_map.tolist() == [1, 0]
    assert cycle_text(flip, ["S(x)", "T"]) == "(S(x)=0 S(x)=1)"


def test_commas_and_spaces_both_separate():
    assert read_cycles(" (0,1) ( 2 , 3,4 ) ", 5) == from_cycles(5, [[0, 1], [2, 3, 4]])
    assert read_cycles("()", 3) == read_cycles("", 3) == read_cycles("(1)", 3) == identity(3)


def test_large_permutations_round_trip():
    g = random_permutation(np.random.default_rng(2), 5000)
    assert read_cycles(cycle_text(g), 5000) == g


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("A B", "expected '\\('"),
        ("(A B", "expected a name or '\\)'"),
        ("(A B))", "expected '\\('"),
        ('(A "B)', "does not end"),
        ("(A X)", "no point called X"),
        ("(A B)(B C)", "point 1 has two images"),
        ("(A A)", "point 0 has two images"),
    ],
)
def test_malformed_cycles_are_refused(text, message):
    with pytest.raises(InputError, match=message):
        read_cycles(text, 3, ["A", "B", "C"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(A=0 B=0)", "values of 0 go to different points"),
        ("(A=0 A=2)", "a value below 2, found A=2"),
        ("(A B)", "expected A=value"),
        ("(A=0 X=1)", "no point called X"),
        ("(A=x B=0)", "found A=x"),
        ("(A=0 C=0)(A=1 C=1)", "values of 2 go to different points"),
    ],
)
def test_malformed_cycles_of_values_are_refused(text, message):
    with pytest.raises(InputError, match=message):
        read_cycles(text, 3, ["A", "B", "C"], cardinality=[2, 2, 3])


def test_names_must_fit():
    with pytest.raises(InputError, match="3 points need as many names, got 2"):
        cycle_text(identity(3), ["A", "B"])
    with pytest.raises(InputError, match="3 points need as many different names, got 2"):
        read_cycles("(A B)", 3, ["A", "B", "A"])
