"""Ising models on graphs of networkx."""

from typing import Any

import numpy as np

from orbitmc._util.text import format_names
from orbitmc.errors import InputError
from orbitmc.graph.model import Model
from orbitmc.models._ising import number, pair_places, scaled_ising


def from_networkx(
    graph: Any,
    J: str = "J",  # noqa: N803
    h: str = "h",
    *,
    coupling: float = 1.0,
    field: float = 0.0,
    beta: float = 1.0,
) -> Model:
    """The Ising model of a graph: P is proportional to exp(beta (Σ h s + Σ J s s')).

    `J` and `h` are the names of attributes of edges and nodes; where one is missing, `coupling`
    and `field` hold. Several edges between two nodes add up. Spins are "down" (-1) or "up" (+1).

    >>> import networkx
    >>> import orbitmc as om
    >>> model = om.from_networkx(networkx.cycle_graph(8), coupling=0.3, field=0.1)
    >>> om.marginals(model)["0"].probability.round(3).tolist()
    [0.41, 0.59]
    """
    if not hasattr(graph, "is_directed") or not hasattr(graph, "edges"):
        raise InputError(f"expected a graph of networkx, not a {type(graph).__name__}")
    if graph.is_directed():
        raise InputError("couplings have no direction: give graph.to_undirected()")
    labels = {node: place for place, node in enumerate(graph.nodes)}
    edges = list(graph.edges(data=J, default=coupling))
    for first, second, _ in edges:
        if first == second:
            raise InputError(f"node {first!r} is coupled to itself; a field is an attribute {h!r}")
    fields = [
        number(value, f"{h} of {node!r}") for node, value in graph.nodes(data=h, default=field)
    ]
    strengths = [number(value, f"{J} of {first!r}, {second!r}") for first, second, value in edges]
    pairs = pair_places([(first, second) for first, second, _ in edges], labels)
    return scaled_ising(fields, pairs, np.array(strengths), beta, names=format_names(labels))
