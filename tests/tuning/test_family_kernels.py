"""Families make kernels that keep the distribution, that do what was guessed, and come again."""

import numpy as np
import pytest

from orbitmc.ask.programs import logic
from orbitmc.graph.builder import Builder
from orbitmc.graph.conditionals.conditionals import conditionals, unrounded_conditionals
from orbitmc.graph.weights.potentials import log_weight
from orbitmc.kernels.testing.choices import outcomes
from orbitmc.kernels.testing.matrices import one_step
from orbitmc.logic.databases.evidence import parse_database
from orbitmc.logic.grounding.assembly import model_of
from orbitmc.logic.grounding.grounding import ground
from orbitmc.logic.language.parser import parse
from orbitmc.models.friends_models import friends
from orbitmc.models.ising_models import ising, ising_grid
from orbitmc.run.kept.checkpoint import digest
from orbitmc.tuning.families.families import FAMILIES
from orbitmc.tuning.recipe import Recipe
from tests.kernels.test_transition_matrices import EXACT, residuals
from tests.oracle import brute_force
from tests.tuning.models import named

DRAWS = 4000


def two_triangles():
    """Two strong triangles of mixed signs, weakly joined; no two spins are alike."""
    edges = [[0, 1], [1, 2], [0, 2], [3, 4], [4, 5], [3, 5], [2, 3]]
    couplings = [1.5, -1.2, 1.4, 1.3, 1.6, -1.1, 0.2]
    return ising([0.1, -0.2, 0.05, 0.15, 0.1, -0.1], edges, couplings)


def near_twins():
    """A hub and four spins beside it, two of them exactly alike, two nearly."""
    edges = [[0, 1], [0, 2], [0, 3], [0, 4]]
    return ising([0.3, 0.2, 0.2, -0.1, -0.15], edges, [0.5, 0.5, -0.4, -0.4])


def grid():
    rng = np.random.default_rng(4)
    return ising_grid(3, 3, rng.normal(size=12), rng.normal(size=(3, 3)))


def turning_ring():
    """Each of four wants to be one ahead of the one before: only turns keep that, no reflection."""
    ahead = [[0.0, 1.2, 0.3], [0.3, 0.0, 1.2], [1.2, 0.3, 0.0]]
    builder = Builder([3] * 4)
    for variable, fields in enumerate(np.random.default_rng(6).normal(0.0, 0.3, (4, 3))):
        builder.add_factor([variable], fields)
        builder.add_factor([variable, (variable + 1) % 4], ahead)
    return named(builder)


def smokers():
    """Four people, few of whose habits are known."""
    question = friends(4, open_world=False, friendships=1, smokers=0.25, influence=1.0, seed=3)
    return model_of(ground(*question))


def leaders():
    """Three people of whom those who lead are rich, one of them by name."""
    text = "person = {A, B, C}\nLeads(person)\nRich(person)\n2 Leads(x) <=> Rich(x)\n1 Rich(A)\n"
    program = parse(text)
    return logic(program, parse_database("", program)).model


SMALL = {
    "flip": two_triangles,
    "gauge flips": two_triangles,
    "twin swap": near_twins,
    "swap in small blocks": near_twins,
    "swap": near_twins,
    "swap in large blocks": near_twins,
    "shuffle of 4": near_twins,
    "shuffle of 8": near_twins,
    "shuffle": near_twins,
    "shuffle of large blocks": near_twins,
    "constants in 2 classes": smokers,
    "constants of one type": smokers,
    "windows of 2": grid,
    "reflections": grid,
    "generators": turning_ring,
}


@pytest.mark.parametrize("name", SMALL)
def test_families_keep_the_distribution(name):
    model = SMALL[name]()
    kernel = FAMILIES[name].build(model, unrounded_conditionals(model.graph))
    assert max(residuals(model.graph, one_step(model.graph, kernel))) <= EXACT


@pytest.mark.parametrize(
    ("name", "model"),
    [*SMALL.items(), ("windows of 3", grid), ("reflections", lambda: ising_grid(3, 5, 0.3, 0.2))],
)
def test_families_do_what_was_guessed(name, model):
    model = model()
    graph = model.graph
    kernel = FAMILIES[name].build(model, unrounded_conditionals(graph))
    propose = FAMILIES[name].guess(model)
    rng = np.random.default_rng(5)
    for _ in range(2):
        state = rng.integers(0, graph.cardinality).astype(np.uint8)
        guessed = {}
        before = log_weight(graph, state[:, None])[0]
        for _ in range(DRAWS):
            after = propose(state[:, None], rng)
            chance = np.exp(min(log_weight(graph, after)[0] - before, 0.0))
            end = tuple(after[:, 0].tolist())
            guessed[end] = guessed.get(end, 0.0) + chance / DRAWS
        found = outcomes(one_step(graph, kernel), tuple(state))
        away = set(found) - {tuple(state)}
        assert set(guessed) - {tuple(state)} <= away
        for end in away:  # at most 40 ends, normal: below 1e-6 each
            error = np.sqrt(found[end] / DRAWS)
            assert abs(guessed.get(end, 0.0) - found[end]) <= 5.0 * error, (state, end)


@pytest.mark.parametrize("name", SMALL)
def test_a_family_is_the_same_whenever_it_is_built_from_its_name(name):
    kernels = []
    for _ in range(2):
        model = SMALL[name]()
        kernels.append(Recipe((name,), 5).kernel(model, conditionals(model.graph)))
    assert digest(kernels[0]) == digest(kernels[1])


def test_moved_constants_take_their_atoms_along():
    model = smokers()
    values = np.random.default_rng(1).integers(0, 2, (model.graph.variables, 1), dtype=np.uint8)
    people = [name[name.index("(") + 1 : -1] for name in model.names]
    moved = set()
    rng = np.random.default_rng(2)
    for _ in range(50):
        after = FAMILIES["constants of one type"].guess(model)(values, rng)
        own = {people[k] for k in np.flatnonzero(after != values)}
        assert len(own) in (0, 2)
        moved |= own
    assert moved


def test_constants_that_formulas_name_are_swapped_with_all_others_only():
    model = leaders()
    prepared = conditionals(model.graph)
    every = FAMILIES["constants of one type"].build(model, prepared)
    assert len(every.swaps.member) == 3
    cautious = FAMILIES["constants in 2 classes"].build(model, prepared)
    assert cautious is None or 0 not in cautious.swaps.digit[cautious.swaps.member]


def test_observed_atoms_take_the_constants_away():
    model = smokers()
    given = model.given({model.names[0]: model.values[0][0]})
    assert FAMILIES["constants of one type"].build(given, conditionals(given.graph)) is None
    assert brute_force.distribution(given.graph).sum() == pytest.approx(1.0)
