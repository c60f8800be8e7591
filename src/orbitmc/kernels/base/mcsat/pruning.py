"""Unit propagation in a slice: strike out the values that no constraint supports.

What is left depends on the levels alone, never on the state or on the order of the work. The
state itself is always left, so a variable with one value left already has it.
"""

from typing import Any

import numpy as np

from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.kernels.base.mcsat.slices import Ranks, SliceMemory
from orbitmc.machine.arrays import Index
from orbitmc.machine.compiling import shared


@shared
def prune(graph: FactorGraph, ranks: Ranks, memory: SliceMemory) -> None:
    """Strike out values until nothing changes; constraints that are decided get level 0.

    Constraints on single variables go first: then few others must be looked at twice.
    """
    _allow_everything(graph, memory)
    for factor in ranks.single:
        if memory.level[factor] > 0:
            _apply_single(graph, ranks, memory, factor)
    turn, reached = 0, np.int64(0)
    waiting: Index = 0
    while waiting > 0 or turn < len(ranks.several):
        if waiting > 0:
            waiting -= 1
            factor = np.int64(memory.woken[waiting])
        else:
            factor = np.int64(ranks.several[turn])
            reached = factor + 1
            turn += 1
        if memory.level[factor] > 0:
            memory.seen[factor] = 1  # it need not wake itself
            waiting = _revise(graph, ranks, memory, factor, reached, waiting)
        memory.seen[factor] = 0


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
    number = graph.table_of[factor]
    start, end = np.int64(graph.table_start[number]), np.int64(graph.table_start[number + 1])
    _clear_supported(graph, memory, first, last)
    level = np.int64(memory.level[factor])
    undecided = False
    for entry in range(end - start):
        if _is_left(graph, ranks, memory, first, last, entry):
            if np.int64(ranks.rank[start + entry]) < level:
                undecided = True
            else:
                _support(graph, memory, first, last, entry)
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
def _is_left(
    graph: FactorGraph, ranks: Ranks, memory: SliceMemory, first: Any, last: Any, entry: Index
) -> bool:
    """Whether every value of an entry is left."""
    for edge in range(first, last):
        variable, stride = graph.scope[edge], np.uint32(graph.stride[edge])
        value = np.int64(np.uint32(entry) // stride % graph.cardinality[variable])
        if memory.allowed[np.int64(ranks.value_start[variable]) + value] == 0:
            return False
    return True


@shared
def _support(graph: FactorGraph, memory: SliceMemory, first: Any, last: Any, entry: Index) -> None:
    offset = np.int64(0)
    for edge in range(first, last):
        size, stride = graph.cardinality[graph.scope[edge]], np.uint32(graph.stride[edge])
        memory.supported[offset + np.int64(np.uint32(entry) // stride % size)] = 1
        offset += np.int64(size)


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
