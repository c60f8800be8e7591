"""Which permutations of variables and values leave a distribution as it is, exactly or nearly."""

from orbitmc._util.loading import lazily

__getattr__, __dir__ = lazily(
    __name__,
    {
        "SymmetryReport": "symmetry.detection.automorphisms",
        "automorphisms": "symmetry.detection.automorphisms",
        "cluster_weights": "symmetry.approximation.cluster_weights",
        "links": "symmetry.detection.encoding.exchangeable",
        "low_rank": "symmetry.approximation.low_rank",
        "moved": "symmetry.blocks.blocks",
        "one_coupling": "symmetry.approximation.cluster_weights",
        "orbit_cells": "symmetry.detection.automorphisms",
        "without_fields": "symmetry.approximation.cluster_weights",
    },
)
