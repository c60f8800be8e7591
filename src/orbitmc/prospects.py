"""What symmetries a model has, what approximations would add, and how often jumps would succeed."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from orbitmc.approximate.cluster_weights import cluster_weights
from orbitmc.approximate.equalize import one_coupling, without_fields
from orbitmc.approximate.low_rank import low_rank
from orbitmc.errors import InputError
from orbitmc.graph.conditionals import Conditionals, conditionals
from orbitmc.graph.model import Model
from orbitmc.groups.cycles import cycle_text, cycles, read_cycles
from orbitmc.groups.exchange_blocks import ExchangeBlocks
from orbitmc.groups.permutation_group import PermutationGroup, orbits
from orbitmc.kernels.exchange import shuffle
from orbitmc.kernels.gibbs import SystematicScan
from orbitmc.kernels.proposal import ACCEPTED, NULL, PROPOSALS
from orbitmc.lifting import CLUSTERS, MAX_MOVED, RANK
from orbitmc.run.pack import start_pack, warm_up
from orbitmc.symmetry.automorphisms import automorphisms, given_generators, orbit_cells
from orbitmc.symmetry.blocks import blocks

APPROXIMATIONS: dict[str, Callable[[Model], Model]] = {
    "without fields": without_fields,
    "one coupling": one_coupling,
    f"{CLUSTERS} weights": lambda model: cluster_weights(model, CLUSTERS),
    f"{CLUSTERS} weights, rank {RANK}": lambda model: low_rank(
        cluster_weights(model, CLUSTERS), RANK
    ),
}
SWEEPS, JUMPS, LANES = 50, 400, 64


@dataclass(frozen=True)
class Approximation:
    """Blocks that one approximation makes exchangeable, and how often shuffles are accepted.

    `acceptance` is measured on states of a short Gibbs run; None when every shuffle is null.
    """

    name: str
    exchanged: ExchangeBlocks
    acceptance: float | None


@dataclass(frozen=True)
class Prospects:
    """The symmetry group of a model in the names of its variables, and the approximations."""

    model: Model
    group: PermutationGroup
    order: int | None
    seconds: float
    complete: bool
    how: str
    approximations: tuple[Approximation, ...]

    @property
    def cycle_texts(self) -> list[str]:
        return [cycle_text(element, self.model.names) for element in self.group.generators()]

    def as_dict(self) -> dict[str, Any]:
        """All of it, ready for JSON."""
        names = self.model.names
        return {
            "order": None if self.order is None else str(self.order),
            "generators": [
                [[names[point] for point in cycle] for cycle in cycles(element)]
                for element in self.group.generators()
            ],
            "orbits": [[names[point] for point in orbit] for orbit in orbits(self.group)],
            "seconds": self.seconds,
            "complete": self.complete,
            "how": self.how,
            "approximations": [
                {
                    "name": one.name,
                    "blocks": one.exchanged.blocks,
                    "moved_variables": len(one.exchanged.member),
                    "acceptance": one.acceptance,
                }
                for one in self.approximations
            ],
        }


def prospects(
    model: Model,
    *,
    values: bool = False,
    seconds: float = 10.0,
    generators: Iterable[str] = (),
    approximate: bool = True,
) -> Prospects:
    """Look for symmetries of a model, or take the generators given, and try approximations."""
    if not seconds > 0:
        raise InputError(f"seconds must be above 0, not {seconds}")
    tried = _approximations(model, seconds) if approximate and model.graph.variables else ()
    typed = [_typed(model, text) for text in generators]
    if typed:
        group = given_generators(model.graph, typed)
        return Prospects(model, group, None, 0.0, True, "given, not searched for", tried)
    found = automorphisms(model.graph, values=values, seconds=seconds)
    return Prospects(
        model, found.group, found.order, found.seconds, found.complete, found.how, tried
    )


def _typed(model: Model, text: str) -> Any:
    sizes = model.graph.cardinality if "=" in text else None
    return read_cycles(text, model.graph.variables, model.names, cardinality=sizes)


def _approximations(model: Model, seconds: float) -> tuple[Approximation, ...]:
    prepared = conditionals(model.graph)
    found = []
    for name, symmetrise in APPROXIMATIONS.items():
        group = automorphisms(symmetrise(model).graph, seconds=seconds).group
        exchanged = blocks(model.graph, orbit_cells(group), max_moved=MAX_MOVED)
        accepted = _acceptance(model, prepared, exchanged) if exchanged.blocks else None
        found.append(Approximation(name, exchanged, accepted))
    return tuple(found)


def _acceptance(model: Model, prepared: Conditionals, exchanged: ExchangeBlocks) -> float | None:
    """Share of shuffles that the model accepts, null ones aside."""
    graph = model.graph
    base, jump = SystematicScan(prepared), shuffle(graph, prepared, exchanged)
    start = start_pack(graph, base, seed=0, number=0, lanes=LANES)
    warm_up(graph, base, prepared, start, samples=SWEEPS, spacing=graph.variables)
    pack = start_pack(graph, jump, seed=0, number=0, lanes=LANES)
    np.copyto(pack.values, start.values)
    warm_up(graph, jump, prepared, pack, samples=1, spacing=JUMPS)
    tried = int(pack.outcomes[PROPOSALS] - pack.outcomes[NULL])
    return float(pack.outcomes[ACCEPTED] / tried) if tried else None
