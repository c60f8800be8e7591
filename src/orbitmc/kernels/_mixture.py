"""Lifted Metropolis-Hastings: a mixture of an ordinary chain and orbital ones.

A mixture is a value that contains values: more than two kernels are a mixture of mixtures. It is
ergodic as soon as one part is.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from orbitmc._numba.jit import implementation
from orbitmc._simd.random import bernoulli
from orbitmc._util.arrays import Bytes, Numbers, short_repr
from orbitmc.conditionals.prepared import PreparedGraph
from orbitmc.errors import InputError
from orbitmc.kernels._gibbs import RandomScan, SystematicScan
from orbitmc.kernels.protocol import Kernel, Part, block_plans, partition_plan, steps

PAPER_WEIGHT = 0.8  # of the base chain, in the paper's experiments


class MixtureMemory(NamedTuple):
    first: Any
    second: Any


class Mixture(NamedTuple):
    """Step with `first` with chance `weight`, otherwise with `second`; never looks at the state.

    `split` is how many outcomes the first kernel counts.
    """

    first: Any
    second: Any
    weight: float
    split: int

    def __repr__(self) -> str:
        return short_repr(self)

    @property
    def outcomes(self) -> tuple[str, ...]:
        return (*self.first.outcomes, *self.second.outcomes)

    @property
    def base(self) -> Kernel:
        """The first kernel; jumps are mixed with it."""
        return self.first  # type: ignore[no-any-return]

    def block_plans(self, memory: MixtureMemory) -> tuple[Any, Any] | None:
        return block_plans(self.first, memory.first)

    def partition_plan(self, memory: MixtureMemory) -> tuple[Any, Any] | None:
        return partition_plan(self.first, memory.first)

    def memory(self, prepared: PreparedGraph, lanes: int) -> MixtureMemory:
        return MixtureMemory(
            self.first.memory(prepared, lanes), self.second.memory(prepared, lanes)
        )

    def parts(self, whole: Part) -> tuple[Part, dict[str, Part]]:
        """Kernels are compiled apart, but for one whose step is hardly longer than a call."""
        before, after = whole.outcomes[: self.split], whole.outcomes[self.split :]
        without_second, memory = whole.memory._replace(second=()), whole.memory
        second = whole._replace(kernel=self.second, memory=memory.second, outcomes=after)
        if isinstance(self.first, RandomScan | SystematicScan):
            return whole._replace(memory=without_second), {"second": second}
        first = whole._replace(kernel=self.first, memory=memory.first, outcomes=before)
        alone = whole._replace(prepared=(), memory=without_second._replace(first=()))
        return alone, {"first": first, "second": second}


@implementation(steps, Mixture)
def mixture_steps(
    prepared: PreparedGraph,
    kernel: Mixture,
    memory: MixtureMemory,
    values: Bytes,
    outcomes: Numbers,
    rng: Any,
    count: int,
) -> None:
    for _ in range(count):
        if bernoulli(rng, kernel.weight):
            before = outcomes[: kernel.split]
            steps(prepared, kernel.first, memory.first, values, before, rng, 1)
        else:
            after = outcomes[kernel.split :]
            steps(prepared, kernel.second, memory.second, values, after, rng, 1)


def mixture(first: Kernel, second: Kernel, *, weight: float) -> Mixture:
    """Mix two kernels; the first gets the given share of the steps.

    >>> import orbitmc as om
    >>> model = om.ising_grid(2, 2, 0.3)
    >>> slices = om.kernels.mc_sat(model.graph)
    >>> om.kernels.mixture(om.kernels.gibbs(), slices, weight=0.9).outcomes[:3]
    ('updates', 'updates', 'slices')
    """
    if not 0 < weight < 1:
        raise InputError(f"the weight of a mixture (alpha) lies between 0 and 1, not at {weight}")
    return Mixture(first, second, weight, len(first.outcomes))


def lifted(
    base: Kernel,
    orbital: Sequence[Kernel],
    *,
    alpha: float = PAPER_WEIGHT,
    weights: Sequence[float] | None = None,
) -> Kernel:
    """Mix a base chain, with weight alpha, and any number of orbital chains.

    Without orbital chains it is the base chain. Orbital chains share the rest equally unless
    they have weights, which are fixed: they never look at the state.

    >>> import orbitmc as om
    >>> model = om.ising_grid(3, 3, 0.3)
    >>> group = om.symmetry.automorphisms(model.graph).group
    >>> prepared = om.kernels.prepare(model.graph)
    >>> jumps = om.kernels.orbital_kernels(prepared, group, symmetric=True)
    >>> mixed = om.kernels.lifted(om.kernels.gibbs(), jumps, alpha=0.8)
    >>> om.marginals(model, kernel=mixed, samples=20, seed=1).about.outcomes["proposals"] > 0
    True
    """
    if not orbital:
        return base
    shares = list(weights) if weights is not None else [1.0] * len(orbital)
    if len(shares) != len(orbital) or any(share <= 0 for share in shares):
        raise InputError(f"{len(orbital)} orbital chains need as many weights above 0")
    combined, left = orbital[-1], shares[-1]
    for kernel, share in zip(orbital[-2::-1], shares[-2::-1], strict=True):
        left += share
        combined = mixture(kernel, combined, weight=share / left)
    return mixture(base, combined, weight=alpha)
