"""Friends and smokers of any size."""

import numpy as np
import pytest

from orbitmc.errors import InputError
from orbitmc.exact.contraction import marginals as eliminate
from orbitmc.mln.grounding.ground_model import model_of
from orbitmc.mln.grounding.grounding import ground
from orbitmc.models._friends import friends


def test_an_open_world_has_an_atom_for_every_pair():
    found = ground(*friends(6))
    assert len(found.cardinality) == 6 * 6 + 6 + 6


def test_a_closed_world_has_mutual_friends_and_no_others():
    program, database = friends(40, open_world=False, friendships=3.0, smokers=0.5, seed=4)
    pairs = set(zip(*database.facts["Friends"].columns, strict=True))
    assert len(pairs) == 120
    assert all((other, one) in pairs and one != other for one, other in pairs)
    found = ground(program, database)
    asked = len(database.facts["Smokes"].truth)
    assert 0 < asked < 40
    assert len(found.cardinality) == 2 * 40 - asked


def test_two_friends_by_hand():
    program, database = friends(2, open_world=False, friendships=1.0, cancer=0.0, influence=0.6)
    model = model_of(ground(program, database))
    assert np.allclose([marginal[1] for marginal in eliminate(model.graph).marginals], 0.5)
    smokes = [model.names.index(f"Smokes(P{person})") for person in range(2)]
    sure = eliminate(model.given({model.names[smokes[0]]: "true"}).graph).marginals
    # the rule counts in both directions
    expected = np.exp(2 * 0.6) / (1 + np.exp(2 * 0.6))
    assert any(np.isclose(marginal[1], expected) for marginal in sure)


def test_the_same_seed_knows_the_same():
    question = {"open_world": False, "friendships": 2, "smokers": 0.5}
    assert (friends(9, seed=1, **question)[1].facts["Friends"].columns) == (
        friends(9, seed=1, **question)[1].facts["Friends"].columns
    )
    assert (friends(9, seed=1, **question)[1].facts["Friends"].columns) != (
        friends(9, seed=2, **question)[1].facts["Friends"].columns
    )


@pytest.mark.parametrize("wrong", [{"people": 0}, {"friendships": 5.0}, {"smokers": 1.5}])
def test_impossible_crowds_are_refused(wrong):
    with pytest.raises(InputError):
        friends(**({"people": 4} | wrong))
