"""From a ground program to a lifted kernel: jump by renaming constants, alike or nearly alike."""

import numpy as np

from orbitmc.ask.lifting import SECONDS, by_exact_symmetries, usual_moved
from orbitmc.ask.methods import ChosenKernel
from orbitmc.errors import InputError
from orbitmc.estimate.orbit_tally import rows_of_orbits
from orbitmc.graph.model import Model
from orbitmc.graph.prepared import PreparedGraph
from orbitmc.groups.elements.constant_swaps import ConstantSwaps
from orbitmc.groups.orbits import connected
from orbitmc.groups.permutation_groups import PermutationGroup, permutation_group
from orbitmc.kernels.base.gibbs import RandomScan
from orbitmc.kernels.combine.lifting import orbital_kernels
from orbitmc.kernels.combine.mixture import PAPER_WEIGHT, lifted
from orbitmc.kernels.jumps.exchange import shuffle
from orbitmc.kernels.jumps.renaming import renaming
from orbitmc.kernels.kernel import Kernel
from orbitmc.logic.constants.atom_cells import variable_cells
from orbitmc.logic.constants.constant_classes import Classes, constant_swaps, value_kinds
from orbitmc.logic.constants.exact_renamings import Renamings, renamings
from orbitmc.logic.constants.renaming import induced
from orbitmc.logic.grounding.grounding import Ground
from orbitmc.machine.arrays import indices
from orbitmc.symmetry.blocks.blocks import blocks
from orbitmc.symmetry.detection.energy_check import changes_energy
from orbitmc.symmetry.detection.generators import chosen


def by_renaming(
    ground: Ground,
    model: Model,
    prepared: PreparedGraph,
    *,
    alpha: float = PAPER_WEIGHT,
    seconds: float = SECONDS,
    base: Kernel | None = None,
) -> ChosenKernel:
    """Lifted MCMC: mix a base chain with renamings that change nothing, never rejected.

    `model` is the one that `ground` means. The share `alpha` of all changes of variables is by
    the base chain: a swap of two constants changes many at once. Without interchangeable
    constants the ground model may still have symmetries; those are used then.
    """
    _require_fit(ground, model)
    base = RandomScan() if base is None else base
    found = renamings(ground, seconds=seconds)
    swaps = constant_swaps(ground, found.classes)
    rest = _rest(ground, model, found)
    kernels: list[Kernel] = []
    if swaps.classes:
        kernels.append(renaming(model.graph, swaps, symmetric=True))
    kernels += orbital_kernels(prepared, rest, symmetric=True)
    if not kernels:
        return by_exact_symmetries(model, prepared, alpha=alpha, seconds=seconds, base=base)
    about = f"{_in_words(swaps)}; {len(rest.start) - 1} further renamings change nothing"
    kernel = lifted(base, kernels, alpha=_steps(alpha, swaps))
    return ChosenKernel(kernel, about, _pools(ground, found, rest))


def by_approximate_renaming(
    ground: Ground,
    model: Model,
    prepared: PreparedGraph,
    classes: Classes,
    *,
    alpha: float = PAPER_WEIGHT,
) -> ChosenKernel:
    """Lifted Metropolis-Hastings: swap constants that an approximation cannot tell apart.

    The classes only propose; acceptance is by the model itself. `alpha` as in `by_renaming`.
    """
    _require_fit(ground, model)
    base = RandomScan()
    swaps = constant_swaps(ground, classes)
    if not swaps.classes:
        return ChosenKernel(base, "no two constants share a class: Gibbs alone")
    jumps = renaming(model.graph, swaps)
    kernel = lifted(base, [jumps], alpha=_steps(alpha, swaps))
    return ChosenKernel(kernel, f"{_in_words(swaps)}, with {1 - alpha:.0%} of the changes")


def by_approximate_atoms(
    ground: Ground,
    model: Model,
    prepared: PreparedGraph,
    classes: Classes,
    *,
    alpha: float = PAPER_WEIGHT,
    max_moved: int | None = None,
) -> ChosenKernel:
    """Lifted Metropolis-Hastings: shuffle atoms that classes of constants cannot tell apart.

    Every atom moves on its own, in blocks around which at most `max_moved` factors change (as
    many as suit the model if that is not said).
    """
    _require_fit(ground, model)
    base = RandomScan()
    most = usual_moved(model) if max_moved is None else max_moved
    exchanged = blocks(model.graph, variable_cells(ground, classes), max_moved=most)
    if not exchanged.blocks:
        return ChosenKernel(base, "no two atoms that look alike are cheap to exchange: Gibbs alone")
    kernel = lifted(base, [shuffle(prepared, exchanged)], alpha=alpha)
    members = len(exchanged.member)
    return ChosenKernel(kernel, f"{exchanged.blocks} blocks of {members} atoms in all are shuffled")


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
    return chosen(group, ~changes_energy(model.graph, group))


def _pools(ground: Ground, found: Renamings, rest: PermutationGroup) -> np.ndarray | None:
    """Tally rows that are equal for sure; none are pooled when values move."""
    if rest.maps_values:
        return None
    cells = variable_cells(ground, found.classes)
    labels = connected(int(cells.max(initial=-1)) + 1, cells[rest.point], cells[rest.image])
    return np.asarray(rows_of_orbits(indices(ground.cardinality), labels[cells]))


def _in_words(swaps: ConstantSwaps) -> str:
    return f"{len(swaps.member)} constants in {swaps.classes} classes are swapped"
