"""Secants of models whose log-odds are sums over neighbours: ten times sooner than of others."""

from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.special import expit

from orbitmc.estimate.control.factor_groups import factor_groups
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.machine.arrays import Bytes, Floats

AT_ONCE = 2**15  # pairs of neighbours: what a processor keeps close by


def affine_secants(graph: FactorGraph, states: Bytes) -> csr_array:
    """Mean changes of chances with the value of each neighbour."""
    bias, coupling = _fields(graph)
    values = states.astype(np.float64)
    fields = coupling @ values + bias[:, None]
    own = np.repeat(np.arange(len(bias)), np.diff(coupling.indptr))
    other, change = coupling.indices, np.zeros(coupling.nnz)
    for first in range(0, len(other), AT_ONCE):
        some = slice(first, first + AT_ONCE)
        strength = coupling.data[some, None]
        low = fields[own[some]] - strength * values[other[some]]
        change[some] = (expit(low + strength) - expit(low)).mean(axis=1)
    return csr_array((change, other, coupling.indptr), shape=coupling.shape)


def _fields(graph: FactorGraph) -> tuple[Floats, csr_array]:
    """Log-odds of each variable if its neighbours are 0, and what each neighbour adds."""
    bias, nothing = np.zeros(graph.variables), np.zeros((graph.variables, 1), dtype=np.uint8)
    found: list[tuple[Any, Any, Any]] = []
    for group in factor_groups(graph):
        for own in range(len(group.shape)):
            other = 1 - own if len(group.shape) == 2 else None
            table = group.of_two(nothing, own, other)[..., 0]
            odds = table[:, 1] - table[:, 0]
            np.add.at(bias, group.scope[:, own], odds[:, 0])
            if other is not None:
                found.append((odds[:, 1] - odds[:, 0], group.scope[:, own], group.scope[:, other]))
    data, row, column = (np.concatenate([one[k] for one in found]) for k in range(3))
    shape = (graph.variables, graph.variables)
    return bias, csr_array((data, (row, column)), shape=shape)
