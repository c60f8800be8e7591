"""What formulas become: how many groundings, in which form, and what is refused.

That they mean what enumerating every world means is tested on random programs.
"""

import numpy as np
import pytest

from orbitmc.errors import ContradictionError, InputError, LimitError
from orbitmc.inference.program import ground_program
from orbitmc.mln.data.reader import parse_database
from orbitmc.mln.grounding.ground_features import ClauseFeatures
from orbitmc.mln.grounding.ground_model import graph_of
from orbitmc.mln.grounding.grounding import World, ground
from orbitmc.mln.language.parser import parse
from tests.oracle.brute_force import distribution, states

SMOKERS = """
person = {Anna, Bob, Cloe}
Friends(person, person)
Smokes(person)
1.1 Friends(x,y) ^ Smokes(x) => Smokes(y)
"""


def test_closed_predicates_are_joined_away():
    program = parse(SMOKERS)
    found = ground(program, parse_database("Friends(Anna,Bob)\nFriends(Bob,Cloe)", program))
    assert found.groundings == 2
    assert found.decided.tolist() == [7]  # of the nine pairs, seven are not friends


def test_long_clauses_stay_clauses():
    people = ", ".join(f"P{number}" for number in range(60))
    program = parse(f"p = {{{people}}}\nF(p,p)\n1.5 EXIST y F(x,y)")
    found = ground(program, parse_database("", program))
    (clauses,) = found.features
    assert isinstance(clauses, ClauseFeatures)
    assert clauses.scope.shape == (60, 60)


def test_repeated_atoms_in_long_clauses():
    people = ", ".join(f"P{number}" for number in range(30))
    program = parse(f"p = {{{people}}}\nF(p,p)\n2 F(x,P0) v EXIST y F(x,y)\n1 F(x,x) v !F(x,x)")
    found = ground(program, parse_database("", program))
    (clauses,) = found.features
    assert clauses.scope.shape == (30, 30)
    assert found.decided.tolist() == [0, 30]


def test_copies_have_weights_of_their_own():
    program = parse(
        "word = {A, B}\ncol = {R, G, B}\nHas(word,p)\nT(p,col!)\n0.5 Has(+w,x) => T(x,+c)"
    )
    database = parse_database("Has(A,P1)\nHas(B,P1)\nHas(B,P2)", program)
    found = ground(program, database, World(query=frozenset(["T"])))
    assert len(found.weights) == 6
    counts = np.bincount(np.concatenate([part.weight for part in found.features]), minlength=6)
    assert counts.tolist() == [1, 1, 1, 2, 2, 2]
    assert found.decided.tolist() == [1, 1, 1, 0, 0, 0]  # P2 has no word A


def test_too_many_groundings_are_refused_before_they_are_made():
    program = parse("n = {1, ..., 2000}\nR(n,n,n)\n1 R(x,y,z) => R(y,z,x)", source="big.mln")
    with pytest.raises(LimitError, match=r"unknown atoms|groundings"):
        ground(program, parse_database("", program))
    program = parse("n = {1, ..., 200}\nX(n)\n1 X(x) ^ X(y) => X(z)", source="big.mln")
    with pytest.raises(LimitError, match=r"big.mln:3:3: .*8,000,000 groundings.*limit of 1,000"):
        ground(program, parse_database("", program), max_groundings=1000)


def test_evidence_against_a_hard_formula_names_its_line():
    program = parse("p = {A}\nX(p)\nY(p)\nX(x) => Y(x).", source="hard.mln")
    with pytest.raises(ContradictionError, match=r"hard.mln:4:1"):
        ground(program, parse_database("X(A)\n!Y(A)", program))


def test_two_true_atoms_of_a_block_are_refused():
    program = parse("p = {A}\nc = {R, G}\nCol(p,c!)\n1 Col(x,R)")
    with pytest.raises(ContradictionError, match="Col"):
        ground(program, parse_database("Col(A,R)\nCol(A,G)", program))
    with pytest.raises(ContradictionError, match="Col"):
        ground(program, parse_database("!Col(A,R)\n!Col(A,G)", program))


def test_a_type_without_constants_is_an_error():
    program = parse("X(p)\n1 X(x)")
    with pytest.raises(InputError, match="type 'p' has no constant"):
        ground(program, parse_database("", program))


def test_soft_evidence_adds_log_odds():
    program = parse("p = {A, B}\nX(p)\n0.5 X(x)")
    asked = ground_program(program, parse_database("0.7 X(A)", program), query="X")
    found = asked.marginals(method="exact")
    odds = np.exp(0.5) * 0.7 / 0.3
    assert found["X(A)"].probability[0] == pytest.approx(odds / (1 + odds), abs=1e-12)


def test_open_world_of_many_people_is_linear():
    people = ", ".join(f"P{number}" for number in range(100))
    program = parse(SMOKERS.replace("Anna, Bob, Cloe", people) + "-1 Smokes(x)\n-1.5 Friends(x,y)")
    found = ground(program, parse_database("", program))
    graph = graph_of(found)
    assert graph.variables == 10_100
    # a person's own friendship never breaks the rule, so 100 of the 10,000 pairs are decided
    assert graph.factors == 10_000 - 100 + 100 + 10_000
    assert len(graph.table_start) - 1 == 3  # one table for each formula


def test_a_hard_conjunction_with_an_inequality():
    """Its parts are looked up as they are ground: A != x as the negation of A = x."""
    program = parse("p = {A, B}\nX(p)\nY(p)\n(X(x) v A != x) ^ (Y(x) v X(x) ^ Y(A)).\n")
    graph = graph_of(ground(program, parse_database("", program)))
    possible = distribution(graph) > 0
    found = [tuple(s) for s, one in zip(states(graph), possible, strict=True) if one]
    # X(A) holds. For A, then, Y(A) must hold; for B, Y(B) or X(B).
    assert found == [(1, xb, 1, yb) for xb in (0, 1) for yb in (0, 1) if xb or yb]
