"""Gibbs: give one variable a new value, drawn given all the others."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc._numba.jit import implementation
from orbitmc._simd.random import integer
from orbitmc._util.arrays import Bytes, Indices, Numbers
from orbitmc.conditionals.draws import draw_sequentially, scratch
from orbitmc.conditionals.factors import forget_clauses
from orbitmc.conditionals.layout import Scratch
from orbitmc.conditionals.prepared import PreparedGraph
from orbitmc.kernels.protocol import steps


class GibbsMemory(NamedTuple):
    """Scratch for one conditional, and the variable whose turn it is in a systematic scan."""

    scratch: Scratch
    turn: NDArray[np.int64]


class RandomScan(NamedTuple):
    """Update a variable chosen uniformly at random, as in the paper; reversible."""

    @property
    def random_scan(self) -> bool:
        return True

    @property
    def outcomes(self) -> tuple[str, ...]:
        return ("updates",)

    def memory(self, prepared: PreparedGraph, lanes: int) -> GibbsMemory:
        return _memory(prepared, lanes)


class SystematicScan(NamedTuple):
    """Update the variables in turn; not reversible, but mixes about twice as fast per update."""

    @property
    def outcomes(self) -> tuple[str, ...]:
        return ("updates",)

    def memory(self, prepared: PreparedGraph, lanes: int) -> GibbsMemory:
        return _memory(prepared, lanes)


class PartialScan(NamedTuple):
    """Update some of the variables in turn; the others keep their values.

    So the chain walks among the states that agree with the values that are kept.
    """

    variables: Indices

    @property
    def outcomes(self) -> tuple[str, ...]:
        return ("updates",)

    def memory(self, prepared: PreparedGraph, lanes: int) -> GibbsMemory:
        return _memory(prepared, lanes)


@implementation(steps, RandomScan)
def random_scan_steps(
    prepared: PreparedGraph,
    kernel: RandomScan,
    memory: GibbsMemory,
    values: Bytes,
    outcomes: Numbers,
    rng: Any,
    count: int,
) -> None:
    variables = len(values)
    forget_clauses(memory.scratch)
    for _ in range(count):
        variable = integer(rng, variables)
        draw_sequentially(prepared, memory.scratch, values, variable, rng)
    outcomes[0] += count


@implementation(steps, SystematicScan)
def systematic_scan_steps(
    prepared: PreparedGraph,
    kernel: SystematicScan,
    memory: GibbsMemory,
    values: Bytes,
    outcomes: Numbers,
    rng: Any,
    count: int,
) -> None:
    variables = len(values)
    variable = memory.turn[0]
    forget_clauses(memory.scratch)
    for _ in range(count):
        draw_sequentially(prepared, memory.scratch, values, variable, rng)
        variable += 1
        if variable == variables:
            variable = 0
    memory.turn[0] = variable
    outcomes[0] += count


@implementation(steps, PartialScan)
def partial_scan_steps(
    prepared: PreparedGraph,
    kernel: PartialScan,
    memory: GibbsMemory,
    values: Bytes,
    outcomes: Numbers,
    rng: Any,
    count: int,
) -> None:
    turn = memory.turn[0]
    forget_clauses(memory.scratch)
    for _ in range(count):
        variable: Any = np.int64(kernel.variables[turn])
        draw_sequentially(prepared, memory.scratch, values, variable, rng)
        turn += 1
        if turn == len(kernel.variables):
            turn = 0
    memory.turn[0] = turn
    outcomes[0] += count


def _memory(prepared: PreparedGraph, lanes: int) -> GibbsMemory:
    return GibbsMemory(scratch(prepared, lanes), np.zeros(1, dtype=np.int64))


def gibbs() -> SystematicScan:
    """Gibbs, variable after variable: the usual base chain.

    >>> import orbitmc as om
    >>> model = om.ising_grid(3, 3, 0.3, 0.1)
    >>> om.marginals(model, kernel=om.kernels.gibbs(), samples=20, seed=1).about.method
    'SystematicScan'
    """
    return SystematicScan()
