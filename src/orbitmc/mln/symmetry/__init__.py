"""Constants that are alike, exactly or nearly: renamings and relational approximations."""

from orbitmc._util.loading import load_lazily

__getattr__, __dir__ = load_lazily(
    __name__,
    {
        "Classes": "mln.symmetry.classes",
        "Renamings": "mln.symmetry.renamings",
        "classes_by_evidence": "mln.symmetry.approximate_classes",
        "classes_by_messages": "mln.symmetry.approximate_classes",
        "classes_by_boolean_rank": "mln.symmetry.approximate_classes",
        "cluster_rule_weights": "mln.symmetry.approximate_classes",
        "constant_swaps": "mln.symmetry.classes",
        "induced_permutation": "mln.symmetry.renamings",
        "value_kinds": "mln.symmetry.classes",
        "variable_cells": "mln.symmetry.approximate_classes",
    },
)
