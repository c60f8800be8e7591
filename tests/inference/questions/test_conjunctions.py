"""Conjunctive queries of programs: exact answers, sampled ones, and what cannot be asked."""

import math

import pytest

import orbitmc as om
from orbitmc.errors import InputError, LimitError
from orbitmc.inference.program import ground_program
from orbitmc.mln.data.reader import parse_database
from orbitmc.mln.grounding.atoms import constant_text
from orbitmc.mln.language.parser import parse

TEXT = "p = {A, B}\nX(p)\nY(p)\n1.2 X(x) => Y(x)\n-0.4 Y(x)\n"


def program(query=None, evidence="", text=TEXT):
    read = parse(text)
    return ground_program(read, parse_database(evidence, read), query=query)


def both(x_weight=0.0):
    """P(X ^ Y) of one constant: states X Y with their weights."""
    weight = {(0, 0): 1.2, (0, 1): 1.2 - 0.4, (1, 0): 0.0, (1, 1): 1.2 - 0.4}
    total = sum(math.exp(own + x_weight * x) for (x, _), own in weight.items())
    return math.exp(weight[1, 1] + x_weight) / total


def test_every_binding_is_asked_about_and_so_are_the_atoms():
    found = program("X(x) ^ Y(x)").marginals(method="exact")
    assert list(found) == ["X(A) ^ Y(A)", "X(B) ^ Y(B)", "X(A)", "X(B)", "Y(A)", "Y(B)"]
    assert found["X(A) ^ Y(A)"].probability[0] == pytest.approx(both(), abs=1e-12)


def test_a_conjunction_is_what_the_same_event_is():
    asked = program("X,Y")
    found = asked.marginals(query="X(A) ^ Y(B), Y(A)", method="exact")
    assert list(found) == ["X(A) ^ Y(B)", "X(A)", "Y(B)", "Y(A)"]
    event = om.probability(asked, "X(A) ^ Y(B)", method="exact")
    assert found["X(A) ^ Y(B)"].probability[0] == pytest.approx(event.value, abs=1e-12)


def test_what_evidence_decides_is_observed():
    found = program("X(x) ^ Y(x)", "!X(A)\nX(B)\n").marginals(method="exact")
    assert found["X(A) ^ Y(A)"].probability[0] == 0
    assert found["X(A) ^ Y(A)"].verdict == "observed"
    assert found["X(B) ^ Y(B)"].probability[0] == pytest.approx(found["Y(B)"].probability[0])


def test_sampled_answers_are_right_within_their_errors():
    found = program("X(x) ^ Y(x)").marginals(method="gibbs", samples=4000, seed=3)
    one = found["X(B) ^ Y(B)"]
    # Five standard errors of a normal estimate: a false alarm in 1.7 million seeds.
    assert one.probability[0] == pytest.approx(both(), abs=5 * one.standard_error[0])
    assert 0 < one.standard_error[0] < 0.01


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("X(x) ^", "ends with"),
        ("X(x) ^ ^ Y(x)", "cannot read"),
        ("X ^ Y", "write the arguments of X"),
        ("X(x) ^ Z(x)", "no predicate"),
        ("X(x) ^ !Y(x)", "a query cannot deny, as !Y does; `orbitmc ask` takes any formula"),
        ("X(x) ^ Y(x,y)", "1 argument"),
    ],
)
def test_conjunctions_that_cannot_be_read(query, words):
    with pytest.raises(InputError, match=words):
        program(query).marginals(method="exact")


def test_a_variable_of_two_types_and_too_many_bindings():
    text = "p = {A}\nq = {B}\nX(p)\nY(q)\n1 X(x)\n1 Y(y)\n"
    with pytest.raises(InputError, match="for a p and for a q"):
        program("X(x) ^ Y(x)", text=text).marginals(method="exact")
    with pytest.raises(LimitError, match="groundings"):
        program("X(x) ^ X(y) ^ X(z)", text="p = {1, ..., 60}\nX(p)\n1 X(x)\n").marginals()


def test_a_checkpoint_keeps_no_conjunctions(tmp_path):
    with pytest.raises(InputError, match="checkpoint"):
        program("X(x) ^ Y(x)").marginals(checkpoint=tmp_path / "a.run")


NAMES = ("A", "Bob B", "a,b", 'q"q', "p)(", "x^y", "semi;c", "back\\s", "tab\tx")


def test_atoms_are_asked_about_as_answers_call_them():
    listed = ", ".join(constant_text(name) for name in NAMES)
    whole = program("X", text=TEXT.replace("A, B", listed))
    assert len(whole.asked.names) == len(NAMES)
    for name in whole.asked.names:
        assert whole.asking(name).asked.names == (name,)
        assert om.joint(whole, [name], method="exact").probability.shape == (2,)


def test_a_long_list_of_arguments_is_refused_soon():
    """Each comma looks at its own piece only: a hundred thousand of them are no work."""
    with pytest.raises(InputError, match="it takes 1 argument"):
        program("X(" + '"a",' * 100_000 + ")")
