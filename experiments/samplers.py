"""The samplers that figures compare: each a name and how its kernel is made."""

from collections.abc import Callable, Sequence

from orbitmc import Model
from orbitmc.compare.workshop import (
    Conditionals,
    Entrant,
    Kernel,
    Lifting,
    PermutationGroup,
    RandomScan,
    automorphisms,
    by_approximate_symmetries,
    by_exact_symmetries,
    by_method,
    lifted,
    orbital_kernels,
    over_symmetric,
)

ALPHA = 0.8  # the share of Gibbs steps in the paper

Jumps = Callable[[Model, Conditionals], Sequence[Kernel]]


def gibbs(model: Model) -> Entrant:
    """Gibbs with a random scan, the base of all mixtures."""
    return Entrant("Gibbs", model, lambda _, prepared: Lifting(RandomScan(prepared), "random scan"))


def lifted_mcmc(model: Model) -> Entrant:
    """Jumps along exact symmetries; Gibbs if there are none."""
    return Entrant("Lifted MCMC", model, by_exact_symmetries)


def paper_lmh(model: Model, *, alpha: float = ALPHA) -> Entrant:
    """The paper's chain: few weights, links of low rank, blocks by the subgroup heuristic."""

    def make(asked: Model, prepared: Conditionals) -> Lifting:
        return by_approximate_symmetries(asked, prepared, alpha=alpha, clusters=6, rank=5)

    return Entrant("LMH", model, make)


def tuned_lmh(model: Model, seconds: float) -> Entrant:
    """Jumps chosen by a race, with at most a fifth of the time unless they clearly win."""
    entrant = by_method(model, "lmh", seconds=seconds)
    return Entrant("LMH, tuned", model, entrant.make)


def oversymmetric_mcmc(model: Model, rank: int, clusters: int) -> Entrant:
    """Lifted MCMC on the approximation itself: fast perhaps, and biased."""

    def approximation() -> Model:
        return over_symmetric(model, clusters=clusters, rank=rank)

    def make(found: Model, prepared: Conditionals) -> Lifting:
        approximation()  # once more, because finding it is part of the price
        return by_exact_symmetries(found, prepared)

    return Entrant(f"OSA-{rank}-{clusters}", approximation(), make)


def with_jumps(name: str, model: Model, jumps: Jumps, *, alpha: float = ALPHA) -> Entrant:
    """Gibbs mixed with any jumps."""

    def make(asked: Model, prepared: Conditionals) -> Lifting:
        return Lifting(lifted(RandomScan(prepared), jumps(asked, prepared), alpha=alpha), name)

    return Entrant(name, model, make)


def with_symmetries_of(name: str, model: Model, approximation: Callable[[Model], Model]) -> Entrant:
    """Gibbs mixed with jumps along the symmetries of an approximation."""

    def jumps(asked: Model, prepared: Conditionals) -> Sequence[Kernel]:
        group: PermutationGroup = automorphisms(approximation(asked).graph).group
        return orbital_kernels(asked.graph, prepared, group)

    return with_jumps(name, model, jumps)
