"""Slices are drawn with unit propagation: strike out the values that no constraint supports.

What is left depends on the levels alone, never on the state or on the order of the work. The
state itself is always left, so a variable with one value left already has it.
"""

from typing import Any

import numpy as np

from orbitmc._numba.jit import shared
from orbitmc._simd.random import lane_integer
from orbitmc._util.arrays import Index
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.kernels.mcsat.slices import Ranks, SliceMemory, draw_level, is_satisfied, next_allowed


@shared
def draw_slice(graph: FactorGraph, ranks: Ranks, memory: SliceMemory, rng: Any) -> None:
    """Draw the slice of the present state, and strike out values as soon as that is known.

    Constraints on single variables go first: then few others must be looked at twice, and many
    clauses hold whatever their level is, so that none is drawn.
    """
    _allow_everything(graph, memory)
    for factor in ranks.single:
        draw_level(graph, ranks, memory, factor, rng)
        if memory.level[factor] > 0:
            _apply_single(graph, ranks, memory, factor)
    for factor in ranks.several:
        if _surely_holds(graph, ranks, memory, factor):
            memory.level[factor] = 0
        else:
            draw_level(graph, ranks, memory, factor, rng)
            _propagate(graph, ranks, memory, np.int64(factor))


@shared
def prune(graph: FactorGraph, ranks: Ranks, memory: SliceMemory) -> None:
    """Strike out values until nothing changes; constraints that are decided get level 0."""
    _allow_everything(graph, memory)
    for factor in ranks.single:
        if memory.level[factor] > 0:
            _apply_single(graph, ranks, memory, factor)
    for factor in ranks.several:
        _propagate(graph, ranks, memory, np.int64(factor))


@shared
def _surely_holds(graph: FactorGraph, ranks: Ranks, memory: SliceMemory, factor: Index) -> bool:
    """Whether a clause that can only demand to be satisfied is so by a value that is forced."""
    if factor < graph.first_clause or ranks.rank[graph.table_start[graph.table_of[factor]]] > 0:
        return False
    for edge in range(graph.scope_start[factor], graph.scope_start[factor + 1]):
        variable = graph.scope[edge]
        if memory.left[variable] == 1 and memory.state[variable] == graph.satisfying[edge]:
            return True
    return False


@shared
def _propagate(graph: FactorGraph, ranks: Ranks, memory: SliceMemory, factor: Index) -> None:
    """Look at a constraint, and at all before it that this concerns, until nothing changes."""
    reached = factor + 1
    memory.woken[0] = factor
    waiting: Index = 1
    while waiting > 0:
        waiting -= 1
        current = np.int64(memory.woken[waiting])
        if memory.level[current] > 0:
            memory.seen[current] = 1  # it need not wake itself
            waiting = _revise(graph, ranks, memory, current, reached, waiting)
        memory.seen[current] = 0


@shared
def _allow_everything(graph: FactorGraph, memory: SliceMemory) -> None:
    for place in range(len(memory.allowed)):
        memory.allowed[place] = 1
    for variable in range(len(memory.left)):
        memory.left[variable] = graph.cardinality[variable]
    for factor in range(len(memory.seen)):
        memory.seen[factor] = 0


@shared
def _apply_single(graph: FactorGraph, ranks: Ranks, memory: SliceMemory, factor: Index) -> None:
    """Strike out what a constraint on a single variable forbids."""
    edge = graph.scope_start[factor]
    variable, wanted = graph.scope[edge], np.int64(graph.satisfying[edge])
    start = np.int64(graph.table_start[graph.table_of[factor]])
    for value in range(np.int64(graph.cardinality[variable])):
        entry = value if factor < graph.first_clause else np.int64(value == wanted)
        if np.int64(ranks.rank[start + entry]) < memory.level[factor]:
            _strike(ranks, memory, variable, value)
    memory.level[factor] = 0


@shared
def _revise(
    graph: FactorGraph,
    ranks: Ranks,
    memory: SliceMemory,
    factor: Index,
    reached: Index,
    waiting: Index,
) -> Index:
    """Strike out what one constraint forbids; gives the new height of the woken stack."""
    if factor < graph.first_clause:
        return _revise_table(graph, ranks, memory, factor, reached, waiting)
    start = graph.table_start[graph.table_of[factor]]
    if ranks.rank[start] > 0:
        for edge in range(graph.scope_start[factor], graph.scope_start[factor + 1]):
            if _strike(ranks, memory, graph.scope[edge], graph.satisfying[edge]):
                waiting = _wake(graph, memory, graph.scope[edge], reached, waiting)
        memory.level[factor] = 0
        return waiting
    unit = _unit_literal(graph, ranks, memory, factor)
    if unit >= 0:
        variable = graph.scope[unit]
        if _keep_only(graph, ranks, memory, variable, graph.satisfying[unit]):
            waiting = _wake(graph, memory, variable, reached, waiting)
        memory.level[factor] = 0
    return waiting


@shared
def _revise_table(
    graph: FactorGraph,
    ranks: Ranks,
    memory: SliceMemory,
    factor: Index,
    reached: Index,
    waiting: Index,
) -> Index:
    _mark_supported(graph, ranks, memory, factor)
    offset, undecided = np.int64(0), 0
    for edge in range(graph.scope_start[factor], graph.scope_start[factor + 1]):
        variable = graph.scope[edge]
        size = np.int64(graph.cardinality[variable])
        if _keep_supported(ranks, memory, variable, offset, size):
            waiting = _wake(graph, memory, variable, reached, waiting)
        offset += size
        undecided += memory.left[variable] > 1
    if undecided <= 1:
        memory.level[factor] = 0
    return waiting


@shared
def _wake(
    graph: FactorGraph, memory: SliceMemory, variable: Index, reached: Index, waiting: Index
) -> Index:
    """Put constraints that read a variable on the stack, but for those not yet reached."""
    for edge in range(graph.incident_start[variable], graph.incident_start[variable + 1]):
        factor = np.int64(graph.incident[edge])
        if factor >= reached:
            break
        if memory.level[factor] > 0 and memory.seen[factor] == 0:
            memory.seen[factor] = 1
            memory.woken[waiting] = factor
            waiting += 1
    return waiting


@shared
def _unit_literal(graph: FactorGraph, ranks: Ranks, memory: SliceMemory, factor: Index) -> Index:
    """The literal that must hold, or already does; -1 if a clause still has a choice."""
    unit, possible = np.int64(-1), 0
    for edge in range(graph.scope_start[factor], graph.scope_start[factor + 1]):
        variable = graph.scope[edge]
        if memory.allowed[ranks.value_start[variable] + graph.satisfying[edge]]:
            unit = np.int64(edge)
            possible += 1
            if memory.left[variable] == 1:
                return unit
    return unit if possible == 1 else np.int64(-1)


@shared
def _keep_only(
    graph: FactorGraph, ranks: Ranks, memory: SliceMemory, variable: Index, value: Index
) -> bool:
    """Strike out every other value; whether that changes anything."""
    if memory.left[variable] == 1:
        return False
    first = np.int64(ranks.value_start[variable])
    for other in range(np.int64(graph.cardinality[variable])):
        memory.allowed[first + other] = 0
    memory.allowed[first + np.int64(value)] = 1
    memory.left[variable] = 1
    return True


@shared
def _strike(ranks: Ranks, memory: SliceMemory, variable: Index, value: Index) -> bool:
    place = np.int64(ranks.value_start[variable]) + np.int64(value)
    if memory.allowed[place] == 0:
        return False
    memory.allowed[place] = 0
    memory.left[variable] -= 1
    return True


@shared
def _mark_supported(graph: FactorGraph, ranks: Ranks, memory: SliceMemory, factor: Index) -> None:
    """Mark the values that occur in some allowed entry of a table, variable after variable.

    If no entry that is left is forbidden, the constraint is decided.
    """
    first, last = graph.scope_start[factor], graph.scope_start[factor + 1]
    start = np.int64(graph.table_start[graph.table_of[factor]])
    _clear_supported(graph, memory, first, last)
    level = np.int64(memory.level[factor])
    undecided = False
    entry = _first_entry(graph, ranks, memory, first, last)
    while entry >= 0:
        if np.int64(ranks.rank[start + entry]) < level:
            undecided = True
        else:
            _support(graph, memory, first, last)
        entry = _next_entry(graph, ranks, memory, first, last, entry)
    if not undecided:
        memory.level[factor] = 0


@shared
def _clear_supported(graph: FactorGraph, memory: SliceMemory, first: Any, last: Any) -> None:
    place = 0
    for edge in range(first, last):
        for _ in range(np.int64(graph.cardinality[graph.scope[edge]])):
            memory.supported[place] = 0
            place += 1


@shared
def _first_entry(
    graph: FactorGraph, ranks: Ranks, memory: SliceMemory, first: Any, last: Any
) -> Index:
    """The first entry of a table whose values are all left, or -1; `trial` are its values."""
    entry = np.int64(0)
    for edge in range(first, last):
        value = next_allowed(graph, ranks, memory, graph.scope[edge], np.int64(0))
        if value < 0:
            return np.int64(-1)
        memory.trial[edge - first] = value
        entry += np.int64(graph.stride[edge]) * value
    return entry


@shared
def _next_entry(
    graph: FactorGraph, ranks: Ranks, memory: SliceMemory, first: Any, last: Any, entry: Index
) -> Index:
    """The next entry of a table whose values are all left, or -1."""
    for back in range(last - first):
        edge = last - 1 - back
        variable, stride = graph.scope[edge], np.int64(graph.stride[edge])
        before = np.int64(memory.trial[edge - first])
        value = next_allowed(graph, ranks, memory, variable, before + 1)
        again = value < 0
        if again:
            value = next_allowed(graph, ranks, memory, variable, np.int64(0))
        memory.trial[edge - first] = value
        entry += stride * (value - before)
        if not again:
            return entry
    return np.int64(-1)


@shared
def _support(graph: FactorGraph, memory: SliceMemory, first: Any, last: Any) -> None:
    """Mark the values in `trial`."""
    offset = np.int64(0)
    for edge in range(first, last):
        memory.supported[offset + np.int64(memory.trial[edge - first])] = 1
        offset += np.int64(graph.cardinality[graph.scope[edge]])


@shared
def _keep_supported(
    ranks: Ranks, memory: SliceMemory, variable: Index, offset: Index, size: Index
) -> bool:
    """Strike out what is not marked; whether that changes anything."""
    changed = False
    for value in range(size):
        place = np.int64(ranks.value_start[variable]) + value
        if memory.allowed[place] and memory.supported[offset + value] == 0:
            memory.allowed[place] = 0
            memory.left[variable] -= 1
            changed = True
    return changed


# What a slice leaves open falls into components; small ones are drawn by counting solutions.

NO_VALUE = -1


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
            wanted = NO_VALUE if factor < graph.first_clause else np.int64(graph.satisfying[edge])
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
    memory.saved[size] = memory.state[variable]
    memory.first[size] = NO_VALUE
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
        memory.state[memory.member[place]] = memory.saved[place]


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
    depth, solutions, nodes = 0, 0, 0
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
                solutions += 1
                if solutions == target + 1:
                    return solutions
    return solutions


@shared
def _agrees(graph: FactorGraph, ranks: Ranks, memory: SliceMemory, depth: Index) -> bool:
    """Whether the constraints that end with a member hold."""
    factor = np.int64(memory.first[depth])
    while factor != NO_VALUE:
        if not is_satisfied(graph, ranks, memory, factor):
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
