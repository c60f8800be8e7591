"""Which kernel the settings of a question mean.

Each method loads its own files, when it is asked for.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from orbitmc._util.arrays import brief
from orbitmc.ask.settings import Settings
from orbitmc.conditionals.prepared import PreparedGraph
from orbitmc.graph.model import Model
from orbitmc.kernels._gibbs import RandomScan, SystematicScan
from orbitmc.kernels.protocol import Kernel

if TYPE_CHECKING:
    from orbitmc.mln.grounding.grounding import Ground


@dataclass(frozen=True)
class PlannedKernel:
    """A kernel, in words what its jumps are, and which tally rows are equal for sure.

    `pools` is None unless the symmetries are exact.
    """

    kernel: Kernel
    about: str
    pools: NDArray[np.int64] | None = None

    def __repr__(self) -> str:
        return brief(self)


def kernel_for(
    model: Model, prepared: PreparedGraph, settings: Settings, ground: Ground | None = None
) -> PlannedKernel:
    """The kernel that a method means; the same settings give the same kernel."""
    if settings.method == "lifted":
        return _lifted(model, prepared, settings, ground)
    if settings.method == "lmh":
        return _lmh(model, prepared, settings)
    if settings.method == "mcsat":
        return PlannedKernel(_mcsat(model, settings), "")
    if settings.base == "low-width":
        return _in_blocks(model, settings)
    kernel = RandomScan() if settings.scan == "random" else SystematicScan()
    return PlannedKernel(kernel, "")


def _in_blocks(model: Model, settings: Settings) -> PlannedKernel:
    """Gibbs that draws blocks of variables."""
    from orbitmc.kernels.block_gibbs.kernel import low_width

    kernel = low_width(model.graph, most_work=settings.block_work or math.inf)
    return PlannedKernel(kernel, kernel.about)


def _lifted(
    model: Model, prepared: PreparedGraph, settings: Settings, ground: Ground | None
) -> PlannedKernel:
    """Jumps along exact symmetries; of a program, along renamings of its constants."""
    base = base_chain(model, settings)
    if ground is not None:
        from orbitmc.ask.method.relational_lifting import by_renaming

        return by_renaming(ground, model, prepared, alpha=_alpha(settings), base=base)
    from orbitmc.ask.method.lifting import by_exact_symmetries

    return by_exact_symmetries(model, prepared, alpha=_alpha(settings), base=base)


def _lmh(model: Model, prepared: PreparedGraph, settings: Settings) -> PlannedKernel:
    """Lifted Metropolis-Hastings: recorded jumps, given generators, or blocks that are shuffled."""
    if settings.approximation is not None:
        from orbitmc.ask.method.relational_lifting import by_approximation

        base = base_chain(model, settings)
        return by_approximation(model, prepared, settings, alpha=_alpha(settings), base=base)
    if settings.moves is not None and not settings.generators:
        from orbitmc.tuning.record import recipe_from

        return PlannedKernel(recipe_from(settings.moves).kernel(model, prepared), "")
    from orbitmc.ask.method.lifting import CLUSTERS, by_approximate_symmetries, by_generators

    base = base_chain(model, settings)
    if settings.generators:
        return by_generators(
            model, prepared, settings.generators, alpha=_alpha(settings), base=base
        )
    if settings.by_pilot:
        from orbitmc.ask.method.pilot import by_pilot

        return by_pilot(prepared, alpha=_alpha(settings), base=base)
    return by_approximate_symmetries(
        model,
        prepared,
        alpha=_alpha(settings),
        clusters=CLUSTERS if settings.clusters is None else settings.clusters,
        rank=settings.rank,
        max_moved=settings.max_moved,
        min_acceptance=settings.min_acceptance,
        base=base,
    )


def base_chain(model: Model, settings: Settings) -> Kernel:
    """What jumps are mixed with: Gibbs, in blocks or not, MC-SAT, or a kernel that was given."""
    if settings.base == "mcsat":
        return _mcsat(model, settings)
    if settings.base == "low-width":
        return _in_blocks(model, settings).kernel
    return RandomScan() if isinstance(settings.base, str) else settings.base


def _mcsat(model: Model, settings: Settings) -> Kernel:
    from orbitmc.kernels.mcsat.kernel import WAYS, mc_sat

    return mc_sat(model.graph, large=WAYS[settings.slices or "walk"])


def _alpha(settings: Settings) -> float:
    from orbitmc.kernels._mixture import PAPER_WEIGHT

    return PAPER_WEIGHT if settings.alpha is None else settings.alpha
