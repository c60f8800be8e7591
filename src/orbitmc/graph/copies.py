"""Copies of a graph side by side, each at its own inverse temperature."""

from collections.abc import Sequence

import numpy as np

from orbitmc.graph.builder import Builder
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.rewrite import copy_factors
from orbitmc.machine.arrays import sealed


def copies(graph: FactorGraph, betas: Sequence[float]) -> FactorGraph:
    """Give one graph of independent copies; copy `k` has all log-weights times `betas[k]` > 0.

    Variable `v` of copy `k` is number `k * graph.variables + v`. Impossible stays impossible.
    """
    builder = Builder(np.tile(graph.cardinality, len(betas)))
    builder.constant = graph.constant * float(sum(betas))
    for number, beta in enumerate(betas):
        renamed = np.arange(graph.variables) + number * graph.variables
        copy_factors(at_beta(graph, beta), np.arange(graph.factors), builder, renamed)
    return builder.build()


def at_beta(graph: FactorGraph, beta: float) -> FactorGraph:
    """The graph at another inverse temperature above 0: all log-weights times `beta`."""
    return graph._replace(table=sealed(graph.table * beta), constant=graph.constant * beta)
