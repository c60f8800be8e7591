"""A graph that is ready to be sampled: one value instead of a graph and what belongs to it."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc._util.arrays import Floats, Indices, lengths, readonly, short_repr, starts
from orbitmc.conditionals.classify import TRIPLET, classify, fill_fields, fill_sextets
from orbitmc.conditionals.fields import curves
from orbitmc.conditionals.layout import Conditionals, factor_groups
from orbitmc.conditionals.tables import fill_ladder, fill_limits
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.log_weights import require_narrow

# The distribution of one variable given all others, prepared once per model.
#
# Nobody else knows how it is stored. Each variable goes one of five ways:
#
# - COUNT: binary, and its log-odds depend only on how many of at most seven neighbours agree with
# a sign (Ising grids, ±J glasses): eight limits.
# - BITS: binary with few binary neighbours: a limit for each pattern of their bits.
# - TABLE: few neighbours of any cardinality: cumulative limits for each of their joint values.
# - FIELD: binary with pairwise finite factors of any number: a sum of float32 couplings.
# - FACTORS: anything else (large tables, clauses, hard pairs): a sum over factors in float64.
#
# A limit is a probability times 2^32. `unrounded` conditionals hold the probabilities themselves;
# they exist for proofs.

LARGEST_LIMIT = 2.0**32 - 1.0  # stands for certainty
ROUNDED_AT_ONCE = 2**15  # limits, so that they stay in the cache of a core


def conditionals(graph: FactorGraph, most_limits: float = np.inf) -> Conditionals:
    """Prepare all conditionals, rounded to 32-bit limits and float32 couplings."""
    return _round(unrounded_conditionals(graph, most_limits))


def unrounded_conditionals(graph: FactorGraph, most_limits: float = np.inf) -> Conditionals:
    """Prepare all conditionals with float64 probabilities and couplings."""
    require_narrow(graph)
    path, affine, pairwise, neighbour_start, neighbour, start, limits = classify(graph, most_limits)
    role = np.zeros(len(neighbour), dtype=np.uint32)
    coupling = np.zeros(len(neighbour))
    bias, ladder = np.zeros(graph.variables), np.zeros((graph.variables, 2))
    limit = np.zeros(limits)
    fill_fields(graph, affine, neighbour_start, neighbour, coupling, bias)
    sextet_start = starts(np.where(affine, lengths(neighbour_start) // 6 * 2 * TRIPLET, 0))
    sextet = np.zeros(int(sextet_start[-1]))
    fill_sextets(neighbour_start, coupling, sextet_start, sextet)
    curve_start, curve = curves(graph, pairwise > affine, neighbour_start, neighbour)
    most = int(graph.cardinality.max(initial=1))
    fill_ladder(path, neighbour_start, coupling, bias, ladder)
    near = (neighbour_start, neighbour, coupling, ladder, role)
    values = np.zeros((graph.variables, 1), dtype=np.uint32)
    fill_limits(graph, path, *near, start, limit, values, np.zeros(most))
    return Conditionals(
        readonly(path),
        readonly(affine),
        readonly(pairwise),
        readonly(neighbour_start),
        readonly(neighbour),
        readonly(role),
        readonly(coupling),
        readonly(bias),
        readonly(ladder),
        readonly(start),
        readonly(limit),
        readonly(sextet_start),
        readonly(sextet.astype(np.float32)),
        curve_start,
        readonly(curve),
        factor_groups(graph, path),
    )


def _round(exact: Conditionals) -> Conditionals:
    return exact._replace(
        coupling=readonly(exact.coupling.astype(np.float32)),
        bias=readonly(exact.bias.astype(np.float32)),
        ladder=readonly(exact.ladder.astype(np.float32)),
        curve=readonly(exact.curve.astype(np.float32)),
        limit=readonly(round_limits(exact.limit)),
    )


def round_limits(chances: Floats) -> Indices:
    """Probabilities times 2^32, even as the numbers that they are compared with.

    Piece by piece: passes over millions of numbers would fetch new memory, one after the other.
    """
    limits = np.empty(chances.shape, dtype=np.uint32)
    whole, rounded = chances.reshape(-1), limits.reshape(-1)
    for first in range(0, len(whole), ROUNDED_AT_ONCE):
        piece = slice(first, first + ROUNDED_AT_ONCE)
        even = 2.0 * np.rint(whole[piece] * 2.0**31)
        rounded[piece] = np.minimum(even, LARGEST_LIMIT)
    return limits


FEW_LIMITS = 2**20  # which every model gets
LIMITS_EACH = 64  # of a variable, on average, that a few sweeps are worth


class PreparedGraph(NamedTuple):
    """A factor graph and the conditionals of its variables: all that a step reads of a model."""

    graph: FactorGraph
    conditionals: Conditionals

    def __repr__(self) -> str:
        return short_repr(self)


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
    return readonly(chances if is_unrounded(prepared) else round_limits(chances))


def is_unrounded(prepared: PreparedGraph) -> bool:
    """Whether a graph was prepared for proofs."""
    return prepared.conditionals.limit.dtype == np.float64


def fields_in_double(prepared: PreparedGraph) -> tuple[Floats, Floats]:
    """Couplings and biases of the affine variables before rounding, as conditionals list them."""
    graph, known = prepared
    coupling, bias = np.zeros(len(known.neighbour)), np.zeros(graph.variables)
    fill_fields(graph, known.affine, known.neighbour_start, known.neighbour, coupling, bias)
    return readonly(coupling), readonly(bias)
