"""From a group to the orbital kernels that suit it."""

from orbitmc.graph.conditionals.conditionals import Conditionals
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.groups.elements.decomposition import (
    Chained,
    Exchangeable,
    Listed,
    blocks_of,
    decompose,
)
from orbitmc.groups.elements.element_table import elements
from orbitmc.groups.permutation_groups import PermutationGroup, permutation_group
from orbitmc.kernels.jumps.drawn import drawn_orbital, replaced_orbital
from orbitmc.kernels.jumps.exchange import shuffle
from orbitmc.kernels.jumps.orbital import orbital, require_group
from orbitmc.kernels.kernel import Kernel


def orbital_kernels(
    graph: FactorGraph,
    prepared: Conditionals,
    group: PermutationGroup,
    *,
    symmetric: bool = False,
) -> list[Kernel]:
    """Take a group apart and sample each factor in the best way it allows.

    Symmetric factors are shuffled, small ones listed, large ones drawn from a stabilizer chain or
    by product replacement. `symmetric` promises that the group leaves the graph unchanged.
    """
    if group.is_trivial:
        return []
    require_group(graph, group)
    kernels: list[Kernel] = []
    factors = decompose(group)
    exchangeable = [factor for factor in factors if isinstance(factor, Exchangeable)]
    if exchangeable:
        blocks = blocks_of(exchangeable)
        kernels.append(shuffle(graph, prepared, blocks, symmetric=symmetric))
    listed = [factor for factor in factors if isinstance(factor, Listed)]
    if listed:
        every = [element for factor in listed for element in elements(factor.table)]
        whole = permutation_group(group.degree, every, cardinality=graph.cardinality)
        kernels.append(orbital(graph, prepared, whole, symmetric=symmetric))
    for factor in factors:
        if isinstance(factor, Chained):
            chained = drawn_orbital(
                graph, prepared, factor.chain, factor.group, symmetric=symmetric
            )
            kernels.append(chained)
        elif not isinstance(factor, Exchangeable | Listed):
            kernels.append(replaced_orbital(graph, prepared, factor.group, symmetric=symmetric))
    return kernels
