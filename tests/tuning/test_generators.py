"""Symmetries of the structure are found where no other family knows them, and only there."""

from dataclasses import replace

import numpy as np
import pytest

import orbitmc as om
from orbitmc import symmetry
from orbitmc.conditionals.prepared import prepare
from orbitmc.graph.builder import Builder
from orbitmc.groups.permutation_groups import orbits
from orbitmc.models._ising import ising
from orbitmc.tuning import families as generators
from orbitmc.tuning.families import FAMILIES
from tests.tuning.models import cubic_torus, named

FAMILY = FAMILIES["generators"]


def ring(sites, first=0):
    numbers = np.arange(sites)
    return first + np.stack([numbers, np.roll(numbers, -1)], axis=1)


def spins(edges, *, fields=0.1, coupling=-0.8, disorder=0.0):
    rng = np.random.default_rng(3)
    variables = int(edges.max()) + 1
    couplings = coupling + rng.normal(0.0, disorder, len(edges))
    return ising(rng.normal(0.0, fields, variables), edges, couplings)


def group_of(model):
    kernel = FAMILY.build(model, prepare(model.graph))
    return None if kernel is None else kernel.group


@pytest.mark.parametrize("edges", [ring(12), cubic_torus(3)], ids=["ring", "cube"])
@pytest.mark.parametrize("disorder", [0.0, 0.05], ids=["equal couplings", "nearly equal ones"])
def test_weak_fields_and_disorder_leave_all_translations(edges, disorder):
    model = spins(edges, disorder=disorder)
    group = group_of(model)
    assert [len(orbit) for orbit in orbits(group)] == [model.graph.variables]
    pairs = {frozenset(pair) for pair in edges.tolist()}
    for element in group.generators():
        assert {frozenset(map(element, pair)) for pair in pairs} == pairs


def test_generators_that_fields_forbid_are_left_out():
    weak, strong = np.random.default_rng(5).normal(0.0, 0.1, 8), np.linspace(-40.0, 40.0, 10)
    edges = np.concatenate([ring(8), ring(10, first=8)])
    model = ising(np.concatenate([weak, strong]), edges, 0.4)
    assert [orbit.tolist() for orbit in orbits(group_of(model))] == [list(range(8))]
    assert group_of(ising(strong, ring(10), 0.4)) is None


def star():
    return np.array([[0, 1], [0, 2], [0, 3], [0, 4]])


def triples():
    builder = Builder([2] * 3)
    builder.add_factor([0, 1, 2], np.zeros((2, 2, 2)))
    return named(builder)


def uneven():
    """A path with a branch: no two sites look alike."""
    return np.array([[0, 1], [1, 2], [2, 3], [3, 4], [4, 5], [2, 6]])


ELSEWHERE = {
    "a lattice": lambda: om.ising_grid(4, 5, 0.4),
    "only twins": lambda: spins(star()),
    "nothing alike": lambda: spins(uneven()),
    "a glass": lambda: spins(cubic_torus(3), coupling=0.0, disorder=1.0),
    "no pairs": lambda: om.model({"a": ["x", "y"]}, [(("a",), [1.0, 2.0])]),
    "larger factors": triples,
    "too many variables": lambda: spins(ring(generators.MOST_VARIABLES + 1)),
}


@pytest.mark.parametrize("model", ELSEWHERE.values(), ids=ELSEWHERE)
def test_nothing_is_searched_where_it_cannot_help(model, monkeypatch):
    def searched(*question, **settings):
        raise AssertionError("this takes time and has to be compiled")

    monkeypatch.setattr(symmetry, "automorphisms", searched)
    made = model()
    assert FAMILY.guess(made) is None
    assert group_of(made) is None


def test_a_search_that_was_not_finished_counts_for_nothing(monkeypatch):
    def cut_short(*question, **settings):
        return replace(original(*question, **settings), complete=False)

    original = symmetry.automorphisms
    monkeypatch.setattr(symmetry, "automorphisms", cut_short)
    assert group_of(spins(ring(12))) is None
