import numpy as np
import pytest
from scipy.stats import chi2

from experiments.coupling_from_the_past import (
    LANES,
    attraction_of,
    perfect_marginals,
    perfect_samples,
)
from orbitmc.errors import InputError, LimitError
from orbitmc.exact.contraction import marginals
from orbitmc.graph.builder import Builder
from orbitmc.models._ising import ising, ising_grid
from tests.oracle.enumeration import log_weights_of_all
from tests.oracle.past import from_the_past, until_they_meet

FIELDS = np.array([0.3, -0.2, 0.0, 0.1, -0.4, 0.2, 0.0, 0.0, -0.1])
GRAPH = ising_grid(3, 3, 0.6, FIELDS.reshape(3, 3)).graph

# a chain of four is where the two classical mistakes show most
CHAIN_COUPLING, CHAIN_FIELDS = 0.5, np.full(4, 0.3)
CHAIN = ising_grid(1, 4, CHAIN_COUPLING, CHAIN_FIELDS[None, :]).graph
CHAIN_NEIGHBOURS = [[1], [0, 2], [1, 3], [2]]

FALSE_ALARM = 1e-6


def chi_square_is_fine(samples, graph):
    """Compare counts of whole states with their probabilities, rare states pooled."""
    probability = np.exp(log_weights_of_all(graph))
    probability /= probability.sum()
    numbers = samples.astype(np.int64) @ (1 << np.arange(samples.shape[1])[::-1])
    counts = np.bincount(numbers, minlength=len(probability))
    expected = probability * len(samples)
    rare = expected < 5
    counts = np.append(counts[~rare], counts[rare].sum())
    expected = np.append(expected[~rare], expected[rare].sum())
    counts, expected = counts[expected > 0], expected[expected > 0]
    statistic = ((counts - expected) ** 2 / expected).sum()
    return statistic < chi2.isf(FALSE_ALARM, len(counts) - 1)


@pytest.mark.parametrize("graph", [GRAPH, CHAIN], ids=["grid", "chain"])
def test_samples_follow_the_exact_distribution(graph):
    assert chi_square_is_fine(perfect_samples(graph, 40_000, seed=1, first_sweeps=1), graph)


@pytest.mark.parametrize("seed", range(4))
def test_random_attractive_models_are_sampled_exactly(seed):
    """Any pair tables that prefer to agree, any fields, double edges and clauses."""
    rng = np.random.default_rng(seed)
    builder = Builder([2] * 6)
    builder.add_clause([0], [1], float(rng.normal()))
    builder.add_clause([1, 4], [0, 1], 0.8)
    for _ in range(9):
        table = rng.normal(size=(2, 2))
        table[1, 1] = table[0, 1] + table[1, 0] - table[0, 0] + rng.random()
        builder.add_factor(rng.permutation(6)[:2].tolist(), table)
    for variable in range(6):
        builder.add_factor([variable], rng.normal(size=2))
    graph = builder.build()
    assert chi_square_is_fine(perfect_samples(graph, 20_000, seed=seed), graph)


def test_the_right_slow_twin_passes_the_same_test():
    spins = from_the_past(CHAIN_NEIGHBOURS, CHAIN_COUPLING, CHAIN_FIELDS, 40_000, seed=2)
    assert chi_square_is_fine((spins.T + 1) // 2, CHAIN)


def test_fresh_numbers_further_back_would_be_noticed():
    spins = from_the_past(
        CHAIN_NEIGHBOURS, CHAIN_COUPLING, CHAIN_FIELDS, 40_000, seed=2, fresh=True
    )
    assert not chi_square_is_fine((spins.T + 1) // 2, CHAIN)


def test_reading_at_the_meeting_would_be_noticed():
    spins = until_they_meet(CHAIN_NEIGHBOURS, CHAIN_COUPLING, CHAIN_FIELDS, 40_000, seed=2)
    assert not chi_square_is_fine((spins.T + 1) // 2, CHAIN)


@pytest.mark.parametrize("first_sweeps", [1, 3, 7, 100])
def test_how_far_back_one_starts_changes_nothing(first_sweeps):
    expected = perfect_samples(GRAPH, 200, seed=5)
    found = perfect_samples(GRAPH, 200, seed=5, first_sweeps=first_sweeps)
    np.testing.assert_array_equal(found, expected)


def test_more_samples_begin_with_the_same_ones():
    some, more = (perfect_samples(GRAPH, count, seed=3) for count in (LANES + 1, 3 * LANES))
    np.testing.assert_array_equal(more[: len(some)], some)
    assert not np.array_equal(more[:LANES], more[LANES : 2 * LANES])


def test_marginals_agree_with_elimination_within_their_error():
    rng = np.random.default_rng(7)
    graph = ising_grid(10, 10, 0.35, rng.normal(scale=0.3, size=(10, 10))).graph
    estimate = perfect_marginals(perfect_samples(graph, 2_000, seed=1))
    exact = np.array([marginal[1] for marginal in marginals(graph).marginals])
    distance = (estimate.probability - exact) / estimate.standard_error
    assert np.abs(distance).max() < 5.5  # 100 normal deviates: false alarm 4e-6
    assert 0.5 < np.mean(distance**2) < 2.0


def test_single_spins_follow_their_field():
    graph = ising([0.5, -2.0], np.zeros((0, 2)), []).graph
    up = perfect_samples(graph, 50_000, seed=1).mean(axis=0)
    expected = 1 / (1 + np.exp([-1.0, 4.0]))
    np.testing.assert_allclose(up, expected, atol=5 * np.sqrt(0.25 / 50_000))


def test_log_odds_are_fields_and_pulls():
    attraction = attraction_of(ising([0.1, 0.2], [[0, 1]], 0.3).graph)
    np.testing.assert_allclose(attraction.field, [0.2 - 0.6, 0.4 - 0.6])
    np.testing.assert_allclose(attraction.pull, [1.2, 1.2])


def binary(*factors):
    builder = Builder([2, 2, 2])
    for scope, table in factors:
        builder.add_factor(scope, table)
    return builder.build()


AGREE = [[1.0, 0.0], [0.0, 1.0]]


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (
            binary(([0, 1], AGREE), ([1, 2], [[0, 1.0], [1, 0]])),
            r"prefer to agree, unlike factor 1 over \[1, 2\]",
        ),
        (binary(([0, 1, 2], np.zeros((2, 2, 2)))), "at most two variables, unlike factor 0"),
        (binary(([0, 2], [[0, -np.inf], [0, 0]])), r"above zero, unlike factor 0 over \[0, 2\]"),
        (Builder([2, 3]).build(), "variable 1 has 3 values"),
    ],
    ids=["repulsive", "long", "zero", "ternary"],
)
def test_models_that_are_not_attractive_are_refused_by_name(graph, message):
    with pytest.raises(InputError, match=message):
        perfect_samples(graph, 10, seed=1)


def test_a_cold_model_is_given_up_rather_than_biased():
    with pytest.raises(LimitError, match="the limit is 64"):
        perfect_samples(ising_grid(8, 8, 1.0).graph, 10, seed=1, most_sweeps=64)


def test_no_samples_and_no_variables():
    assert perfect_samples(GRAPH, 0, seed=1).shape == (0, 9)
    assert perfect_samples(Builder([]).build(), 3, seed=1).shape == (3, 0)
