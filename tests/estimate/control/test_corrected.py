"""Control variates change no expectation: proved by listing everything that columns can show."""

import itertools

import numpy as np
import pytest
from scipy.sparse import csr_array

from orbitmc._util.arrays import starts
from orbitmc.estimate import control_variates as corrected
from orbitmc.estimate.control_variates import (
    LARGEST_RADIUS,
    Controls,
    neumann_series,
    radii_for,
    row_shares,
    scale_to_radius,
    spectral_radius,
    subtract_excess,
    terms_for,
)
from orbitmc.estimate.tally import rows_of
from orbitmc.graph.builder import Builder
from tests.oracle import brute_force

COLUMNS = 4  # two halves of two


def rows_in(chances):
    return chances[1:] if len(chances) == 2 else chances


def small_graph(seed, sizes):
    rng = np.random.default_rng(seed)
    builder = Builder(sizes)
    builder.add_factor(range(len(sizes)), rng.normal(size=sizes))
    return builder.build()


def looks_of(graph):
    """Conditional probabilities and values in every state, row by row, and its chance."""
    for state, chance in zip(
        brute_force.states(graph), brute_force.distribution(graph), strict=True
    ):
        chances = [
            rows_in(brute_force.conditional(graph, state, v)) for v in range(graph.variables)
        ]
        values = [
            rows_in(np.eye(int(size))[x]) for size, x in zip(graph.cardinality, state, strict=True)
        ]
        yield np.concatenate(chances), np.concatenate(values), chance


def expectation(graph, estimate):
    """Mean of what an estimate makes of independent columns of one state each."""
    total = 0.0
    for chosen in itertools.product(list(looks_of(graph)), repeat=COLUMNS):
        chances, values = (np.stack([one[k] for one in chosen], axis=1) for k in range(2))
        weight = np.prod([one[2] for one in chosen])
        total = total + weight * estimate(chances, values).mean(axis=1)
    return total


def subtract_controls(chances, values, row_start, controls):
    """Conditional probabilities, corrected by the differences of values from them."""
    excess = neumann_series(controls.matrix, values - chances, controls.terms)
    return subtract_excess(chances, excess, row_start)


def random_controls(seed, graph, terms=3):
    rows = int(rows_of(graph.cardinality).sum())
    matrix = np.random.default_rng(seed).uniform(-0.5, 0.9, (rows, rows))
    return Controls(csr_array(matrix), terms)


@pytest.mark.parametrize(("seed", "sizes"), [(1, (2, 2)), (2, (2, 3)), (3, (2, 2)), (4, (3, 2))])
def test_corrected_estimates_have_the_marginals_as_expectation(seed, sizes):
    graph = small_graph(seed, sizes)
    start = starts(rows_of(graph.cardinality))
    controls = random_controls(seed, graph)
    used = []

    def estimate(chances, values):
        found = subtract_controls(chances, values, start, controls)
        used.append(np.abs(found - chances).max())
        return found

    marginals = np.concatenate([rows_in(m) for m in brute_force.marginals(graph)])
    np.testing.assert_allclose(expectation(graph, estimate), marginals, atol=1e-12)
    assert max(used) > 0.1


@pytest.mark.parametrize("seed", [1, 3])
def test_shares_from_the_columns_that_they_correct_are_biased(seed):
    graph = small_graph(seed, (2, 2))
    start = starts(rows_of(graph.cardinality))
    controls = random_controls(seed, graph)

    def estimate(chances, values):
        excess = neumann_series(controls.matrix, values - chances, controls.terms)
        found = chances.copy()
        for half in (slice(0, 2), slice(2, 4)):
            theta = row_shares(chances[:, half], excess[:, half], start)
            found[:, half] -= theta[:, None] * excess[:, half]
        return found

    marginals = np.concatenate([rows_in(m) for m in brute_force.marginals(graph)])
    assert np.abs(expectation(graph, estimate) - marginals).max() > 1e-3


def test_what_corrects_a_column_does_not_depend_on_it():
    rng = np.random.default_rng(1)
    chances, values = rng.random((2, 5, 8))
    start = starts(np.array([1, 1, 3]))
    controls = Controls(csr_array(rng.uniform(-0.3, 0.3, (5, 5))), 4)
    before = subtract_controls(chances, values, start, controls)
    chances[:, 0] += 1.0
    values[:, 0] += 1.0
    after = subtract_controls(chances, values, start, controls)
    np.testing.assert_allclose(after[:, 0], before[:, 0] + 1.0, atol=1e-12)
    assert np.abs(after[:, 2::2] - before[:, 2::2]).max() < 1e-15
    assert np.abs(after[:, 1::2] - before[:, 1::2]).max() > 1e-3


def test_the_values_of_a_variable_keep_their_sum():
    rng = np.random.default_rng(2)
    chances, values = rng.dirichlet(np.ones(4), (2, 8)).transpose(0, 2, 1)
    matrix = rng.uniform(-0.3, 0.3, (4, 4))
    controls = Controls(csr_array(matrix - matrix.mean(axis=0)), 4)
    found = subtract_controls(chances, values, starts(np.array([4])), controls)
    assert np.abs(found - chances).max() > 0.01
    np.testing.assert_allclose(found.sum(axis=0), 1.0, atol=1e-12)


def test_shares_are_those_of_a_regression():
    rng = np.random.default_rng(3)
    excess = rng.normal(size=(3, 2000))
    chances = np.array([[1.0], [1.0], [0.4]]) * excess + 0.1 * rng.normal(size=(3, 2000))
    found = row_shares(chances, excess, starts(np.array([1, 1, 1])))
    np.testing.assert_allclose(found, [1.0, 1.0, 0.4], atol=0.02)
    assert row_shares(-chances, excess, starts(np.array([3]))).max() == 0.0
    assert (
        row_shares(9 * chances, excess, starts(np.array([3]))).tolist() == [corrected.MAX_SHARE] * 3
    )
    assert row_shares(0 * chances, excess, starts(np.array([3]))).max() == 0.0


def test_the_series_is_the_solution():
    rng = np.random.default_rng(4)
    symmetric = rng.normal(size=(30, 30))
    matrix = csr_array(0.1 * (symmetric + symmetric.T))
    radius = np.abs(np.linalg.eigvalsh(matrix.toarray())).max()
    assert spectral_radius(matrix) == pytest.approx(radius, rel=0.05)
    assert radii_for(matrix) == [LARGEST_RADIUS]
    small = scale_to_radius(matrix, LARGEST_RADIUS)
    assert np.abs(np.linalg.eigvalsh(small.toarray())).max() < 1.03
    quarter = matrix * (0.25 / radius)
    d = rng.normal(size=(30, 3))
    solution = np.linalg.solve(np.eye(30) - quarter.toarray(), quarter @ d)
    np.testing.assert_allclose(neumann_series(quarter, d, 30), solution, atol=1e-12)


@pytest.mark.parametrize(
    ("size", "expected"),
    [(0.3, [0.3]), (0.8, [0.8, 0.84, 0.88]), (0.9, [0.9, 0.945, LARGEST_RADIUS])],
)
def test_larger_matrices_are_tried_where_the_series_shrinks_slowly(size, expected):
    matrix = csr_array(np.diag([size, -0.1]))
    assert radii_for(matrix) == pytest.approx(expected)
    for radius in expected:
        assert scale_to_radius(matrix, radius).toarray()[0, 0] == pytest.approx(radius)


def test_a_matrix_without_entries_stays_as_it_is():
    nothing = csr_array((3, 3))
    assert radii_for(nothing) == [0.0]
    assert scale_to_radius(nothing, 0.0).nnz == 0


def test_more_terms_are_added_up_where_they_shrink_slowly():
    assert [terms_for(radius) for radius in (0.0, 0.1, 0.5, 0.9)] == [1, 2, 6, 38]
