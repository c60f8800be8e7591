"""Metropolis: propose new values of a few variables, the same ones in all lanes, and decide.

A kernel writes which variables may change into `target`, their proposed values into `proposed`,
and the logarithm of its proposal ratio (0 if symmetric) into `change`; then it calls `settle`.
The change of log-weight is taken from the true model, whatever suggested the proposal.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc.arrays import Bytes, Floats
from orbitmc.compiled import shared
from orbitmc.graph.conditionals import Conditionals, Scratch, scratch
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.local_fields import local_field
from orbitmc.random import accept_by_log_ratio, lanes_of

PROPOSALS, NULL, ACCEPTED, MOVED = range(4)
OUTCOMES = ("proposals", "null proposals", "accepted", "moved variables")
"""A null proposal changes nothing in its lane; `accepted` counts the others only."""


ROUND, COUNT = range(2)


class ProposalMemory(NamedTuple):
    """Arrays of one pack.

    `affected` lists factors; `listed` holds the number of the present round and how many factors
    it has listed, `seen` in which round each factor was listed last.
    """

    target: NDArray[np.uint32]
    proposed: Bytes
    change: Floats
    coins: Bytes
    accepted: Bytes
    moved: NDArray[np.uint32]
    affected: NDArray[np.uint32]
    seen: NDArray[np.uint32]
    listed: NDArray[np.uint32]
    scratch: Scratch


def proposal_memory(
    graph: FactorGraph, prepared: Conditionals, lanes: int, targets: int
) -> ProposalMemory:
    """Give arrays for proposals that change up to `targets` variables."""
    direct = 0 if prepared.affine.all() else graph.factors
    return ProposalMemory(
        target=np.zeros(targets, dtype=np.uint32),
        proposed=np.zeros((targets, lanes), dtype=np.uint8),
        change=np.zeros(lanes),
        coins=np.zeros(lanes, dtype=np.uint8),
        accepted=np.zeros(lanes, dtype=np.uint8),
        moved=np.zeros(lanes, dtype=np.uint32),
        affected=np.zeros(direct, dtype=np.uint32),
        seen=np.zeros(direct, dtype=np.uint32),
        listed=np.zeros(2, dtype=np.uint32),
        scratch=scratch(graph, lanes, prepared.bias.dtype.type),
    )


@shared
def settle(graph, prepared, memory, values, outcomes, rng, count):
    """Accept or reject the proposal for the first `count` targets, lane by lane."""
    if apply_proposal(graph, prepared, memory, values, count):
        accept_by_log_ratio(rng, memory.change, memory.accepted)
        finish(memory, values, outcomes, count)
    else:
        count_null(memory, outcomes)


@shared
def settle_surely(memory, values, outcomes, count):
    """Accept the proposal in every lane, without looking at the model."""
    _count_moved(memory, values, count)
    for place in range(count):
        _exchange(memory, values, place)
    for lane in range(lanes_of(memory.scratch)):
        memory.accepted[lane] = 1
    finish(memory, values, outcomes, count)


@shared
def count_null(memory, outcomes):
    """Count a proposal that changes nothing in any lane."""
    outcomes[PROPOSALS] += lanes_of(memory.scratch)
    outcomes[NULL] += lanes_of(memory.scratch)


@shared
def apply_proposal(graph, prepared, memory, values, count):
    """Exchange present and proposed values, adding the change of log-weight to `change`.

    Gives false, and does nothing, when no lane would change.
    """
    _count_moved(memory, values, count)
    if not memory.moved.any():
        return False
    affine = True
    for place in range(count):
        affine = affine and prepared.affine[memory.target[place]] != 0
    if affine:
        for place in range(count):
            _change_one(prepared, memory, values, place)
    else:
        _list_affected(graph, memory, count)
        _add_affected(graph, memory, values, -1.0)
        for place in range(count):
            _exchange(memory, values, place)
        _add_affected(graph, memory, values, 1.0)
    return True


@shared
def finish(memory, values, outcomes, count):
    """Take back the values of rejected lanes and count what happened."""
    for place in range(count):
        variable = memory.target[place]
        for lane in range(lanes_of(memory.scratch)):
            new, old = values[variable, lane], memory.proposed[place, lane]
            values[variable, lane] = new if memory.accepted[lane] else old
    null, accepted, moved = 0, 0, 0
    for lane in range(lanes_of(memory.scratch)):
        changed = memory.moved[lane] > 0
        null += not changed
        accepted += changed and memory.accepted[lane] != 0
        moved += np.int64(memory.moved[lane]) * np.int64(memory.accepted[lane])
    outcomes[PROPOSALS] += lanes_of(memory.scratch)
    outcomes[NULL] += null
    outcomes[ACCEPTED] += accepted
    outcomes[MOVED] += moved


@shared
def _count_moved(memory, values, count):
    for lane in range(lanes_of(memory.scratch)):
        memory.moved[lane] = 0
    for place in range(count):
        variable = memory.target[place]
        for lane in range(lanes_of(memory.scratch)):
            differs = values[variable, lane] != memory.proposed[place, lane]
            memory.moved[lane] += np.uint32(differs)


@shared
def _exchange(memory, values, place):
    variable = memory.target[place]
    for lane in range(lanes_of(memory.scratch)):
        old = values[variable, lane]
        values[variable, lane] = memory.proposed[place, lane]
        memory.proposed[place, lane] = old


@shared
def _change_one(prepared, memory, values, place):
    """Change one affine variable; the fields of later ones see it changed, so the sum is exact."""
    variable = memory.target[place]
    local_field(prepared, memory.scratch, values, variable)
    for lane in range(lanes_of(memory.scratch)):
        rise = np.float32(memory.proposed[place, lane]) - np.float32(values[variable, lane])
        memory.change[lane] += rise * memory.scratch.field[lane]
    _exchange(memory, values, place)


@shared
def _list_affected(graph, memory, count):
    """List the factors around the targets, each once."""
    memory.listed[ROUND] += np.uint32(1)
    memory.listed[COUNT] = 0
    if memory.listed[ROUND] == 0:  # after 2^32 rounds the numbers begin anew
        memory.seen[:] = 0
        memory.listed[ROUND] = 1
    for place in range(count):
        variable = memory.target[place]
        for edge in range(graph.incident_start[variable], graph.incident_start[variable + 1]):
            factor = graph.incident[edge]
            if memory.seen[factor] != memory.listed[ROUND]:
                memory.seen[factor] = memory.listed[ROUND]
                memory.affected[memory.listed[COUNT]] = factor
                memory.listed[COUNT] += np.uint32(1)


@shared
def _add_affected(graph, memory, values, sign):
    for place in range(memory.listed[COUNT]):
        factor = memory.affected[place]
        first, last = graph.scope_start[factor], graph.scope_start[factor + 1]
        if factor < graph.first_clause and last - first == 2:
            _add_pair(graph, memory, values, factor, sign)
        else:
            add_potentials(graph, memory, values, factor, sign)


@shared
def _add_pair(graph, memory, values, factor, sign):
    """Do what `add_potentials` does for a table of two variables, in one go."""
    first = np.uint64(graph.scope_start[factor])
    one, two = np.uint64(graph.scope[first]), np.uint64(graph.scope[first + np.uint64(1)])
    stride, start = graph.stride[first], graph.table_start[graph.table_of[factor]]
    for lane in range(lanes_of(memory.scratch)):
        place = start + stride * np.uint32(values[one, lane]) + np.uint32(values[two, lane])
        memory.change[lane] += sign * graph.table[np.uint64(place)]


@shared
def add_potentials(graph, memory, values, factor, sign):
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
