"""Renaming constants end to end: exact renamings are never rejected, wrong ones never bias."""

import numpy as np
import pytest

from orbitmc.ask.relational_lifting import (
    by_approximate_atoms,
    by_approximate_renaming,
    by_renaming,
)
from orbitmc.errors import InputError
from orbitmc.exact.elimination import marginals as eliminate
from orbitmc.graph.prepared import prepare
from orbitmc.kernels.base.gibbs import RandomScan
from orbitmc.logic.constants.approximate_classes import by_evidence, by_messages
from orbitmc.logic.constants.approximate_databases import low_rank_database, voted_database
from orbitmc.logic.constants.atom_cells import variable_cells
from orbitmc.logic.constants.boolean_relations import by_rank
from orbitmc.logic.databases.evidence import parse_database
from orbitmc.logic.grounding.assembly import model_of
from orbitmc.logic.grounding.grounding import ground
from orbitmc.logic.language.parser import parse
from orbitmc.models.friends import friends
from orbitmc.run.sampler import sample
from orbitmc.run.schedule import Schedule
from orbitmc.symmetry.approximation.colours import averaged

SAMPLES = Schedule(samples=500)


def prepared_on(*question):
    found = ground(*question)
    model = model_of(found)
    return found, model, prepare(model.graph)


def chances(graph):
    return np.array([marginal[1] for marginal in eliminate(graph).marginals])


@pytest.fixture(scope="module")
def acquaintances():
    """Seven people with known friends; what they do is mostly unknown."""
    question = friends(7, open_world=False, friendships=3, smokers=0.4, influence=1.5, seed=3)
    return question, *prepared_on(*question)


def test_exact_renamings_are_never_rejected_and_pool_what_is_equal():
    found, model, prepared = prepared_on(*friends(4, smokers=0.4, seed=2))
    lifting = by_renaming(found, model, prepared, alpha=0.5)
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
    lifting = by_renaming(found, model, prepared)
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
    lifting = by_renaming(found, model, prepared)
    assert "2 constants in 1 classes are swapped; 2 further renamings" in lifting.about
    assert lifting.pools is None


APPROXIMATIONS = {
    "clusters": lambda found, model: by_evidence(found, 2),
    "messages": lambda found, model: by_messages(found, model, rounds=0),
    "rank": lambda found, model: by_rank(found, 1),
}


@pytest.mark.parametrize("name", APPROXIMATIONS)
def test_wrong_classes_never_bias(name, acquaintances):
    _, found, model, prepared = acquaintances
    classes = APPROXIMATIONS[name](found, model)
    lifting = by_approximate_renaming(found, model, prepared, classes, alpha=0.5)
    run = sample(prepared, lifting.kernel, SAMPLES)
    refused = run.outcomes["proposals"] - run.outcomes["null proposals"] - run.outcomes["accepted"]
    assert refused > 100
    known = run.statistics()
    errors = np.abs(known.probability - chances(model.graph)) / (known.standard_error + 1e-7)
    # Student's t with 31 degrees passes 9.5 about once in 1e10 draws.
    assert errors.max() < 9.5


def test_atoms_that_look_alike_may_move_alone(acquaintances):
    _, found, model, prepared = acquaintances
    lifting = by_approximate_atoms(found, model, prepared, by_evidence(found, 2), alpha=0.5)
    run = sample(prepared, lifting.kernel, SAMPLES)
    assert run.outcomes["accepted"] > 100
    known = run.statistics()
    errors = np.abs(known.probability - chances(model.graph)) / (known.standard_error + 1e-7)
    assert errors.max() < 9.5  # as above


def test_taking_an_approximation_for_the_truth_is_biased(acquaintances):
    (program, database), found, model, _ = acquaintances
    exact = chances(model.graph)
    classes = by_evidence(found, 2)
    symmetric = [
        ground(program, low_rank_database(found, database, 1)),
        ground(program, voted_database(found, database, classes)),
    ]
    graphs = [model_of(one).graph for one in symmetric]
    graphs.append(averaged(model, variable_cells(found, classes)).graph)
    for graph in graphs:
        assert np.abs(chances(graph) - exact).max() > 0.02


def test_without_interchangeable_constants_it_is_gibbs(acquaintances):
    _, found, model, prepared = acquaintances
    alone = {"person": np.arange(7)}
    lifting = by_approximate_renaming(found, model, prepared, alone)
    assert isinstance(lifting.kernel, RandomScan)


def test_symmetries_of_the_ground_model_are_used_where_constants_differ():
    """Everybody has other friends, but all that is unknown of them is alike."""
    program = parse("Link(thing, thing)\nA(thing)\n1.5 A(x) v Link(x, x)\n")
    links = "".join(f"Link(T{k}, T{k + 1})\n" for k in range(1, 4))
    found, model, prepared = prepared_on(program, parse_database(links, program))
    lifting = by_renaming(found, model, prepared)
    assert "order 24 moves 4 variables" in lifting.about
    assert len(np.unique(lifting.pools)) == 1


def test_another_model_is_refused(acquaintances):
    _, found, _, _ = acquaintances
    _, model, prepared = prepared_on(*friends(3))
    with pytest.raises(InputError, match="not the one"):
        by_renaming(found, model, prepared)
