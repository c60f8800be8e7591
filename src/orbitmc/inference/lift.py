"""From a model to a lifted kernel: find symmetries, exact or approximate, and mix in jumps."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from orbitmc._util.arrays import Floats, indices
from orbitmc.conditionals.prepared import PreparedGraph
from orbitmc.errors import InputError, LimitError
from orbitmc.estimate.statistics import values_of
from orbitmc.estimate.tally import rows_of_orbits
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.model import Model
from orbitmc.groups._exchange_blocks import ConstantSwaps, ExchangeBlocks
from orbitmc.groups.cycles import read_cycles
from orbitmc.groups.permutation_groups import (
    PermutationGroup,
    connected_components,
    orbit_labels,
    permutation_group,
    subgroup,
)
from orbitmc.inference.plan import PlannedKernel
from orbitmc.inference.settings import SWAPPED, Settings
from orbitmc.kernels._gibbs import RandomScan, SystematicScan
from orbitmc.kernels._mixture import PAPER_WEIGHT, lifted
from orbitmc.kernels._orbital import orbital, orbital_kernels
from orbitmc.kernels.exchange import shuffle
from orbitmc.kernels.protocol import Kernel, picks_at_random
from orbitmc.kernels.renaming import renaming
from orbitmc.mln.grounding.ground_model import GroundModel, graph_of
from orbitmc.mln.grounding.grounding import Ground
from orbitmc.mln.symmetry.approximate_classes import (
    classes_by_boolean_rank,
    classes_by_evidence,
    classes_by_messages,
    cluster_rule_weights,
    variable_cells,
)
from orbitmc.mln.symmetry.classes import Classes, constant_swaps, value_kinds
from orbitmc.mln.symmetry.renamings import Renamings, induced_permutation, renamings
from orbitmc.sampling.pack import advance, start_pack
from orbitmc.sampling.schedule import LANES
from orbitmc.symmetry._automorphisms import (
    SymmetryReport,
    automorphisms,
    changes_energy,
    group_of_generators,
    orbit_cells,
)
from orbitmc.symmetry.approximations import cluster_weights, low_rank
from orbitmc.symmetry.blocks import MEMBERS, blocks, similar_marginal_blocks
from orbitmc.symmetry.exchangeability import budget_for

GIBBS = RandomScan()  # the base chain unless another is given
SECONDS = 10.0  # for finding symmetries
CLUSTERS = 6  # of weights, as in the paper
RANK = 5  # of the Boolean approximation of links, as in the paper
ORBITAL_MEMBERS = 20  # of a block, about, unless it is said how many factors a block may move


def by_exact_symmetries(
    model: Model,
    prepared: PreparedGraph,
    *,
    alpha: float = PAPER_WEIGHT,
    seconds: float = SECONDS,
    base: Kernel = GIBBS,
) -> PlannedKernel:
    """Lifted MCMC: mix a base chain with jumps along the model's own symmetries, never rejected.

    The base chain is Gibbs unless another is given; without any symmetry there is only that.

    >>> import orbitmc as om
    >>> model = om.ising_grid(3, 3, 0.3)
    >>> chosen = by_exact_symmetries(model, om.kernels.prepare(model.graph))
    >>> chosen.about
    'a symmetry group of order 8 moves 8 variables in 2 orbits'
    """
    symmetries = automorphisms(model.graph, seconds=seconds)
    kernels = orbital_kernels(prepared, symmetries.group, symmetric=True)
    if not kernels:
        return PlannedKernel(base, f"the model has no symmetries: {describe_base_only(base)}")
    pools = rows_of_orbits(model.graph.cardinality, orbit_labels(symmetries.group))
    return PlannedKernel(lifted(base, kernels, alpha=alpha), _describe_group(symmetries), pools)


def by_approximate_symmetries(
    model: Model,
    prepared: PreparedGraph,
    *,
    alpha: float = PAPER_WEIGHT,
    clusters: int = CLUSTERS,
    rank: int | None = None,
    max_moved: int | None = None,
    min_acceptance: float | None = None,
    base: Kernel = GIBBS,
) -> PlannedKernel:
    """Lifted Metropolis-Hastings: symmetrise the model, cut its orbits into blocks, shuffle them.

    The approximation only proposes; acceptance is by the model itself. Unless a rank is given, it
    is the paper's, or 0 (links stay as they are) where the model is too large for that.

    >>> import orbitmc as om
    >>> model = om.ising([0.1, 0.2, 0.3, 0.4], [(0, 1), (0, 2), (0, 3)], 0.3)
    >>> prepared = om.kernels.prepare(model.graph)
    >>> chosen = by_approximate_symmetries(model, prepared, clusters=1)
    >>> type(chosen.kernel).__name__
    'Mixture'
    """
    symmetric, remark = _symmetrise(model, clusters, rank)
    exchanged = cheap_blocks(model, symmetric.graph, max_moved, min_acceptance)
    return lift_by_exchange_blocks(prepared, exchanged, alpha=alpha, remark=remark, base=base)


def lift_by_exchange_blocks(
    prepared: PreparedGraph,
    exchanged: ExchangeBlocks,
    *,
    alpha: float = PAPER_WEIGHT,
    remark: str = "",
    base: Kernel = GIBBS,
) -> PlannedKernel:
    """Mix a base chain with shuffles of blocks; without any there is only that."""
    if not exchanged.blocks:
        words = (
            f"the approximation has no symmetries that are cheap to use: {describe_base_only(base)}"
        )
        return PlannedKernel(base, remark + words)
    kernel = lifted(base, [shuffle(prepared, exchanged)], alpha=alpha)
    return PlannedKernel(
        kernel,
        f"{remark}{exchanged.blocks} blocks of {len(exchanged.member)} variables in all are "
        f"shuffled in {1 - alpha:.0%} of the steps",
    )


def _symmetrise(model: Model, clusters: int, rank: int | None) -> tuple[Model, str]:
    """The paper's approximation, and a remark if the model is too large for all of it."""
    if rank is not None:
        return over_symmetric(model, clusters=clusters, rank=rank), ""
    clustered = cluster_weights(model, clusters)
    try:
        return low_rank(clustered, RANK), ""
    except LimitError as error:
        return clustered, f"links keep their Boolean rank: {error}; "


def cheap_blocks(
    model: Model,
    symmetric: FactorGraph,
    max_moved: int | None,
    min_acceptance: float | None,
) -> ExchangeBlocks:
    """Cut the orbits of a more symmetric graph into blocks that are cheap to shuffle."""
    symmetries = automorphisms(symmetric, seconds=SECONDS)
    most = max_moved if max_moved is not None else typical_moved_factors(model)
    budget = None if min_acceptance is None else budget_for(min_acceptance)
    return blocks(model.graph, orbit_cells(symmetries.group), max_moved=most, budget=budget)


def typical_moved_factors(model: Model) -> int:
    """How many factors a block of twenty variables moves, if they share none."""
    return -(-ORBITAL_MEMBERS * len(model.graph.incident) // max(1, model.graph.variables))


def lift_by_generators(
    model: Model,
    prepared: PreparedGraph,
    generators: Sequence[str],
    *,
    alpha: float = PAPER_WEIGHT,
    base: Kernel = GIBBS,
) -> PlannedKernel:
    """Mix a base chain with jumps by generators that people typed; any are safe.

    Each jump takes one of them, or its inverse: small elements are accepted oftener than products.
    """
    group = parse_generators(model, generators)
    if group.is_trivial:
        raise InputError("the given generators move nothing: there is nothing to jump along")
    kernel = lifted(base, [orbital(model.graph, group)], alpha=alpha)
    count = len(group.start) - 1
    return PlannedKernel(
        kernel, f"jumps by {count} given generators in {1 - alpha:.0%} of the steps"
    )


def parse_generators(model: Model, generators: Sequence[str]) -> PermutationGroup:
    """Read generators in cycle notation and the names of variables, as `(A B)(C D)`."""
    if isinstance(generators, str):
        raise InputError("generators come as a list, each in cycle notation")
    typed = [
        read_cycles(
            text,
            model.graph.variables,
            model.names,
            cardinality=model.graph.cardinality if "=" in text else None,
        )
        for text in generators
    ]
    return group_of_generators(model.graph, typed)


def over_symmetric(model: Model, *, clusters: int = CLUSTERS, rank: int = RANK) -> Model:
    """The paper's approximation: few different weights, and links of low Boolean rank.

    Rank 0 leaves links as they are.

    >>> import orbitmc as om
    >>> model = om.ising([0.1, 0.2, 0.3, 0.4], [(0, 1), (0, 2), (0, 3)], 0.3)
    >>> om.symmetry.automorphisms(over_symmetric(model, clusters=1).graph).order
    6
    """
    clustered = cluster_weights(model, clusters)
    return low_rank(clustered, rank) if rank else clustered


def base_weight(settings: Settings) -> float:
    """The share of steps that the base chain takes: as asked for, or as in the paper."""
    return PAPER_WEIGHT if settings.alpha is None else settings.alpha


def describe_base_only(base: Kernel) -> str:
    """What is left where there is nothing to jump along."""
    return "Gibbs alone" if picks_at_random(base) else f"{type(base).__name__} alone"


def _describe_group(symmetries: SymmetryReport) -> str:
    moved = sum(len(orbit) for orbit in symmetries.orbits)
    if symmetries.order is None:
        order = "of unknown order"
    else:
        order = (
            f"of order {symmetries.order:.3g}" if symmetries.order < 10**300 else "of large order"
        )
    return f"a symmetry group {order} moves {moved} variables in {len(symmetries.orbits)} orbits"


# From a ground program to a lifted kernel: jump by renaming constants, alike or nearly alike.


def lift_by_renaming(
    ground: Ground,
    model: Model,
    prepared: PreparedGraph,
    *,
    alpha: float = PAPER_WEIGHT,
    base: Kernel = GIBBS,
) -> PlannedKernel:
    """Lifted MCMC: mix a base chain with renamings that change nothing, never rejected.

    `model` is the one that `ground` means. The share `alpha` of all changes of variables is by
    the base chain: a swap of two constants changes many at once. Without interchangeable
    constants the ground model may still have symmetries; those are used then.
    """
    _require_fit(ground, model)
    symmetries = renamings(ground, seconds=SECONDS)
    swaps = constant_swaps(ground, symmetries.classes)
    rest = _rest(ground, model, symmetries)
    kernels: list[Kernel] = []
    if swaps.classes:
        kernels.append(renaming(model.graph, swaps, symmetric=True))
    kernels += orbital_kernels(prepared, rest, symmetric=True)
    if not kernels:
        return by_exact_symmetries(model, prepared, alpha=alpha, base=base)
    about = f"{_describe_classes(swaps)}; {len(rest.start) - 1} further renamings change nothing"
    kernel = lifted(base, kernels, alpha=_steps(alpha, swaps))
    return PlannedKernel(kernel, about, _pools(ground, symmetries, rest))


def lift_by_similar_evidence(
    model: Model,
    prepared: PreparedGraph,
    settings: Settings,
    *,
    alpha: float = PAPER_WEIGHT,
    base: Kernel = GIBBS,
) -> PlannedKernel:
    """Lifted Metropolis-Hastings along what an approximation of a program makes symmetric.

    The approximation only proposes; acceptance is by the model itself. Clusters of weights give
    blocks of atoms to shuffle; the other approximations give classes of constants to swap.
    """
    ground = program_of(model)
    clusters = CLUSTERS if settings.clusters is None else settings.clusters
    if settings.approximation == "weights":
        symmetric = graph_of(ground, cluster_rule_weights(ground, clusters))
        most, share = settings.max_moved, settings.min_acceptance
        exchanged = cheap_blocks(model, symmetric, most, share)
        return lift_by_exchange_blocks(prepared, exchanged, alpha=alpha, base=base)
    rank = RANK if settings.rank is None else settings.rank
    classes = CLASSES[settings.approximation or SWAPPED](ground, model, clusters, rank)
    return lift_by_similar_constants(model, constant_swaps(ground, classes), alpha=alpha, base=base)


CLASSES: Mapping[str, Callable[[Ground, Model, int, int], Classes]] = {
    "rank": lambda ground, model, clusters, rank: classes_by_boolean_rank(
        ground, rank, clusters=clusters
    ),
    "evidence": lambda ground, model, clusters, rank: classes_by_evidence(ground, clusters),
    "messages": lambda ground, model, clusters, rank: classes_by_messages(
        ground, cluster_weights(model, clusters)
    ),
}
"""Which constants of a program an approximation cannot tell apart."""


def lift_by_similar_constants(
    model: Model,
    swaps: ConstantSwaps,
    *,
    alpha: float = PAPER_WEIGHT,
    base: Kernel = GIBBS,
) -> PlannedKernel:
    """Mix a base chain with swaps of constants that the model accepts; `alpha` as before."""
    if not swaps.classes:
        return PlannedKernel(base, f"no two constants share a class: {describe_base_only(base)}")
    kernel = lifted(base, [renaming(model.graph, swaps)], alpha=_steps(alpha, swaps))
    return PlannedKernel(kernel, f"{_describe_classes(swaps)}, with {1 - alpha:.0%} of the changes")


def program_of(model: Model) -> Ground:
    """The program that a model is the meaning of; relational approximations need one."""
    if not isinstance(model, GroundModel):
        raise InputError(
            "approximation is for Markov logic programs; for other models clusters and rank say "
            "how lmh makes them symmetric"
        )
    return model.ground


def _require_fit(ground: Ground, model: Model) -> None:
    if not np.array_equal(ground.cardinality, model.graph.cardinality):
        raise InputError("the model is not the one that the ground program means")


def _steps(alpha: float, swaps: ConstantSwaps) -> float:
    """The share of steps that gives the base chain its share of changes."""
    if not 0 < alpha < 1:
        raise InputError(f"the weight of a mixture (alpha) lies between 0 and 1, not at {alpha}")
    each = max(1.0, swaps.mean_moved)
    return alpha * each / (alpha * each + 1 - alpha)


def _rest(ground: Ground, model: Model, symmetries: Renamings) -> PermutationGroup:
    """Renamings that are no swaps of variables: those of values, and those of many at once."""
    values = value_kinds(ground)
    generators = [
        *(images for images in symmetries.swaps() if values & set(images)),
        *symmetries.others,
    ]
    cardinality = model.graph.cardinality
    elements = [induced_permutation(ground, images) for images in generators]
    group = permutation_group(len(cardinality), elements, cardinality=cardinality)
    return subgroup(group, np.flatnonzero(~changes_energy(model.graph, group)))


def _pools(ground: Ground, symmetries: Renamings, rest: PermutationGroup) -> np.ndarray | None:
    """Tally rows that are equal for sure; none are pooled when values move."""
    if rest.maps_values:
        return None
    cells = variable_cells(ground, symmetries.classes)
    labels = connected_components(
        int(cells.max(initial=-1)) + 1, cells[rest.point], cells[rest.image]
    )
    return np.asarray(rows_of_orbits(indices(ground.cardinality), labels[cells]))


def _describe_classes(swaps: ConstantSwaps) -> str:
    return f"{len(swaps.member)} constants in {swaps.classes} classes are swapped"


# Blocks of Lifted Metropolis-Hastings from a short run of Gibbs.

SETTLING, SWEEPS = 8, 32  # that are thrown away, and that are looked at
SEED = 0  # always: the same model gives the same blocks, so a run can be resumed


def by_pilot(
    prepared: PreparedGraph,
    *,
    alpha: float = PAPER_WEIGHT,
    members: int = MEMBERS,
    base: Kernel = GIBBS,
) -> PlannedKernel:
    """Lifted Metropolis-Hastings: shuffle blocks of variables that a pilot run finds alike.

    The pilot run only proposes; acceptance is by the model itself.

    >>> import orbitmc as om
    >>> model = om.ising([0.1, 0.2, 0.3, 0.4], [(0, 1), (0, 2), (0, 3)], 0.3)
    >>> by_pilot(om.kernels.prepare(model.graph)).about
    '1 blocks of 4 variables in all are shuffled in 20% of the steps'
    """
    exchanged = pilot_blocks(prepared, members=members)
    return lift_by_exchange_blocks(prepared, exchanged, alpha=alpha, base=base)


def pilot_blocks(prepared: PreparedGraph, *, members: int = MEMBERS) -> ExchangeBlocks:
    """Blocks of variables whose marginals a pilot run finds nearly equal.

    >>> import orbitmc as om
    >>> model = om.ising([-2.0, 2.0, -2.0, 2.0], [(0, 1), (2, 3)], 0.1)
    >>> found = pilot_blocks(om.kernels.prepare(model.graph), members=2)
    >>> sorted(found.rows(0).ravel().tolist()), sorted(found.rows(1).ravel().tolist())
    ([0, 2], [1, 3])
    """
    return similar_marginal_blocks(
        prepared.graph.cardinality, pilot_marginals(prepared), members=members
    )


def pilot_marginals(prepared: PreparedGraph) -> Floats:
    """About how probable each value is, from a few sweeps of the chains of one pack."""
    kernel, variables = SystematicScan(), prepared.graph.variables
    pack = start_pack(prepared, kernel, seed=SEED, number=0, lanes=LANES)
    advance(prepared, kernel, pack, recorded=0, samples=SETTLING, spacing=variables)
    pack.tally.sums[:] = 0.0
    advance(prepared, kernel, pack, recorded=0, samples=SWEEPS, spacing=variables)
    rows = pack.tally.sums.sum(axis=(0, 2)) / (SWEEPS * LANES)
    return values_of(prepared.graph.cardinality).probabilities(rows)
