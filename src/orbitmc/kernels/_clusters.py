"""Swendsen-Wang: tie spins that please their couplings into clusters, flip clusters as a whole.

Exact for couplings of any sign and any fields: given the state, a bond is laid with chance
1 - exp(-2|J|) on each satisfied edge; given the bonds, clusters are independent, and each is drawn
from its two orientations by the fields of its members. Both are draws from conditionals of one
joint distribution of spins and bonds whose marginal is the model.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc._numba.jit import implementation, shared
from orbitmc._simd.random import flip_by_field, flip_by_table, lanes_of, width_of
from orbitmc._util.arrays import (
    Bytes,
    Floats,
    Index,
    Indices,
    Numbers,
    floats,
    indices,
    lengths,
    readonly,
    short_repr,
)
from orbitmc.conditionals.prepared import PreparedGraph, fields_in_double, limits_alike
from orbitmc.errors import InputError
from orbitmc.groups.permutation_groups import root_of
from orbitmc.kernels.protocol import steps

UPDATES, CLUSTERS, FLIPPED = range(3)
CLUSTER_OUTCOMES = ("cluster updates", "clusters", "flipped clusters")


class ClusterMemory(NamedTuple):
    """Arrays of one pack; lanes go their own ways here, so `parent` and `field` hold lane by lane.

    `parent[lane, variable]` leads to the root of a cluster; `field` sums, at roots, the log-odds of
    flipping; `flipped` holds the decisions of roots.
    """

    satisfied: Bytes
    odds: Floats
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

    def __repr__(self) -> str:
        return short_repr(self)

    @property
    def outcomes(self) -> tuple[str, ...]:
        return CLUSTER_OUTCOMES

    def memory(self, prepared: PreparedGraph, lanes: int) -> ClusterMemory:
        variables = prepared.graph.variables
        return ClusterMemory(
            satisfied=np.zeros(lanes, dtype=np.uint8),
            odds=np.zeros(lanes),
            bond=np.zeros((len(self.first), lanes), dtype=np.uint8),
            parent=np.zeros((lanes, variables), dtype=np.uint32),
            field=np.zeros((lanes, variables)),
            flipped=np.zeros((variables, lanes), dtype=np.uint8),
            width=width_of(lanes),
        )


@implementation(steps, Clusters)
def cluster_steps(
    prepared: PreparedGraph,
    kernel: Clusters,
    memory: ClusterMemory,
    values: Bytes,
    outcomes: Numbers,
    rng: Any,
    count: int,
) -> None:
    for _ in range(count):
        for edge in range(len(kernel.first)):
            _lay_bonds(kernel, memory, values, rng, edge)
        for lane in range(lanes_of(memory)):
            _join(kernel, memory, lane)
            _gather(kernel, memory, values, lane)
        for variable in range(len(values)):
            _decide(memory, outcomes, rng, variable)
        for lane in range(lanes_of(memory)):
            for variable in range(len(values)):
                values[variable, lane] ^= memory.flipped[memory.parent[lane, variable], lane]
        outcomes[UPDATES] += lanes_of(memory)


@shared
def _lay_bonds(
    kernel: Clusters, memory: ClusterMemory, values: Bytes, rng: Any, edge: Index
) -> None:
    """Draw the bonds of one edge, in the lanes where it is satisfied."""
    first, second = np.uint64(kernel.first[edge]), np.uint64(kernel.second[edge])
    unequal = np.uint8(1) ^ kernel.equal[edge]
    for lane in range(lanes_of(memory)):
        same = np.uint8(values[first, lane] == values[second, lane])
        memory.satisfied[lane] = same ^ unequal
    flip_by_table(rng, kernel.limit, 2 * edge, memory.satisfied, memory.bond, edge)


@shared
def _join(kernel: Clusters, memory: ClusterMemory, lane: Index) -> None:
    """Join the clusters at the two ends of every bond of a lane."""
    parent = memory.parent[lane]
    for variable in range(len(parent)):
        parent[variable] = variable
    for edge in range(len(kernel.first)):
        if memory.bond[edge, lane]:
            first, second = (
                root_of(parent, kernel.first[edge]),
                root_of(parent, kernel.second[edge]),
            )
            parent[max(first, second)] = min(first, second)


@shared
def _gather(kernel: Clusters, memory: ClusterMemory, values: Bytes, lane: Index) -> None:
    """Let variables point at their roots, and add their fields there: the log-odds of flipping.

    A parent has a smaller number, so it points at its root already.
    """
    parent, sums = memory.parent[lane], memory.field[lane]
    for variable in range(len(parent)):
        root = parent[parent[variable]]
        parent[variable] = root
        sums[variable] = 0.0
        field = kernel.field[variable]
        sums[root] += field if values[variable, lane] == 0 else -field


@shared
def _decide(memory: ClusterMemory, outcomes: Numbers, rng: Any, variable: Index) -> None:
    """Draw the orientation of the clusters that a variable is the root of."""
    roots = np.int64(0)
    for lane in range(lanes_of(memory)):
        roots += np.int64(memory.parent[lane, variable] == variable)
        memory.odds[lane] = memory.field[lane, variable]
    if roots == 0:
        return
    flip_by_field(rng, memory.odds, memory.flipped, variable)
    outcomes[CLUSTERS] += roots
    for lane in range(lanes_of(memory)):
        is_root = memory.parent[lane, variable] == variable
        outcomes[FLIPPED] += is_root & (memory.flipped[variable, lane] != 0)


def clusters(prepared: PreparedGraph) -> Clusters:
    """Flip clusters of a model of binary variables whose factors are finite and pairwise.

    >>> import orbitmc as om
    >>> grid = om.ising_grid(2, 2, 0.4, 0.1)
    >>> om.testing.check_kernel(om.kernels.clusters, models=[grid]).stationary < 1e-9
    True
    """
    graph, known = prepared
    for variable in np.flatnonzero(known.affine == 0):
        raise InputError(
            f"cluster updates need binary variables and finite pairwise factors; "
            f"variable {variable} has others"
        )
    coupling, bias = fields_in_double(prepared)
    owner = np.repeat(np.arange(graph.variables), lengths(known.neighbour_start))
    field = bias + 0.5 * np.bincount(owner, weights=coupling, minlength=graph.variables)
    once = (owner < known.neighbour) & (coupling != 0.0)
    chance = -np.expm1(-0.5 * np.abs(coupling[once]))
    limit = np.stack([np.zeros_like(chance), chance], axis=1).ravel()
    return Clusters(
        indices(owner[once]),
        indices(known.neighbour[once]),
        readonly((coupling[once] > 0.0).astype(np.uint8)),
        limits_alike(prepared, limit),
        floats(field),
    )
