"""Let a base chain step as usual, and jump once in a while.

Exact because each of the two kernels keeps the distribution, and whose turn it is never depends on
the state. The base chain's steps run in one piece, so a jump costs nothing but itself.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc._numba.jit import implementation
from orbitmc._util.arrays import Bytes, Numbers, short_repr
from orbitmc.conditionals.prepared import PreparedGraph
from orbitmc.errors import InputError
from orbitmc.kernels.protocol import (
    Kernel,
    Part,
    block_plans,
    count_plan,
    draws_anew,
    independent_after,
    partition_plan,
    steps,
)


class AlternationMemory(NamedTuple):
    """Memory of both kernels, and how many base steps are left before the next jump."""

    base: Any
    jump: Any
    left: NDArray[np.int64]


class Alternation(NamedTuple):
    """After every `period` steps of the base chain, one step of `jump`, which is not counted.

    `split` is how many outcomes the base chain has.
    """

    base: Any
    jump: Any
    period: int
    split: int

    def __repr__(self) -> str:
        return short_repr(self)

    @property
    def outcomes(self) -> tuple[str, ...]:
        return (*self.base.outcomes, *self.jump.outcomes)

    @property
    def draws_anew(self) -> bool:
        return draws_anew(self.jump)

    @property
    def independent_after(self) -> int | None:
        return None if independent_after(self.jump) is None else self.period

    def block_plans(self, memory: AlternationMemory) -> tuple[Any, Any] | None:
        return block_plans(self.base, memory.base)

    def partition_plan(self, memory: AlternationMemory) -> tuple[Any, Any] | None:
        """That of the base chain, if jumps move the same items; else they may be no partition."""
        if partition_plan(self.jump, memory.jump) is None:
            return None
        return partition_plan(self.base, memory.base)

    def count_plan(self, memory: AlternationMemory) -> tuple[Any, Any] | None:
        return count_plan(self.base, memory.base)

    def memory(self, prepared: PreparedGraph, lanes: int) -> AlternationMemory:
        left = np.full(1, self.period, dtype=np.int64)
        return AlternationMemory(
            self.base.memory(prepared, lanes), self.jump.memory(prepared, lanes), left
        )

    def parts(self, whole: Part) -> tuple[Part, dict[str, Part]]:
        """Both kernels are compiled apart; what they work on does not concern this one."""
        before, after = whole.outcomes[: self.split], whole.outcomes[self.split :]
        memory = whole.memory
        base = whole._replace(kernel=self.base, memory=memory.base, outcomes=before)
        jump = whole._replace(kernel=self.jump, memory=memory.jump, outcomes=after)
        alone = whole._replace(prepared=(), memory=memory._replace(base=(), jump=()))
        return alone, {"base": base, "jump": jump}


@implementation(steps, Alternation)
def alternation_steps(
    prepared: PreparedGraph,
    kernel: Alternation,
    memory: AlternationMemory,
    values: Bytes,
    outcomes: Numbers,
    rng: Any,
    count: int,
) -> None:
    before, after = outcomes[: kernel.split], outcomes[kernel.split :]
    while count > 0:
        now = min(count, memory.left[0])
        steps(prepared, kernel.base, memory.base, values, before, rng, now)
        count -= now
        memory.left[0] -= now
        if memory.left[0] == 0:
            steps(prepared, kernel.jump, memory.jump, values, after, rng, 1)
            memory.left[0] = kernel.period


def alternation(base: Kernel, jump: Kernel, *, period: int) -> Alternation:
    """Jump once after every `period` steps of the base chain.

    >>> import orbitmc as om
    >>> model = om.ising_grid(3, 3, 0.3)
    >>> flips = om.kernels.flips(om.kernels.prepare(model.graph))
    >>> mixed = om.kernels.alternation(om.kernels.gibbs(), flips, period=9)
    >>> om.marginals(model, kernel=mixed, samples=20, seed=1).about.method
    'Alternation'
    """
    if period < 1:
        raise InputError(f"jumps come after at least one step, not after {period}")
    return Alternation(base, jump, period, len(base.outcomes))


def set_period(kernel: Kernel, memory: Any, period: int) -> Kernel | None:
    """Let jumps come after so many base steps, from now on; None if the kernel does not jump."""
    if not isinstance(kernel, Alternation):
        return None
    memory.left[0] = period
    return kernel._replace(period=period)
