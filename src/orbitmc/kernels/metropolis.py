"""Metropolis: propose new values of a few variables, the same ones in all lanes, and decide.

A kernel writes which variables may change into `target`, their proposed values into `proposed`,
and the logarithm of its proposal ratio (0 if symmetric) into `change`; then it calls
`accept_reject`. The change of log-weight is taken from the true model, whatever suggested the
proposal.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc._numba.jit import shared
from orbitmc._simd.random import accept_by_log_ratio, lanes_of
from orbitmc._simd.row_operations import (
    add_counted_rise,
    add_curved_rise,
    add_rise,
    count_both,
    exchange_rows,
    keep_accepted,
    rows_differ,
)
from orbitmc._util.arrays import Bytes, Floats, Index, Numbers
from orbitmc.conditionals.classify import COUNT
from orbitmc.conditionals.draws import scratch
from orbitmc.conditionals.fields import local_curve, local_field, neighbour_count_field
from orbitmc.conditionals.layout import Conditionals, Scratch
from orbitmc.conditionals.prepared import PreparedGraph
from orbitmc.graph.factor_graph import FactorGraph

# Sums of log-potentials per lane, of the factors that a proposal may change.


@shared
def add_affected(graph: FactorGraph, memory: Any, values: Bytes, count: Index, sign: float) -> None:
    """Add or subtract the log-potentials of the first `count` affected factors."""
    for place in range(count):
        factor = memory.affected[place]
        first, last = graph.scope_start[factor], graph.scope_start[factor + 1]
        if factor < graph.first_clause and last - first == 2:
            _add_pair(graph, memory, values, factor, sign)
        else:
            add_potentials(graph, memory, values, factor, sign)


@shared
def _add_pair(graph: FactorGraph, memory: Any, values: Bytes, factor: Index, sign: float) -> None:
    """Do what `add_potentials` does for a table of two variables, in one go."""
    first = np.uint64(graph.scope_start[factor])
    left, right = np.uint64(graph.scope[first]), np.uint64(graph.scope[first + np.uint64(1)])
    stride, start = graph.stride[first], graph.table_start[graph.table_of[factor]]
    for lane in range(lanes_of(memory.scratch)):
        place = start + stride * np.uint32(values[left, lane]) + np.uint32(values[right, lane])
        memory.change[lane] += sign * graph.table[np.uint64(place)]


@shared
def add_potentials(
    graph: FactorGraph, memory: Any, values: Bytes, factor: Index, sign: float
) -> None:
    """Add or subtract one factor's log-potentials; a present state's are always finite."""
    place, satisfied = memory.scratch.place, memory.scratch.pattern
    start = graph.table_start[graph.table_of[factor]]
    first, last = graph.scope_start[factor], graph.scope_start[factor + 1]
    if factor < graph.first_clause:
        for lane in range(lanes_of(memory.scratch)):
            place[lane] = start
        for edge in range(first, last):
            variable, stride = np.uint64(graph.scope[edge]), graph.stride[edge]
            for lane in range(lanes_of(memory.scratch)):
                place[lane] += stride * np.uint32(values[variable, lane])
    else:
        for lane in range(lanes_of(memory.scratch)):
            satisfied[lane] = 0
        for edge in range(first, last):
            variable, wanted = np.uint64(graph.scope[edge]), np.uint8(graph.satisfying[edge])
            for lane in range(lanes_of(memory.scratch)):
                satisfied[lane] |= np.uint8(values[variable, lane] == wanted)
        for lane in range(lanes_of(memory.scratch)):
            place[lane] = start + np.uint32(satisfied[lane])
    for lane in range(lanes_of(memory.scratch)):
        memory.change[lane] += sign * graph.table[np.uint64(place[lane])]


PROPOSALS, NULL, ACCEPTED, MOVED = range(4)
JUMP_OUTCOMES = ("proposals", "null proposals", "accepted", "moved variables")
"""A null proposal changes nothing in its lane; `accepted` counts the others only."""


ROUND, HOW_MANY = range(2)

GAINS_TOGETHER = 8  # sums of more float32 would lose digits that their fields have


class ProposalMemory(NamedTuple):
    """Arrays of one pack.

    `changed` says in which lanes something moved. `affected` lists factors; `listed` holds the
    number of the present round and how many factors it has listed, `seen` in which round each
    factor was listed last.
    """

    target: NDArray[np.uint32]
    proposed: Bytes
    change: Floats
    gain: NDArray[Any]
    coins: Bytes
    accepted: Bytes
    changed: Bytes
    affected: NDArray[np.uint32]
    seen: NDArray[np.uint32]
    listed: NDArray[np.uint32]
    scratch: Scratch


def proposal_memory(prepared: PreparedGraph, lanes: int, targets: int) -> ProposalMemory:
    """Give arrays for proposals that change up to `targets` variables."""
    known = prepared.conditionals
    direct = 0 if known.pairwise.all() else prepared.graph.factors
    return ProposalMemory(
        target=np.zeros(targets, dtype=np.uint32),
        proposed=np.zeros((targets, lanes), dtype=np.uint8),
        change=np.zeros(lanes),
        gain=np.zeros(lanes, dtype=known.bias.dtype),
        coins=np.zeros(lanes, dtype=np.uint8),
        accepted=np.zeros(lanes, dtype=np.uint8),
        changed=np.zeros(lanes, dtype=np.uint8),
        affected=np.zeros(direct, dtype=np.uint32),
        seen=np.zeros(direct, dtype=np.uint32),
        listed=np.zeros(2, dtype=np.uint32),
        scratch=scratch(prepared, lanes),
    )


@shared
def accept_reject(
    prepared: PreparedGraph,
    memory: ProposalMemory,
    values: Bytes,
    outcomes: Numbers,
    rng: Any,
    count: Index,
) -> None:
    """Accept or reject the proposal for the first `count` targets, lane by lane."""
    if apply_proposal(prepared, memory, values, count):
        accept_by_log_ratio(rng, memory.change, memory.accepted)
        finish(memory, values, outcomes, count)
    else:
        count_null(memory, outcomes)


@shared
def accept_all(memory: ProposalMemory, values: Bytes, outcomes: Numbers, count: Index) -> None:
    """Accept the proposal in every lane, without looking at the model."""
    for place in range(count):
        _exchange(memory, values, place)
    for lane in range(lanes_of(memory.scratch)):
        memory.accepted[lane] = 1
    finish(memory, values, outcomes, count)


@shared
def count_null(memory: ProposalMemory, outcomes: Numbers) -> None:
    """Count a proposal that changes nothing in any lane."""
    outcomes[PROPOSALS] += lanes_of(memory.scratch)
    outcomes[NULL] += lanes_of(memory.scratch)


@shared
def apply_proposal(
    prepared: PreparedGraph, memory: ProposalMemory, values: Bytes, count: Index
) -> bool:
    """Exchange present and proposed values, adding the change of log-weight to `change`.

    Gives false, and does nothing, when no lane would change.
    """
    if _all_pairwise(prepared.conditionals, memory, count):
        return _change_one_by_one(prepared.conditionals, memory, values, count)
    return _change_together(prepared.graph, memory, values, count)


@shared
def _all_pairwise(conditionals: Conditionals, memory: ProposalMemory, count: Index) -> bool:
    if len(memory.affected) == 0:
        return True
    place = 0
    while place < count and conditionals.pairwise[memory.target[place]]:
        place += 1
    return place == count


@shared
def finish(memory: ProposalMemory, values: Bytes, outcomes: Numbers, count: Index) -> None:
    """Take back the values of rejected lanes and count what happened."""
    accepted, changed, width = memory.accepted, memory.changed, memory.scratch.width
    for lane in range(lanes_of(memory.scratch)):
        changed[lane] = 0
    moved = 0
    for place in range(count):
        variable = memory.target[place]
        moved += keep_accepted(values, variable, memory.proposed, place, accepted, changed, width)
    lanes = lanes_of(memory.scratch)
    outcomes[PROPOSALS] += lanes
    outcomes[NULL] += lanes - count_both(changed, changed, width)
    outcomes[ACCEPTED] += count_both(changed, accepted, width)
    outcomes[MOVED] += moved


@shared
def _differs(memory: ProposalMemory, values: Bytes, place: Index) -> bool:
    """Whether the proposal changes a target in any lane."""
    variable = memory.target[place]
    return rows_differ(values, variable, memory.proposed, place, memory.scratch.width)


@shared
def _exchange(memory: ProposalMemory, values: Bytes, place: Index) -> None:
    exchange_rows(values, memory.target[place], memory.proposed, place, memory.scratch.width)


@shared
def _change_one_by_one(
    conditionals: Conditionals, memory: ProposalMemory, values: Bytes, count: Index
) -> bool:
    """Change pairwise variables in turn; each sees the earlier ones changed, so the sum is right.

    Intermediate states need not be possible in general, so all factors must be finite.
    """
    moving = False
    for place in range(count):
        if _differs(memory, values, place):
            moving = True
            if conditionals.path[memory.target[place]] == COUNT:
                _add_counted_rise(conditionals, memory, values, place)
            elif conditionals.affine[memory.target[place]]:
                _add_rise(conditionals, memory, values, place)
            else:
                _add_curved_rise(conditionals, memory, values, place)
            _exchange(memory, values, place)
        if place % GAINS_TOGETHER == GAINS_TOGETHER - 1:
            _add_gains(memory)
    _add_gains(memory)
    return moving


@shared
def _add_gains(memory: ProposalMemory) -> None:
    """Add what has been gained to the change, and begin anew."""
    for lane in range(lanes_of(memory.scratch)):
        memory.change[lane] += memory.gain[lane]
        memory.gain[lane] = 0.0


@shared
def _add_counted_rise(
    conditionals: Conditionals, memory: ProposalMemory, values: Bytes, place: Index
) -> None:
    """Add what changing one variable changes whose neighbours count alike."""
    variable, width = memory.target[place], memory.scratch.width
    (neighbour, role, first, last), low, step = neighbour_count_field(conditionals, variable)
    gain, proposed = memory.gain, memory.proposed
    add_counted_rise(
        gain, neighbour, role, first, last, low, step, values, variable, proposed, place, width
    )


@shared
def _add_rise(
    conditionals: Conditionals, memory: ProposalMemory, values: Bytes, place: Index
) -> None:
    """Add what changing one affine variable changes."""
    variable, scratch = memory.target[place], memory.scratch
    local_field(conditionals, scratch, values, variable)
    add_rise(memory.gain, scratch.field, values, variable, memory.proposed, place, scratch.width)


@shared
def _add_curved_rise(
    conditionals: Conditionals, memory: ProposalMemory, values: Bytes, place: Index
) -> None:
    """Add what changing one variable with a curve changes."""
    variable, scratch, proposed = memory.target[place], memory.scratch, memory.proposed
    field, bend, width = scratch.field, scratch.bend, scratch.width
    local_curve(conditionals, scratch, values, variable)
    add_curved_rise(memory.gain, field, bend, values, variable, proposed, place, width)


@shared
def _change_together(
    graph: FactorGraph, memory: ProposalMemory, values: Bytes, count: Index
) -> bool:
    """Change all targets at once, between two sums over the factors around them."""
    moving = _list_affected(graph, memory, values, count)
    if moving:
        add_affected(graph, memory, values, memory.listed[HOW_MANY], -1.0)
        for place in range(count):
            _exchange(memory, values, place)
        add_affected(graph, memory, values, memory.listed[HOW_MANY], 1.0)
    return moving


@shared
def _list_affected(graph: FactorGraph, memory: ProposalMemory, values: Bytes, count: Index) -> bool:
    """List the factors around the targets that change, each once; gives whether any does."""
    moving = False
    memory.listed[ROUND] += np.uint32(1)
    memory.listed[HOW_MANY] = 0
    if memory.listed[ROUND] == 0:  # after 2^32 rounds the numbers begin anew
        memory.seen[:] = 0
        memory.listed[ROUND] = 1
    for place in range(count):
        if not _differs(memory, values, place):
            continue
        moving = True
        variable = memory.target[place]
        for edge in range(graph.incident_start[variable], graph.incident_start[variable + 1]):
            factor = graph.incident[edge]
            if memory.seen[factor] != memory.listed[ROUND]:
                memory.seen[factor] = memory.listed[ROUND]
                memory.affected[memory.listed[HOW_MANY]] = factor
                memory.listed[HOW_MANY] += np.uint32(1)
    return moving
