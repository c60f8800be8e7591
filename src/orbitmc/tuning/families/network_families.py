"""All variables drawn anew from a directed network."""

import math

import numpy as np

from orbitmc.conditionals.prepared import PreparedGraph
from orbitmc.graph.ancestral import Network, acceptance, network_of
from orbitmc.graph.model import Model
from orbitmc.kernels._independence import independence
from orbitmc.kernels.protocol import Kernel
from orbitmc.tuning.families.family import Family, remembered

SELDOM = 0.01  # accepted less often, draws of all variables gain nothing
LEFT_OVER = 0.25  # factors for each variable: more are no evidence, but no network
LANES = 64
SECONDS_PER_VARIABLE = 2e-6  # that looking for a network takes
SECONDS_PER_DRAW = 6e-6  # of a variable in all lanes, twice


def forward_family() -> Family:
    """Draws from the network that a model is; with little evidence they are mostly accepted."""
    words = "all variables are drawn anew from the network and accepted by the evidence"
    return Family(words, _build_forward)


def _build_forward(model: Model, prepared: PreparedGraph) -> Kernel | None:
    network = _network(model)
    if network is None or forward_acceptance(model) < SELDOM:
        return None
    return independence(prepared, network)


def forward_acceptance(model: Model, seconds: float = math.inf) -> float:
    """About how often draws from the network are accepted; 0 if a model is no network.

    It is 0, too, if there are no `seconds` to find that out.
    """
    if SECONDS_PER_VARIABLE * model.graph.variables > seconds:
        return 0.0
    network = _network(model)
    late = SECONDS_PER_DRAW * model.graph.variables > seconds
    if network is None or (late and len(network.rest)):
        return 0.0
    return acceptance(network, LANES, np.random.default_rng(0))


@remembered
def _network(model: Model) -> Network | None:
    """The network that a model is, if little is left over of it."""
    return network_of(model.graph, max(1.0, LEFT_OVER * model.graph.variables))
