"""What symmetries a model has, what approximations would add, and how often jumps would succeed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from orbitmc._numba.compile_log import working_time
from orbitmc._numba.jit import Stopwatch
from orbitmc._numba.time_limits import require_time, time_limit, timed
from orbitmc._util.arrays import Numbers
from orbitmc._util.loading import Displayed
from orbitmc.ask.method.lifting import CLUSTERS, RANK, typed_group, usual_moved
from orbitmc.ask.method.relational_lifting import CLASSES
from orbitmc.compare.constant_report import (
    RelationalApproximation,
    Trials,
    relational_approximation,
    rule_weight_orbits,
    trials,
)
from orbitmc.errors import InputError, LimitError
from orbitmc.graph.model import Model
from orbitmc.groups._exchange_blocks import ExchangeBlocks, exchange_blocks
from orbitmc.groups.cycles import cycle_text, cycle_words
from orbitmc.groups.decomposition import group_order
from orbitmc.groups.permutation_groups import (
    PermutationGroup,
    digits,
    orbits,
    order_in_words,
    permutation_group,
)
from orbitmc.kernels.exchange import shuffle
from orbitmc.mln.grounding.grounding import Ground
from orbitmc.symmetry._automorphisms import SymmetryReport, automorphisms, orbit_cells
from orbitmc.symmetry.approximations import cluster_weights, low_rank, one_coupling, without_fields
from orbitmc.symmetry.blocks import blocks, moved
from orbitmc.symmetry.color_passing import cells

ROUNDS = 1  # of colour passing, before it is stopped
SEARCH_SHARE = 0.7  # of the time for exact symmetries, if approximations are tried too
SECONDS_PER_ENTRY = 1e-6  # of a table, to write a model as a graph


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
class SymmetryOverview(Displayed):
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
            f"SymmetryOverview({order_in_words(self.order)} symmetries, "
            f"{len(orbits(self.group))} orbits, "
            f"{len(self.approximations)} approximations, {self.how})"
        )

    @property
    def cycle_texts(self) -> list[str]:
        return [cycle_text(element, self.model.names) for element in self.group.generators()]

    def as_dict(self) -> dict[str, Any]:
        """All of it, ready for JSON."""
        names = self.model.names
        return {
            "order": None if self.order is None else digits(self.order),
            "generators": [cycle_words(element, names) for element in self.group.generators()],
            "orbits": [[names[point] for point in orbit] for orbit in orbits(self.group)],
            "seconds": self.seconds,
            "complete": self.complete,
            "how": self.how,
            "approximations": [one.as_dict() for one in self.approximations],
            "relational": [one.as_dict() for one in self.relational],
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

    `ground` is the program that the model means, if there is one.
    """
    if not seconds > 0:
        raise InputError(f"seconds must be above 0, not {seconds}")
    begun = working_time()
    trying = bool(approximate and model.graph.variables)
    if generators:
        tried = _approximations(model, ground, seconds) if trying else ((), ())
        with Stopwatch() as counting:
            group = typed_group(model, generators)
            order = _order(group)
        how = "given, not counted" if order is None else "given, counted"
        return SymmetryOverview(model, group, order, counting.seconds, True, how, *tried)
    found = _exact(model, values, seconds, SEARCH_SHARE if trying else 1.0)
    left = begun + seconds - working_time()
    tried = _approximations(model, ground, left) if trying else ((), ())
    order = _order(found.group) if found.order is None else found.order
    return SymmetryOverview(
        model, found.group, order, found.seconds, found.complete, found.how, *tried
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
    found: list[Approximation] = []
    for name, find in finders.items():
        share = max(0.0, until - working_time()) / (waiting - len(found)) * 2.0
        with time_limit(min(share, until - working_time())):
            found.append(_approximation(drawn, name, find, share))
    if ground is None:
        return tuple(found), ()
    with time_limit(until - working_time()):
        swaps = tuple(relational_approximation(drawn, ground, name) for name in CLASSES)
    return tuple(found), swaps


def _approximation(drawn: Trials, name: str, find: Finder, seconds: float) -> Approximation:
    model = drawn.model
    try:
        require_time(SECONDS_PER_ENTRY * len(model.graph.table))
        alike = find(model, seconds)
        wanted = timed((usual_moved(model), *MAX_MOVED))
        usual, *cuts = (_cut(drawn, alike, most) for most in wanted)
    except LimitError as error:
        return _too_large(model, name, error)
    return Approximation(name, usual, tuple(cuts))


def _too_large(model: Model, name: str, error: LimitError) -> Approximation:
    nothing = Cut(usual_moved(model), exchange_blocks([]), 0, None)
    return Approximation(name, nothing, remark=str(error))


def _cut(drawn: Trials, alike: Numbers, most: int) -> Cut:
    graph, connections = drawn.model.graph, drawn.connections
    exchanged = blocks(graph, alike, max_moved=most, connections=connections)
    rows = (exchanged.rows(block) for block in range(exchanged.blocks))
    factors = sum(len(moved(graph, row, connections=connections)) for row in rows)
    jump = shuffle(drawn.prepared, exchanged) if exchanged.blocks else None
    return Cut(most, exchanged, factors, None if jump is None else drawn.acceptance(jump))
