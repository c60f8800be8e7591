"""Families of jumps are built where they make sense, and say beforehand how they will do."""

import numpy as np
import pytest

import orbitmc as om
from orbitmc.graph.builder import Builder
from orbitmc.graph.conditionals.conditionals import conditionals
from orbitmc.graph.weights.potentials import log_weight
from orbitmc.logic.grounding.assembly import model_of
from orbitmc.logic.grounding.grounding import ground
from orbitmc.models.chimera_models import random_chimera
from orbitmc.models.friends_models import friends
from orbitmc.models.ising_models import ising_grid
from orbitmc.tuning.arm import guessed_acceptance
from orbitmc.tuning.families import exchange_families
from orbitmc.tuning.families.exchange_families import shuffle_families, swap_families
from orbitmc.tuning.families.families import CONTENDERS, FAMILIES
from orbitmc.tuning.families.sizes import OFTEN, chosen_size
from orbitmc.tuning.structure.groups import exclusive_groups
from tests.tuning.models import assignment, named, one_hot_pages, ordered_grid

ALWAYS = {"replica"}
LOCAL = {"informed swap", *swap_families(), *shuffle_families()}
WINDOWS = {"reflections", "windows of 2", "windows of 3"}


def two_chains():
    builder = Builder([2] * 6)
    builder.add_factors([[0, 1], [1, 2], [3, 4], [4, 5]], builder.add_table([0.5, 0, 0, 0.5]))
    return named(builder)


def triples():
    builder = Builder([2, 3, 3, 2])
    rng = np.random.default_rng(1)
    builder.add_factor([0, 1, 2], rng.normal(size=(2, 3, 3)))
    builder.add_factor([2, 3], rng.normal(size=(3, 2)))
    return named(builder)


def test_what_depends_on_what_is_found_once_for_all_sizes(monkeypatch):
    asked = []
    find = exchange_families.links
    monkeypatch.setattr(
        exchange_families, "links", lambda graph: asked.append(graph) or find(graph)
    )
    model = ising_grid(4, 4, 0.2, np.linspace(-0.1, 0.1, 16).reshape(4, 4))
    sizes = [*swap_families().values(), *shuffle_families().values()]
    assert all(family.guess(model) is not None for family in sizes)
    assert len(asked) == 1
    assert asked[0] is model.graph


@pytest.mark.parametrize(
    ("model", "wanted", "unwanted"),
    [
        (
            ordered_grid(4),
            {"flip", "clusters", "windows of 4"} | WINDOWS,
            {"component flips", "labels", "one-hot", "gauge flips", "twin swap", "windows of 8"}
            | {"generators"},
        ),
        (
            two_chains(),
            {"flip", "component flips", "clusters", "twin swap", "generators"},
            {"labels", "group swap", "gauge flips"} | WINDOWS,
        ),
        (
            om.potts_grid(3, 3, 3, 0.5),
            {"labels"} | WINDOWS,
            {"flip", "gauge flips", "clusters", "informed swap", "generators"},
        ),
        (
            triples(),
            {"flip", "labels"},
            {"clusters", "one-hot", "group exchange", "twin swap", "constants of one type"}
            | {"generators"}
            | WINDOWS,
        ),
        (
            random_chimera(2, 2, beta=0.5, field=0.1, seed=3),
            {"flip", "gauge flips", "clusters"},
            {"labels", "one-hot", "twin swap", "constants of one type"} | WINDOWS,
        ),
        (
            model_of(ground(*friends(6, open_world=False, friendships=2, smokers=0.3, seed=1))),
            {"flip", "constants of one type"},
            {"labels", "one-hot"} | WINDOWS,
        ),
        (one_hot_pages(), {"flip", "one-hot", "group swap", "group exchange"}, {"labels"}),
        (one_hot_pages(pages=1), {"one-hot", "group swap"}, {"group exchange", "labels"}),
    ],
    ids=["grid", "two components", "Potts", "triples", "cells", "program", "one-hot", "one page"],
)
def test_families_are_built_where_they_make_sense(model, wanted, unwanted):
    prepared = conditionals(model.graph)
    built = {name for name, one in FAMILIES.items() if one.build(model, prepared) is not None}
    assert wanted | ALWAYS <= built
    assert not unwanted & built
    assert built <= wanted | ALWAYS | LOCAL | (FAMILIES.keys() - unwanted)


@pytest.mark.parametrize("clauses", [False, True], ids=["tables", "clauses"])
@pytest.mark.parametrize("hard", [False, True], ids=["soft", "hard"])
def test_exclusive_groups_are_the_labels_of_each_page(clauses, hard):
    graph = one_hot_pages(clauses=clauses, hard=hard).graph
    found = [group.tolist() for group in exclusive_groups(graph)]
    assert found == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]


def test_exclusive_groups_of_an_assignment_are_its_rows():
    found = [group.tolist() for group in exclusive_groups(assignment(3).graph)]
    assert found == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]


def test_weak_couplings_exclude_nobody():
    assert exclusive_groups(one_hot_pages(exclusion=1.9).graph) == []
    assert exclusive_groups(ordered_grid(3).graph) == []


def test_a_guess_is_the_acceptance_of_the_jump():
    model = ordered_grid(3)
    values = np.random.default_rng(1).integers(0, 2, (9, 32), dtype=np.uint8)
    change = log_weight(model.graph, 1 - values) - log_weight(model.graph, values)
    expected = np.minimum(np.exp(change), 1.0).mean()
    found = guessed_acceptance(model, FAMILIES["flip"].guess(model), values)
    assert found == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("name", "model"),
    [("labels", om.potts_grid(3, 3, 3, 0.5)), ("group exchange", assignment(3))],
)
def test_guesses_are_jumps_of_their_family(name, model):
    rng = np.random.default_rng(2)
    graph = model.graph
    values = rng.integers(0, graph.cardinality[:, None], (graph.variables, 32)).astype(np.uint8)
    after = FAMILIES[name].guess(model)(values, rng)
    assert (after != values).any()
    if name == "labels":  # a bijection of values, the same everywhere
        assert all(len(np.unique(after[values == value])) == 1 for value in range(3))
    else:  # two rows in each other's place
        rows = values.reshape(3, 3, -1)
        moved = [k for k in range(3) if (after.reshape(3, 3, -1)[k] != rows[k]).any()]
        assert len(moved) == 2
        assert (after.reshape(3, 3, -1)[moved] == rows[moved[::-1]]).all()


def windows():
    return next(sizes for sizes in CONTENDERS if "windows of 2" in sizes)


def fields_alone(spread, side=9):
    """A grid whose couplings hardly matter, and states as its fields want them."""
    rng = np.random.default_rng(side)
    fields = rng.normal(0.0, spread, (side, side))
    chances = 1.0 / (1.0 + np.exp(-2.0 * fields.reshape(-1, 1)))
    model = om.ising_grid(side, side, 0.001, fields)
    return model, (rng.random((side * side, 64)) < chances).astype(np.uint8)


def accepted(model, sizes, values):
    guesses = {name: family.guess(model) for name, family in sizes.items()}
    return {
        name: guessed_acceptance(model, propose, values)
        for name, propose in guesses.items()
        if propose is not None
    }


@pytest.mark.parametrize(
    ("spread", "side", "wanted"),
    [
        (0.01, 9, {"windows of 8"}),
        (0.01, 5, {"windows of 4"}),
        (1.0, 9, {"windows of 2", "windows of 3"}),
    ],
)
def test_the_boldest_size_that_is_often_accepted_takes_part(spread, side, wanted):
    model, values = fields_alone(spread, side)
    chosen = chosen_size(model, windows(), values)
    assert chosen in wanted
    found = accepted(model, windows(), values)
    assert found[chosen] >= OFTEN
    larger = list(found)[list(found).index(chosen) + 1 :]
    assert all(found[name] < OFTEN for name in larger)


def test_if_no_size_is_often_accepted_the_likeliest_one_takes_part():
    model, values = fields_alone(9.0)
    found = accepted(model, windows(), values)
    assert max(found.values()) < OFTEN
    assert chosen_size(model, windows(), values) == max(found, key=found.get)


def test_sizes_are_no_question_where_a_jump_makes_no_sense():
    model = two_chains()
    name = chosen_size(model, windows(), np.zeros((6, 64), dtype=np.uint8))
    assert FAMILIES[name].build(model, conditionals(model.graph)) is None
