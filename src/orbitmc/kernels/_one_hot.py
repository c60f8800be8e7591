"""Block Gibbs on one-hot groups: draw which one of a few binary variables is 1, if any.

Exact because it is a draw from the conditional distribution restricted to the states with at most
one 1 in the group, and those are the same from each of them; any other state is left alone.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orbitmc._numba.jit import implementation, shared
from orbitmc._simd.random import choose_by_log_weights, choose_by_table, integer, lanes_of
from orbitmc._util.arrays import (
    Bytes,
    Floats,
    Index,
    Indices,
    Numbers,
    indices,
    lengths,
    readonly,
    short_repr,
    starts,
)
from orbitmc.conditionals.draws import scratch
from orbitmc.conditionals.fields import local_field
from orbitmc.conditionals.layout import Scratch
from orbitmc.conditionals.prepared import PreparedGraph, limits_alike
from orbitmc.errors import InputError
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.log_weights import factors_around
from orbitmc.kernels._relabelling import check_set
from orbitmc.kernels.protocol import steps

# Weigh the candidates of a one-hot group by the factors around it, each looked at once.
#
# All members are 0 meanwhile. A factor may be impossible then (a group of which one must be 1), so
# such factors are counted, not summed: no infinity is ever subtracted.


@shared
def weigh_by_factors(
    graph: FactorGraph, kernel: Any, memory: Any, values: Bytes, group: Index
) -> None:
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
                    _add_member(graph, memory, factor, edge, candidate)
    for candidate in range(last - first, -1, -1):
        for lane in range(lanes_of(memory.scratch)):
            saved = memory.lost[candidate, lane] if candidate else np.uint32(0)
            if saved != memory.lost[0, lane]:
                memory.log_weights[candidate, lane] = -np.inf


@shared
def _find_places(graph: FactorGraph, scratch: Scratch, values: Bytes, factor: Index) -> None:
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
def _count_lost(graph: FactorGraph, memory: Any) -> None:
    for lane in range(lanes_of(memory.scratch)):
        base = graph.table[np.uint64(memory.scratch.place[lane])]
        memory.lost[0, lane] += np.uint32(base == -np.inf)


@shared
def _add_member(
    graph: FactorGraph, memory: Any, factor: Index, edge: Index, candidate: Index
) -> None:
    """Add what a factor changes when the member at `edge` of its scope becomes the only 1."""
    place, pattern = memory.scratch.place, memory.scratch.pattern
    start = graph.table_start[graph.table_of[factor]]
    if factor < graph.first_clause:
        stride = graph.stride[edge]
        for lane in range(lanes_of(memory.scratch)):
            after = graph.table[np.uint64(place[lane] + stride)]
            _add_change(graph, memory, candidate, lane, after)
    else:
        needed = np.uint8(0) if graph.satisfying[edge] == 1 else np.uint8(2)
        unsatisfied, satisfied = graph.table[start], graph.table[start + np.uint32(1)]
        for lane in range(lanes_of(memory.scratch)):
            after = satisfied if pattern[lane] >= needed else unsatisfied
            _add_change(graph, memory, candidate, lane, after)


@shared
def _add_change(
    graph: FactorGraph, memory: Any, candidate: Index, lane: Index, after: float
) -> None:
    base = graph.table[np.uint64(memory.scratch.place[lane])]
    lost = base == -np.inf
    memory.lost[candidate, lane] += np.uint32(lost)
    memory.log_weights[candidate, lane] += after - (0.0 if lost else base)


# Tables of a one-hot group's conditional, one row for each joint value of what surrounds it.

MOST_GROUP_ENTRIES = 4096  # of a group's table: a few tens of KiB at most while it is made


def surroundings(
    graph: FactorGraph, group: NDArray[np.int64], factors: NDArray[np.uint32]
) -> NDArray[np.int64]:
    """The variables outside a group that share a factor with it, each once."""
    scopes = [graph.scope_of(int(factor)) for factor in factors]
    near = np.unique(np.concatenate([np.zeros(0, dtype=np.uint32), *scopes]))
    return np.setdiff1d(near.astype(np.int64), group)


def fits(graph: FactorGraph, group: NDArray[np.int64], outside: NDArray[np.int64]) -> bool:
    """Whether a table stays small."""
    entries = np.log(len(group) + 1) + np.log(graph.cardinality[outside]).sum()
    return bool(entries <= np.log(MOST_GROUP_ENTRIES) + 1e-9)


def cumulative_probabilities(
    graph: FactorGraph,
    group: NDArray[np.int64],
    factors: NDArray[np.uint32],
    outside: NDArray[np.int64],
) -> Floats:
    """Chances of each candidate but the last, or an earlier one; candidates vary fastest.

    Candidates are "no member is 1", "the first is", and so on. Rows follow the joint values of
    the surroundings, last variable fastest; where no candidate is possible the row is 1.
    """
    sizes = graph.cardinality[outside].astype(np.int64)
    logs = np.zeros((len(group) + 1, *sizes))
    for factor in factors:
        for candidate in range(len(group) + 1):
            logs[candidate] += _slice_table(graph, int(factor), group, candidate, outside)
    rows = np.moveaxis(logs, 0, -1).reshape(-1, len(group) + 1)
    best = rows.max(axis=1, keepdims=True)
    weights = np.exp(rows - np.where(np.isneginf(best), 0.0, best))
    upto = np.cumsum(weights, axis=1)
    possible_later = upto[:, :-1] < upto[:, -1:]
    chances = np.divide(upto, upto[:, -1:], out=np.ones_like(upto), where=upto[:, -1:] > 0)
    cumulative: Floats = np.where(possible_later, chances[:, :-1], 1.0)
    return cumulative


def _slice_table(
    graph: FactorGraph,
    factor: int,
    group: NDArray[np.int64],
    candidate: int,
    outside: NDArray[np.int64],
) -> Floats:
    """A factor's log-potentials given one candidate, with an axis for each outside variable."""
    table = graph.full_table(factor)
    scope = graph.scope_of(factor).astype(np.int64)
    inside = np.isin(scope, group)
    chosen = group[candidate - 1] if candidate else -1
    where = tuple(
        int(variable == chosen) if member else slice(None)
        for variable, member in zip(scope, inside, strict=True)
    )
    left = np.asarray(table[where])
    places = np.searchsorted(outside, scope[~inside])
    shape = np.ones(len(outside), dtype=np.int64)
    shape[places] = left.shape
    return left.transpose(np.argsort(places)).reshape(shape)


MOST_GROUP_MEMBERS = 255  # which of them is 1, or none, fits a byte

TABLE, FIELDS, FACTORS = range(3)
BLOCK_UPDATES, LEFT_ALONE, MOVED = range(3)
ONE_HOT_OUTCOMES = ("block updates", "left alone", "moved variables")


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

    Group `g` is `member[start[g]:start[g + 1]]`. With few variables around it, `limit` holds its
    cumulative chances from `limit_start[g]` on, by the values of the `outside` variables and
    their `stride`. Otherwise fields say it all if its members are affine; otherwise
    `factor[factor_start[g]:…]` are the factors around it.
    """

    start: Indices
    member: Indices
    way: Bytes
    outside_start: Indices
    outside: Indices
    stride: Indices
    limit_start: Indices
    limit: NDArray[np.generic]
    factor_start: Indices
    factor: Indices

    def __repr__(self) -> str:
        return short_repr(self)

    @property
    def outcomes(self) -> tuple[str, ...]:
        return ONE_HOT_OUTCOMES

    def memory(self, prepared: PreparedGraph, lanes: int) -> OneHotMemory:
        most = int(lengths(self.start).max())
        return OneHotMemory(
            np.zeros((most + 1, lanes)),
            np.zeros((most + 1, lanes), dtype=np.uint32),
            np.zeros((most, lanes), dtype=np.uint8),
            np.zeros(lanes, dtype=np.uint8),
            np.zeros((1, lanes), dtype=np.uint8),
            scratch(prepared, lanes),
        )


@implementation(steps, OneHot)
def one_hot_steps(
    prepared: PreparedGraph,
    kernel: OneHot,
    memory: OneHotMemory,
    values: Bytes,
    outcomes: Numbers,
    rng: Any,
    count: int,
) -> None:
    for _ in range(count):
        group = integer(rng, len(kernel.start) - 1)
        first = np.int64(kernel.start[group])
        size = np.int64(kernel.start[group + 1]) - first
        _clear_group(kernel, memory, values, first, size)
        if kernel.way[group] == TABLE:
            _find_rows(kernel, memory.scratch, values, group)
            choose_by_table(rng, kernel.limit, memory.scratch.place, size + 1, memory.picked, 0)
        else:
            if kernel.way[group] == FIELDS:
                _weigh_by_fields(prepared, kernel, memory, values, first, size)
            else:
                weigh_by_factors(prepared.graph, kernel, memory, values, group)
            _weigh_left_alone(memory, size)
            choose_by_log_weights(rng, memory.log_weights, size + 1, memory.picked, 0)
        _fill_group(kernel, memory, values, outcomes, first, size)


@shared
def _find_rows(kernel: OneHot, scratch: Scratch, values: Bytes, group: Index) -> None:
    """Where the limits for the joint value of a group's surroundings begin, per lane."""
    for lane in range(lanes_of(scratch)):
        scratch.place[lane] = kernel.limit_start[group]
    for edge in range(kernel.outside_start[group], kernel.outside_start[group + 1]):
        variable, stride = np.uint64(kernel.outside[edge]), kernel.stride[edge]
        for lane in range(lanes_of(scratch)):
            scratch.place[lane] += stride * np.uint32(values[variable, lane])


@shared
def _weigh_left_alone(memory: OneHotMemory, size: Index) -> None:
    """Give harmless weights to lanes that stay as they are, whatever is drawn."""
    for candidate in range(size + 1):
        for lane in range(lanes_of(memory.scratch)):
            if memory.ones[lane] > 1:
                memory.log_weights[candidate, lane] = -np.inf if candidate else 0.0


@shared
def _clear_group(
    kernel: OneHot, memory: OneHotMemory, values: Bytes, first: Index, size: Index
) -> None:
    """Remember the members' values, count their 1s up to 2, and set them all to 0."""
    for lane in range(lanes_of(memory.scratch)):
        memory.ones[lane] = 0
    for place in range(size):
        variable = np.uint64(kernel.member[first + place])
        for lane in range(lanes_of(memory.scratch)):
            value = values[variable, lane]
            memory.before[place, lane] = value
            memory.ones[lane] = min(memory.ones[lane] + value, np.uint8(2))
            values[variable, lane] = 0


@shared
def _weigh_by_fields(
    prepared: PreparedGraph,
    kernel: OneHot,
    memory: OneHotMemory,
    values: Bytes,
    first: Index,
    size: Index,
) -> None:
    """With all members at 0, the log-odds of each is the log-weight of being the only 1."""
    for lane in range(lanes_of(memory.scratch)):
        memory.log_weights[0, lane] = 0.0
    for place in range(size):
        variable: Any = kernel.member[first + place]
        local_field(prepared.conditionals, memory.scratch, values, variable)
        for lane in range(lanes_of(memory.scratch)):
            memory.log_weights[place + 1, lane] = np.float64(memory.scratch.field[lane])


@shared
def _fill_group(
    kernel: OneHot,
    memory: OneHotMemory,
    values: Bytes,
    outcomes: Numbers,
    first: Index,
    size: Index,
) -> None:
    """Give the members their new values, or in lanes left alone their old ones."""
    moved, alone = np.int64(0), np.int64(0)
    for place in range(size):
        variable = np.uint64(kernel.member[first + place])
        wanted = np.uint8(place + 1)
        for lane in range(lanes_of(memory.scratch)):
            old = memory.before[place, lane]
            drawn = np.uint8(memory.picked[0, lane] == wanted)
            new = old if memory.ones[lane] > 1 else drawn
            values[variable, lane] = new
            moved += np.int64(old ^ new)
    for lane in range(lanes_of(memory.scratch)):
        alone += np.int64(memory.ones[lane] > 1)
    outcomes[BLOCK_UPDATES] += lanes_of(memory.scratch)
    outcomes[LEFT_ALONE] += alone
    outcomes[MOVED] += moved


def one_hot(prepared: PreparedGraph, groups: Sequence[ArrayLike]) -> OneHot:
    """Draw groups of binary variables of which mostly one is 1; groups are disjoint.

    `groups` lists variables, by number. Here exactly one of three is 1:

    >>> import orbitmc as om
    >>> one_of = [[[0, 1], [1, 0]], [[1, 0], [0, 0]]]
    >>> model = om.model({name: ["no", "yes"] for name in "ABC"}, [(["A", "B", "C"], one_of)])
    >>> kernel = om.kernels.one_hot(om.kernels.prepare(model.graph), [[0, 1, 2]])
    >>> om.testing.check_kernel(kernel, models=[model]).stationary < 1e-9
    True
    """
    graph = prepared.graph
    chosen = [check_set(graph, group) for group in groups]
    if not chosen:
        raise InputError("there are no one-hot groups")
    members = np.concatenate(chosen)
    check_set(graph, members)
    for variable in members[graph.cardinality[members] != 2]:
        raise InputError(f"one-hot groups hold binary variables; variable {variable} is not")
    if max(len(group) for group in chosen) > MOST_GROUP_MEMBERS:
        raise InputError(f"a one-hot group has up to {MOST_GROUP_MEMBERS} members")
    return _assemble(prepared, chosen)


def _assemble(prepared: PreparedGraph, groups: list[NDArray[np.int64]]) -> OneHot:
    graph, known = prepared
    ways, around, limits, factors = [], [], [], []
    for group in groups:
        moved = np.zeros(graph.variables, dtype=np.bool_)
        moved[group] = True
        near = factors_around(graph, moved)
        outside = surroundings(graph, group, near)
        small = fits(graph, group, outside)
        ways.append(TABLE if small else FIELDS if known.affine[group].all() else FACTORS)
        nothing = np.zeros(0)
        limits.append(cumulative_probabilities(graph, group, near, outside) if small else nothing)
        around.append(outside if small else outside[:0])
        factors.append(near if ways[-1] == FACTORS else near[:0])
    limit = np.concatenate([part.ravel() for part in limits])
    return OneHot(
        start=starts(np.array([len(group) for group in groups])),
        member=indices(np.concatenate(groups)),
        way=readonly(np.array(ways, dtype=np.uint8)),
        outside_start=starts(np.array([len(part) for part in around])),
        outside=indices(np.concatenate(around)),
        stride=indices(
            np.concatenate([_strides(graph, *of) for of in zip(groups, around, strict=True)])
        ),
        limit_start=starts(np.array([part.size for part in limits])),
        limit=limits_alike(prepared, limit),
        factor_start=starts(np.array([len(part) for part in factors])),
        factor=indices(np.concatenate(factors)),
    )


def _strides(
    graph: FactorGraph, group: NDArray[np.int64], outside: NDArray[np.int64]
) -> NDArray[np.int64]:
    """How far a step of each outside variable moves in a group's limits."""
    sizes = graph.cardinality[outside].astype(np.int64)
    after = np.cumprod(np.append(sizes[1:], 1)[::-1])[::-1]
    return len(group) * after[: len(sizes)]
