"""aGrUM's samplers on a Bayesian network, each stopped by its own clock."""

import sys
from typing import Any

import pyagrum
from protocol import serve


class Network:
    """One of aGrUM's ways to sample, named on the command line."""

    def __init__(self, model: dict[str, Any]) -> None:
        self.network = model.get("network") or pyagrum.loadBN(model["path"])
        self.evidence = model["evidence"]
        self.method = getattr(pyagrum, sys.argv[1])

    def run(self, seconds: float, seed: int) -> tuple[int, list[list[float]]]:
        pyagrum.initRandom(seed + 1)
        inference = self.method(self.network)
        inference.setEvidence(self.evidence)
        inference.setMaxTime(seconds)
        inference.setEpsilon(1e-30)
        inference.setMinEpsilonRate(1e-30)
        inference.setMaxIter(10**9)
        inference.makeInference()
        free = [name for name in self.network.names() if name not in self.evidence]
        drawn = inference.nbrIterations()
        marginals = {name: smoothed(inference.posterior(name).tolist(), drawn) for name in free}
        labels = {name: self.network.variable(name).labels() for name in free}
        updates = drawn * len(free)
        return updates, {"marginals": marginals, "labels": labels}  # type: ignore[return-value]


def smoothed(chances: list[float], drawn: int) -> list[float]:
    """Add half a count to each value, as with the other peers that count."""
    return [(chance * drawn + 0.5) / (drawn + 0.5 * len(chances)) for chance in chances]


if __name__ == "__main__":
    serve("pyagrum", Network)
