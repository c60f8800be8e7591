"""Put numbers, or vectors, into a few clusters with small squared distances to their means."""

import numpy as np

from orbitmc._numba.compile_log import timed
from orbitmc._numba.jit import shared
from orbitmc._numba.tiers import of_all, tier
from orbitmc._util.arrays import Floats, Numbers, row_classes

RESTARTS = 10
MOST_CLUSTERING_ROUNDS = 100  # rounds of moving vectors to the nearest mean; far fewer are usual


def clusters_of_numbers(numbers: Floats, clusters: int) -> Numbers:
    """Number the cluster of each number, in ascending order, so that the cost is the least.

    The cost is the sum of squared distances to the means of the clusters.
    """
    distinct, which, counts = np.unique(numbers, return_inverse=True, return_counts=True)
    which = which.reshape(-1)
    if len(distinct) <= clusters:
        return which.astype(np.int64)
    last_start = np.zeros((clusters, len(distinct)), dtype=np.int64)
    # moments about the middle lose fewer digits
    middle = np.average(distinct, weights=counts)
    _fill(_moments(distinct - middle, counts), last_start)
    return _labels(last_start)[which]


def _moments(values: Floats, counts: Numbers) -> Floats:
    """Running sums of weights, values and squares, from nothing to everything."""
    sums = np.stack([counts, counts * values, counts * values**2]).cumsum(axis=1)
    return np.ascontiguousarray(np.concatenate([np.zeros((3, 1)), sums], axis=1))


def _labels(last_start: Numbers) -> Numbers:
    """Follow the best starts backwards."""
    clusters, size = last_start.shape
    labels = np.zeros(size, dtype=np.int64)
    end = size
    for number in range(clusters - 1, -1, -1):
        start = last_start[number, end - 1]
        labels[start:end] = number
        end = start
    return labels


@tier(of_all)
def _fill(moments: Floats, last_start: Numbers) -> None:
    """Find where the last of `k + 1` clusters of the first numbers starts, for all ends.

    The best start never moves back as the end moves on, so the middle end is solved first and
    bounds the starts on either side of it: n log n per cluster.
    """
    clusters, size = last_start.shape
    costs, previous = np.empty(size), np.empty(size)
    for end in range(size):
        costs[end] = _cost(moments, 0, end)
    stack = np.empty((2 * size + 64, 4), dtype=np.int64)
    for number in range(1, clusters):
        previous[:] = costs
        stack[0] = number, size - 1, number, size - 1
        height = 1
        while height:
            height -= 1
            low, high, least, most = stack[height]
            if low > high:
                continue
            end = (low + high) // 2
            best, best_cost = least, np.inf
            for start in range(max(least, number), min(most, end) + 1):
                cost = previous[start - 1] + _cost(moments, start, end)
                if cost < best_cost:
                    best, best_cost = start, cost
            costs[end] = best_cost
            last_start[number, end] = best
            stack[height] = low, end - 1, least, best
            stack[height + 1] = end + 1, high, best, most
            height += 2


@shared
def _cost(moments: Floats, start: int, end: int) -> float:
    """Squared distances of the numbers from `start` to `end` to their mean."""
    weight = moments[0, end + 1] - moments[0, start]
    total = moments[1, end + 1] - moments[1, start]
    squares = moments[2, end + 1] - moments[2, start]
    return max(0.0, float(squares - total * total / weight))


def clusters_of_vectors(vectors: Floats, clusters: int) -> Numbers:
    """Number the cluster of each row: optimal if all lie on a line, else the best of ten tries."""
    along = _along_line(vectors)
    if along is not None:
        return clusters_of_numbers(along, clusters)
    first, which = row_classes(vectors)
    if len(first) <= clusters:
        return which
    distinct, counts = vectors[first], np.bincount(which)
    rng = np.random.default_rng(0)  # the same question has the same answer
    tries = [_lloyd(distinct, counts, clusters, rng) for _ in range(RESTARTS)]
    labels = min(tries, key=lambda tried: tried[0])[1]
    return labels[which]


def _along_line(vectors: Floats) -> Floats | None:
    """Where each vector stands on the line through all of them, if there is one."""
    if not len(vectors):
        return np.zeros(0)
    centred = vectors - vectors.mean(axis=0)
    length = np.sqrt((centred**2).sum(axis=1))
    farthest = length.argmax()
    direction = centred[farthest] / max(length[farthest], np.finfo(np.float64).tiny)
    along: Floats = centred @ direction
    off_line = np.abs(centred - along[:, None] * direction).max(initial=0.0)
    return along if off_line <= 1e-9 * (1 + np.abs(vectors).max()) else None


def _lloyd(
    vectors: Floats, counts: Numbers, clusters: int, rng: np.random.Generator
) -> tuple[float, Numbers]:
    """Start from spread-out vectors, then move means and memberships until nothing changes."""
    means = _kmeans_plus_plus(vectors, counts, clusters, rng)
    labels = np.full(len(vectors), -1)
    for _ in timed(range(MOST_CLUSTERING_ROUNDS)):
        distances = _squared_distances(vectors, means)
        nearest = distances.argmin(axis=1)
        if (nearest == labels).all():
            break
        labels = nearest
        means = cluster_means(vectors, labels, clusters, counts=counts)
    return float(
        counts @ _squared_distances(vectors, means)[np.arange(len(labels)), labels]
    ), labels


def _kmeans_plus_plus(
    vectors: Floats, counts: Numbers, clusters: int, rng: np.random.Generator
) -> Floats:
    """Choose first means, each with probability proportional to its squared distance to others."""
    chosen = [int(rng.choice(len(vectors), p=counts / counts.sum()))]
    far = np.full(len(vectors), np.inf)
    for _ in range(clusters - 1):
        far = np.minimum(far, _squared_distances(vectors, vectors[chosen[-1:]])[:, 0])
        chances = far * counts
        chosen.append(int(rng.choice(len(vectors), p=chances / chances.sum())))
    return vectors[chosen]


def _squared_distances(vectors: Floats, means: Floats) -> Floats:
    squares = (vectors**2).sum(axis=1)[:, None] + (means**2).sum(axis=1)
    distances: Floats = np.maximum(squares - 2 * vectors @ means.T, 0.0)
    return distances


def cluster_means(
    vectors: Floats, labels: Numbers, clusters: int, *, counts: Numbers | None = None
) -> Floats:
    """The mean of each cluster, a row each; of an empty one, zero."""
    weights = np.ones(len(vectors)) if counts is None else counts.astype(np.float64)
    totals = np.bincount(labels, weights=weights, minlength=clusters)
    sums = np.stack(
        [np.bincount(labels, weights=weights * entry, minlength=clusters) for entry in vectors.T],
        axis=1,
    )
    means: Floats = sums / np.maximum(totals, 1e-300)[:, None]
    return means
