"""From a model to a lifted kernel: find symmetries, exact or approximate, and mix in jumps."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orbitmc.approximate.cluster_weights import cluster_weights
from orbitmc.approximate.low_rank import low_rank
from orbitmc.estimate.orbit_tally import rows_of_orbits
from orbitmc.graph.conditionals import Conditionals
from orbitmc.graph.model import Model
from orbitmc.groups.exchange_blocks import ExchangeBlocks
from orbitmc.groups.permutation_group import orbit_labels
from orbitmc.kernels.exchange import shuffle
from orbitmc.kernels.gibbs import RandomScan
from orbitmc.kernels.kernel import Kernel
from orbitmc.kernels.lifting import orbital_kernels
from orbitmc.kernels.mixture import PAPER_WEIGHT, lifted
from orbitmc.symmetry.automorphisms import SymmetryReport, automorphisms, orbit_cells
from orbitmc.symmetry.blocks import blocks

SECONDS = 10.0  # for finding symmetries
CLUSTERS = 6  # of weights, as in the paper
RANK = 5  # of the Boolean approximation of links, as in the paper
MAX_MOVED = 200  # factors that a block may touch


@dataclass(frozen=True)
class Lifting:
    """A kernel with jumps, in words what they are, and which tally rows are equal for sure.

    `pools` is None unless the symmetries are exact.
    """

    kernel: Kernel
    about: str
    pools: NDArray[np.int64] | None = None


def by_exact_symmetries(
    model: Model,
    prepared: Conditionals,
    *,
    alpha: float = PAPER_WEIGHT,
    seconds: float = SECONDS,
) -> Lifting:
    """Lifted MCMC: mix Gibbs with jumps along the model's own symmetries, never rejected.

    Without any symmetry it is Gibbs.
    """
    base = RandomScan(prepared)
    found = automorphisms(model.graph, seconds=seconds)
    kernels = orbital_kernels(model.graph, prepared, found.group, symmetric=True)
    if not kernels:
        return Lifting(base, "the model has no symmetries: Gibbs alone")
    pools = rows_of_orbits(model.graph.cardinality, orbit_labels(found.group))
    return Lifting(lifted(base, kernels, alpha=alpha), _in_words(found), pools)


def by_approximate_symmetries(
    model: Model,
    prepared: Conditionals,
    *,
    alpha: float = PAPER_WEIGHT,
    clusters: int = CLUSTERS,
    rank: int | None = RANK,
    max_moved: int = MAX_MOVED,
    seconds: float = SECONDS,
) -> Lifting:
    """Lifted Metropolis-Hastings: symmetrise the model, cut its orbits into blocks, shuffle them.

    The approximation only proposes; acceptance is by the model itself.
    """
    base = RandomScan(prepared)
    osa = over_symmetric(model, clusters=clusters, rank=rank)
    found = automorphisms(osa.graph, seconds=seconds)
    exchanged = blocks(model.graph, orbit_cells(found.group), max_moved=max_moved)
    if not exchanged.blocks:
        return Lifting(
            base, "the approximation has no symmetries that are cheap to use: Gibbs alone"
        )
    kernel = lifted(base, [shuffle(model.graph, prepared, exchanged)], alpha=alpha)
    return Lifting(kernel, _blocks_in_words(exchanged, alpha))


def over_symmetric(model: Model, *, clusters: int = CLUSTERS, rank: int | None = RANK) -> Model:
    """The paper's approximation: few different weights, and links of low Boolean rank."""
    clustered = cluster_weights(model, clusters)
    return low_rank(clustered, rank) if rank is not None else clustered


def _in_words(found: SymmetryReport) -> str:
    moved = sum(len(orbit) for orbit in found.orbits)
    order = f"of order {found.order:.3g}" if _is_small(found.order) else "of large order"
    return f"a symmetry group {order} moves {moved} variables in {len(found.orbits)} orbits"


def _is_small(order: Any) -> bool:
    return order is not None and order < 10**300


def _blocks_in_words(exchanged: ExchangeBlocks, alpha: float) -> str:
    return (
        f"{exchanged.blocks} blocks of {len(exchanged.member)} variables in all are shuffled "
        f"in {1 - alpha:.0%} of the steps"
    )
