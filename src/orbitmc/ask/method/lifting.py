"""From a model to a lifted kernel: find symmetries, exact or approximate, and mix in jumps."""

from collections.abc import Sequence

from orbitmc.ask.method.methods import PlannedKernel
from orbitmc.conditionals.prepared import PreparedGraph
from orbitmc.errors import InputError, LimitError
from orbitmc.estimate.tally import rows_of_orbits
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.model import Model
from orbitmc.groups._exchange_blocks import ExchangeBlocks
from orbitmc.groups.cycles import read_cycles
from orbitmc.groups.permutation_groups import PermutationGroup, orbit_labels
from orbitmc.kernels._gibbs import RandomScan
from orbitmc.kernels._mixture import PAPER_WEIGHT, lifted, orbital_kernels
from orbitmc.kernels._orbital import orbital
from orbitmc.kernels.exchange import shuffle
from orbitmc.kernels.protocol import Kernel
from orbitmc.symmetry._automorphisms import (
    SymmetryReport,
    automorphisms,
    given_generators,
    orbit_cells,
)
from orbitmc.symmetry.approximations import cluster_weights, low_rank
from orbitmc.symmetry.blocks import blocks, budget_for

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
    found = automorphisms(model.graph, seconds=seconds)
    kernels = orbital_kernels(prepared, found.group, symmetric=True)
    if not kernels:
        return PlannedKernel(base, f"the model has no symmetries: {alone(base)}")
    pools = rows_of_orbits(model.graph.cardinality, orbit_labels(found.group))
    return PlannedKernel(lifted(base, kernels, alpha=alpha), _describe_group(found), pools)


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
    symmetric, remark = _symmetrised(model, clusters, rank)
    exchanged = cheap_blocks(model, symmetric.graph, max_moved, min_acceptance)
    return by_shuffles(prepared, exchanged, alpha=alpha, remark=remark, base=base)


def by_shuffles(
    prepared: PreparedGraph,
    exchanged: ExchangeBlocks,
    *,
    alpha: float = PAPER_WEIGHT,
    remark: str = "",
    base: Kernel = GIBBS,
) -> PlannedKernel:
    """Mix a base chain with shuffles of blocks; without any there is only that."""
    if not exchanged.blocks:
        words = f"the approximation has no symmetries that are cheap to use: {alone(base)}"
        return PlannedKernel(base, remark + words)
    kernel = lifted(base, [shuffle(prepared, exchanged)], alpha=alpha)
    return PlannedKernel(
        kernel,
        f"{remark}{exchanged.blocks} blocks of {len(exchanged.member)} variables in all are "
        f"shuffled in {1 - alpha:.0%} of the steps",
    )


def _symmetrised(model: Model, clusters: int, rank: int | None) -> tuple[Model, str]:
    """The paper's approximation, and a remark if the model is too large for all of it."""
    if rank is not None:
        return over_symmetric(model, clusters=clusters, rank=rank), ""
    clustered = cluster_weights(model, clusters)
    try:
        return low_rank(clustered, RANK), ""
    except LimitError:
        many = model.graph.variables
        return clustered, f"links keep their Boolean rank, {many} variables are too many for less; "


def cheap_blocks(
    model: Model,
    symmetric: FactorGraph,
    max_moved: int | None,
    min_acceptance: float | None,
) -> ExchangeBlocks:
    """Cut the orbits of a more symmetric graph into blocks that are cheap to shuffle."""
    found = automorphisms(symmetric, seconds=SECONDS)
    most = max_moved if max_moved is not None else usual_moved(model)
    budget = None if min_acceptance is None else budget_for(min_acceptance)
    return blocks(model.graph, orbit_cells(found.group), max_moved=most, budget=budget)


def usual_moved(model: Model) -> int:
    """How many factors a block of twenty variables moves, if they share none."""
    return -(-ORBITAL_MEMBERS * len(model.graph.incident) // max(1, model.graph.variables))


def by_generators(
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
    group = typed_group(model, generators)
    if group.is_trivial:
        raise InputError("the given generators move nothing: there is nothing to jump along")
    kernel = lifted(base, [orbital(model.graph, group)], alpha=alpha)
    count = len(group.start) - 1
    return PlannedKernel(
        kernel, f"jumps by {count} given generators in {1 - alpha:.0%} of the steps"
    )


def typed_group(model: Model, generators: Sequence[str]) -> PermutationGroup:
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
    return given_generators(model.graph, typed)


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


def alone(base: Kernel) -> str:
    """What is left where there is nothing to jump along."""
    return "Gibbs alone" if isinstance(base, RandomScan) else f"{type(base).__name__} alone"


def _describe_group(found: SymmetryReport) -> str:
    moved = sum(len(orbit) for orbit in found.orbits)
    if found.order is None:
        order = "of unknown order"
    else:
        order = f"of order {found.order:.3g}" if found.order < 10**300 else "of large order"
    return f"a symmetry group {order} moves {moved} variables in {len(found.orbits)} orbits"
