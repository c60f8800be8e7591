import itertools

import numpy as np
import pytest

from orbitmc._util.arrays import ranks
from orbitmc.models._ising import ising
from orbitmc.symmetry.encoding import variable_graph
from orbitmc.symmetry.matching import checker, preserves
from orbitmc.symmetry.refinement import equitable_cells
from orbitmc.symmetry.terms import energy_form
from orbitmc.symmetry.twins import neighboring_swaps, twin_classes
from tests.oracle.symmetries import is_symmetry, log_weights
from tests.symmetry.models import complete_edges, patterned


def classes_of(graph):
    drawn = variable_graph(energy_form(graph))
    return twin_classes(drawn, equitable_cells(drawn))


@pytest.mark.parametrize("seed", range(40))
def test_twins_are_the_pairs_whose_exchange_changes_nothing(seed):
    graph = patterned(seed)
    classes = classes_of(graph)
    logs = log_weights(graph)
    kept = [tuple(range(int(size))) for size in graph.cardinality]
    for one, other in itertools.combinations(range(graph.variables), 2):
        image = list(range(graph.variables))
        image[one], image[other] = other, one
        same_size = graph.cardinality[one] == graph.cardinality[other]
        assert (classes[one] == classes[other]) == (same_size and is_symmetry(logs, image, kept))


@pytest.mark.parametrize("seed", range(20))
def test_twins_in_clauses_are_the_pairs_that_the_graph_allows(seed):
    graph = patterned(seed, zeros=seed % 2 == 0, clauses=True)
    drawn = variable_graph(energy_form(graph))
    classes = classes_of(graph)
    own = checker(drawn)
    for one, other in itertools.combinations(range(graph.variables), 2):
        image = np.arange(graph.variables)
        image[[one, other]] = other, one
        swaps = preserves(drawn, own, image, np.array([one, other]), 2)
        assert (classes[one] == classes[other]) == swaps


def test_a_clique_is_one_class():
    graph = ising(np.zeros(300), complete_edges(300), 0.1).graph
    assert classes_of(graph).max() == 0


def test_twins_that_are_not_joined_are_found_too():
    one, other = np.meshgrid(np.arange(5), 5 + np.arange(7))
    edges = np.stack([one.reshape(-1), other.reshape(-1)], axis=1)
    assert classes_of(ising(np.zeros(12), edges, 0.1).graph).tolist() == [0] * 5 + [1] * 7


def test_ranks_and_swaps_follow_the_numbers():
    classes = np.array([0, 1, 0, 2, 1, 0])
    assert ranks(classes).tolist() == [0, 0, 1, 0, 1, 2]
    one, other = neighboring_swaps(classes)
    assert list(zip(one.tolist(), other.tolist(), strict=True)) == [(0, 2), (2, 5), (1, 4)]
