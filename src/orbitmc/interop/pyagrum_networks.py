"""Bayesian networks and Markov random fields of pyAgrum."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from orbitmc._util.arrays import Floats
from orbitmc.errors import InputError
from orbitmc.formats.bif.bayes import network_of_rows
from orbitmc.graph.model import Model, model


def from_pyagrum(network: Any) -> Model:
    """The model of a BayesNet or a MarkovRandomField of pyAgrum.

    >>> import pyagrum
    >>> import orbitmc as om
    >>> network = pyagrum.BayesNet()
    >>> _ = network.add("coin", 2)
    >>> _ = network.cpt("coin").fillWith([0.75, 0.25])
    >>> om.marginals(om.from_pyagrum(network))["coin"].probability.round(3).tolist()
    [0.75, 0.25]
    """
    tensors = list(_tensors(network))
    variables = [network.variable(node) for node in network.nodes()]
    domains = {one.name(): tuple(one.labels()) for one in variables}
    found = model(domains, [(names_in(tensor), table_in(tensor)) for tensor in tensors])
    return network_of_rows(found) if hasattr(network, "cpt") else found


def _tensors(network: Any) -> Iterator[Any]:
    if hasattr(network, "cpt") and hasattr(network, "nodes") and not hasattr(network, "utility"):
        return (network.cpt(node) for node in network.nodes())
    if hasattr(network, "factors") and hasattr(network, "nodes"):
        return (network.factor(scope) for scope in network.factors())
    raise InputError(
        f"expected a BayesNet or a MarkovRandomField of pyAgrum, not a {type(network).__name__}"
    )


def names_in(tensor: Any) -> list[str]:
    """The variables of a tensor in the order of its array.

    In pyAgrum the first variable is the fastest one, in an array the last axis is. With equal
    cardinalities, the other order would transpose the table and nothing would notice.
    """
    return [tensor.variable(place).name() for place in reversed(range(tensor.nbrDim()))]


def table_in(tensor: Any) -> Floats:
    """The numbers of a tensor, an axis for each of `names_in`."""
    return np.asarray(tensor.toarray(), dtype=np.float64)
