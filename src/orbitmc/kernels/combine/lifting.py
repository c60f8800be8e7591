"""From a group to the orbital kernels that suit it."""

from orbitmc.conditionals.prepared import PreparedGraph
from orbitmc.groups.decomposition import (
    Exchangeable,
    Generated,
    Listed,
    blocks_of,
    decompose,
    elements,
)
from orbitmc.groups.permutation_groups import PermutationGroup, permutation_group
from orbitmc.kernels.jumps.drawn import replaced_orbital
from orbitmc.kernels.jumps.exchange import shuffle
from orbitmc.kernels.jumps.orbital import orbital, require_group
from orbitmc.kernels.kernel import Kernel


def orbital_kernels(
    prepared: PreparedGraph,
    group: PermutationGroup,
    *,
    symmetric: bool = False,
) -> list[Kernel]:
    """Take a group apart and sample each factor in the best way it allows.

    Symmetric factors are shuffled, small ones listed, large ones drawn by product replacement.
    `symmetric` promises that the group leaves the graph unchanged.

    >>> import orbitmc as om
    >>> graph = om.ising_grid(2, 2, 0.4).graph
    >>> group = om.symmetry.automorphisms(graph).group
    >>> [type(kernel).__name__ for kernel in orbital_kernels(om.kernels.prepare(graph), group)]
    ['Orbital']
    """
    if group.is_trivial:
        return []
    graph = prepared.graph
    require_group(graph, group)
    kernels: list[Kernel] = []
    factors = decompose(group)
    exchangeable = [factor for factor in factors if isinstance(factor, Exchangeable)]
    if exchangeable:
        blocks = blocks_of(exchangeable)
        kernels.append(shuffle(prepared, blocks, symmetric=symmetric))
    listed = [factor for factor in factors if isinstance(factor, Listed)]
    if listed:
        every = [element for factor in listed for element in elements(factor.table)]
        whole = permutation_group(group.degree, every, cardinality=graph.cardinality)
        kernels.append(orbital(graph, whole, symmetric=symmetric))
    for factor in factors:
        if isinstance(factor, Generated):
            kernels.append(replaced_orbital(graph, factor.group, symmetric=symmetric))
    return kernels
