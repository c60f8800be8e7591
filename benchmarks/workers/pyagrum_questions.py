"""aGrUM's lazy propagation: rows of evidence about a network, one after the other.

Standard input has one JSON object: the path of a network, and rows of evidence by number of value.
Standard output gets CPU seconds of the first row and of each later one, and the marginals of the
last. The first row may be asked several times, each of a copy that knows nothing but the network;
then the best counts.
"""

import json
import sys
import time
from typing import Any

import pyagrum
from protocol import is_worth_asking_again


def main() -> None:
    asked = json.load(sys.stdin)
    network = pyagrum.loadBN(asked["path"])
    propagation = pyagrum.LazyPropagation(network)
    seconds: list[float] = []
    found: dict[str, list[float]] = {}
    for row in asked["rows"]:
        taken = [_seconds(propagation, network, row, found)]
        while not seconds and is_worth_asking_again(taken, asked):
            again = pyagrum.BayesNet(network)
            taken.append(_seconds(pyagrum.LazyPropagation(again), again, row, found))
        seconds.append(min(taken))
    told = {"version": pyagrum.__version__, "seconds": seconds, "marginals": found}
    print(json.dumps({**told, **_pair(network, asked["rows"][-1], asked.get("pair"))}))


def _seconds(
    propagation: Any, network: Any, row: dict[str, int], found: dict[str, list[float]]
) -> float:
    """CPU seconds of all marginals, which are left in `found`."""
    begun = time.process_time()
    propagation.setEvidence(row)
    propagation.makeInference()
    for name in network.names():
        if name not in row:
            found[name] = propagation.posterior(name).tolist()
    return time.process_time() - begun


def _pair(network: Any, row: dict[str, int], pair: list[str] | None) -> dict[str, Any]:
    """The joint table of two variables, and the probability of the row, if asked for."""
    if pair is None:
        return {}
    first, second = pair
    propagation = pyagrum.LazyPropagation(network)
    propagation.addJointTarget({first, second})
    propagation.setEvidence(row)
    propagation.makeInference()
    table = propagation.jointPosterior({first, second})
    sizes = [network.variable(name).domainSize() for name in pair]
    return {
        "joint": [[table[{first: i, second: j}] for j in range(sizes[1])] for i in range(sizes[0])],
        "evidence": propagation.evidenceProbability(),
    }


if __name__ == "__main__":
    main()
