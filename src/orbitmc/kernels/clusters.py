"""Swendsen-Wang: tie spins that please their couplings into clusters, flip clusters as a whole.

Exact for couplings of any sign and any fields: given the state, a bond is laid with chance
1 - exp(-2|J|) on each satisfied edge; given the bonds, clusters are independent, and each is drawn
from its two orientations by the fields of its members. Both are draws from conditionals of one
joint distribution of spins and bonds whose marginal is the model.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc.arrays import Bytes, Floats, Indices, floats, indices, lengths, sealed
from orbitmc.compiled import implementation, shared
from orbitmc.errors import InputError
from orbitmc.graph.conditionals import Conditionals, fields_in_double, rounded_limits
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.kernels.kernel import steps
from orbitmc.random import flip_by_field, flip_by_table, lanes_of, width_of

UPDATES, CLUSTERS, FLIPPED = range(3)
OUTCOMES = ("cluster updates", "clusters", "flipped clusters")


class ClusterMemory(NamedTuple):
    """Arrays of one pack.

    `parent[variable, lane]` leads to the root of a cluster; `field` sums, at roots, the log-odds of
    flipping; `flipped` holds the decisions of roots; `bond` the bonds of one edge.
    """

    satisfied: Bytes
    odds: NDArray[np.float64]
    bond: Bytes
    parent: NDArray[np.uint32]
    field: Floats
    flipped: Bytes
    width: tuple[int, ...]


class Clusters(NamedTuple):
    """Draw all clusters anew, and the orientation of each.

    An edge ties `first` and `second`; it likes them equal where `equal` is 1. Its bond has the
    chance `limit[2 * edge + 1]` when it is satisfied and 0 otherwise. `field` is twice the field
    of each spin.
    """

    first: Indices
    second: Indices
    equal: Bytes
    limit: NDArray[np.generic]
    field: Floats

    @property
    def outcomes(self) -> tuple[str, ...]:
        return OUTCOMES

    def memory(self, graph: FactorGraph, lanes: int) -> ClusterMemory:
        shape = (graph.variables, lanes)
        return ClusterMemory(
            np.zeros(lanes, dtype=np.uint8),
            np.zeros(lanes),
            np.zeros((1, lanes), dtype=np.uint8),
            np.zeros(shape, dtype=np.uint32),
            np.zeros(shape),
            np.zeros(shape, dtype=np.uint8),
            width_of(lanes),
        )


@implementation(steps, Clusters)
def cluster_steps(graph, kernel, memory, values, outcomes, rng, count):
    for _ in range(count):
        for variable in range(len(values)):
            for lane in range(lanes_of(memory)):
                memory.parent[variable, lane] = variable
                memory.field[variable, lane] = 0.0
        for edge in range(len(kernel.first)):
            _lay_bonds(kernel, memory, values, rng, edge)
        for variable in range(len(values)):
            _gather(kernel, memory, values, variable)
        for variable in range(len(values)):
            _decide(memory, outcomes, rng, variable)
        for variable in range(len(values)):
            for lane in range(lanes_of(memory)):
                root = memory.parent[variable, lane]
                values[variable, lane] ^= memory.flipped[root, lane]
        outcomes[UPDATES] += lanes_of(memory)


@shared
def _lay_bonds(kernel, memory, values, rng, edge):
    """Join the clusters of an edge's ends in the lanes where it gets a bond."""
    first, second = kernel.first[edge], kernel.second[edge]
    for lane in range(lanes_of(memory)):
        same = values[first, lane] == values[second, lane]
        memory.satisfied[lane] = np.uint8(same) ^ np.uint8(1) ^ kernel.equal[edge]
    flip_by_table(rng, kernel.limit, 2 * edge, memory.satisfied, memory.bond, 0)
    for lane in range(lanes_of(memory)):
        if memory.bond[0, lane]:
            one, other = _root(memory, first, lane), _root(memory, second, lane)
            memory.parent[max(one, other), lane] = min(one, other)


@shared
def _root(memory, variable, lane):
    """Follow parents to the root, halving the path on the way."""
    parent = memory.parent
    while parent[variable, lane] != variable:
        parent[variable, lane] = parent[parent[variable, lane], lane]
        variable = parent[variable, lane]
    return variable


@shared
def _gather(kernel, memory, values, variable):
    """Let a variable point at its root, and add its field there: the log-odds of flipping."""
    field = kernel.field[variable]
    for lane in range(lanes_of(memory)):
        root = _root(memory, variable, lane)
        memory.parent[variable, lane] = root
        memory.field[root, lane] += field if values[variable, lane] == 0 else -field


@shared
def _decide(memory, outcomes, rng, variable):
    """Draw the orientation of the clusters that a variable is the root of."""
    roots = 0
    for lane in range(lanes_of(memory)):
        roots += memory.parent[variable, lane] == variable
        memory.odds[lane] = memory.field[variable, lane]
    if roots == 0:
        return
    flip_by_field(rng, memory.odds, memory.flipped, variable)
    outcomes[CLUSTERS] += roots
    for lane in range(lanes_of(memory)):
        is_root = memory.parent[variable, lane] == variable
        outcomes[FLIPPED] += is_root & (memory.flipped[variable, lane] != 0)


def clusters(graph: FactorGraph, prepared: Conditionals) -> Clusters:
    """Flip clusters of a model of binary variables whose factors are finite and pairwise."""
    for variable in np.flatnonzero(prepared.affine == 0):
        raise InputError(
            f"cluster updates need binary variables and finite pairwise factors; "
            f"variable {variable} has others"
        )
    coupling, bias = fields_in_double(graph, prepared)
    owner = np.repeat(np.arange(graph.variables), lengths(prepared.neighbour_start))
    field = bias + 0.5 * np.bincount(owner, weights=coupling, minlength=graph.variables)
    once = (owner < prepared.neighbour) & (coupling != 0.0)
    chance = -np.expm1(-0.5 * np.abs(coupling[once]))
    limit = np.stack([np.zeros_like(chance), chance], axis=1).ravel()
    return Clusters(
        indices(owner[once]),
        indices(prepared.neighbour[once]),
        sealed((coupling[once] > 0.0).astype(np.uint8)),
        sealed(limit if prepared.limit.dtype == np.float64 else rounded_limits(limit)),
        floats(field),
    )
