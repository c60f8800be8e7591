"""Parts of a graph that know nothing of each other."""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from orbitmc.graph.factor_graph import FactorGraph


def components(graph: FactorGraph, chosen: NDArray[np.bool_] | None = None) -> NDArray[np.int64]:
    """Number the connected components; gives the number of each variable's.

    With `chosen` only those factors connect.
    """
    factor_of = graph.factor_of_edge
    size = graph.variables + graph.factors
    weights = np.ones(graph.factors) if chosen is None else chosen
    ends = (graph.scope.astype(np.int64), factor_of + graph.variables)
    links = coo_array((weights[factor_of].astype(np.int8), ends), shape=(size, size))
    links.eliminate_zeros()
    _, labels = connected_components(links, directed=False)
    _, numbered = np.unique(labels[: graph.variables], return_inverse=True)
    return numbered.astype(np.int64)
