"""Graphs with more in them, at other temperatures, or side by side."""

import math
from collections.abc import Sequence

import numpy as np

from orbitmc._util.arrays import Floats, sealed
from orbitmc.errors import InputError
from orbitmc.graph.builder import Builder
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.rewrite import copy_factors
from orbitmc.graph.weights.sums import exact_sum

Factor = tuple[tuple[int, ...], Floats]
"""Which variables it reads, and a log-potential for each of their joint values."""


def copies(graph: FactorGraph, betas: Sequence[float]) -> FactorGraph:
    """Give one graph of independent copies; copy `k` has all log-weights times `betas[k]` > 0.

    Variable `v` of copy `k` is number `k * graph.variables + v`. Impossible stays impossible.
    """
    return side_by_side([at_beta(graph, beta) for beta in betas])


def side_by_side(graphs: Sequence[FactorGraph]) -> FactorGraph:
    """Give one graph of several that do not touch each other, one after the other."""
    builder = Builder(np.concatenate([graph.cardinality for graph in graphs]))
    builder.constant = exact_sum(graph.constant for graph in graphs)
    first = 0
    for graph in graphs:
        renamed = np.arange(first, first + graph.variables)
        copy_factors(graph, np.arange(graph.factors), builder, renamed)
        first += graph.variables
    return builder.build()


def at_beta(graph: FactorGraph, beta: float) -> FactorGraph:
    """The graph at another inverse temperature above 0: all log-weights times `beta`."""
    return graph._replace(table=sealed(graph.table * beta), constant=graph.constant * beta)


def require_beta(beta: float) -> None:
    """Refuse an inverse temperature that makes no sense."""
    if not 0.0 < beta < math.inf:
        raise InputError(f"beta is a number above 0, not {beta}")


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
