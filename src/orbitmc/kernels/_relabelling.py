"""Exchange two labels in all variables of a set at once; accept by the true model.

Exact because exchanging two labels is its own inverse and the set is drawn without looking at the
state, so the proposal is symmetric for any sets and labels.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orbitmc._numba.jit import implementation, shared
from orbitmc._simd.random import accept_by_log_ratio, integer, lanes_of
from orbitmc._util.arrays import (
    Bytes,
    Floats,
    Index,
    Indices,
    Numbers,
    indices,
    readonly,
    row_classes,
    short_repr,
    starts,
)
from orbitmc.conditionals.draws import scratch
from orbitmc.conditionals.layout import Scratch
from orbitmc.conditionals.prepared import PreparedGraph
from orbitmc.errors import InputError
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.log_weights import factors_around
from orbitmc.kernels.metropolis import (
    ACCEPTED,
    JUMP_OUTCOMES,
    MOVED,
    NULL,
    PROPOSALS,
    add_potentials,
)
from orbitmc.kernels.protocol import flag_variables, steps


class RelabellingMemory(NamedTuple):
    """Arrays of one pack, per lane: change of log-weight, how many variables move, the decision."""

    change: Floats
    moved: NDArray[np.uint32]
    accepted: Bytes
    scratch: Scratch


class Relabelling(NamedTuple):
    """Exchange the labels `first[s]` and `second[s]` in a uniformly chosen set `s`.

    Its members are `member[start[s]:start[s + 1]]`. `factor[factor_start[s]:…]` are the factors
    around it whose log-potentials can change: one that does not tell the labels apart is left out.
    """

    start: Indices
    member: Indices
    first: Bytes
    second: Bytes
    factor_start: Indices
    factor: Indices

    def __repr__(self) -> str:
        return short_repr(self)

    @property
    def outcomes(self) -> tuple[str, ...]:
        return JUMP_OUTCOMES

    def memory(self, prepared: PreparedGraph, lanes: int) -> RelabellingMemory:
        return RelabellingMemory(
            np.zeros(lanes),
            np.zeros(lanes, dtype=np.uint32),
            np.zeros(lanes, dtype=np.uint8),
            scratch(prepared, lanes),
        )


@implementation(steps, Relabelling)
def relabelling_steps(
    prepared: PreparedGraph,
    kernel: Relabelling,
    memory: RelabellingMemory,
    values: Bytes,
    outcomes: Numbers,
    rng: Any,
    count: int,
) -> None:
    for _ in range(count):
        number = integer(rng, len(kernel.start) - 1)
        for lane in range(lanes_of(memory.scratch)):
            memory.change[lane] = 0.0
            memory.moved[lane] = 0
            memory.accepted[lane] = 0
        _add_factors(prepared.graph, kernel, memory, values, number, -1.0)
        _exchange_labels(kernel, memory, values, number)
        _add_factors(prepared.graph, kernel, memory, values, number, 1.0)
        for lane in range(lanes_of(memory.scratch)):
            outcomes[NULL] += memory.moved[lane] == 0
            memory.moved[lane] = 0
        accept_by_log_ratio(rng, memory.change, memory.accepted)
        _exchange_labels(kernel, memory, values, number)
        _count(memory, outcomes)


@shared
def _add_factors(
    graph: FactorGraph,
    kernel: Relabelling,
    memory: RelabellingMemory,
    values: Bytes,
    number: Index,
    sign: float,
) -> None:
    for place in range(kernel.factor_start[number], kernel.factor_start[number + 1]):
        add_potentials(graph, memory, values, kernel.factor[place], sign)


@shared
def _exchange_labels(
    kernel: Relabelling, memory: RelabellingMemory, values: Bytes, number: Index
) -> None:
    """Exchange the two labels in the lanes that are not (or no longer) accepted."""
    first, second = kernel.first[number], kernel.second[number]
    for place in range(kernel.start[number], kernel.start[number + 1]):
        variable = np.uint64(kernel.member[place])
        for lane in range(lanes_of(memory.scratch)):
            value = values[variable, lane]
            has = (value == first) | (value == second)
            memory.moved[lane] += np.uint32(has)
            if has & (memory.accepted[lane] == 0):
                values[variable, lane] = first ^ second ^ value


@shared
def _count(memory: RelabellingMemory, outcomes: Numbers) -> None:
    for lane in range(lanes_of(memory.scratch)):
        changed = memory.accepted[lane] != 0 and memory.moved[lane] > 0
        outcomes[ACCEPTED] += changed
        outcomes[MOVED] += np.int64(memory.moved[lane]) * np.int64(memory.accepted[lane])
    outcomes[PROPOSALS] += lanes_of(memory.scratch)


def relabelling(
    graph: FactorGraph, sets: Sequence[ArrayLike], labels: Sequence[tuple[int, int]]
) -> Relabelling:
    """Exchange a pair of labels in one of the sets of variables; a pair belongs to each set.

    >>> import orbitmc as om
    >>> grid = om.potts_grid(1, 2, 3, 0.7)
    >>> kernel = om.kernels.relabelling(grid.graph, [[0, 1]], [(0, 2)])
    >>> om.testing.check_kernel(kernel, models=[grid]).stationary < 1e-9
    True
    """
    chosen = [check_set(graph, members) for members in sets]
    if not chosen or len(labels) != len(chosen):
        raise InputError(f"{len(chosen)} sets need as many pairs of labels, at least one")
    factors = []
    for members, (label, partner) in zip(chosen, labels, strict=True):
        smallest = int(graph.cardinality[members].min())
        if label == partner or not (0 <= label < smallest and 0 <= partner < smallest):
            raise InputError(
                f"a set whose variables have {smallest} values or more "
                f"cannot exchange the labels {label} and {partner}"
            )
        factors.append(_label_dependent_factors(graph, members, label, partner))
    return Relabelling(
        start=starts(np.array([len(members) for members in chosen])),
        member=indices(np.concatenate(chosen)),
        first=readonly(np.array([label for label, _ in labels], dtype=np.uint8)),
        second=readonly(np.array([other for _, other in labels], dtype=np.uint8)),
        factor_start=starts(np.array([len(part) for part in factors])),
        factor=indices(np.concatenate(factors)),
    )


def check_set(graph: FactorGraph, members: ArrayLike) -> NDArray[np.int64]:
    """Give the variables of a set; refuse an empty one, strangers and repetitions."""
    variables = np.asarray(members)
    if variables.ndim != 1 or not len(variables) or not np.issubdtype(variables.dtype, np.integer):
        raise InputError(f"a set is a list of variables, at least one, not {members!r}")
    if (
        len(np.unique(variables)) != len(variables)
        or variables.min() < 0
        or variables.max() >= graph.variables
    ):
        raise InputError(f"a set needs distinct variables from 0 to {graph.variables - 1}")
    return variables.astype(np.int64)


def _label_dependent_factors(
    graph: FactorGraph, members: NDArray[np.int64], label: int, partner: int
) -> Indices:
    """The factors around a set whose log-potentials depend on which of two labels is which."""
    moved = flag_variables(graph, members)
    around = factors_around(graph, moved).astype(np.int64)
    arities = graph.scope_start[around + 1].astype(np.int64) - graph.scope_start[around]
    telling = np.zeros(len(around), dtype=np.bool_)
    for arity in np.unique(arities).tolist():
        places = np.flatnonzero(arities == arity)
        factors = around[places]
        edges = graph.edges_of(factors, arity)
        scopes, is_clause = graph.scope[edges], factors >= graph.first_clause
        satisfying = np.where(
            is_clause[:, None], graph.satisfying[edges], graph.cardinality[scopes]
        )
        columns = graph.table_of[factors], is_clause, *moved[scopes].T, *satisfying.T
        kinds = np.column_stack([column.astype(np.int64) for column in columns])
        first, which = row_classes(kinds)
        of_kind = [_tells_apart(graph, factors[k], moved, label, partner) for k in first.tolist()]
        telling[places] = np.array(of_kind)[which]
    return indices(around[telling])


def _tells_apart(
    graph: FactorGraph, factor: int, moved: NDArray[np.bool_], label: int, partner: int
) -> bool:
    table, scope = graph.table_values(factor), graph.scope_of(factor)
    if factor >= graph.first_clause:
        wanted = graph.satisfying_of(factor)
        return bool((moved[scope] & np.isin(wanted, (label, partner))).any())
    turned = table
    for axis in np.flatnonzero(moved[scope]):
        order = np.arange(table.shape[axis])
        order[[label, partner]] = partner, label
        turned = turned.take(order, axis=axis)
    return not np.array_equal(turned, table)
