"""D-Wave's simulated annealing at constant temperature, read out every few sweeps."""

from typing import Any

import dimod
import numpy as np
from dwave.samplers import SimulatedAnnealingSampler
from protocol import Turn, serve, setting, two_values

CHAINS = setting("DWAVE_CHAINS", 256)
SWEEPS = setting("DWAVE_SWEEPS", 4)  # between two read-outs


class Annealing:
    """Chains that go on where the last call left them; weights are exp(-energy)."""

    def __init__(self, model: dict[str, Any]) -> None:
        fields = dict(enumerate(-np.array(model["fields"])))
        couplings = {
            (a, b): -c for (a, b), c in zip(model["edges"], model["couplings"], strict=True)
        }
        self.model = dimod.BinaryQuadraticModel.from_ising(fields, couplings)
        self.spins = len(fields)

    def run(self, seconds: float, seed: int) -> tuple[int, list[list[float]]]:
        rng = np.random.default_rng(seed)
        states = rng.choice(np.array([-1, 1], dtype=np.int8), (CHAINS, self.spins))
        up, recorded, updates, turn = np.zeros(self.spins), 0, 0, Turn(seconds)
        while turn.lasts() or not recorded:
            states = self.advance(states, int(rng.integers(2**31)))
            updates += SWEEPS * CHAINS * self.spins
            if not turn.warming():
                up += (states > 0).sum(axis=0)
                recorded += CHAINS
        return updates, two_values(up, recorded)

    def advance(self, states: Any, seed: int) -> Any:
        found = SimulatedAnnealingSampler().sample(
            self.model,
            beta_schedule_type="custom",
            beta_schedule=[1.0],
            num_sweeps_per_beta=SWEEPS,
            initial_states=(states, range(self.spins)),
            num_reads=CHAINS,
            seed=seed,
        )
        order = np.argsort(np.array(found.variables))
        return np.ascontiguousarray(found.record.sample[:, order])


if __name__ == "__main__":
    serve("dwave-samplers", Annealing)
