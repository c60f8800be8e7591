"""PyMC's Gibbs sampler for binary variables: one chain, compiled before the first turn."""

from typing import Any

import numpy as np
import pymc
from protocol import Turn, serve, two_values


class BinaryGibbs:
    """Spins as Bernoulli variables, the energy as a potential; a step updates all spins once."""

    def __init__(self, model: dict[str, Any]) -> None:
        first, second = np.array(model["edges"]).T
        with pymc.Model() as graph:
            up = pymc.Bernoulli("up", 0.5, shape=len(model["fields"]))
            spins = 2 * up - 1
            pairs = np.array(model["couplings"]) * spins[first] * spins[second]
            pymc.Potential("weight", (np.array(model["fields"]) * spins).sum() + pairs.sum())
            self.step = pymc.BinaryGibbsMetropolis([up])
        self.start = graph.initial_point()

    def run(self, seconds: float, seed: int) -> tuple[int, list[list[float]]]:
        self.step.set_rng(np.random.default_rng(seed))
        point, turn, sweeps = self.start, Turn(seconds), 0
        counts, recorded = np.zeros(len(self.start["up"])), 0
        while turn.lasts() or not recorded:
            point, _ = self.step.step(point)
            sweeps += 1
            if not turn.warming():
                counts += point["up"]
                recorded += 1
        return sweeps * len(counts), two_values(counts, recorded)


if __name__ == "__main__":
    serve("pymc", BinaryGibbs)
