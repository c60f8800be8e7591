"""What symmetries a model has, what approximations would add, and how often jumps would succeed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from orbitmc.ask.lifting import CLUSTERS, RANK, typed_group, usual_moved
from orbitmc.errors import InputError, LimitError
from orbitmc.graph.model import Model
from orbitmc.graph.prepared import PreparedGraph, prepare
from orbitmc.graph.weights.hardening import hardened
from orbitmc.groups.block_groups import ExchangeBlocks, exchange_blocks
from orbitmc.groups.chains.membership import group_order
from orbitmc.groups.cycles import cycle_text, cycle_words
from orbitmc.groups.permutation_groups import PermutationGroup, orbits
from orbitmc.kernels.base.gibbs import SystematicScan
from orbitmc.kernels.jumps.exchange import shuffle
from orbitmc.kernels.metropolis.proposal import ACCEPTED, NULL, PROPOSALS
from orbitmc.machine.arrays import Bytes, Numbers
from orbitmc.machine.compiling import Stopwatch
from orbitmc.run.pack import start_pack, warm_up
from orbitmc.symmetry.approximation.cluster_weights import cluster_weights
from orbitmc.symmetry.approximation.colours import cells
from orbitmc.symmetry.approximation.equalize import one_coupling, without_fields
from orbitmc.symmetry.approximation.low_rank import low_rank
from orbitmc.symmetry.blocks.blocks import blocks, moved
from orbitmc.symmetry.detection.automorphisms import automorphisms, orbit_cells
from orbitmc.symmetry.detection.encoding.exchangeable import Links, links

ROUNDS = 1  # of colour passing, before it is stopped


def _orbits(symmetrise: Callable[[Model], Model]) -> Callable[[Model, float], Numbers]:
    """What finds the orbits of an approximation, in so many seconds."""

    def found(model: Model, seconds: float) -> Numbers:
        return orbit_cells(automorphisms(symmetrise(model).graph, seconds=seconds).group)

    return found


APPROXIMATIONS: dict[str, Callable[[Model, float], Numbers]] = {
    "without fields": _orbits(without_fields),
    "one coupling": _orbits(one_coupling),
    f"{CLUSTERS} weights": _orbits(lambda model: cluster_weights(model, CLUSTERS)),
    f"{CLUSTERS} weights, rank {RANK}": _orbits(
        lambda model: low_rank(cluster_weights(model, CLUSTERS), RANK)
    ),
    f"{CLUSTERS} weights, colours": lambda model, seconds: cells(
        cluster_weights(model, CLUSTERS), rounds=ROUNDS
    ),
}
MAX_MOVED = (10, 50, 200, 1000)  # factors that a block may move, to see what more of them buy
SWEEPS, JUMPS, LANES = 50, 400, 64


class Trials(NamedTuple):
    """What cuts are tried on: a model, and some of its states."""

    model: Model
    prepared: PreparedGraph
    states: Bytes
    connections: Links


@dataclass(frozen=True)
class Cut:
    """Orbits cut into blocks that move at most `max_moved` factors each, and what they are worth.

    `moved_factors` is summed over blocks. `acceptance` is the share of shuffles that the model
    accepts in states of a short Gibbs run; None when every shuffle is null.
    """

    max_moved: int
    exchanged: ExchangeBlocks
    moved_factors: int
    acceptance: float | None

    def as_dict(self) -> dict[str, Any]:
        return {
            "max_moved": self.max_moved,
            "blocks": self.exchanged.blocks,
            "moved_variables": len(self.exchanged.member),
            "moved_factors": self.moved_factors,
            "acceptance": self.acceptance,
        }


@dataclass(frozen=True)
class Approximation:
    """What one approximation makes exchangeable: as `lmh` would cut it, and in other ways.

    A model that is too large for it has no blocks, and a remark.
    """

    name: str
    usual: Cut
    cuts: tuple[Cut, ...] = ()
    remark: str = ""

    def as_dict(self) -> dict[str, Any]:
        cuts = [cut.as_dict() for cut in self.cuts]
        return {"name": self.name, **self.usual.as_dict(), "cuts": cuts, "remark": self.remark}


@dataclass(frozen=True)
class SymmetryOverview:
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
            "generators": [cycle_words(element, names) for element in self.group.generators()],
            "orbits": [[names[point] for point in orbit] for orbit in orbits(self.group)],
            "seconds": self.seconds,
            "complete": self.complete,
            "how": self.how,
            "approximations": [one.as_dict() for one in self.approximations],
        }


def symmetry_overview(
    model: Model,
    *,
    values: bool = False,
    seconds: float = 10.0,
    generators: Sequence[str] = (),
    approximate: bool = True,
) -> SymmetryOverview:
    """Look for symmetries of a model, or take the generators given, and try approximations."""
    if not seconds > 0:
        raise InputError(f"seconds must be above 0, not {seconds}")
    tried = _approximations(model, seconds) if approximate and model.graph.variables else ()
    if generators:
        with Stopwatch() as counting:
            group = typed_group(model, generators)
            order = _order(group)
        how = "given, not counted" if order is None else "given, counted"
        return SymmetryOverview(model, group, order, counting.seconds, True, how, tried)
    found = automorphisms(model.graph, values=values, seconds=seconds)
    order = _order(found.group) if found.order is None else found.order
    return SymmetryOverview(
        model, found.group, order, found.seconds, found.complete, found.how, tried
    )


def _order(group: PermutationGroup) -> int | None:
    """How many elements a group has, if counting them is affordable."""
    try:
        return group_order(group)
    except LimitError:
        return None


def _approximations(model: Model, seconds: float) -> tuple[Approximation, ...]:
    try:
        model = hardened(model).model
        prepared = prepare(model.graph)
        states = _some_states(prepared)
    except LimitError as error:
        return tuple(_too_large(model, name, error) for name in APPROXIMATIONS)
    trials = Trials(model, prepared, states, links(model.graph))
    return tuple(_approximation(trials, name, seconds) for name in APPROXIMATIONS)


def _approximation(trials: Trials, name: str, seconds: float) -> Approximation:
    model = trials.model
    try:
        alike = APPROXIMATIONS[name](model, seconds)
    except LimitError as error:
        return _too_large(model, name, error)
    usual, *cuts = (_cut(trials, alike, most) for most in (usual_moved(model), *MAX_MOVED))
    return Approximation(name, usual, tuple(cuts))


def _too_large(model: Model, name: str, error: LimitError) -> Approximation:
    nothing = Cut(usual_moved(model), exchange_blocks([]), 0, None)
    return Approximation(name, nothing, remark=str(error))


def _some_states(prepared: PreparedGraph) -> Bytes:
    base, spacing = SystematicScan(), prepared.graph.variables
    pack = start_pack(prepared, base, seed=0, number=0, lanes=LANES)
    warm_up(prepared, base, pack, samples=SWEEPS, spacing=spacing)
    return pack.values


def _cut(trials: Trials, alike: Numbers, most: int) -> Cut:
    graph, connections = trials.model.graph, trials.connections
    exchanged = blocks(graph, alike, max_moved=most, connections=connections)
    rows = (exchanged.rows(block) for block in range(exchanged.blocks))
    factors = sum(len(moved(graph, row, connections=connections)) for row in rows)
    accepted = _acceptance(trials, exchanged) if exchanged.blocks else None
    return Cut(most, exchanged, factors, accepted)


def _acceptance(trials: Trials, exchanged: ExchangeBlocks) -> float | None:
    """Share of shuffles that the model accepts, null ones aside."""
    prepared, jump = trials.prepared, shuffle(trials.prepared, exchanged)
    pack = start_pack(prepared, jump, seed=0, number=0, lanes=LANES)
    np.copyto(pack.values, trials.states)
    warm_up(prepared, jump, pack, samples=1, spacing=JUMPS)
    tried = int(pack.outcomes[PROPOSALS] - pack.outcomes[NULL])
    return int(pack.outcomes[ACCEPTED]) / tried if tried else None
