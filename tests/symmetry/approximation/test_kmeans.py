"""One-dimensional clusters are optimal; others are good and always the same."""

import itertools

import numpy as np
import pytest

from orbitmc.symmetry.clustering import cluster_means, clusters_of_numbers, clusters_of_vectors


def cost(numbers, labels):
    vectors = np.reshape(numbers, (len(numbers), -1))
    return sum(
        ((vectors[labels == label] - vectors[labels == label].mean(axis=0)) ** 2).sum()
        for label in np.unique(labels)
    )


def least_cost(numbers, clusters):
    """Try all ways to cut the sorted numbers."""
    ordered = np.sort(numbers)
    cuts = itertools.combinations_with_replacement(range(len(ordered) + 1), clusters - 1)
    return min(
        sum(((part - part.mean()) ** 2).sum() for part in np.split(ordered, cut) if len(part))
        for cut in cuts
    )


def lloyd(numbers, clusters, rng):
    means = rng.choice(numbers, clusters, replace=False)
    for _ in range(100):
        labels = np.abs(numbers[:, None] - means).argmin(axis=1)
        means = np.array(
            [
                numbers[labels == k].mean() if (labels == k).any() else means[k]
                for k in range(clusters)
            ]
        )
    return cost(numbers, labels)


@pytest.mark.parametrize("clusters", [1, 2, 3, 5])
@pytest.mark.parametrize("seed", range(12))
def test_clusters_of_numbers_equal_brute_force(seed, clusters):
    rng = np.random.default_rng(seed)
    numbers = rng.normal(size=int(rng.integers(1, 13)))
    if seed % 3 == 0:
        numbers = np.round(numbers)  # with repetitions
    labels = clusters_of_numbers(numbers, clusters)
    assert labels.max() < clusters
    assert cost(numbers, labels) == pytest.approx(least_cost(numbers, clusters), abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_no_restart_of_lloyd_is_cheaper(seed):
    rng = np.random.default_rng(seed)
    numbers = rng.gamma(0.5, size=400)
    best = cost(numbers, clusters_of_numbers(numbers, 6))
    assert all(best <= lloyd(numbers, 6, rng) + 1e-9 for _ in range(20))


def test_clusters_are_intervals_far_from_zero_too():
    rng = np.random.default_rng(1)
    numbers = 1e6 + rng.normal(size=500)
    labels = clusters_of_numbers(numbers, 7)
    ordered = labels[np.argsort(numbers)]
    assert (np.diff(ordered) >= 0).all()
    assert len(np.unique(labels)) == 7
    np.testing.assert_array_equal(labels, clusters_of_numbers(numbers - 1e6, 7))


def test_few_numbers_stay_apart():
    assert clusters_of_numbers(np.array([2.0, 1.0, 2.0]), 6).tolist() == [1, 0, 1]
    assert clusters_of_numbers(np.array([]), 2).tolist() == []


def test_vectors_on_a_line_are_clustered_optimally():
    rng = np.random.default_rng(2)
    numbers = rng.normal(size=12)
    vectors = numbers[:, None] * np.array([1.0, -2.0, 0.5]) + 3.0
    labels = clusters_of_vectors(vectors, 3)
    scale = np.sum(np.array([1.0, -2.0, 0.5]) ** 2)
    assert cost(vectors, labels) == pytest.approx(scale * least_cost(numbers, 3))


def test_few_long_vectors_take_no_matrix_of_their_length():
    rng = np.random.default_rng(5)
    numbers, direction = rng.normal(size=3), rng.normal(size=1_000_000)
    labels = clusters_of_vectors(numbers[:, None] * direction, 2)
    assert cost(numbers, labels) == pytest.approx(least_cost(numbers, 2))


def test_separated_clouds_are_found():
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 4, 300)
    vectors = 10 * rng.normal(size=(4, 5))[truth] + 0.1 * rng.normal(size=(300, 5))
    labels = clusters_of_vectors(vectors, 4)
    assert len(set(zip(truth, labels, strict=True))) == 4
    np.testing.assert_array_equal(labels, clusters_of_vectors(vectors, 4))


def test_means_are_those_of_the_members():
    vectors = np.array([[0.0, 1.0], [2.0, 3.0], [5.0, 5.0]])
    means = cluster_means(vectors, np.array([0, 0, 2]), 3)
    assert means.tolist() == [[1.0, 2.0], [0.0, 0.0], [5.0, 5.0]]
