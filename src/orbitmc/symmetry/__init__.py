"""Which permutations of variables and values leave a distribution as it is, exactly or nearly."""

from orbitmc._util.loading import load_lazily

__getattr__, __dir__ = load_lazily(
    __name__,
    {
        "SymmetryReport": "symmetry._automorphisms",
        "automorphisms": "symmetry._automorphisms",
        "cluster_weights": "symmetry.approximations",
        "links": "symmetry.exchangeability",
        "low_rank": "symmetry.approximations",
        "moved": "symmetry.blocks",
        "one_coupling": "symmetry.approximations",
        "orbit_cells": "symmetry._automorphisms",
        "without_fields": "symmetry.approximations",
    },
)
