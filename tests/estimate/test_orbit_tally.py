"""Averages over orbits are right for any group when weighed, and only then."""

import numpy as np
import pytest

from orbitmc.errors import LimitError
from orbitmc.estimate import orbit_tally as module
from orbitmc.estimate.orbit_tally import orbit_tally, rows_of_orbits
from orbitmc.estimate.row_summaries import pooled
from orbitmc.estimate.tallies import record
from orbitmc.graph.conditionals.draws import scratch
from orbitmc.graph.prepared import prepare
from orbitmc.groups.permutation import from_images
from orbitmc.groups.permutation_groups import permutation_group
from orbitmc.machine.compiling import compiled
from tests.groups.builders import from_row
from tests.oracle import brute_force
from tests.oracle.random_models import random_graph, random_ising


@compiled
def record_once(tally, prepared, memory, values):
    record(tally, prepared, memory, values, 0)


def expected_record(graph, group, recording):
    """The mean of what one sample adds, over the distribution of the graph."""
    expected = 0.0
    states, chances = brute_force.states(graph), brute_force.distribution(graph)
    prepared = prepare(graph)
    memory = scratch(prepared, 32)
    for state, chance in zip(states, chances, strict=True):
        if chance > 0:
            found = orbit_tally(graph, 32, group)
            values = np.repeat(np.array(state, dtype=np.uint8)[:, None], 32, axis=1)
            recording(found, prepared, memory, values)
            expected = expected + chance * found.sums[0].sum(axis=1) / 32
    return expected


def truth(graph):
    return np.concatenate([m[1:] if len(m) == 2 else m for m in brute_force.marginals(graph)])


def cycle(graph):
    """A wrong group: turn the variables and, on the way, the values of the first."""
    image = np.roll(np.arange(graph.variables), 1)
    maps = [np.arange(size) for size in graph.cardinality]
    maps[0] = np.roll(maps[0], 1)
    turned = from_images(graph.variables, np.arange(graph.variables), image, maps)
    return permutation_group(graph.variables, [turned])


@pytest.mark.parametrize("cardinality", [2, 3])
@pytest.mark.parametrize("zeros", [0.0, 0.2])
def test_weighed_averages_have_the_right_mean_for_wrong_groups(cardinality, zeros):
    for seed in range(4):
        graph = random_graph(seed, variables=(3, 4), cardinalities=(cardinality,), zeros=zeros)
        found = expected_record(graph, cycle(graph), record_once)
        np.testing.assert_allclose(found, truth(graph), atol=1e-12)


def test_averages_without_weights_are_biased(monkeypatch):
    graph = random_ising(3, variables=4, degree=2, equal=False)

    def unweighed(weight, elements, memory):
        weight[:elements] = 1.0 / elements

    monkeypatch.setattr(module, "_normalise", unweighed)

    def interpreted(tally, prepared, memory, values):
        record(tally, prepared, memory, values, 0)

    found = expected_record(graph, cycle(graph), interpreted)
    assert np.abs(found - truth(graph)).max() > 0.01


def test_large_groups_are_refused():
    graph = random_ising(3, variables=6, degree=2, equal=False)
    group = permutation_group(6, [from_row([1, 0, 2, 3, 4, 5]), from_row([1, 2, 3, 4, 5, 0])])
    with pytest.raises(LimitError, match="720"):
        orbit_tally(graph, 32, group)


def test_pools_join_equal_values_of_one_orbit():
    sizes = np.array([2, 2, 3, 3, 1], dtype=np.uint32)
    pools = rows_of_orbits(sizes, np.array([0, 0, 2, 2, 4]))
    assert pools.tolist() == [0, 0, 1, 2, 3, 1, 2, 3]
    rows = np.arange(8.0)[:, None] * np.ones((3, 1, 2))
    means = pooled(rows, pools)
    assert means.shape == (3, 4, 2)
    assert means[2, :, 1].tolist() == [0.5, 3.5, 4.5, 5.5]
