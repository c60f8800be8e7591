"""Probability constraints: the weights that are found give the probabilities that are wanted."""

import math

import pytest

from orbitmc.errors import InputError, LimitError
from tests.mln.dialects.worlds import answered, asked

PAIR = "object = {A, B}\nattr(object)\n0 attr(x)\n4 attr(x) ^ attr(y) ^ !(x=y)\n"


def test_one_constraint_alone_has_a_weight_in_closed_form():
    found = asked("p = {A}\nX(p)\nP(X(x)) = 0.3\n", dialect="pracmln")
    (rule,) = found.ground.program.rules
    assert rule.weight == pytest.approx(math.log(0.3 / 0.7), abs=1e-6)
    (remark,) = found.remarks
    assert remark.startswith("P(X(x)) = 0.3: weight -0.8472")
    assert "iterative proportional fitting" in remark


def test_a_constraint_holds_among_other_formulas():
    found = answered(PAIR + "P(attr(x)) = 0.4\n", dialect="pracmln")
    assert found == {
        "attr(A)": pytest.approx(0.4, abs=1e-7),
        "attr(B)": pytest.approx(0.4, abs=1e-7),
    }


def test_several_constraints_hold_together():
    text = PAIR + "p = {X}\nmet(object)\n1 attr(x) => met(x)\nP(attr(x)) = 0.25\nP(met(x)) = 0.6\n"
    found = answered(text, dialect="pracmln")
    assert found["attr(A)"] == pytest.approx(0.25, abs=1e-7)
    assert found["met(B)"] == pytest.approx(0.6, abs=1e-7)


def test_a_formula_that_is_no_atom():
    text = "p = {A}\nX(p)\nY(p)\n0.5 X(x)\nP(X(x) ^ Y(x)) = 0.35\n"
    program = asked(text, dialect="pracmln")
    found = program.marginals(query="X(A) ^ Y(A)", method="exact")
    assert found["X(A) ^ Y(A)"].probability[0] == pytest.approx(0.35, abs=1e-7)


def test_prior_and_posterior_constraints_differ_by_the_evidence():
    text = "p = {A}\nX(p)\nY(p)\n2 X(x) => Y(x)\n"
    prior = answered(text + "P(Y(x)) = 0.5\n", "X(A)\n", dialect="pracmln", query="Y")
    posterior = answered(text + "R(Y(x)) = 0.5\n", "X(A)\n", dialect="pracmln", query="Y")
    assert posterior["Y(A)"] == pytest.approx(0.5, abs=1e-7)
    weight = _weight_for_half()
    expected = math.exp(2 + weight) / (math.exp(2 + weight) + 1)
    assert prior["Y(A)"] == pytest.approx(expected, abs=1e-7)


def _weight_for_half():
    """Y true: 2 states with e^(2+w); Y false: e^2 (X false) + 1 (X true)."""
    return math.log((math.exp(2) + 1) / (2 * math.exp(2)))


def test_probabilities_that_no_weight_gives():
    with pytest.raises(InputError, match="no weight"):
        answered("p = {A}\nX(p)\nX(x).\nP(X(x)) = 0.3\n", dialect="pracmln")


def test_constraints_that_cost_too_much_are_refused_by_name():
    text = "p = {1, ..., 60}\nX(p)\nF(p,p)\n1 F(x,y) ^ X(x) => X(y)\nP(X(x)) = 0.3\n"
    with pytest.raises(LimitError, match=r"P\(X\(x\)\) = 0\.3"):
        answered(text, dialect="pracmln", memory=2**28)
