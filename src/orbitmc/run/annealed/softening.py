"""A graph without zeros that stands in for one with zeros while chains are cooled down."""

import math

import numpy as np

from orbitmc._util.arrays import sealed
from orbitmc.graph.factor_graph import FactorGraph

MARGIN = 7.0  # a forbidden entry is so much lighter than all others: by a factor of 1,000


def softened(graph: FactorGraph) -> FactorGraph:
    """Let forbidden entries be light instead; a graph without zeros stays as it is.

    They are so light that few of the states that this graph prefers are forbidden.
    """
    forbidden = np.isneginf(graph.table)
    if not forbidden.any():
        return graph
    finite = graph.table[~forbidden]
    lowest = float(finite.min(initial=0.0))
    table = graph.table.copy()
    table[forbidden] = lowest - MARGIN - math.log1p(graph.factors)
    return graph._replace(table=sealed(table))
