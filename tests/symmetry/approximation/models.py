"""Models that approximations are tried on, and what must stay as it was."""

import numpy as np

from orbitmc.graph.builder import Builder
from orbitmc.graph.model import Model
from orbitmc.models._ising import ising_grid
from tests.oracle.brute_force import log_weight, states
from tests.oracle.random_models import random_graph


def named(graph):
    names = tuple(f"v{variable}" for variable in range(graph.variables))
    return Model(graph, names, tuple(tuple(map(str, range(size))) for size in graph.cardinality))


def noisy_grid(seed=0, side=3):
    rng = np.random.default_rng(seed)
    couplings = rng.normal(size=2 * side * (side - 1))
    return ising_grid(side, side, couplings, rng.normal(size=(side, side)))


def observed_grid():
    """A grid with evidence, whose order of names differs from that of its variables."""
    return noisy_grid(1).given({"s1_1": "up", "s0_2": [0.2, 0.8]})


def random_model(seed, **settings):
    return named(random_graph(seed, **settings))


def pairs_and_clauses():
    """Ternary variables, a directed table used both ways round, soft and hard clauses."""
    rng = np.random.default_rng(4)
    builder = Builder([3, 3, 3, 2, 2, 2])
    table = rng.normal(size=(3, 3))
    builder.add_factor([0, 1], table)
    builder.add_factor([2, 1], table.T)
    builder.add_factor([3], [-np.inf, 0.5])
    builder.add_clause([3, 4, 5], [1, 1, 1], 0.7)
    builder.add_clause([3, 4, 5], [0, 1, 1], 0.9)
    builder.add_clause([0, 4, 5], [2, 0, 1], np.inf)
    return named(builder.build())


def log_weights(model):
    """Log-weight of every state, up to a constant: the first possible one has zero."""
    found = np.array([log_weight(model.graph, state) for state in states(model.graph)])
    return found - found[np.isfinite(found)][0]


def assert_same_variables(approximation, model):
    assert approximation.names == model.names
    assert approximation.values == model.values
    assert approximation.observed == model.observed
    assert approximation.order == model.order
    np.testing.assert_array_equal(approximation.graph.cardinality, model.graph.cardinality)


def factors_of(model):
    """Scope and table of every factor, as a set that ignores how factors are ordered."""
    graph = model.graph
    return {
        (tuple(graph.scope_of(f).tolist()), tuple(np.round(graph.full_table(f).reshape(-1), 9)))
        for f in range(graph.factors)
    }
