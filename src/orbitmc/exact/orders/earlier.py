"""Orders of earlier graphs, for those that read the same variables and have other tables.

So it is when other values of the same variables are observed: what is impossible then differs, and
with it the graph that is eliminated, but an order that was good before is good again.
"""

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Sequence

from orbitmc.exact.orders.order import MOST_KEPT, MOST_ORDERS, Order
from orbitmc.exact.problem import Problem
from orbitmc.graph.factor_graph import FactorGraph

KEPT: OrderedDict[bytes, Order] = OrderedDict()
_lock = threading.Lock()


def keep_order(graph: FactorGraph, problem: Problem, order: Sequence[int], cost: float) -> None:
    """Keep an order in terms of the graph's variables; those of helpers are not kept."""
    number = {place: variable for variable, place in enumerate(problem.place) if place >= 0}
    if graph.variables > MOST_KEPT or len(number) < len(problem.sizes):
        return
    with _lock:
        KEPT[_key(graph)] = Order([number[place] for place in order], cost)
        while len(KEPT) > MOST_ORDERS:
            KEPT.popitem(last=False)


def earlier_order(graph: FactorGraph, problem: Problem) -> Order | None:
    """The order of an earlier graph with the same scopes, in numbers of a problem.

    Variables that were decided there and are open here come first: few factors are left of them.
    """
    if graph.variables > MOST_KEPT:
        return None
    with _lock:
        known = KEPT.get(_key(graph))
    if known is None:
        return None
    places = [place for v in known.variables if (place := problem.place[v]) >= 0]
    newly = sorted({*range(len(problem.sizes))} - {*places})
    return Order([*newly, *places], known.cost)


def _key(graph: FactorGraph) -> bytes:
    """What graphs with the same scopes share."""
    parts = (graph.cardinality, graph.scope_start, graph.scope)
    return hashlib.blake2b(b"|".join(part.tobytes() for part in parts)).digest()
