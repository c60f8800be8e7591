"""Gibbs: give one variable a new value, drawn given all the others."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc.graph.conditionals.conditionals import Conditionals, Scratch, draw, scratch
from orbitmc.graph.conditionals.conditionals import conditionals as prepare
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.model import Model
from orbitmc.kernels.kernel import steps
from orbitmc.machine.compiling import implementation
from orbitmc.machine.lanes.random import integer


class GibbsMemory(NamedTuple):
    """Scratch for one conditional, and the variable whose turn it is in a systematic scan."""

    scratch: Scratch
    turn: NDArray[np.int64]


class RandomScan(NamedTuple):
    """Update a variable chosen uniformly at random, as in the paper; reversible."""

    conditionals: Conditionals

    @property
    def outcomes(self) -> tuple[str, ...]:
        return ("updates",)

    def memory(self, graph: FactorGraph, lanes: int) -> GibbsMemory:
        return _memory(self.conditionals, graph, lanes)


class SystematicScan(NamedTuple):
    """Update the variables in turn; not reversible, but mixes about twice as fast per update."""

    conditionals: Conditionals

    @property
    def outcomes(self) -> tuple[str, ...]:
        return ("updates",)

    def memory(self, graph: FactorGraph, lanes: int) -> GibbsMemory:
        return _memory(self.conditionals, graph, lanes)


@implementation(steps, RandomScan)
def random_scan_steps(graph, kernel, memory, values, outcomes, rng, count):
    variables = len(graph.cardinality)
    for _ in range(count):
        variable = integer(rng, variables)
        draw(graph, kernel.conditionals, memory.scratch, values, variable, rng)
    outcomes[0] += count


@implementation(steps, SystematicScan)
def systematic_scan_steps(graph, kernel, memory, values, outcomes, rng, count):
    variables = len(graph.cardinality)
    variable = memory.turn[0]
    for _ in range(count):
        draw(graph, kernel.conditionals, memory.scratch, values, variable, rng)
        variable += 1
        if variable == variables:
            variable = 0
    memory.turn[0] = variable
    outcomes[0] += count


def _memory(prepared: Conditionals, graph: FactorGraph, lanes: int) -> GibbsMemory:
    number = prepared.bias.dtype.type
    return GibbsMemory(scratch(graph, lanes, number), np.zeros(1, dtype=np.int64))


def gibbs(model: Model) -> SystematicScan:
    """Gibbs on a model, variable after variable: the usual base chain.

    >>> import orbitmc as om
    >>> model = om.ising_grid(3, 3, 0.3, 0.1)
    >>> om.marginals(model, kernel=om.kernels.gibbs(model), samples=20, seed=1).about.method
    'SystematicScan'
    """
    return SystematicScan(prepare(model.graph))
