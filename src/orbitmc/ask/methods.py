"""Which kernel the settings of a question mean."""

from orbitmc.ask.lifting import (
    CLUSTERS,
    Lifting,
    by_approximate_symmetries,
    by_exact_symmetries,
    by_generators,
)
from orbitmc.ask.relational_lifting import by_renaming
from orbitmc.ask.settings import Settings
from orbitmc.errors import InputError
from orbitmc.graph.conditionals.conditionals import Conditionals
from orbitmc.graph.model import Model
from orbitmc.kernels.base.gibbs import RandomScan, SystematicScan
from orbitmc.kernels.base.mcsat.mc_sat import WAYS, mc_sat
from orbitmc.kernels.combine.mixture import PAPER_WEIGHT
from orbitmc.logic.grounding.grounding import Ground
from orbitmc.tuning.recipe import recipe_from


def kernel_for(
    model: Model, prepared: Conditionals, settings: Settings, ground: Ground | None = None
) -> Lifting:
    """The kernel that a method means; the same settings give the same kernel."""
    alpha = PAPER_WEIGHT if settings.alpha is None else settings.alpha
    if settings.method == "lifted" and ground is not None:
        return by_renaming(ground, model, prepared, alpha=alpha)
    if settings.method == "lifted":
        return by_exact_symmetries(model, prepared, alpha=alpha)
    if settings.method == "lmh" and settings.generators:
        return by_generators(model, prepared, settings.generators, alpha=alpha)
    if settings.method == "lmh" and settings.moves is not None:
        return Lifting(recipe_from(settings.moves).kernel(model, prepared), "")
    if settings.method == "lmh":
        return by_approximate_symmetries(
            model,
            prepared,
            alpha=alpha,
            clusters=CLUSTERS if settings.clusters is None else settings.clusters,
            rank=settings.rank,
            max_moved=settings.max_moved,
            min_acceptance=settings.min_acceptance,
        )
    if settings.method == "mcsat":
        slices = settings.slices or "walk"
        if slices not in WAYS:
            raise InputError(f"unknown slices {slices!r}; there are {', '.join(WAYS)}")
        return Lifting(mc_sat(model.graph, large=WAYS[slices]), "")
    kernel = RandomScan(prepared) if settings.scan == "random" else SystematicScan(prepared)
    return Lifting(kernel, "")
