"""Curves say what changing one variable of a pairwise model changes."""

import numpy as np
import pytest

from orbitmc.conditionals.classify import FIELD_ERROR
from orbitmc.conditionals.draws import scratch
from orbitmc.conditionals.fields import local_curve
from orbitmc.conditionals.prepared import conditionals, prepare, prepare_unrounded
from orbitmc.graph.builder import Builder
from tests.oracle import brute_force


def pairwise_graph(seed, scale=1.0):
    """Up to three values each; pairs in both orders, some twice, and fields."""
    rng = np.random.default_rng(seed)
    sizes = [3, *rng.integers(1, 4, size=4)]
    builder = Builder(sizes)
    for variable in rng.permutation(5)[:3]:
        builder.add_factor([variable], scale * rng.normal(size=sizes[variable]))
    for _ in range(7):
        one, other = rng.choice(5, size=2, replace=False)
        builder.add_factor([one, other], scale * rng.normal(size=sizes[one] * sizes[other]))
    return builder.build()


def errors_of(prepared):
    """Between curves and the differences of log-weights, over all states and curves."""
    graph, known = prepared
    curved = np.flatnonzero(known.pairwise > known.affine)
    memory = scratch(prepared, 1)
    errors = []
    for state in brute_force.states(graph):
        values = np.array(state, dtype=np.uint8).reshape(-1, 1)
        for variable in curved:
            local_curve(known, memory, values, variable)
            base = list(state)
            base[variable] = 0
            slope, bend = float(memory.field[0]), float(memory.bend[0])
            for value in range(graph.cardinality[variable]):
                changed = [*base[:variable], value, *base[variable + 1 :]]
                truth = brute_force.log_weight(graph, changed) - brute_force.log_weight(graph, base)
                found = value * (slope + (value - 2) * bend)  # above value 0, which is at -1
                errors.append(abs(found - truth))
    return np.array(errors)


@pytest.mark.parametrize("seed", range(6))
def test_curves_are_differences_of_log_weights(seed):
    graph = pairwise_graph(seed)
    exact = prepare_unrounded(graph)
    assert exact.conditionals.pairwise.all()
    assert errors_of(exact).max() <= 1e-12
    assert np.sqrt(np.mean(errors_of(prepare(graph)) ** 2)) <= FIELD_ERROR


def test_tables_too_large_for_float32_have_no_curve():
    graph = pairwise_graph(0, scale=100.0)
    known = conditionals(graph)
    assert not known.pairwise[0]
    assert conditionals(pairwise_graph(0)).pairwise[0]
    assert len(known.curve) < len(conditionals(pairwise_graph(0)).curve)


def test_variables_without_a_curve_take_no_room():
    builder = Builder([2, 2, 4])
    builder.add_factor([0, 1], [0.0, 1.0, 2.0, 0.5])
    builder.add_factor([1, 2], np.arange(8.0))
    known = conditionals(builder.build())
    assert known.pairwise.tolist() == [1, 0, 0]
    assert len(known.curve) == 0
