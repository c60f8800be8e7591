"""What symmetries a model has, what approximations would add, and how often jumps would succeed."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from orbitmc._numba.compile_log import (
    require_time,
    spent_before,
    time_limit,
    timed,
    working_time,
)
from orbitmc._numba.jit import Stopwatch
from orbitmc._util.arrays import Bytes, Indices, Numbers
from orbitmc._util.loading import HtmlRepr
from orbitmc._util.text import digits, format_order
from orbitmc.conditionals.prepared import PreparedGraph, prepare
from orbitmc.errors import InputError, LimitError
from orbitmc.graph.hardening import harden
from orbitmc.graph.model import Model
from orbitmc.groups._exchange_blocks import ConstantSwaps, ExchangeBlocks, exchange_blocks
from orbitmc.groups.cycles import cycle_words, join_cycles
from orbitmc.groups.decomposition import group_order
from orbitmc.groups.permutation_groups import (
    PermutationGroup,
    orbits,
    permutation_group,
)
from orbitmc.inference.lift import CLASSES, CLUSTERS, RANK, parse_generators, typical_moved_factors
from orbitmc.inference.plan import SECONDS_PER_ENTRY
from orbitmc.kernels._gibbs import SystematicScan
from orbitmc.kernels.exchange import shuffle
from orbitmc.kernels.metropolis import ACCEPTED, NULL, PROPOSALS
from orbitmc.kernels.protocol import Kernel
from orbitmc.kernels.renaming import renaming
from orbitmc.mln.data.database import Ints, Universe
from orbitmc.mln.grounding.ground_model import graph_of
from orbitmc.mln.grounding.grounding import Ground
from orbitmc.mln.symmetry.approximate_classes import cluster_rule_weights
from orbitmc.mln.symmetry.classes import constant_swaps
from orbitmc.sampling.pack import start_pack, walk
from orbitmc.symmetry._automorphisms import SymmetryReport, automorphisms, orbit_cells
from orbitmc.symmetry.approximations import cluster_weights, low_rank, one_coupling, without_fields
from orbitmc.symmetry.blocks import blocks, moved
from orbitmc.symmetry.color_passing import cells
from orbitmc.symmetry.exchangeability import Links, links

# Which constants of a program approximations cannot tell apart, and how often jumps succeed.

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
    symmetric = graph_of(ground, cluster_rule_weights(ground, CLUSTERS))
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
    classes = []
    for number in np.argsort(swaps.member[swaps.start[:-1]]):
        members = swaps.member[swaps.start[number] : swaps.start[number + 1]]
        kind = kinds[swaps.kind[members[0]]]
        names = universe.constants[kind]
        classes.append(ConstantClass(kind, tuple(names[k] for k in swaps.digit[members])))
    return tuple(classes)


def trials(model: Model) -> Trials:
    """Draw some states of a model to try jumps in."""
    firm = harden(model).model
    require_time(SECONDS_PER_READ * len(firm.graph.scope))
    base, prepared = SystematicScan(), prepare(firm.graph)
    pack = start_pack(prepared, base, seed=0, number=0, lanes=LANES)
    for _ in timed(range(SWEEPS)):
        walk(prepared, base, pack, firm.graph.variables)
    return Trials(firm, prepared, pack.values, links(firm.graph))


ROUNDS = 1  # of colour passing, before it is stopped
SEARCH_SHARE = 0.7  # of the time for exact symmetries, if approximations are tried too
LEAST_SHARE = 0.1  # of the time that was asked for is there, whatever was done before


Finder = Callable[[Model, float], Numbers]
"""Finds cells of variables that an approximation makes alike, in so many seconds."""


def _orbits(symmetrise: Callable[[Model], Model]) -> Finder:
    return lambda model, seconds: orbit_cells(
        automorphisms(symmetrise(model).graph, seconds=seconds).group
    )


APPROXIMATIONS: dict[str, Finder] = {
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


@dataclass(frozen=True, repr=False)
class SymmetryOverview(HtmlRepr):
    """The symmetry group of a model in the names of its variables, and the approximations.

    Those that are `relational` swap constants of the program that the model means.
    """

    model: Model
    group: PermutationGroup
    order: int | None
    seconds: float
    complete: bool
    how: str
    approximations: tuple[Approximation, ...] = ()
    relational: tuple[RelationalApproximation, ...] = ()

    def __str__(self) -> str:
        return (
            f"SymmetryOverview({format_order(self.order)} symmetries, "
            f"{len(self.orbits)} orbits, "
            f"{len(self.approximations)} approximations, {self.how})"
        )

    @property
    def orbits(self) -> tuple[Indices, ...]:
        return orbits(self.group)

    @property
    def cycle_texts(self) -> list[str]:
        return self.some_cycle_texts(None)

    def some_cycle_texts(self, most: int | None) -> list[str]:
        """The first so many generators as texts; to write all of them may take long."""
        return [join_cycles(words) for words in self._cycles(most)]

    def _cycles(self, most: int | None = None) -> list[list[list[str]]]:
        """The cycles of the first so many generators, but for those of helpers."""
        generators = self.group.generators(most)
        every = [cycle_words(element, self.model.names) for element in generators]
        return [[cycle for cycle in words if self._is_seen(cycle)] for words in every]

    def _is_seen(self, names: Sequence[str]) -> bool:
        return not self.model.helpers.issuperset(names)

    @property
    def orbit_names(self) -> list[list[str]]:
        names = self.model.names
        every = [[names[point] for point in orbit] for orbit in self.orbits]
        return [orbit for orbit in every if self._is_seen(orbit)]

    @property
    def order_text(self) -> str | None:
        """All digits of the order, if it is known."""
        return None if self.order is None else digits(self.order)

    def as_dict(self) -> dict[str, Any]:
        """All of it, ready for JSON."""
        return {
            "order": self.order_text,
            "generators": self._cycles(),
            "orbits": self.orbit_names,
            "seconds": self.seconds,
            "complete": self.complete,
            "how": self.how,
            "approximations": [approximation.as_dict() for approximation in self.approximations],
            "relational": [approximation.as_dict() for approximation in self.relational],
        }


def symmetry_overview(
    model: Model,
    *,
    ground: Ground | None = None,
    values: bool = False,
    seconds: float = 10.0,
    generators: Sequence[str] = (),
    approximate: bool = True,
) -> SymmetryOverview:
    """Look for symmetries of a model, or take the generators given, and try approximations.

    `ground` is the program that the model means, if there is one. Symmetries of causes are seen in
    the table of a noisy gate, not in its chain, so gates become tables where these are not too
    large.
    """
    with suppress(LimitError):
        model = model.without_helpers()
    if not seconds > 0:
        raise InputError(f"seconds must be above 0, not {seconds}")
    begun = working_time() - spent_before()
    left = max(begun + seconds - working_time(), LEAST_SHARE * seconds)
    trying = bool(approximate and model.graph.variables)
    if generators:
        tried = _approximations(model, ground, left) if trying else ((), ())
        with Stopwatch() as counting:
            group = parse_generators(model, generators)
            order = _order(group)
        how = "given, not counted" if order is None else "given, counted"
        return SymmetryOverview(model, group, order, counting.seconds, True, how, *tried)
    exact = _exact(model, values, left, SEARCH_SHARE if trying else 1.0)
    left = begun + seconds - working_time()
    tried = _approximations(model, ground, left) if trying else ((), ())
    order = _order(exact.group) if exact.order is None else exact.order
    return SymmetryOverview(
        model, exact.group, order, exact.seconds, exact.complete, exact.how, *tried
    )


def _exact(model: Model, values: bool, seconds: float, share: float) -> SymmetryReport:
    """Symmetries of the model itself; a search for them takes no more than a share of the time.

    Where there is no time even to write the model as a graph, none are found.
    """
    graph, begun = model.graph, working_time()
    try:
        with time_limit(seconds):
            require_time(SECONDS_PER_ENTRY * len(graph.table))
            return automorphisms(graph, values=values, seconds=share * seconds)
    except LimitError as error:
        nothing = permutation_group(graph.variables, [], cardinality=graph.cardinality)
        spent = working_time() - begun
        return SymmetryReport(nothing, (), None, spent, complete=False, how=f"nothing: {error}")


def _order(group: PermutationGroup) -> int | None:
    """How many elements a group has, if counting them is affordable."""
    try:
        return group_order(group)
    except LimitError:
        return None


def _approximations(
    model: Model, ground: Ground | None, seconds: float
) -> tuple[tuple[Approximation, ...], tuple[RelationalApproximation, ...]]:
    """Approximations of a model, and of the program that means it."""
    finders, until = dict(APPROXIMATIONS), working_time() + seconds
    if ground is not None:
        finders[f"{CLUSTERS} rule weights"] = lambda _, most: rule_weight_orbits(ground, most)
    try:
        with time_limit(seconds):
            drawn = trials(model)
    except LimitError as error:
        return tuple(_too_large(model, name, error) for name in finders), ()
    waiting = len(finders) + (0 if ground is None else len(CLASSES))
    approximations: list[Approximation] = []
    for name, find in finders.items():
        share = max(0.0, until - working_time()) / (waiting - len(approximations)) * 2.0
        with time_limit(min(share, until - working_time())):
            approximations.append(_approximation(drawn, name, find, share))
    if ground is None:
        return tuple(approximations), ()
    with time_limit(until - working_time()):
        swaps = tuple(relational_approximation(drawn, ground, name) for name in CLASSES)
    return tuple(approximations), swaps


def _approximation(drawn: Trials, name: str, find: Finder, seconds: float) -> Approximation:
    model = drawn.model
    try:
        require_time(SECONDS_PER_ENTRY * len(model.graph.table))
        alike = find(model, seconds)
        wanted = timed((typical_moved_factors(model), *MAX_MOVED))
        usual, *cuts = (_truncate(drawn, alike, most) for most in wanted)
    except LimitError as error:
        return _too_large(model, name, error)
    return Approximation(name, usual, tuple(cuts))


def _too_large(model: Model, name: str, error: LimitError) -> Approximation:
    nothing = Cut(typical_moved_factors(model), exchange_blocks([]), 0, None)
    return Approximation(name, nothing, remark=str(error))


def _truncate(drawn: Trials, alike: Numbers, most: int) -> Cut:
    graph, connections = drawn.model.graph, drawn.connections
    exchanged = blocks(graph, alike, max_moved=most, connections=connections)
    rows = (exchanged.rows(block) for block in range(exchanged.blocks))
    factors = sum(len(moved(graph, row, connections=connections)) for row in rows)
    jump = shuffle(drawn.prepared, exchanged) if exchanged.blocks else None
    return Cut(most, exchanged, factors, None if jump is None else drawn.acceptance(jump))
