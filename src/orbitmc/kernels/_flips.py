"""Flip all variables of a set at once; accept by the true model.

Exact because a flip is its own inverse and the set is drawn without looking at the state, so the
proposal is symmetric for any sets: all variables, components, a gauge, sets that overlap.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orbitmc._numba.jit import implementation, shared
from orbitmc._simd.random import accept_by_log_ratio, integer, lanes_of, width_of
from orbitmc._util.arrays import (
    Bytes,
    Floats,
    Index,
    Indices,
    Numbers,
    count_within,
    floats,
    indices,
    short_repr,
    starts,
)
from orbitmc.conditionals.prepared import PreparedGraph, fields_in_double
from orbitmc.errors import InputError
from orbitmc.kernels._relabelling import check_set, relabelling
from orbitmc.kernels.metropolis import ACCEPTED, JUMP_OUTCOMES, MOVED, PROPOSALS
from orbitmc.kernels.protocol import Kernel, steps


class FlipMemory(NamedTuple):
    """Arrays of one pack: per lane the change of log-weight, a local field, the decision."""

    change: Floats
    field: Floats
    accepted: Bytes
    width: tuple[int, ...]


class Flips(NamedTuple):
    """Flip a uniformly chosen set of affine binary variables.

    Set `s` is `member[start[s]:start[s + 1]]`. Inside a set only a field of each member is left
    of all couplings, because two spins that both flip agree as before; `outside` lists, for each
    member, the neighbours that do not flip, with their couplings.
    """

    start: Indices
    member: Indices
    field: Floats
    outside_start: Indices
    outside: Indices
    coupling: Floats

    def __repr__(self) -> str:
        return short_repr(self)

    @property
    def outcomes(self) -> tuple[str, ...]:
        return JUMP_OUTCOMES

    def memory(self, prepared: PreparedGraph, lanes: int) -> FlipMemory:
        accepted = np.zeros(lanes, dtype=np.uint8)
        return FlipMemory(np.zeros(lanes), np.zeros(lanes), accepted, width_of(lanes))


@implementation(steps, Flips)
def flip_steps(
    prepared: PreparedGraph,
    kernel: Flips,
    memory: FlipMemory,
    values: Bytes,
    outcomes: Numbers,
    rng: Any,
    count: int,
) -> None:
    for _ in range(count):
        number = integer(rng, len(kernel.start) - 1)
        first, last = np.int64(kernel.start[number]), np.int64(kernel.start[number + 1])
        for lane in range(lanes_of(memory)):
            memory.change[lane] = 0.0
        for place in range(first, last):
            _add_change(kernel, memory, values, place)
        accept_by_log_ratio(rng, memory.change, memory.accepted)
        for place in range(first, last):
            variable = np.uint64(kernel.member[place])
            for lane in range(lanes_of(memory)):
                values[variable, lane] ^= memory.accepted[lane]
        accepted = np.int64(0)
        for lane in range(lanes_of(memory)):
            accepted += np.int64(memory.accepted[lane])
        outcomes[PROPOSALS] += lanes_of(memory)
        outcomes[ACCEPTED] += accepted
        outcomes[MOVED] += accepted * (last - first)


@shared
def _add_change(kernel: Flips, memory: FlipMemory, values: Bytes, place: Index) -> None:
    """Add what one member's flip changes, all of its set flipping with it."""
    first, last = kernel.outside_start[place], kernel.outside_start[place + 1]
    bias = kernel.field[place]
    variable = np.uint64(kernel.member[place])
    if first == last:
        if bias != 0.0:
            for lane in range(lanes_of(memory)):
                memory.change[lane] += bias - 2.0 * bias * np.float64(values[variable, lane])
        return
    for lane in range(lanes_of(memory)):
        memory.field[lane] = bias
    for edge in range(first, last):
        neighbour, coupling = np.uint64(kernel.outside[edge]), kernel.coupling[edge]
        for lane in range(lanes_of(memory)):
            memory.field[lane] += coupling * np.float64(values[neighbour, lane])
    for lane in range(lanes_of(memory)):
        rise = 1.0 - 2.0 * np.float64(values[variable, lane])
        memory.change[lane] += rise * memory.field[lane]


def flips(prepared: PreparedGraph, sets: Sequence[ArrayLike] | None = None) -> Kernel:
    """Flip one of the sets of binary variables; unless there are sets, all binary variables.

    Sets that touch only finite pairwise factors cost one look at each member; others look at
    each factor around them that a flip may change.

    >>> import orbitmc as om
    >>> grid = om.ising_grid(2, 2, 0.4, 0.1)
    >>> om.testing.check_kernel(om.kernels.flips, models=[grid]).stationary < 1e-9
    True
    """
    graph = prepared.graph
    binary = np.flatnonzero(graph.cardinality == 2)
    chosen = [check_set(graph, variables) for variables in ([binary] if sets is None else sets)]
    if not chosen:
        raise InputError("there are no sets to flip")
    members = np.concatenate(chosen)
    for variable in members[graph.cardinality[members] != 2]:
        raise InputError(f"only binary variables can be flipped; variable {variable} is not")
    if not prepared.conditionals.affine[members].all():
        return relabelling(graph, chosen, [(0, 1)] * len(chosen))
    return _affine_flips(prepared, chosen)


def _affine_flips(prepared: PreparedGraph, sets: list[NDArray[np.int64]]) -> Flips:
    graph, known = prepared
    coupling, bias = fields_in_double(prepared)
    begin = known.neighbour_start.astype(np.int64)
    inside = np.zeros(graph.variables, dtype=np.bool_)
    field: list[Floats] = []
    counts: list[Numbers] = []
    edges: list[Numbers] = []
    for members in sets:
        inside[members] = True
        degree = begin[members + 1] - begin[members]
        owner = np.repeat(np.arange(len(members)), degree)
        around = np.repeat(begin[members], degree) + count_within(degree)
        together = inside[known.neighbour[around]]
        half = np.bincount(owner, 0.5 * coupling[around] * together, minlength=len(members))
        field.append(bias[members] + half)
        edges.append(around[~together])
        counts.append(np.bincount(owner[~together], minlength=len(members)))
        inside[members] = False
    boundary = np.concatenate(edges)
    return Flips(
        start=starts(np.array([len(members) for members in sets])),
        member=indices(np.concatenate(sets)),
        field=floats(np.concatenate(field)),
        outside_start=starts(np.concatenate(counts)),
        outside=indices(known.neighbour[boundary]),
        coupling=floats(coupling[boundary]),
    )
