"""Let copies of a rule that have nearly equal weights have equal ones."""

import numpy as np

from orbitmc.logic.grounding.folding import shape_of
from orbitmc.logic.grounding.grounding import Ground
from orbitmc.logic.language.syntax import Formula
from orbitmc.machine.arrays import Floats
from orbitmc.symmetry.approximation.cluster_weights import require_clusters
from orbitmc.symmetry.approximation.kmeans import cluster_means, clusters_of_numbers


def clustered_weights(ground: Ground, clusters: int = 6) -> Floats:
    """Weights in which the copies of every rule have at most so many different ones.

    Rules that differ only in the constants of their atoms count as copies of one. The clusters are
    optimal; each weight becomes the mean of its cluster. Hard rules stay hard.
    """
    require_clusters(clusters)
    shapes: dict[Formula, int] = {}
    numbers = [shapes.setdefault(shape_of(r.formula), len(shapes)) for r in ground.program.rules]
    shape = np.repeat(numbers, np.diff(ground.first_weight))
    weights = ground.weights.copy()
    for number in range(len(shapes)):
        own = np.flatnonzero((shape == number) & np.isfinite(weights))
        if len(own):
            labels = clusters_of_numbers(weights[own], clusters)
            means = cluster_means(weights[own, None], labels, int(labels.max()) + 1)
            weights[own] = means[labels, 0]
    return weights
