"""Clustered models have few different weights, near the true ones."""

import numpy as np
import pytest

from orbitmc.errors import InputError
from orbitmc.models._ising import ising, ising_grid, potts_grid
from orbitmc.symmetry.approximations import cluster_weights
from tests.symmetry.approximation.models import (
    assert_same_variables,
    log_weights,
    noisy_grid,
    observed_grid,
    pairs_and_clauses,
    random_model,
)
from tests.symmetry.approximation.test_kmeans import least_cost


@pytest.mark.parametrize("make", [noisy_grid, observed_grid, pairs_and_clauses])
def test_variables_stay_and_weights_change(make):
    model = make()
    approximation = cluster_weights(model, clusters=2)
    assert_same_variables(approximation, model)
    before, after = log_weights(model), log_weights(approximation)
    np.testing.assert_array_equal(np.isneginf(before), np.isneginf(after))
    possible = np.isfinite(before)
    assert np.abs(before[possible] - after[possible]).max() > 1e-3


@pytest.mark.parametrize("seed", range(10))
def test_enough_clusters_change_nothing(seed):
    model = random_model(seed, variables=(2, 6), zeros=0.2 * (seed % 2))
    approximation = cluster_weights(model, clusters=1000)
    np.testing.assert_allclose(log_weights(approximation), log_weights(model), atol=1e-8)


def test_fields_and_couplings_are_clustered_optimally():
    model = noisy_grid(3)
    approximation = cluster_weights(model, clusters=3)
    for arity, entry in ((1, 1), (2, 3)):
        numbers = [_weights(some, arity, entry) for some in (model, approximation)]
        assert len(np.unique(numbers[1])) == 3
        errors = ((numbers[0] - numbers[1]) ** 2).sum()
        assert errors == pytest.approx(least_cost(numbers[0], 3))


def _weights(model, arity, entry):
    """One entry of each table of an arity, in the order of scopes."""
    graph = model.graph
    chosen = [f for f in range(graph.factors) if len(graph.scope_of(f)) == arity]
    chosen.sort(key=lambda factor: graph.scope_of(factor).tolist())
    return np.array([graph.table_values(factor).reshape(-1)[entry] for factor in chosen])


def test_equal_tables_are_shared():
    graph = cluster_weights(noisy_grid(4, side=8), clusters=4).graph
    assert len(graph.table_start) - 1 == 8


def test_variables_without_a_field_join_the_nearest_cluster():
    model = ising([0.0, 0.1, 1.0, 1.1], np.zeros((0, 2)), 0.0)
    graph = cluster_weights(model, clusters=2).graph
    fields = {int(graph.scope_of(f)[0]): graph.table_values(f)[1] for f in range(graph.factors)}
    assert fields == pytest.approx({0: 0.05, 1: 0.05, 2: 1.05, 3: 1.05})


def test_long_clauses_share_their_mean_weight():
    graph = cluster_weights(pairs_and_clauses(), clusters=1).graph
    clauses = [graph.table_values(f) for f in range(graph.first_clause, graph.factors)]
    soft = [entries[1] for entries in clauses if np.isfinite(entries).all()]
    assert soft == pytest.approx([0.8, 0.8])
    assert sum(np.isneginf(entries).any() for entries in clauses) == 1


def test_different_numbers_of_values_are_clustered_apart():
    rng = np.random.default_rng(0)
    model = potts_grid(5, 5, 3, rng.normal(size=40), rng.normal(size=(5, 5, 3)))
    graph = cluster_weights(model, clusters=2).graph
    assert len(graph.table_start) - 1 == 4
    assert graph.factors == model.graph.factors


def test_the_same_question_has_the_same_answer():
    rng = np.random.default_rng(0)
    model = potts_grid(5, 5, 3, 0.5, rng.normal(size=(5, 5, 3)))
    one, two = (cluster_weights(model, clusters=4).graph for _ in range(2))
    np.testing.assert_array_equal(one.table, two.table)
    np.testing.assert_array_equal(one.table_of, two.table_of)


@pytest.mark.parametrize("clusters", [0, -3])
def test_no_clusters_are_refused(clusters):
    with pytest.raises(InputError, match="at least one cluster"):
        cluster_weights(ising_grid(2, 2, 0.1), clusters=clusters)
