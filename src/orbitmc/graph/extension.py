"""A graph with more factors, and with more variables that they read."""

from collections.abc import Sequence

import numpy as np

from orbitmc.graph.builder import Builder
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.rewrite import copy_factors
from orbitmc.machine.arrays import Floats

Factor = tuple[tuple[int, ...], Floats]
"""Which variables it reads, and a log-potential for each of their joint values."""


def extended(
    graph: FactorGraph, factors: Sequence[Factor], sizes: Sequence[int] = ()
) -> FactorGraph:
    """Give a graph with new variables of these sizes behind its own, and with new factors.

    >>> import numpy as np
    >>> import orbitmc as om
    >>> graph = om.ising_grid(2, 2, 0.3).graph
    >>> extended(graph, [((0, 4), np.zeros((2, 3)))], sizes=[3]).cardinality.tolist()
    [2, 2, 2, 2, 3]
    """
    builder = Builder(np.concatenate([graph.cardinality.astype(np.int64), [*sizes]]))
    every, same = np.arange(graph.factors), np.arange(graph.variables)
    copy_factors(graph, every, builder, same)
    for scope, table in factors:
        builder.add_factor(scope, table)
    builder.constant = graph.constant
    return builder.build()
