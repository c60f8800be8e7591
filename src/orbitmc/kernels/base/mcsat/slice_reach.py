"""What MC-SAT surely reaches: components of the hard constraints that can be counted.

A slice may always consist of the hard constraints alone. Where their solutions can be counted,
one step then leads from any possible state to any other, so nothing there can be frozen.
"""

import numpy as np
from numpy.typing import NDArray

from orbitmc._numba.jit import compiled
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.support import hard_factors
from orbitmc.kernels.base.mcsat.mc_sat import MCSat
from orbitmc.kernels.base.mcsat.pruning import prune
from orbitmc.kernels.base.mcsat.slice_components import gather, is_free, list_constraints, search
from orbitmc.kernels.base.mcsat.slices import SliceMemory, slice_memory


def surely_reached(graph: FactorGraph, kernel: MCSat) -> NDArray[np.bool_]:
    """Whether each variable can be brought from any of its possible values to any other."""
    memory = slice_memory(graph)
    memory.level[:] = hard_factors(graph)
    reached = np.ones(graph.variables, dtype=np.bool_)
    _mark_uncounted(graph, kernel, memory, reached)
    return reached


@compiled
def _mark_uncounted(
    graph: FactorGraph, kernel: MCSat, memory: SliceMemory, reached: NDArray[np.bool_]
) -> None:
    prune(graph, kernel.ranks, memory)
    list_constraints(graph, kernel.ranks, memory)
    for variable in range(len(memory.left)):
        unlisted = memory.left[variable] > 1 and memory.place[variable] == 0
        if unlisted and not is_free(memory, variable):
            size = gather(graph, memory, variable)
            if search(graph, kernel.ranks, memory, size, kernel.most_nodes, np.int64(-1)) < 0:
                for place in range(size):
                    reached[memory.member[place]] = False
