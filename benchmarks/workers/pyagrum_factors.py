"""aGrUM's samplers on a Markov network, told as a Bayesian one.

It samples Bayesian networks only, so every factor becomes an observed child of its variables, which
is seen with a probability proportional to the factor.
"""

from typing import Any

import numpy as np
import pyagrum
from protocol import serve
from pyagrum_marginals import Network

SEEN = 1


class Factors(Network):
    """Variables v0, v1, … with uniform tables, and children f0, f1, … that are all observed."""

    def __init__(self, model: dict[str, Any]) -> None:
        super().__init__({"network": network_of(model), "evidence": evidence_of(model)})


def network_of(model: dict[str, Any]) -> Any:
    network = pyagrum.BayesNet()
    for number, size in enumerate(model["cardinality"]):
        network.add(pyagrum.LabelizedVariable(f"v{number}", "", size))
        network.cpt(f"v{number}").fillWith(1.0 / size)
    for number, (scope, table) in enumerate(zip(model["scopes"], model["tables"], strict=True)):
        child = f"f{number}"
        network.add(pyagrum.LabelizedVariable(child, "", 2))
        for variable in scope:
            network.addArc(f"v{variable}", child)
        shape = [model["cardinality"][variable] for variable in scope]
        chance = np.exp(np.array(table) - np.max(table)).reshape(shape)
        for place in np.ndindex(*shape):
            parents = {f"v{variable}": value for variable, value in zip(scope, place, strict=True)}
            network.cpt(child)[parents] = [1.0 - chance[place], chance[place]]
    return network


def evidence_of(model: dict[str, Any]) -> dict[str, int]:
    return {f"f{number}": SEEN for number in range(len(model["scopes"]))}


if __name__ == "__main__":
    serve("pyagrum", Factors)
