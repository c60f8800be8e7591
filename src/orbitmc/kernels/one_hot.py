"""Block Gibbs on one-hot groups: draw which one of a few binary variables is 1, if any.

Exact because it is a draw from the conditional distribution restricted to the states with at most
one 1 in the group, and those are the same from each of them; any other state is left alone.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orbitmc.arrays import Bytes, Floats, Indices, indices, lengths, starts
from orbitmc.compiled import implementation, shared
from orbitmc.errors import InputError
from orbitmc.graph.conditionals import Conditionals, Scratch, local_field, scratch
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.potentials import factors_around
from orbitmc.kernels.kernel import steps
from orbitmc.kernels.relabelling import checked_set
from orbitmc.random import choose_by_log_weights, integer, lanes_of

MOST_MEMBERS = 255  # which of them is 1, or none, fits a byte

BLOCK_UPDATES, LEFT_ALONE, CHANGED = range(3)
OUTCOMES = ("block updates", "left alone", "changed groups")


class OneHotMemory(NamedTuple):
    """Arrays of one pack, with a row per candidate: no member is 1, the first is, and so on.

    `lost` counts the factors that are impossible when no member is 1 and, from row 1 on, those of
    them that read a member: a candidate saves itself only if it touches every one of them.
    """

    log_weights: Floats
    lost: NDArray[np.uint32]
    before: Bytes
    ones: Bytes
    picked: Bytes
    scratch: Scratch


class OneHot(NamedTuple):
    """Draw a uniformly chosen group anew among "all 0" and "exactly one 1".

    Group `g` is `member[start[g]:start[g + 1]]`; `factor[factor_start[g]:…]` are the factors
    around it, and none for groups of affine variables, whose fields say it all.
    """

    conditionals: Conditionals
    start: Indices
    member: Indices
    factor_start: Indices
    factor: Indices

    @property
    def outcomes(self) -> tuple[str, ...]:
        return OUTCOMES

    def memory(self, graph: FactorGraph, lanes: int) -> OneHotMemory:
        most = int(lengths(self.start).max())
        return OneHotMemory(
            np.zeros((most + 1, lanes)),
            np.zeros((most + 1, lanes), dtype=np.uint32),
            np.zeros((most, lanes), dtype=np.uint8),
            np.zeros(lanes, dtype=np.uint8),
            np.zeros((1, lanes), dtype=np.uint8),
            scratch(graph, lanes, self.conditionals.bias.dtype.type),
        )


@implementation(steps, OneHot)
def one_hot_steps(graph, kernel, memory, values, outcomes, rng, count):
    for _ in range(count):
        group = integer(rng, len(kernel.start) - 1)
        first = np.int64(kernel.start[group])
        size = np.int64(kernel.start[group + 1]) - first
        _clear_group(kernel, memory, values, first, size)
        if kernel.factor_start[group] == kernel.factor_start[group + 1]:
            _weigh_by_fields(kernel, memory, values, first, size)
        else:
            _weigh_by_factors(graph, kernel, memory, values, group)
        for candidate in range(size + 1):
            for lane in range(lanes_of(memory.scratch)):
                if memory.ones[lane] > 1:  # left alone, whatever is drawn
                    memory.log_weights[candidate, lane] = -np.inf if candidate else 0.0
        choose_by_log_weights(rng, memory.log_weights, size + 1, memory.picked, 0)
        _fill_group(kernel, memory, values, outcomes, first, size)


@shared
def _clear_group(kernel, memory, values, first, size):
    """Remember the members' values, count their 1s up to 2, and set them all to 0."""
    for lane in range(lanes_of(memory.scratch)):
        memory.ones[lane] = 0
    for place in range(size):
        variable = np.uint64(kernel.member[first + place])
        for lane in range(lanes_of(memory.scratch)):
            value = values[variable, lane]
            memory.before[place, lane] = value
            memory.ones[lane] = min(memory.ones[lane] + value, 2)
            values[variable, lane] = 0


@shared
def _weigh_by_fields(kernel, memory, values, first, size):
    """With all members at 0, the log-odds of each is the log-weight of being the only 1."""
    for lane in range(lanes_of(memory.scratch)):
        memory.log_weights[0, lane] = 0.0
    for place in range(size):
        local_field(kernel.conditionals, memory.scratch, values, kernel.member[first + place])
        for lane in range(lanes_of(memory.scratch)):
            memory.log_weights[place + 1, lane] = np.float64(memory.scratch.field[lane])


@shared
def _weigh_by_factors(graph, kernel, memory, values, group):
    """Sum over factors what each member changes as the only 1; impossible ones are counted."""
    first, last = np.int64(kernel.start[group]), np.int64(kernel.start[group + 1])
    for candidate in range(last - first + 1):
        for lane in range(lanes_of(memory.scratch)):
            memory.log_weights[candidate, lane] = 0.0
            memory.lost[candidate, lane] = 0
    for place in range(kernel.factor_start[group], kernel.factor_start[group + 1]):
        factor = kernel.factor[place]
        _find_places(graph, memory.scratch, values, factor)
        _count_lost(graph, memory)
        for candidate in range(1, last - first + 1):
            member = kernel.member[first + candidate - 1]
            for edge in range(graph.scope_start[factor], graph.scope_start[factor + 1]):
                if graph.scope[edge] == member:
                    _add_member(graph, memory, values, factor, edge, candidate)
    for candidate in range(last - first, -1, -1):
        for lane in range(lanes_of(memory.scratch)):
            saved = memory.lost[candidate, lane] if candidate else np.uint32(0)
            if saved != memory.lost[0, lane]:
                memory.log_weights[candidate, lane] = -np.inf


@shared
def _find_places(graph, scratch, values, factor):
    """Where each lane stands in a factor's table; `pattern` counts satisfied literals, up to 2."""
    start = graph.table_start[graph.table_of[factor]]
    for lane in range(lanes_of(scratch)):
        scratch.place[lane] = start
        scratch.pattern[lane] = 0
    for edge in range(graph.scope_start[factor], graph.scope_start[factor + 1]):
        variable = np.uint64(graph.scope[edge])
        if factor < graph.first_clause:
            stride = graph.stride[edge]
            for lane in range(lanes_of(scratch)):
                scratch.place[lane] += stride * np.uint32(values[variable, lane])
        else:
            wanted = np.uint8(graph.satisfying[edge])
            for lane in range(lanes_of(scratch)):
                has = np.uint8(values[variable, lane] == wanted)
                scratch.pattern[lane] = min(scratch.pattern[lane] + has, 2)
    if factor >= graph.first_clause:
        for lane in range(lanes_of(scratch)):
            scratch.place[lane] += np.uint32(scratch.pattern[lane] > 0)


@shared
def _count_lost(graph, memory):
    for lane in range(lanes_of(memory.scratch)):
        base = graph.table[np.uint64(memory.scratch.place[lane])]
        memory.lost[0, lane] += np.uint32(base == -np.inf)


@shared
def _add_member(graph, memory, values, factor, edge, candidate):
    """Add what a factor changes when the member at `edge` of its scope becomes the only 1."""
    place, pattern = memory.scratch.place, memory.scratch.pattern
    start = graph.table_start[graph.table_of[factor]]
    for lane in range(lanes_of(memory.scratch)):
        base = graph.table[np.uint64(place[lane])]
        if factor < graph.first_clause:
            there = place[lane] + graph.stride[edge]
        elif graph.satisfying[edge] == 1:
            there = start + np.uint32(1)
        else:
            there = start + np.uint32(pattern[lane] > 1)
        memory.lost[candidate, lane] += np.uint32(base == -np.inf)
        after = graph.table[np.uint64(there)]
        memory.log_weights[candidate, lane] += after - (0.0 if base == -np.inf else base)


@shared
def _fill_group(kernel, memory, values, outcomes, first, size):
    """Give the members their new values, or in lanes left alone their old ones."""
    changed, alone = 0, 0
    for place in range(size):
        variable = np.uint64(kernel.member[first + place])
        for lane in range(lanes_of(memory.scratch)):
            old = memory.before[place, lane]
            new = np.uint8(memory.picked[0, lane] == place + 1)
            values[variable, lane] = old if memory.ones[lane] > 1 else new
            changed += (memory.ones[lane] < 2) & (old == 1) & (new == 0)
            changed += (memory.ones[lane] == 0) & (new == 1)
    for lane in range(lanes_of(memory.scratch)):
        alone += memory.ones[lane] > 1
    outcomes[BLOCK_UPDATES] += lanes_of(memory.scratch)
    outcomes[LEFT_ALONE] += alone
    outcomes[CHANGED] += changed


def one_hot(graph: FactorGraph, prepared: Conditionals, groups: Sequence[ArrayLike]) -> OneHot:
    """Draw groups of binary variables of which mostly one is 1; groups are disjoint."""
    chosen = [checked_set(graph, group) for group in groups]
    if not chosen:
        raise InputError("there are no one-hot groups")
    members = np.concatenate(chosen)
    checked_set(graph, members)
    for variable in members[graph.cardinality[members] != 2]:
        raise InputError(f"one-hot groups hold binary variables; variable {variable} is not")
    if max(len(group) for group in chosen) > MOST_MEMBERS:
        raise InputError(f"a one-hot group has up to {MOST_MEMBERS} members")
    factors = []
    for group in chosen:
        moved = np.zeros(graph.variables, dtype=np.bool_)
        moved[group] = not prepared.affine[group].all()
        factors.append(factors_around(graph, moved))
    return OneHot(
        prepared,
        start=starts(np.array([len(group) for group in chosen])),
        member=indices(members),
        factor_start=starts(np.array([len(found) for found in factors])),
        factor=indices(np.concatenate(factors)),
    )
