"""OpenJij's simulated annealing at constant temperature, one chain read out every few sweeps.

It gets no seed: with one, all reads would be the same.
"""

from typing import Any

import numpy as np
import openjij
from protocol import Turn, serve, setting, two_values

SWEEPS = setting("OPENJIJ_SWEEPS", 8)
UPDATES_PER_CALL = 2e6  # enough reads that a call costs little beside its updates


class Annealing:
    """One chain that goes on from read to read within a call."""

    def __init__(self, model: dict[str, Any]) -> None:
        self.fields = {spin: -field for spin, field in enumerate(model["fields"])}
        edges = zip(model["edges"], model["couplings"], strict=True)
        self.couplings = {(a, b): -c for (a, b), c in edges}
        self.last: list[int] | None = None
        self.reads = max(2, int(UPDATES_PER_CALL / (SWEEPS * len(self.fields))))

    def run(self, seconds: float, seed: int) -> tuple[int, list[list[float]]]:
        up, recorded, updates, turn = np.zeros(len(self.fields)), 0, 0, Turn(seconds)
        self.last = None
        while turn.lasts() or not recorded:
            states = self.advance()
            updates += self.reads * SWEEPS * len(self.fields)
            if not turn.warming():
                up += (states > 0).sum(axis=0)
                recorded += self.reads
        return updates, two_values(up, recorded)

    def advance(self) -> Any:
        found = openjij.SASampler().sample_ising(
            self.fields,
            self.couplings,
            schedule=[(1.0, SWEEPS)],
            num_reads=self.reads,
            initial_state=self.last,
            reinitialize_state=False,
        )
        order = np.argsort(np.array(found.variables))
        states = found.record.sample[:, order]
        self.last = [int(spin) for spin in states[-1]]
        return states


if __name__ == "__main__":
    serve("openjij", Annealing)
