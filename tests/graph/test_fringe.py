"""A core and its fringe are the whole: nothing is lost by summing variables out."""

from dataclasses import replace

import numpy as np
import pytest

from orbitmc.errors import ContradictionError
from orbitmc.graph.builder import Builder
from orbitmc.graph.fringe import eliminate_fringe
from orbitmc.models._ising import ising_grid
from tests.exact.random_graphs import random_graph
from tests.oracle.enumeration import log_weights_of_all

MODELS = 300


def probabilities(graph):
    """All states, an axis for each variable; None if none is possible."""
    log_weights = log_weights_of_all(graph)
    if log_weights.max() == -np.inf:
        return None
    weights = np.exp(log_weights - log_weights.max())
    return (weights / weights.sum()).reshape(graph.cardinality)


def possible_graphs():
    """Random graphs of seven variables with some possible state, and their probabilities."""
    for seed in range(MODELS):
        graph = random_graph(seed, variables=7)
        whole = probabilities(graph)
        if whole is not None:
            yield seed, graph, whole


def times_network(fringe):
    """The probability of the core times those of the network, with the axes of the whole."""
    axes = {v: axis for axis, v in enumerate(range(fringe.whole.variables))}
    core = probabilities(fringe.core)
    product, order = core, fringe.places.tolist()
    for variable, given, chances in reversed(fringe.network):
        new = [variable, *order]
        product = np.einsum(
            product,
            [axes[v] for v in order],
            chances,
            [axes[v] for v in (variable, *given)],
            [axes[v] for v in new],
        )
        order = new
    return np.moveaxis(product, range(len(order)), order)


@pytest.mark.parametrize("most", [2, 4, 8, 32])
def test_core_times_network_is_the_whole(most):
    left = set()
    for seed, graph, whole in possible_graphs():
        fringe = eliminate_fringe(graph, most)
        assert np.abs(times_network(fringe) - whole).max() <= 1e-12, seed
        left.add(fringe.core.variables)
    assert len(left) > 1


def test_marginals_of_the_core_and_the_sum_of_weights_stay():
    compared = 0
    for seed, graph, whole in possible_graphs():
        fringe = eliminate_fringe(graph, 8)
        gone = tuple(step.variable for step in fringe.network)
        assert np.abs(probabilities(fringe.core) - whole.sum(axis=gone)).max() <= 1e-12, seed
        expected = np.logaddexp.reduce(log_weights_of_all(graph))
        found = np.logaddexp.reduce(log_weights_of_all(fringe.core))
        assert found == pytest.approx(expected, rel=1e-12, abs=1e-12), seed
        compared += len(gone)
    assert compared > MODELS


def deviation_given_core(fringe, whole):
    """How far the fringe given a state of the core is from the list of all states."""
    largest = 0.0
    for step in fringe.given_core():
        given = [int(fringe.places[place]) for place in step.given]
        others = tuple({*range(whole.ndim)} - {step.variable, *fringe.places.tolist()})
        core = [v for v in range(whole.ndim) if v == step.variable or v in fringe.places]
        joint = np.moveaxis(whole.sum(axis=others), core.index(step.variable), 0)
        total = joint.sum(axis=0)
        shape = [
            size if v in given else 1 for v, size in zip(fringe.places, total.shape, strict=True)
        ]
        ordered = np.moveaxis(
            step.chances, range(1, 1 + len(given)), np.argsort(np.argsort(given)) + 1
        )
        predicted = ordered.reshape(-1, *shape) * total
        largest = max(largest, float(np.abs(predicted - joint).max()))
    return largest


@pytest.mark.parametrize("most", [4, 8, 32])
def test_the_fringe_is_recovered_given_each_state_of_the_core(most):
    for seed, graph, whole in possible_graphs():
        assert deviation_given_core(eliminate_fringe(graph, most), whole) <= 1e-12, seed


def test_a_network_with_two_values_exchanged_would_be_noticed():
    noticed, tried = 0, 0
    for _, graph, whole in possible_graphs():
        fringe = eliminate_fringe(graph, 8)
        uneven = [s for s in fringe.network if np.abs(s.chances - s.chances[::-1]).min() > 0.1]
        if not uneven:
            continue
        step = uneven[-1]
        turned = step._replace(chances=step.chances[::-1])
        network = tuple(turned if other is step else other for other in fringe.network)
        tried += 1
        noticed += deviation_given_core(replace(fringe, network=network), whole) > 1e-6
    assert noticed == tried > 20


def test_no_table_of_the_fringe_is_larger_than_allowed():
    fringe = eliminate_fringe(ising_grid(12, 12, 0.3, 0.1).graph, 2**5)
    assert max(step.chances.size for step in fringe.network) == 2**5
    assert 20 < fringe.core.variables < 100


def test_long_clauses_and_large_tables_stay_in_the_core():
    builder = Builder([2] * 12)
    builder.add_clause(range(9), [1] * 9, 1.5)
    builder.add_factor([8, 9], np.array([[1.0, 0.0], [0.5, 2.0]]))
    builder.add_factor([9, 10], np.array([[0.0, 1.0], [0.3, 0.0]]))
    fringe = eliminate_fringe(builder.build())
    assert fringe.places.tolist() == list(range(9))
    assert fringe.core.factors - fringe.core.first_clause == 1
    assert np.abs(times_network(fringe) - probabilities(fringe.whole)).max() <= 1e-12


def test_what_is_impossible_is_refused():
    builder = Builder([2, 2])
    builder.add_factor([0, 1], np.full((2, 2), -np.inf))
    with pytest.raises(ContradictionError):
        eliminate_fringe(builder.build())
