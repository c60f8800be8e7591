"""How often a model would accept a jump: tried in states of a short Gibbs run."""

from typing import NamedTuple

import numpy as np

from orbitmc.graph.conditionals.conditionals import Conditionals, conditionals
from orbitmc.graph.model import Model
from orbitmc.graph.weights.hardening import hardened
from orbitmc.kernels.base.gibbs import SystematicScan
from orbitmc.kernels.kernel import Kernel
from orbitmc.kernels.metropolis.proposal import ACCEPTED, NULL, PROPOSALS
from orbitmc.machine.arrays import Bytes
from orbitmc.run.pack import start_pack, warm_up
from orbitmc.symmetry.detection.encoding.exchangeable import Links, links

SWEEPS, JUMPS, LANES = 50, 400, 64


class Trials(NamedTuple):
    """What jumps are tried on: a model, and some of its states."""

    model: Model
    prepared: Conditionals
    states: Bytes
    connections: Links

    def acceptance(self, jump: Kernel) -> float | None:
        """Share of jumps that the model accepts, null ones aside; None if all are null."""
        graph = self.model.graph
        pack = start_pack(graph, jump, seed=0, number=0, lanes=LANES)
        np.copyto(pack.values, self.states)
        warm_up(graph, jump, self.prepared, pack, samples=1, spacing=JUMPS)
        tried = int(pack.outcomes[PROPOSALS] - pack.outcomes[NULL])
        return int(pack.outcomes[ACCEPTED]) / tried if tried else None


def trials(model: Model) -> Trials:
    """Draw some states of a model to try jumps in."""
    firm = hardened(model).model
    graph, prepared = firm.graph, conditionals(firm.graph)
    base = SystematicScan(prepared)
    pack = start_pack(graph, base, seed=0, number=0, lanes=LANES)
    warm_up(graph, base, prepared, pack, samples=SWEEPS, spacing=graph.variables)
    return Trials(firm, prepared, pack.values, links(graph))
