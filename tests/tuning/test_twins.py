"""Twins are the variables whose exchange changes no state's weight."""

from itertools import combinations

import numpy as np
import pytest

import orbitmc as om
from orbitmc.graph.builder import Builder
from orbitmc.models._ising import ising
from orbitmc.tuning.structure import twins
from tests.oracle import brute_force
from tests.oracle.random_models import random_graph


def brute_twins(graph):
    """Pairs whose exchange keeps the weight of every state."""
    weights = {state: brute_force.log_weight(graph, state) for state in brute_force.states(graph)}
    found = set()
    for one, other in combinations(range(graph.variables), 2):
        if graph.cardinality[one] == graph.cardinality[other]:
            order = list(range(graph.variables))
            order[one], order[other] = other, one
            turned = [weights[tuple(state[k] for k in order)] for state in weights]
            if np.allclose(turned, list(weights.values()), rtol=0.0, atol=1e-12):
                found.add((one, other))
    return found


def pairs_of(blocks):
    return {pair for block in blocks for pair in combinations(sorted(block.tolist()), 2)}


def clauses():
    """Two interchangeable causes, and a third whose sign differs."""
    builder = Builder([2] * 5)
    for cause in (0, 1):
        builder.add_clause([cause, 3, 4], [0, 1, 1], 1.5)
    builder.add_clause([2, 3, 4], [1, 1, 1], 1.5)
    builder.add_clause([3, 4], [0, 1], 0.5)
    return builder.build()


def crossed():
    """The same tables and neighbours, but the other way round."""
    return ising([0.1] * 4, [[0, 2], [0, 3], [1, 2], [1, 3]], [0.5, -0.5, -0.5, 0.5]).graph


def directed():
    """A pair that does not read the same either way."""
    builder = Builder([2, 2])
    builder.add_factor([0, 1], [0.1, 0.2, 0.7, 0.4])
    return builder.build()


MODELS = {
    "star": ising([0.3, 0.2, 0.2, 0.2, 0.1], [[0, 1], [0, 2], [3, 0], [0, 4]], 0.5).graph,
    "clique": ising([0.3] * 4 + [0.1], list(combinations(range(5), 2)), 0.4).graph,
    "square": om.ising_grid(2, 2, 0.4).graph,
    "Potts": om.potts_grid(1, 3, 3, 0.5).graph,
    "clauses": clauses(),
    "crossed": crossed(),
    "directed": directed(),
}


@pytest.mark.parametrize("name", MODELS)
def test_twins_are_those_of_all_states(name):
    assert pairs_of(twins(MODELS[name])) == brute_twins(MODELS[name])


def test_no_twins_are_invented_in_random_models():
    for seed in range(20):
        graph = random_graph([seed, 40], zeros=0.2)
        assert pairs_of(twins(graph)) <= brute_twins(graph)


def test_large_classes_are_found_whole():
    spokes = [[0, k] for k in range(1, 300)]
    assert [len(block) for block in twins(ising(np.zeros(300), spokes, 0.1).graph)] == [299]
