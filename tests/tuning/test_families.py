"""Families of jumps are built where they make sense, and say beforehand how they will do."""

import numpy as np
import pytest

import orbitmc as om
from orbitmc.conditionals.prepared import prepare
from orbitmc.graph.builder import Builder
from orbitmc.graph.log_weights import log_weight
from orbitmc.mln.grounding.ground_model import model_of
from orbitmc.mln.grounding.grounding import ground
from orbitmc.models._chimera import random_chimera
from orbitmc.models._friends import friends
from orbitmc.tuning.families import FAMILIES
from orbitmc.tuning.structure import exclusive_groups
from orbitmc.tuning.trial import estimate_acceptance
from tests.tuning.models import assignment, named, one_hot_pages, ordered_grid


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


@pytest.mark.parametrize(
    ("model", "wanted", "unwanted"),
    [
        (
            ordered_grid(4),
            {"flip", "clusters", "reflections"},
            {"component flips", "labels", "one-hot", "gauge flips", "generators"},
        ),
        (
            two_chains(),
            {"flip", "component flips", "clusters", "generators"},
            {"labels", "group exchange", "gauge flips", "reflections"},
        ),
        (
            om.potts_grid(3, 3, 3, 0.5),
            {"labels", "reflections"},
            {"flip", "gauge flips", "clusters", "generators"},
        ),
        (
            triples(),
            {"flip", "labels"},
            {"clusters", "one-hot", "group exchange", "generators", "reflections"},
        ),
        (
            random_chimera(2, 2, beta=0.5, field=0.1, seed=3),
            {"flip", "gauge flips", "clusters"},
            {"labels", "one-hot", "reflections"},
        ),
        (
            model_of(ground(*friends(6, open_world=False, friendships=2, smokers=0.3, seed=1))),
            {"flip"},
            {"labels", "one-hot", "reflections"},
        ),
        (one_hot_pages(), {"flip", "one-hot", "group exchange"}, {"labels"}),
        (one_hot_pages(pages=1), {"one-hot"}, {"group exchange", "labels"}),
    ],
    ids=["grid", "two components", "Potts", "triples", "cells", "program", "one-hot", "one page"],
)
def test_families_are_built_where_they_make_sense(model, wanted, unwanted):
    prepared = prepare(model.graph)
    built = {name for name, one in FAMILIES.items() if one.build(model, prepared) is not None}
    assert wanted <= built
    assert not unwanted & built


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
    found = estimate_acceptance(model, FAMILIES["flip"].guess(model), values)
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
