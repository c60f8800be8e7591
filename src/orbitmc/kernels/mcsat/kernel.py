"""MC-SAT: draw a slice under the present state, then a state from the slice.

All states of a slice are equally probable, so what matters is to keep the uniform distribution
on it. Values that the slice forces are kept, variables that it leaves free are drawn; the rest
falls into components. Those that a short search can count are drawn exactly, larger ones by a
walk within the slice, which is exact too, or by SampleSAT, which is not.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc._numba.jit import compiled, implementation, shared
from orbitmc._simd.random import lane_integer, lanes_of
from orbitmc._util.arrays import Bytes, Index, Numbers, short_repr
from orbitmc.conditionals.prepared import PreparedGraph
from orbitmc.errors import InputError
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.support import hard_factors
from orbitmc.kernels.mcsat.propagation import (
    draw_by_counting,
    draw_slice,
    gather,
    is_free,
    list_constraints,
    pick_allowed,
    prune,
    search,
)
from orbitmc.kernels.mcsat.slices import Ranks, SliceMemory, ranks_of, slice_memory
from orbitmc.kernels.mcsat.walks import SampleSAT, WithinSlice, draw_large
from orbitmc.kernels.protocol import steps

MOST_NODES = 2**10  # of a search for solutions: about ten microseconds, then a walk is better
SLICE_SWEEPS = (
    3  # there and back: beyond that, what slices have in common is all that is remembered
)

UPDATES, SLICES, FORCED, FREE, COUNTED = range(5)
BY_SAMPLE_SAT = "components by SampleSAT"
MCSAT_OUTCOMES = (
    "updates",
    "slices",
    "forced variables",
    "free variables",
    "components counted",
    "components walked",
    BY_SAMPLE_SAT,
)


SLICE_SAMPLERS: dict[str, WithinSlice | SampleSAT] = {
    "walk": WithinSlice(SLICE_SWEEPS),
    "samplesat": SampleSAT(),
}
"""How components that are too large to count may be drawn."""


class MCSat(NamedTuple):
    """Draw all variables anew from a slice, in each lane apart.

    A sample is worth as many steps as there are variables: it is made at the first of them, and
    the others pass. `most_nodes` limits the search that counts solutions; `large` is what draws
    components beyond it.
    """

    ranks: Ranks
    most_nodes: int
    large: WithinSlice | SampleSAT

    def __repr__(self) -> str:
        return short_repr(self)

    @property
    def outcomes(self) -> tuple[str, ...]:
        return MCSAT_OUTCOMES

    def memory(self, prepared: PreparedGraph, lanes: int) -> SliceMemory:
        return slice_memory(prepared.graph)

    def frees(self, graph: FactorGraph) -> NDArray[np.bool_]:
        return reachable_variables(graph, self)

    def remarks(self, outcomes: Mapping[str, int]) -> tuple[str, tuple[str, ...]]:
        words = describe_slices(outcomes)
        inexact = outcomes[BY_SAMPLE_SAT] > 0
        return words, (f"{words}; slices by walk are exact",) if inexact else ()


@implementation(steps, MCSat)
def mc_sat_steps(
    prepared: PreparedGraph,
    kernel: MCSat,
    memory: SliceMemory,
    values: Bytes,
    outcomes: Numbers,
    rng: Any,
    count: int,
) -> None:
    variables = len(values)
    memory.due[0] -= count
    while memory.due[0] < 0:
        memory.due[0] += max(variables, 1)
        outcomes[UPDATES] += variables
        for lane in range(lanes_of(rng)):
            for variable in range(variables):
                memory.state[variable] = values[variable, lane]
                memory.place[variable] = 0
            _draw_state(prepared.graph, kernel, memory, outcomes, rng)
            for variable in range(variables):
                values[variable, lane] = memory.state[variable]


@shared
def _draw_state(
    graph: FactorGraph, kernel: MCSat, memory: SliceMemory, outcomes: Numbers, rng: Any
) -> None:
    ranks = kernel.ranks
    draw_slice(graph, ranks, memory, rng)
    list_constraints(graph, ranks, memory)
    outcomes[SLICES] += 1
    for variable in range(len(memory.left)):
        if memory.left[variable] == 1:
            outcomes[FORCED] += 1
        elif memory.place[variable] == 0:
            if is_free(memory, variable):
                number: Index = np.int64(lane_integer(rng, memory.left[variable]))
                if memory.left[variable] < graph.cardinality[variable]:
                    number = pick_allowed(graph, ranks, memory, variable, number)
                memory.state[variable] = number
                outcomes[FREE] += 1
                continue
            size = gather(graph, memory, variable)
            if draw_by_counting(graph, ranks, memory, size, kernel.most_nodes, rng):
                outcomes[COUNTED] += 1
            else:
                outcomes[draw_large(kernel.large, graph, ranks, memory, size, rng)] += 1


def mc_sat(
    graph: FactorGraph,
    *,
    most_nodes: int = MOST_NODES,
    large: WithinSlice | SampleSAT = SLICE_SAMPLERS["walk"],
) -> MCSat:
    """MC-SAT on a graph: exact, unless large components are drawn by SampleSAT.

    >>> import orbitmc as om
    >>> model = om.model({"A": ["no", "yes"], "B": ["no", "yes"]}, [(["A", "B"], [0, 2, 2, 1])])
    >>> om.testing.check_kernel(om.kernels.mc_sat(model.graph), models=[model]).stationary < 1e-9
    True
    """
    if most_nodes < 0:
        raise InputError(f"a search has at least 0 nodes, not {most_nodes}")
    return MCSat(ranks_of(graph), most_nodes, large)


def describe_slices(outcomes: Mapping[str, int]) -> str:
    """How the slices of a run were drawn, and whether that was exact."""
    counted, walked, sampled = (outcomes[name] for name in MCSAT_OUTCOMES[COUNTED:])
    large = f"{walked + sampled:,} of {counted + walked + sampled:,} components were too large"
    if sampled:
        return f"{large} to count and drawn by SampleSAT, so the answer is approximate"
    if walked:
        return f"{large} to count and walked in, which is exact"
    return "every slice was drawn exactly, by counting"


# What MC-SAT surely reaches: components of the hard constraints that can be counted.
#
# A slice may always consist of the hard constraints alone. Where their solutions can be counted,
# one step then leads from any possible state to any other, so nothing there can be frozen.


def reachable_variables(graph: FactorGraph, kernel: MCSat) -> NDArray[np.bool_]:
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
