"""Renaming constants that are exactly alike: never rejected."""

import numpy as np
import pytest

from orbitmc.conditionals.prepared import prepare
from orbitmc.errors import InputError
from orbitmc.exact.contraction import marginals as eliminate
from orbitmc.inference.lift import lift_by_renaming
from orbitmc.kernels._gibbs import RandomScan
from orbitmc.mln.data.reader import parse_database
from orbitmc.mln.grounding.ground_model import model_of
from orbitmc.mln.grounding.grounding import ground
from orbitmc.mln.language.parser import parse
from orbitmc.models._friends import friends
from orbitmc.sampling.sampler import sample
from orbitmc.sampling.schedule import Schedule

SAMPLES = Schedule(samples=500)


def prepared_on(*question):
    found = ground(*question)
    model = model_of(found)
    return found, model, prepare(model.graph)


def chances(graph):
    return np.array([marginal[1] for marginal in eliminate(graph).marginals])


def test_exact_renamings_are_never_rejected_and_pool_what_is_equal():
    found, model, prepared = prepared_on(*friends(4, smokers=0.4, seed=2))
    lifting = lift_by_renaming(found, model, prepared, alpha=0.5)
    run = sample(prepared, lifting.kernel, SAMPLES, packs=1)
    assert run.outcomes["accepted"] == run.outcomes["proposals"] - run.outcomes["null proposals"]
    assert run.outcomes["moved variables"] > 10_000
    exact = chances(model.graph)
    for pool in np.unique(lifting.pools):
        assert np.ptp(exact[lifting.pools == pool]) < 1e-9
    assert len(np.unique(lifting.pools)) < len(exact)
    known = run.statistics()
    # Student's t with 7 degrees passes 40 about once in 1e9 draws; there are about twenty.
    assert (np.abs(known.probability - exact) < 40 * known.standard_error + 1e-6).all()


def test_renamings_that_move_many_constants_at_once_are_used():
    found, model, prepared = prepared_on(*friends(4, open_world=False, friendships=2, seed=1))
    lifting = lift_by_renaming(found, model, prepared)
    assert not isinstance(lifting.kernel, RandomScan)
    exact = chances(model.graph)
    for pool in np.unique(lifting.pools):
        assert np.ptp(exact[lifting.pools == pool]) < 1e-9


def test_values_move_with_the_constants_they_are():
    program = parse(
        "page = {P, Q, R}\nclass = {X, Y, Z}\nTopic(page, class!)\nLinks(page, page)\n"
        "1.3 Topic(p, c) ^ Links(p, q) => Topic(q, c)\n"
    )
    known = parse_database("Links(P, Q)\nLinks(P, R)", program)
    found, model, prepared = prepared_on(program, known)
    lifting = lift_by_renaming(found, model, prepared)
    assert "2 constants in 1 classes are swapped; 2 further renamings" in lifting.about
    assert lifting.pools is None


def test_symmetries_of_the_ground_model_are_used_where_constants_differ():
    """Everybody has other friends, but all that is unknown of them is alike."""
    program = parse("Link(thing, thing)\nA(thing)\n1.5 A(x) v Link(x, x)\n")
    links = "".join(f"Link(T{k}, T{k + 1})\n" for k in range(1, 4))
    found, model, prepared = prepared_on(program, parse_database(links, program))
    lifting = lift_by_renaming(found, model, prepared)
    assert "order 24 moves 4 variables" in lifting.about
    assert len(np.unique(lifting.pools)) == 1


def test_another_model_is_refused():
    found = ground(*friends(4))
    _, model, prepared = prepared_on(*friends(3))
    with pytest.raises(InputError, match="not the one"):
        lift_by_renaming(found, model, prepared)
