"""A graph that is ready to be sampled: one value instead of a graph and what belongs to it."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc._util.arrays import Floats, brief, sealed
from orbitmc.graph.conditionals.conditionals import (
    conditionals,
    rounded_limits,
    unrounded_conditionals,
)
from orbitmc.graph.conditionals.layout import Conditionals
from orbitmc.graph.conditionals.pair_couplings import fill_fields
from orbitmc.graph.factor_graph import FactorGraph

FEW_LIMITS = 2**20  # which every model gets
LIMITS_EACH = 64  # of a variable, on average, that a few sweeps are worth


class PreparedGraph(NamedTuple):
    """A factor graph and the conditionals of its variables: all that a step reads of a model."""

    graph: FactorGraph
    conditionals: Conditionals

    def __repr__(self) -> str:
        return brief(self)


def prepare(graph: FactorGraph, *, most_limits: float = np.inf) -> PreparedGraph:
    """Prepare a graph for sampling, with 32-bit limits and float32 couplings.

    No more than `most_limits` are made for variables with tables of their own: such tables make
    steps faster, but take time to make.

    >>> import orbitmc as om
    >>> om.kernels.prepare(om.ising_grid(2, 2, 0.4).graph).graph.variables
    4
    """
    return PreparedGraph(graph, conditionals(graph, most_limits))


def prepare_briefly(graph: FactorGraph) -> PreparedGraph:
    """Prepare a graph for a few sweeps: in a large one, only small tables are worth making."""
    return prepare(graph, most_limits=max(FEW_LIMITS, LIMITS_EACH * graph.variables))


def prepare_unrounded(graph: FactorGraph) -> PreparedGraph:
    """Prepare a graph with float64 probabilities and couplings: for proofs."""
    return PreparedGraph(graph, unrounded_conditionals(graph))


def prepare_alike(prepared: PreparedGraph, other: FactorGraph) -> PreparedGraph:
    """Prepare another graph in the precision of a prepared one."""
    return prepare_unrounded(other) if is_unrounded(prepared) else prepare(other)


def limits_alike(prepared: PreparedGraph, chances: Floats) -> NDArray[np.generic]:
    """Probabilities as limits, in the precision of a prepared graph."""
    return sealed(chances if is_unrounded(prepared) else rounded_limits(chances))


def is_unrounded(prepared: PreparedGraph) -> bool:
    """Whether a graph was prepared for proofs."""
    return prepared.conditionals.limit.dtype == np.float64


def fields_in_double(prepared: PreparedGraph) -> tuple[Floats, Floats]:
    """Couplings and biases of the affine variables before rounding, as conditionals list them."""
    graph, known = prepared
    coupling, bias = np.zeros(len(known.neighbour)), np.zeros(graph.variables)
    fill_fields(graph, known.affine, known.neighbour_start, known.neighbour, coupling, bias)
    return sealed(coupling), sealed(bias)
