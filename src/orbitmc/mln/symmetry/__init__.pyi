from orbitmc.mln.symmetry.approximate_classes import approximate_evidence as approximate_evidence
from orbitmc.mln.symmetry.approximate_classes import (
    classes_by_boolean_rank as classes_by_boolean_rank,
)
from orbitmc.mln.symmetry.approximate_classes import classes_by_evidence as classes_by_evidence
from orbitmc.mln.symmetry.approximate_classes import classes_by_messages as classes_by_messages
from orbitmc.mln.symmetry.approximate_classes import cluster_copies as cluster_copies
from orbitmc.mln.symmetry.approximate_classes import cluster_rule_weights as cluster_rule_weights
from orbitmc.mln.symmetry.approximate_classes import variable_cells as variable_cells
from orbitmc.mln.symmetry.classes import Classes as Classes
from orbitmc.mln.symmetry.classes import constant_swaps as constant_swaps
from orbitmc.mln.symmetry.classes import value_kinds as value_kinds
from orbitmc.mln.symmetry.renamings import Renamings as Renamings
from orbitmc.mln.symmetry.renamings import induced_permutation as induced_permutation
