"""The samplers that figures compare: each a name and how its kernel is made."""

from collections.abc import Callable, Sequence

from orbitmc import Model
from orbitmc.compare import (
    MEMBERS,
    Kernel,
    PermutationGroup,
    PlannedKernel,
    PreparedGraph,
    RandomScan,
    Sampler,
    SystematicScan,
    automorphisms,
    by_approximate_symmetries,
    by_exact_symmetries,
    by_method,
    by_pilot,
    lifted,
    orbital_kernels,
    over_symmetric,
)

ALPHA = 0.8  # the share of Gibbs steps in the paper

Jumps = Callable[[Model, PreparedGraph], Sequence[Kernel]]


def gibbs(model: Model) -> Sampler:
    """Gibbs with a random scan, the base of all mixtures."""
    return Sampler("Gibbs", model, lambda *_: PlannedKernel(RandomScan(), "random scan"))


def lifted_mcmc(model: Model) -> Sampler:
    """Jumps along exact symmetries; Gibbs if there are none."""
    return Sampler("Lifted MCMC", model, by_exact_symmetries)


def systematic_gibbs(model: Model) -> Sampler:
    """Gibbs that updates variables in turn."""
    return Sampler("Gibbs, in turn", model, lambda *_: PlannedKernel(SystematicScan(), "in turn"))


def lmh(model: Model, *, members: int = MEMBERS) -> Sampler:
    """Blocks of variables that a pilot run finds alike."""

    def make(asked: Model, prepared: PreparedGraph) -> PlannedKernel:
        return by_pilot(prepared, alpha=ALPHA, members=members)

    return Sampler("LMH", model, make)


def paper_lmh(model: Model, *, alpha: float = ALPHA) -> Sampler:
    """The paper's blocks: few weights, links of low rank, the subgroup heuristic."""

    def make(asked: Model, prepared: PreparedGraph) -> PlannedKernel:
        return by_approximate_symmetries(asked, prepared, alpha=alpha, clusters=6, rank=5)

    return Sampler("LMH, paper's blocks", model, make)


def tuned_lmh(model: Model, seconds: float) -> Sampler:
    """Jumps chosen by a race, with at most a fifth of the time unless they clearly win."""
    sampler = by_method(model, "lmh", seconds=seconds)
    return Sampler("LMH, tuned", model, sampler.make)


def oversymmetric_mcmc(model: Model, rank: int, clusters: int) -> Sampler:
    """Lifted MCMC on the approximation itself: fast perhaps, and biased."""

    def approximation() -> Model:
        return over_symmetric(model, clusters=clusters, rank=rank)

    def make(found: Model, prepared: PreparedGraph) -> PlannedKernel:
        approximation()  # once more, because finding it is part of the price
        return by_exact_symmetries(found, prepared)

    return Sampler(f"OSA-{rank}-{clusters}", approximation(), make)


def with_jumps(name: str, model: Model, jumps: Jumps, *, alpha: float = ALPHA) -> Sampler:
    """Gibbs mixed with any jumps."""

    def make(asked: Model, prepared: PreparedGraph) -> PlannedKernel:
        return PlannedKernel(lifted(RandomScan(), jumps(asked, prepared), alpha=alpha), name)

    return Sampler(name, model, make)


def with_symmetries_of(name: str, model: Model, approximation: Callable[[Model], Model]) -> Sampler:
    """Gibbs mixed with jumps along the symmetries of an approximation."""

    def jumps(asked: Model, prepared: PreparedGraph) -> Sequence[Kernel]:
        group: PermutationGroup = automorphisms(approximation(asked).graph).group
        return orbital_kernels(prepared, group)

    return with_jumps(name, model, jumps)
