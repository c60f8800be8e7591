"""Splitting a model into terms and building it again changes no probability."""

import numpy as np
import pytest

from orbitmc._util.arrays import row_classes, snap
from orbitmc.graph.builder import Builder
from orbitmc.symmetry.approximations import rebuild_model
from orbitmc.symmetry.terms import energy_of
from tests.symmetry.approximation.models import (
    assert_same_variables,
    log_weights,
    named,
    pairs_and_clauses,
    random_model,
)


@pytest.mark.parametrize("seed", range(40))
def test_a_rebuilt_model_has_the_same_distribution(seed):
    model = random_model(seed, variables=(2, 6), cardinalities=(1, 2, 3), zeros=0.2 * (seed % 2))
    again = rebuild_model(model, energy_of(model.graph))
    assert_same_variables(again, model)
    np.testing.assert_allclose(log_weights(again), log_weights(model), atol=1e-8)


def test_tables_over_many_variables_are_kept_whole():
    rng = np.random.default_rng(0)
    builder = Builder([2] * 5)
    builder.add_factor(range(5), rng.normal(size=(2,) * 5))
    builder.add_factor([4, 2, 0, 1, 3], rng.normal(size=(2,) * 5))
    model = named(builder.build())
    again = rebuild_model(model, energy_of(model.graph))
    assert again.graph.factors == 1
    np.testing.assert_allclose(log_weights(again), log_weights(model), atol=1e-9)


def test_a_table_over_a_dozen_variables_costs_no_more_than_its_entries():
    """Its axes have half a billion orders; listing them took all memory."""
    builder = Builder([2] * 12)
    builder.add_factor(range(12), np.random.default_rng(1).normal(size=(2,) * 12))
    model = named(builder.build())
    again = rebuild_model(model, energy_of(model.graph))
    np.testing.assert_allclose(log_weights(again), log_weights(model), atol=1e-9)


def test_equal_up_to_constants_means_equal():
    coupling = np.array([[0.6, -0.6], [-0.6, 0.6]])
    builder = Builder([2, 2, 2, 2])
    builder.add_factor([0, 1], coupling + 3.0)
    builder.add_factor([1, 2], coupling + np.array([[0.5], [0.0]]))
    builder.add_factor([3, 2], coupling + np.array([0.1, 0.2]))
    terms = {term.shape: term for term in energy_of(builder.build()).terms}
    assert np.ptp(terms[2, 2].tables, axis=0).max() == 0
    assert sorted(terms[2,].scopes[:, 0].tolist()) == [1, 2]


def test_a_table_and_its_transpose_are_one():
    model = pairs_and_clauses()
    pairs = next(term for term in energy_of(model.graph).terms if term.shape == (3, 3))
    np.testing.assert_array_equal(pairs.tables[0], pairs.tables[1])
    assert {tuple(row) for row in pairs.scopes.tolist()} in (
        {(0, 1), (1, 2)},
        {(1, 0), (2, 1)},
    )


def test_numbers_that_differ_by_rounding_become_one():
    found = snap(np.array([0.3, 0.1 + 0.2, -np.inf, 0.30001, 0.0]))
    assert found[0] == found[1]
    assert found[3] != found[0]
    assert np.isneginf(found[2])


def test_row_classes_follow_lexicographic_order():
    rows = np.array([[1, 2], [0, 5], [1, 2], [0, 3]])
    first, which = row_classes(rows)
    assert rows[first].tolist() == [[0, 3], [0, 5], [1, 2]]
    assert which.tolist() == [2, 1, 2, 0]
