"""Which constants of a program approximations cannot tell apart, and how often jumps succeed."""

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from orbitmc._numba.time_limits import require_time, timed
from orbitmc._util.arrays import Bytes
from orbitmc.ask.method.lifting import CLUSTERS, RANK
from orbitmc.ask.method.relational_lifting import CLASSES
from orbitmc.conditionals.prepared import PreparedGraph, prepare
from orbitmc.errors import LimitError
from orbitmc.graph.hardening import hardened
from orbitmc.graph.model import Model
from orbitmc.groups._exchange_blocks import ConstantSwaps
from orbitmc.kernels._gibbs import SystematicScan
from orbitmc.kernels.metropolis import ACCEPTED, NULL, PROPOSALS
from orbitmc.kernels.protocol import Kernel
from orbitmc.kernels.renaming import renaming
from orbitmc.mln.data.database import Ints, Universe
from orbitmc.mln.grounding.ground_model import graph_of
from orbitmc.mln.grounding.grounding import Ground
from orbitmc.mln.symmetry.approximate_classes import clustered_weights
from orbitmc.mln.symmetry.classes import constant_swaps
from orbitmc.sampling.pack import start_pack, walk
from orbitmc.symmetry._automorphisms import automorphisms, orbit_cells
from orbitmc.symmetry.exchangeability import Links, links

SWEEPS, JUMPS, LANES = 50, 400, 64
SECONDS_PER_READ = 1e-5  # of a variable by a factor, to prepare a graph


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


@dataclass(frozen=True)
class ConstantClass:
    """Constants of one type that may be swapped."""

    type: str
    constants: tuple[str, ...]


@dataclass(frozen=True)
class RelationalApproximation:
    """What one approximation of a program makes exchangeable.

    `moved_variables` counts the unknown atoms that speak of a constant with a class.
    `acceptance` is the share of swaps that the model accepts in states of a short Gibbs run;
    None when every swap is null, or there is none.
    """

    name: str
    classes: tuple[ConstantClass, ...] = ()
    moved_variables: int = 0
    acceptance: float | None = None
    remark: str = ""

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def rule_weight_orbits(ground: Ground, seconds: float) -> Ints:
    """Cells of atoms that are alike once the weights of rules are put into clusters."""
    symmetric = graph_of(ground, clustered_weights(ground, CLUSTERS))
    return orbit_cells(automorphisms(symmetric, seconds=seconds).group)


def relational_approximation(trials: Trials, ground: Ground, name: str) -> RelationalApproximation:
    """Try swaps of constants that an approximation of a program cannot tell apart."""
    graph = trials.model.graph
    try:
        swaps = constant_swaps(ground, CLASSES[name](ground, trials.model, CLUSTERS, RANK))
    except LimitError as error:
        return RelationalApproximation(name, remark=str(error))
    if not swaps.classes:
        return RelationalApproximation(name)
    accepted = trials.acceptance(renaming(graph, swaps))
    atoms = len(np.unique(swaps.mention))
    return RelationalApproximation(name, _classes(swaps, ground.universe), atoms, accepted)


def _classes(swaps: ConstantSwaps, universe: Universe) -> tuple[ConstantClass, ...]:
    """Classes by name, in the order of their first constants."""
    kinds = list(universe.constants)
    found = []
    for number in np.argsort(swaps.member[swaps.start[:-1]]):
        members = swaps.member[swaps.start[number] : swaps.start[number + 1]]
        kind = kinds[swaps.kind[members[0]]]
        names = universe.constants[kind]
        found.append(ConstantClass(kind, tuple(names[k] for k in swaps.digit[members])))
    return tuple(found)


def trials(model: Model) -> Trials:
    """Draw some states of a model to try jumps in."""
    firm = hardened(model).model
    require_time(SECONDS_PER_READ * len(firm.graph.scope))
    base, prepared = SystematicScan(), prepare(firm.graph)
    pack = start_pack(prepared, base, seed=0, number=0, lanes=LANES)
    for _ in timed(range(SWEEPS)):
        walk(prepared, base, pack, firm.graph.variables)
    return Trials(firm, prepared, pack.values, links(firm.graph))
