"""The expected groundings of other people are read as they stand."""

import pytest

from tests.mln.alchemy_grounding import NUMBERS, case
from tests.mln.shown import shown


def test_the_first_case_is_read_whole():
    first = case(1)
    assert [shown(rule.formula) for rule in first.program.rules] == ["(R(x) v S(x,y))"]
    assert first.database.facts["R"].columns == (("0",),)
    assert first.expected.atoms == 6
    assert first.expected.true_atoms == (0,)
    assert first.expected.clauses == (((1, 3), (1, 4), (2, 5), (2, 6)),)


@pytest.mark.parametrize("number", NUMBERS)
def test_weights_and_evidence_agree_with_the_answer(number):
    one = case(number)
    assert tuple(rule.weight for rule in one.program.rules) == one.expected.weights
    listed = sum(len(facts.truth) for facts in one.database.facts.values())
    assert listed == len(one.expected.true_atoms)
