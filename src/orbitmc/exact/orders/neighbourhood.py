"""A quick look at very large graphs: is there any hope for exact elimination?"""

import numpy as np
from scipy.sparse import block_array, csr_array
from scipy.sparse.csgraph import breadth_first_order

from orbitmc.errors import LimitError
from orbitmc.exact.orders.order import find_order
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.machine.arrays import lengths

LARGE = 20_000
"""Variables from which on a part is looked at before the whole."""

PART = 2_000

HOPELESS = 2.0**45  # table entries


def require_hope(graph: FactorGraph) -> None:
    """Refuse a large graph when a small part of it, around one variable, is already too hard."""
    if graph.variables <= LARGE:
        return
    scopes, sizes = _part(graph)
    cost = find_order(scopes, sizes, seconds=1.0).cost
    if cost > HOPELESS:
        raise LimitError(
            f"exact elimination would need more than {HOPELESS:.1g} table entries for "
            f"{len(sizes)} of these {graph.variables} variables alone"
        )


def _part(graph: FactorGraph) -> tuple[list[tuple[int, ...]], list[int]]:
    """Scopes inside a ball around the middle variable, renumbered, and its cardinalities."""
    factor_of = np.repeat(np.arange(graph.factors), lengths(graph.scope_start))
    shape = (graph.factors, graph.variables)
    reads = csr_array((np.ones(len(graph.scope), dtype=np.int8), (factor_of, graph.scope)), shape)
    both_ways = block_array([[None, reads], [reads.T, None]], format="csr")
    middle = graph.factors + graph.variables // 2
    reached = breadth_first_order(both_ways, middle, return_predecessors=False)
    variables = reached[reached >= graph.factors][:PART] - graph.factors
    number = np.full(graph.variables, -1)
    number[variables] = np.arange(len(variables))
    factors = np.unique(factor_of[np.isin(graph.scope, variables)])
    scopes = [tuple(n for n in number[graph.scope_of(f)].tolist() if n >= 0) for f in factors]
    return scopes, graph.cardinality[variables].tolist()
