"""D-Wave's simulated annealing at constant temperature: the inner loop, no read-outs."""

import numpy as np
from dwave.samplers import SimulatedAnnealingSampler
from dwave_marginals import Annealing
from protocol import Turn, serve

READS = 16
SWEEPS = 64


class InnerLoop(Annealing):
    """Long calls, so that all of the time goes into updates."""

    def run(self, seconds: float, seed: int) -> tuple[int, None]:
        updates, turn = 0, Turn(seconds)
        rng = np.random.default_rng(seed)
        while turn.lasts():
            SimulatedAnnealingSampler().sample(
                self.model,
                beta_range=(1.0, 1.0),
                beta_schedule_type="linear",
                num_sweeps=SWEEPS,
                num_reads=READS,
                seed=int(rng.integers(2**31)),
            )
            updates += READS * SWEEPS * self.spins
        return updates, None


if __name__ == "__main__":
    serve("dwave-samplers", InnerLoop)
