"""From a ground program to a lifted kernel: jump by renaming constants, alike or nearly alike."""

from collections.abc import Callable, Mapping

import numpy as np

from orbitmc._util.arrays import indices
from orbitmc.ask.method.lifting import (
    CLUSTERS,
    GIBBS,
    RANK,
    SECONDS,
    alone,
    by_exact_symmetries,
    by_shuffles,
    cheap_blocks,
)
from orbitmc.ask.method.methods import PlannedKernel
from orbitmc.ask.settings import Settings
from orbitmc.conditionals.prepared import PreparedGraph
from orbitmc.errors import InputError
from orbitmc.estimate.tally import rows_of_orbits
from orbitmc.graph.model import Model
from orbitmc.groups._exchange_blocks import ConstantSwaps
from orbitmc.groups.permutation_groups import (
    PermutationGroup,
    connected,
    permutation_group,
    subgroup,
)
from orbitmc.kernels._mixture import PAPER_WEIGHT, lifted, orbital_kernels
from orbitmc.kernels.protocol import Kernel
from orbitmc.kernels.renaming import renaming
from orbitmc.mln.grounding.ground_model import GroundModel, graph_of
from orbitmc.mln.grounding.grounding import Ground
from orbitmc.mln.symmetry.approximate_classes import (
    by_evidence,
    by_messages,
    by_rank,
    clustered_weights,
    variable_cells,
)
from orbitmc.mln.symmetry.classes import Classes, constant_swaps, value_kinds
from orbitmc.mln.symmetry.renamings import Renamings, induced, renamings
from orbitmc.symmetry._automorphisms import changes_energy
from orbitmc.symmetry.approximations import cluster_weights


def by_renaming(
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
    found = renamings(ground, seconds=SECONDS)
    swaps = constant_swaps(ground, found.classes)
    rest = _rest(ground, model, found)
    kernels: list[Kernel] = []
    if swaps.classes:
        kernels.append(renaming(model.graph, swaps, symmetric=True))
    kernels += orbital_kernels(prepared, rest, symmetric=True)
    if not kernels:
        return by_exact_symmetries(model, prepared, alpha=alpha, base=base)
    about = f"{_describe_classes(swaps)}; {len(rest.start) - 1} further renamings change nothing"
    kernel = lifted(base, kernels, alpha=_steps(alpha, swaps))
    return PlannedKernel(kernel, about, _pools(ground, found, rest))


def by_approximation(
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
        symmetric = graph_of(ground, clustered_weights(ground, clusters))
        most, share = settings.max_moved, settings.min_acceptance
        exchanged = cheap_blocks(model, symmetric, most, share)
        return by_shuffles(prepared, exchanged, alpha=alpha, base=base)
    rank = RANK if settings.rank is None else settings.rank
    classes = CLASSES[str(settings.approximation)](ground, model, clusters, rank)
    return by_similar_constants(model, constant_swaps(ground, classes), alpha=alpha, base=base)


CLASSES: Mapping[str, Callable[[Ground, Model, int, int], Classes]] = {
    "rank": lambda ground, model, clusters, rank: by_rank(ground, rank, clusters=clusters),
    "evidence": lambda ground, model, clusters, rank: by_evidence(ground, clusters),
    "messages": lambda ground, model, clusters, rank: by_messages(
        ground, cluster_weights(model, clusters)
    ),
}
"""Which constants of a program an approximation cannot tell apart."""


def by_similar_constants(
    model: Model,
    swaps: ConstantSwaps,
    *,
    alpha: float = PAPER_WEIGHT,
    base: Kernel = GIBBS,
) -> PlannedKernel:
    """Mix a base chain with swaps of constants that the model accepts; `alpha` as before."""
    if not swaps.classes:
        return PlannedKernel(base, f"no two constants share a class: {alone(base)}")
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


def _rest(ground: Ground, model: Model, found: Renamings) -> PermutationGroup:
    """Renamings that are no swaps of variables: those of values, and those of many at once."""
    values = value_kinds(ground)
    generators = [
        *(images for images in found.swaps() if values & set(images)),
        *found.others,
    ]
    cardinality = model.graph.cardinality
    elements = [induced(ground, images) for images in generators]
    group = permutation_group(len(cardinality), elements, cardinality=cardinality)
    return subgroup(group, np.flatnonzero(~changes_energy(model.graph, group)))


def _pools(ground: Ground, found: Renamings, rest: PermutationGroup) -> np.ndarray | None:
    """Tally rows that are equal for sure; none are pooled when values move."""
    if rest.maps_values:
        return None
    cells = variable_cells(ground, found.classes)
    labels = connected(int(cells.max(initial=-1)) + 1, cells[rest.point], cells[rest.image])
    return np.asarray(rows_of_orbits(indices(ground.cardinality), labels[cells]))


def _describe_classes(swaps: ConstantSwaps) -> str:
    return f"{len(swaps.member)} constants in {swaps.classes} classes are swapped"
