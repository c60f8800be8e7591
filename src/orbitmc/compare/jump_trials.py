"""How often a model would accept a jump: tried in states of a short Gibbs run."""

from typing import NamedTuple

import numpy as np

from orbitmc.graph.model import Model
from orbitmc.graph.prepared import PreparedGraph, prepare
from orbitmc.graph.weights.hardening import hardened
from orbitmc.kernels.base.gibbs import SystematicScan
from orbitmc.kernels.kernel import Kernel
from orbitmc.kernels.metropolis.proposal import ACCEPTED, NULL, PROPOSALS
from orbitmc.machine.arrays import Bytes
from orbitmc.run.pack import start_pack, walk
from orbitmc.symmetry.detection.encoding.exchangeable import Links, links

SWEEPS, JUMPS, LANES = 50, 400, 64


class Trials(NamedTuple):
    """What jumps are tried on: a model, and some of its states."""

    model: Model
    prepared: PreparedGraph
    states: Bytes
    connections: Links

    def acceptance(self, jump: Kernel) -> float | None:
        """Share of jumps that the model accepts, null ones aside; None if all are null."""
        pack = start_pack(self.prepared, jump, seed=0, number=0, lanes=LANES)
        np.copyto(pack.values, self.states)
        walk(self.prepared, jump, pack, JUMPS)
        tried = int(pack.outcomes[PROPOSALS] - pack.outcomes[NULL])
        return int(pack.outcomes[ACCEPTED]) / tried if tried else None


def trials(model: Model) -> Trials:
    """Draw some states of a model to try jumps in."""
    firm = hardened(model).model
    base, prepared = SystematicScan(), prepare(firm.graph)
    pack = start_pack(prepared, base, seed=0, number=0, lanes=LANES)
    walk(prepared, base, pack, SWEEPS * firm.graph.variables)
    return Trials(firm, prepared, pack.values, links(firm.graph))
