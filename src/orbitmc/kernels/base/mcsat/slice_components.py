"""What a slice leaves open falls into components; small ones are drawn by counting solutions."""

from typing import Any

import numpy as np

from orbitmc._numba.jit import shared
from orbitmc._simd.random import lane_integer
from orbitmc._util.arrays import Index
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.kernels.base.mcsat.slices import Ranks, SliceMemory, holds, next_allowed

NONE = -1


@shared
def list_constraints(graph: FactorGraph, ranks: Ranks, memory: SliceMemory) -> None:
    """List the constraints that a slice leaves, and those around each open variable."""
    for variable in range(len(memory.near_start)):
        memory.near_start[variable] = 0
    count = np.int64(0)
    for factor in ranks.several:
        if memory.level[factor] > 0:
            memory.active[count] = factor
            count += 1
            for edge in range(graph.scope_start[factor], graph.scope_start[factor + 1]):
                variable = graph.scope[edge]
                if memory.left[variable] > 1:
                    memory.near_start[variable] += 1
    end = np.int32(0)
    for variable in range(len(memory.near_start)):
        end += memory.near_start[variable]
        memory.near_start[variable] = end
    for number in range(count):
        _list_around(graph, memory, number)


@shared
def _list_around(graph: FactorGraph, memory: SliceMemory, number: Index) -> None:
    """Add a constraint to the lists of its open variables, which are filled from their ends."""
    factor = np.int64(memory.active[number])
    holding = np.int32(0)
    for edge in range(graph.scope_start[factor], graph.scope_start[factor + 1]):
        variable = graph.scope[edge]
        if memory.left[variable] > 1:
            wanted = NONE if factor < graph.first_clause else np.int64(graph.satisfying[edge])
            memory.near_start[variable] -= 1
            memory.near[memory.near_start[variable]] = number
            memory.near_wanted[memory.near_start[variable]] = wanted
            holding += np.int32(np.int64(memory.state[variable]) == wanted)
    memory.satisfied[number] = holding


@shared
def is_free(memory: SliceMemory, variable: Index) -> bool:
    """Whether no constraint is left on a variable."""
    return bool(memory.near_start[variable] == memory.near_start[variable + 1])


@shared
def gather(graph: FactorGraph, memory: SliceMemory, variable: Index) -> Index:
    """List the component of a variable, and its constraints by the last of their members.

    Gives the number of members.
    """
    size = _join(memory, variable, 0)
    reached = 0
    while reached < size:
        current = np.int64(memory.member[reached])
        reached += 1
        for edge in range(memory.near_start[current], memory.near_start[current + 1]):
            factor = np.int64(memory.active[memory.near[edge]])
            if memory.seen[factor] == 0:
                memory.seen[factor] = 1
                size = _join_scope(graph, memory, factor, size)
    return size


@shared
def _join(memory: SliceMemory, variable: Index, size: Index) -> Index:
    memory.member[size] = variable
    memory.kept[size] = memory.state[variable]
    memory.first[size] = NONE
    memory.place[variable] = size + 1
    return size + 1


@shared
def _join_scope(graph: FactorGraph, memory: SliceMemory, factor: Index, size: Index) -> Index:
    """Add the open variables of a constraint, then list it under the last of them."""
    last = np.int64(0)
    for edge in range(graph.scope_start[factor], graph.scope_start[factor + 1]):
        variable = graph.scope[edge]
        if memory.left[variable] > 1:
            if memory.place[variable] == 0:
                size = _join(memory, variable, size)
            last = max(last, np.int64(memory.place[variable]))
    memory.following[factor] = memory.first[last - 1]
    memory.first[last - 1] = factor
    return size


@shared
def draw_by_counting(
    graph: FactorGraph, ranks: Ranks, memory: SliceMemory, size: Index, most_nodes: Index, rng: Any
) -> bool:
    """Draw a component uniformly from its solutions; false if the search takes too many nodes.

    How far the search goes depends on the slice alone, so giving up favours no state.
    """
    target = np.int64(-1)
    for _ in range(2):
        count = search(graph, ranks, memory, size, most_nodes, target)
        if count < 0:
            restore(memory, size)
            return False
        if target < 0:
            target = np.int64(lane_integer(rng, count))
    return True


@shared
def restore(memory: SliceMemory, size: Index) -> None:
    """Give a component back the state it had."""
    for place in range(size):
        memory.state[memory.member[place]] = memory.kept[place]


@shared
def search(
    graph: FactorGraph,
    ranks: Ranks,
    memory: SliceMemory,
    size: Index,
    most_nodes: Index,
    target: Index,
) -> Index:
    """Go through the solutions up to number `target`, or all; gives how many were met.

    Depth first, one member after the other; -1 if that takes more than `most_nodes` nodes.
    """
    depth, found, nodes = 0, 0, 0
    memory.trial[0] = 0
    while depth >= 0:
        variable = np.int64(memory.member[depth])
        value = next_allowed(graph, ranks, memory, variable, np.int64(memory.trial[depth]))
        if value < 0:
            depth -= 1
            continue
        nodes += 1
        if nodes > most_nodes:
            return -1
        memory.state[variable] = value
        memory.trial[depth] = value + 1
        if _agrees(graph, ranks, memory, depth):
            if depth < size - 1:
                depth += 1
                memory.trial[depth] = 0
            else:
                found += 1
                if found == target + 1:
                    return found
    return found


@shared
def _agrees(graph: FactorGraph, ranks: Ranks, memory: SliceMemory, depth: Index) -> bool:
    """Whether the constraints that end with a member hold."""
    factor = np.int64(memory.first[depth])
    while factor != NONE:
        if not holds(graph, ranks, memory, factor):
            return False
        factor = np.int64(memory.following[factor])
    return True


@shared
def pick_allowed(
    graph: FactorGraph, ranks: Ranks, memory: SliceMemory, variable: Index, number: Index
) -> Index:
    """The value with the given number among those that the slice leaves."""
    value = next_allowed(graph, ranks, memory, variable, np.int64(0))
    for _ in range(number):
        value = next_allowed(graph, ranks, memory, variable, value + 1)
    return value


@shared
def another_value(
    graph: FactorGraph, ranks: Ranks, memory: SliceMemory, variable: Index, rng: Any
) -> Index:
    """Draw one of the other values that the slice leaves; symmetric."""
    number = np.int64(0)
    if memory.left[variable] > 2:
        number = np.int64(lane_integer(rng, memory.left[variable] - 1))
    value = pick_allowed(graph, ranks, memory, variable, number)
    if value >= memory.state[variable]:
        value = next_allowed(graph, ranks, memory, variable, value + 1)
    return value
