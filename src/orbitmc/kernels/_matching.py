"""Gibbs on matchings: rows take free columns, and exchange the columns that they have.

The variables are pairs of a row and a column; 1 says that the two are matched. Zeros of the model
forbid all states in which a row or a column is matched twice, so hardly a pair can change alone.

Exact because each draw is from a conditional distribution restricted to a set of states that is the
same from each of its members: all columns that no other row has, and none; or two rows with their
columns, as they are or exchanged. A state that is no matching, or impossible, is left alone.
"""

from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc._numba.jit import implementation, shared
from orbitmc._simd.random import choose_by_log_weights, integer, lanes_of
from orbitmc._util.arrays import Bytes, Floats, Index, Indices, Numbers, indices, readonly, starts
from orbitmc.conditionals.draws import scratch
from orbitmc.conditionals.layout import Scratch
from orbitmc.conditionals.prepared import PreparedGraph
from orbitmc.errors import ContradictionError, InputError
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.kernels._relabelling import check_set
from orbitmc.kernels.metropolis import add_potentials
from orbitmc.kernels.protocol import flag_variables, steps

NOBODY = -1
MOST_LINES = 4_096
DISTINCT_STARTS = 32  # matchings from which chains start

ROW_DRAWS, LEFT_ALONE, MOVED, EXCHANGED = range(4)
MATCHING_OUTCOMES = ("row draws", "left alone", "moved rows", "exchanged rows")


class MatchingMemory(NamedTuple):
    """Arrays of one pack.

    `image[row, lane]` is the column of a row, or as many as there are columns; `owner` the row of
    a column, likewise. A lane is `whole` if its pairs are a matching. Other arrays are of a step.
    """

    image: NDArray[np.int32]
    owner: NDArray[np.int32]
    whole: Bytes
    log_weights: Floats
    saved: Bytes
    before: Floats
    change: Floats
    exchanged: Bytes
    picked: NDArray[np.uint16]
    scratch: Scratch


class Matching(NamedTuple):
    """Draw the column of a uniformly chosen row, then let it exchange with another one.

    A step does so for as many rows as `draws` says. Lines that are `needed` are always matched.
    `variable[row, column]` says whether they are matched; there is none for pairs that never are.
    `gain` is what fields give a pair. Other factors around a row that are not the same for all
    matchings are `factor[factor_start[row]:…]`. `freed` are variables that nothing else forbids to
    change.
    """

    variable: NDArray[np.int32]
    gain: Floats
    row_needed: Bytes
    column_needed: Bytes
    factor_start: Indices
    factor: Indices
    freed: Indices
    draws: int

    @property
    def outcomes(self) -> tuple[str, ...]:
        return MATCHING_OUTCOMES

    def frees(self, graph: FactorGraph) -> NDArray[np.bool_]:
        return flag_variables(graph, self.freed)

    def draws_well(self, graph: FactorGraph) -> NDArray[np.bool_]:
        return flag_variables(graph, self.variable[self.variable >= 0])

    def memory(self, prepared: PreparedGraph, lanes: int) -> MatchingMemory:
        rows, columns = self.variable.shape
        return MatchingMemory(
            image=np.zeros((rows, lanes), dtype=np.int32),
            owner=np.zeros((columns, lanes), dtype=np.int32),
            whole=np.zeros(lanes, dtype=np.uint8),
            log_weights=np.zeros((columns + 1, lanes)),
            saved=np.zeros((columns, lanes), dtype=np.uint8),
            before=np.zeros(lanes),
            change=np.zeros(lanes),
            exchanged=np.zeros(lanes, dtype=np.uint8),
            picked=np.zeros((1, lanes), dtype=np.uint16),
            scratch=scratch(prepared, lanes),
        )

    def want_states(self, wanted: NDArray[np.int16], rng: np.random.Generator) -> None:
        """Random matchings that leave nobody out who is needed."""
        places = self.variable[self.variable >= 0]
        wanted[places] = 0
        some = [_random_matching(self, rng) for _ in range(min(wanted.shape[1], DISTINCT_STARTS))]
        for lane in range(wanted.shape[1]):
            row, column = some[lane % len(some)]
            wanted[self.variable[row, column], lane] = 1


def _random_matching(kernel: Matching, rng: np.random.Generator) -> tuple[Numbers, Numbers]:
    """Rows and their columns; lines that nobody needs are left out at random."""
    from scipy.optimize import linear_sum_assignment  # loads slowly

    possible = kernel.variable >= 0
    worth = np.where(possible, rng.random(possible.shape), -2.0 * len(possible))
    worth += np.where(possible, kernel.row_needed[:, None] + kernel.column_needed, 0) * 2.0
    row, column = linear_sum_assignment(worth, maximize=True)
    chosen = possible[row, column]
    needed = (kernel.row_needed[row] == 1) | (kernel.column_needed[column] == 1)
    chosen &= needed | (rng.random(len(row)) < rng.random())
    left_out = kernel.row_needed.astype(np.bool_), kernel.column_needed.astype(np.bool_)
    left_out[0][row[chosen]] = left_out[1][column[chosen]] = False
    if left_out[0].any() or left_out[1].any():
        raise ContradictionError("no matching gives a partner to everybody who needs one")
    return row[chosen], column[chosen]


@implementation(steps, Matching)
def matching_steps(
    prepared: PreparedGraph,
    kernel: Matching,
    memory: MatchingMemory,
    values: Bytes,
    outcomes: Numbers,
    rng: Any,
    count: int,
) -> None:
    rows = len(kernel.variable)
    _read_matching(kernel, memory, values)
    for _ in range(count * kernel.draws):
        row = integer(rng, rows)
        _weigh_columns(prepared.graph, kernel, memory, values, row)
        choose_by_log_weights(rng, memory.log_weights, len(memory.log_weights), memory.picked, 0)
        _move_row(kernel, memory, values, outcomes, row)
        if rows > 1:
            other = integer(rng, rows - 1)
            if other >= row:
                other += 1
            _weigh_exchange(prepared.graph, kernel, memory, values, row, other)
            choose_by_log_weights(rng, memory.log_weights, 2, memory.picked, 0)
            _keep_exchange(kernel, memory, values, outcomes, row, other)


@shared
def _read_matching(kernel: Matching, memory: MatchingMemory, values: Bytes) -> None:
    """Find the column of every row; lanes in which a line is matched twice are not whole."""
    rows, columns = kernel.variable.shape
    for lane in range(lanes_of(memory.scratch)):
        memory.whole[lane] = 1
    for column in range(columns):
        for lane in range(lanes_of(memory.scratch)):
            memory.owner[column, lane] = rows
    for row in range(rows):
        for lane in range(lanes_of(memory.scratch)):
            memory.image[row, lane] = columns
        for column in range(columns):
            variable = kernel.variable[row, column]
            if variable >= 0:
                for lane in range(lanes_of(memory.scratch)):
                    if values[np.uint64(variable), lane] == 1:
                        free = memory.image[row, lane] == columns
                        free = free and memory.owner[column, lane] == rows
                        memory.whole[lane] &= np.uint8(free)
                        memory.image[row, lane] = column
                        memory.owner[column, lane] = row


@shared
def _weigh_columns(
    graph: FactorGraph, kernel: Matching, memory: MatchingMemory, values: Bytes, row: Index
) -> None:
    """Find the log-weight of every column that a row may have, and of none."""
    rows, columns = kernel.variable.shape
    for column in range(columns):
        for lane in range(lanes_of(memory.scratch)):
            owner = memory.owner[column, lane]
            present = memory.image[row, lane]
            stays = present < columns and kernel.column_needed[present] == 1
            free = owner == row or (owner == rows and not stays)
            memory.log_weights[column, lane] = kernel.gain[row, column] if free else -np.inf
    for lane in range(lanes_of(memory.scratch)):
        present = memory.image[row, lane]
        stays = present < columns and kernel.column_needed[present] == 1
        stays = stays or kernel.row_needed[row] == 1
        memory.log_weights[columns, lane] = -np.inf if stays else 0.0
    if kernel.factor_start[row + 1] > kernel.factor_start[row]:
        _add_factors(graph, kernel, memory, values, row)
    for lane in range(lanes_of(memory.scratch)):
        present = memory.image[row, lane]
        memory.whole[lane] &= np.uint8(memory.log_weights[present, lane] > -np.inf)
    for column in range(columns + 1):
        for lane in range(lanes_of(memory.scratch)):
            if memory.whole[lane] == 0:
                memory.log_weights[column, lane] = 0.0 if column == 0 else -np.inf


@shared
def _add_factors(
    graph: FactorGraph, kernel: Matching, memory: MatchingMemory, values: Bytes, row: Index
) -> None:
    """Add the factors around a row to the log-weights of its columns, and of none."""
    columns = kernel.variable.shape[1]
    for column in range(columns):
        variable = kernel.variable[row, column]
        if variable >= 0:
            for lane in range(lanes_of(memory.scratch)):
                memory.saved[column, lane] = values[np.uint64(variable), lane]
                values[np.uint64(variable), lane] = 0
    for column in range(columns + 1):
        variable = kernel.variable[row, column] if column < columns else NOBODY
        if variable >= 0 or column == columns:
            if variable >= 0:
                for lane in range(lanes_of(memory.scratch)):
                    values[np.uint64(variable), lane] = 1
            for lane in range(lanes_of(memory.scratch)):
                memory.change[lane] = 0.0
            for place in range(kernel.factor_start[row], kernel.factor_start[row + 1]):
                add_potentials(graph, memory, values, kernel.factor[place], 1.0)
            for lane in range(lanes_of(memory.scratch)):
                memory.log_weights[column, lane] += memory.change[lane]
            if variable >= 0:
                for lane in range(lanes_of(memory.scratch)):
                    values[np.uint64(variable), lane] = 0
    for column in range(columns):
        variable = kernel.variable[row, column]
        if variable >= 0:
            for lane in range(lanes_of(memory.scratch)):
                values[np.uint64(variable), lane] = memory.saved[column, lane]


@shared
def _move_row(
    kernel: Matching, memory: MatchingMemory, values: Bytes, outcomes: Numbers, row: Index
) -> None:
    """Give a row the column that was drawn."""
    for lane in range(lanes_of(memory.scratch)):
        outcomes[ROW_DRAWS] += 1
        if memory.whole[lane] == 0:
            outcomes[LEFT_ALONE] += 1
        else:
            drawn = np.int32(memory.picked[0, lane])
            outcomes[MOVED] += np.int64(drawn != memory.image[row, lane])
            _set_column(kernel, memory, values, row, drawn, lane)


@shared
def _set_column(
    kernel: Matching,
    memory: MatchingMemory,
    values: Bytes,
    row: Index,
    column: Index,
    lane: Index,
) -> None:
    """Take a row out of its column, and put it in another one, or in none."""
    rows, columns = kernel.variable.shape
    before = memory.image[row, lane]
    if before < columns:
        values[np.uint64(kernel.variable[row, before]), lane] = 0
        if memory.owner[before, lane] == row:
            memory.owner[before, lane] = rows
    memory.image[row, lane] = column
    if column < columns:
        values[np.uint64(kernel.variable[row, column]), lane] = 1
        memory.owner[column, lane] = row


@shared
def _weigh_exchange(
    graph: FactorGraph,
    kernel: Matching,
    memory: MatchingMemory,
    values: Bytes,
    row: Index,
    other: Index,
) -> None:
    """Exchange the columns of two rows where that is possible, and find what it gains."""
    for lane in range(lanes_of(memory.scratch)):
        memory.change[lane] = 0.0
    _add_both(graph, kernel, memory, values, row, other)
    for lane in range(lanes_of(memory.scratch)):
        memory.before[lane] = memory.change[lane]
        memory.change[lane] = 0.0
        first, second = memory.image[row, lane], memory.image[other, lane]
        gain = _gain(kernel, row, second) + _gain(kernel, other, first)
        possible = memory.whole[lane] == 1 and memory.before[lane] > -np.inf
        columns = kernel.variable.shape[1]
        possible = possible and not (second == columns and kernel.row_needed[row] == 1)
        possible = possible and not (first == columns and kernel.row_needed[other] == 1)
        memory.exchanged[lane] = np.uint8(possible and first != second and gain > -np.inf)
        memory.log_weights[0, lane] = 0.0
        memory.log_weights[1, lane] = -np.inf
        if memory.exchanged[lane] == 1:
            present = _gain(kernel, row, first) + _gain(kernel, other, second)
            memory.log_weights[1, lane] = gain - present - memory.before[lane]
            _exchange(kernel, memory, values, row, other, lane)
    _add_both(graph, kernel, memory, values, row, other)
    for lane in range(lanes_of(memory.scratch)):
        if memory.exchanged[lane] == 1:
            memory.log_weights[1, lane] += memory.change[lane]


@shared
def _add_both(
    graph: FactorGraph,
    kernel: Matching,
    memory: MatchingMemory,
    values: Bytes,
    row: Index,
    other: Index,
) -> None:
    """Add the factors around two rows, each once; both lists are in order."""
    place, end = np.int64(kernel.factor_start[row]), np.int64(kernel.factor_start[row + 1])
    second, last = np.int64(kernel.factor_start[other]), np.int64(kernel.factor_start[other + 1])
    while place < end or second < last:
        if second == last or (place < end and kernel.factor[place] <= kernel.factor[second]):
            factor = kernel.factor[place]
            if second < last and kernel.factor[second] == factor:
                second += 1
            place += 1
        else:
            factor = kernel.factor[second]
            second += 1
        add_potentials(graph, memory, values, factor, 1.0)


@shared
def _gain(kernel: Matching, row: Index, column: Index) -> float:
    return 0.0 if column == kernel.variable.shape[1] else kernel.gain[row, column]


@shared
def _exchange(
    kernel: Matching,
    memory: MatchingMemory,
    values: Bytes,
    row: Index,
    other: Index,
    lane: Index,
) -> None:
    first, second = memory.image[row, lane], memory.image[other, lane]
    columns = kernel.variable.shape[1]
    _set_column(kernel, memory, values, row, columns, lane)
    _set_column(kernel, memory, values, other, first, lane)
    _set_column(kernel, memory, values, row, second, lane)


@shared
def _keep_exchange(
    kernel: Matching,
    memory: MatchingMemory,
    values: Bytes,
    outcomes: Numbers,
    row: Index,
    other: Index,
) -> None:
    """Undo exchanges that were not drawn."""
    for lane in range(lanes_of(memory.scratch)):
        if memory.exchanged[lane] == 1:
            if memory.picked[0, lane] == 1:
                outcomes[EXCHANGED] += 1
            else:
                _exchange(kernel, memory, values, row, other, lane)


# Building the kernel: lines, their pairs, and the factors that matter.


def matching(
    prepared: PreparedGraph, pairs: Mapping[tuple[Hashable, Hashable], int], *, draws: int = 1
) -> Matching:
    """Match rows with columns, each at most once; pairs of a row and a column are variables.

    `pairs` gives the number of the variable that says whether a row and a column are matched. Pairs
    that are not there are never matched. The model must forbid two matches of one line; it may ask
    for more, such as that every row is matched. A step draws as many rows as `draws` says; other
    variables need another kernel, such as in an `alternation`.

    >>> import orbitmc as om
    >>> names = ["a1", "a2", "b1", "b2"]
    >>> once = [[1, 1], [1, 0]]
    >>> lines = [("a1", "a2"), ("b1", "b2"), ("a1", "b1"), ("a2", "b2")]
    >>> model = om.model({name: ["no", "yes"] for name in names}, [(line, once) for line in lines])
    >>> pairs = {(name[0], name[1]): number for number, name in enumerate(names)}
    >>> kernel = om.kernels.matching(om.kernels.prepare(model.graph), pairs)
    >>> report = om.testing.check_kernel(kernel, models=[model])
    >>> report.stationary < 1e-9, report.ergodic
    (True, True)
    """
    graph = prepared.graph
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise InputError(f"a pair is a tuple of a row and a column, not {pair!r}")
    variables = check_set(graph, [*pairs.values()])
    for variable in variables[graph.cardinality[variables] != 2]:
        raise InputError(f"pairs of a matching are binary variables; variable {variable} is not")
    rows = {name: number for number, name in enumerate(dict.fromkeys(row for row, _ in pairs))}
    columns = {name: number for number, name in enumerate(dict.fromkeys(name for _, name in pairs))}
    if max(len(rows), len(columns)) > MOST_LINES:
        raise InputError(f"a matching has up to {MOST_LINES} rows and columns")
    table = np.full((len(rows), len(columns)), NOBODY, dtype=np.int32)
    for (row, column), variable in pairs.items():
        table[rows[row], columns[column]] = variable
    if draws < 1:
        raise InputError(f"a step draws at least one row, not {draws}")
    return match_table(graph, table, draws)


def match_table(
    graph: FactorGraph,
    table: NDArray[np.int32],
    draws: int = 1,
    needed_lines: tuple[Bytes, Bytes] | None = None,
) -> Matching:
    """The kernel of a table `[row, column]` of variables.

    Hard clauses say which lines are needed, or the two lists of flags do.
    """
    lines = [{frozenset(line[line >= 0].tolist()): k for k, line in enumerate(side)}
             for side in (table, table.T)]  # fmt: skip
    if needed_lines is not None:
        needed = [flags.copy() for flags in needed_lines]
    else:
        needed = [np.zeros(length, dtype=np.uint8) for length in table.shape]
    places = np.full((graph.variables, 2), NOBODY, dtype=np.int64)
    row, column = np.nonzero(table >= 0)
    places[table[row, column]] = np.stack([row, column], axis=1)
    gain = np.where(table >= 0, 0.0, -np.inf)
    matters, hard = [], False
    kinds = dict[tuple[object, ...], bool]()
    for factor in np.unique(graph.incident[_edges_of(graph, table[table >= 0])]).tolist():
        scope = graph.scope_of(factor)
        at = places[scope]
        if len(scope) == 1 and factor < graph.first_clause:
            low, high = graph.table_values(factor)
            if np.isfinite(low) and np.isfinite(high):
                gain[tuple(at[0])] += high - low
                continue
        key = (graph.table_of[factor], len(scope), tuple(graph.satisfying_of(factor)))
        in_line = len(scope) == 2 and (at >= 0).all() and (at[0] == at[1]).any()
        if in_line and kinds.setdefault(key, _is_constant(graph, factor)):
            continue
        if _needs_one(graph, factor) and (members := frozenset(scope.tolist())):
            sides = [side for side in range(2) if members in lines[side]]
            for side in sides:
                needed[side][lines[side][members]] = 1
            if sides:
                continue
        matters.append(factor)
        hard |= bool(np.isneginf(graph.table_values(factor)).any())
    hard |= bool(needed[0].any() or needed[1].any()) and bool((table < 0).any())
    owner, factors = _rows_of(graph, places, matters)
    return Matching(
        variable=readonly(table),
        gain=readonly(gain),
        row_needed=readonly(needed[0]),
        column_needed=readonly(needed[1]),
        factor_start=starts(np.bincount(owner, minlength=len(table))),
        factor=indices(factors),
        freed=indices(np.zeros(0, np.int64) if hard else table[table >= 0]),
        draws=draws,
    )


def _edges_of(graph: FactorGraph, variables: NDArray[np.int32]) -> Numbers:
    """Places in `incident` of all factors around some variables."""
    first, last = graph.incident_start[variables], graph.incident_start[variables + 1]
    sizes = (last - first).astype(np.int64)
    offset = np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.repeat(first.astype(np.int64), sizes) + np.arange(sizes.sum()) - offset


def _needs_one(graph: FactorGraph, factor: int) -> bool:
    """Whether a factor is a hard clause that asks for one of its variables to be 1."""
    if factor < graph.first_clause or not graph.satisfying_of(factor).all():
        return False
    low, high = graph.table_values(factor)
    return bool(np.isneginf(low) and np.isfinite(high))


def _is_constant(graph: FactorGraph, factor: int) -> bool:
    """Whether a factor of two pairs of one line is the same for all matchings."""
    (none, second), (first, _) = graph.full_table(factor)
    return bool(np.isfinite(none) and none == first == second)


def _rows_of(
    graph: FactorGraph, places: NDArray[np.int64], factors: list[int]
) -> tuple[Numbers, Numbers]:
    """Rows, and for each the factors around it that are to be weighed, in order and once."""
    each = {
        (int(row), factor)
        for factor in factors
        for row in places[graph.scope_of(factor), 0]
        if row >= 0
    }
    ordered = np.array(sorted(each), dtype=np.int64).reshape(-1, 2)
    return ordered[:, 0], ordered[:, 1]
