"""Metropolis on matchings: a row takes a free column, or that of another row, which takes its own.

The variables are pairs of a row and a column; 1 says that the two are matched. Zeros of the model
forbid all states in which a row or a column is matched twice, so hardly a pair can change alone.

Which column a row asks for depends on what fields give the pair, not on the state. If the column is
free, the row moves there. If another row has it, the two exchange what they have. The same row
leads back, so a proposal is accepted with the ratio of weights times that of the chances to propose
it and the way back. Then, of this row and any other one, the one that has a column may hand it over
to the one that has none. A state that is no matching, or impossible, is left alone.
"""

from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc._numba.jit import implementation, shared
from orbitmc._simd.random import accept_by_log_ratio, integer, lanes_of, pick_by_limits
from orbitmc._util.arrays import Bytes, Floats, Index, Indices, Numbers, indices, readonly, starts
from orbitmc.conditionals.draws import scratch
from orbitmc.conditionals.layout import Scratch
from orbitmc.conditionals.prepared import PreparedGraph
from orbitmc.errors import ContradictionError, InputError
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.kernels._order import potential_in_lane
from orbitmc.kernels._relabelling import check_set
from orbitmc.kernels.protocol import flag_variables, steps

NOBODY = -1
MOST_LINES = 4_096
SPREAD = 0.25  # of what rows ask for is any column that they may have, whatever fields say
DISTINCT_STARTS = 32  # matchings from which chains start

ROW_DRAWS, LEFT_ALONE, MOVED, EXCHANGED = range(4)
MATCHING_OUTCOMES = ("row draws", "left alone", "moved rows", "exchanged rows")


class MatchingMemory(NamedTuple):
    """Arrays of one pack.

    `image[row, lane]` is the column of a row, or as many as there are columns; `owner` the row of
    a column, likewise. A lane is `whole` if its pairs are a matching. Other arrays are of a step:
    the row `asking`, the column that it asks for, the one that it had, and who has to give way.
    """

    image: NDArray[np.int32]
    owner: NDArray[np.int32]
    whole: Bytes
    picked: Numbers
    before: NDArray[np.int32]
    asking: NDArray[np.int32]
    other: NDArray[np.int32]
    change: Floats
    accepted: Bytes
    scratch: Scratch


class Matching(NamedTuple):
    """Let a uniformly chosen row ask for a column, as often in a step as `draws` says.

    Lines that are `needed` are always matched. `variable[row, column]` says whether they are
    matched; there is none for pairs that never are. `gain` is what fields give a pair. A row asks
    for columns, or for none, with chances up to `limit[row, column]`, of which `log_chance` are the
    logarithms. Other factors around a row that are not the same for all matchings are
    `factor[factor_start[row]:…]`. `freed` are variables that nothing else forbids to change.
    """

    variable: NDArray[np.int32]
    gain: Floats
    limit: Indices
    log_chance: Floats
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
            picked=np.zeros(lanes, dtype=np.int64),
            before=np.zeros(lanes, dtype=np.int32),
            asking=np.zeros(lanes, dtype=np.int32),
            other=np.zeros(lanes, dtype=np.int32),
            change=np.zeros(lanes),
            accepted=np.zeros(lanes, dtype=np.uint8),
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
    rows, choices = kernel.log_chance.shape
    _read_matching(kernel, memory, values)
    for _ in range(count * kernel.draws):
        row = integer(rng, rows)
        pick_by_limits(rng, kernel.limit, row * (choices - 1), choices, memory.picked)
        for lane in range(lanes_of(memory.scratch)):
            _ask(prepared.graph, kernel, memory, values, row, lane)
        _accept_or_undo(kernel, memory, values, outcomes, rng)
        if rows > 1:
            other = integer(rng, rows - 1)
            if other >= row:
                other += 1
            for lane in range(lanes_of(memory.scratch)):
                _hand_over(prepared.graph, kernel, memory, values, row, other, lane)
            _accept_or_undo(kernel, memory, values, outcomes, rng)
        outcomes[ROW_DRAWS] += lanes_of(memory.scratch)
        for lane in range(lanes_of(memory.scratch)):
            outcomes[LEFT_ALONE] += np.int64(memory.whole[lane] == 0)


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
            matched = np.uint8(0)
            if variable >= 0:
                for lane in range(lanes_of(memory.scratch)):
                    matched |= values[np.uint64(variable), lane]
            if matched == 1:
                for lane in range(lanes_of(memory.scratch)):
                    if values[np.uint64(variable), lane] == 1:
                        free = memory.image[row, lane] == columns
                        free = free and memory.owner[column, lane] == rows
                        memory.whole[lane] &= np.uint8(free)
                        memory.image[row, lane] = column
                        memory.owner[column, lane] = row


@shared
def _ask(
    graph: FactorGraph,
    kernel: Matching,
    memory: MatchingMemory,
    values: Bytes,
    row: Index,
    lane: Index,
) -> None:
    """Give a row the column that it asks for, if that is possible, and find what it gains."""
    rows, columns = kernel.variable.shape
    first, second = np.int64(memory.image[row, lane]), memory.picked[lane]
    other = rows if second == columns else np.int64(memory.owner[second, lane])
    if _is_possible(kernel, row, other, first, second):
        back = kernel.log_chance[row, first] - kernel.log_chance[row, second]
        _try(graph, kernel, memory, values, row, other, lane, first, second, back)
    else:
        memory.other[lane], memory.change[lane] = NOBODY, -np.inf


@shared
def _hand_over(
    graph: FactorGraph,
    kernel: Matching,
    memory: MatchingMemory,
    values: Bytes,
    row: Index,
    other: Index,
    lane: Index,
) -> None:
    """Let the one of two rows that has a column give it to the one that has none."""
    columns = kernel.variable.shape[1]
    first, second = np.int64(memory.image[row, lane]), np.int64(memory.image[other, lane])
    takes, gives, column = (row, other, second) if first == columns else (other, row, first)
    one_has_none = (first == columns) != (second == columns)
    if one_has_none and kernel.row_needed[gives] == 0 and kernel.variable[takes, column] >= 0:
        _try(graph, kernel, memory, values, takes, gives, lane, columns, column, 0.0)
    else:
        memory.other[lane], memory.change[lane] = NOBODY, -np.inf


@shared
def _try(
    graph: FactorGraph,
    kernel: Matching,
    memory: MatchingMemory,
    values: Bytes,
    row: Index,
    other: Index,
    lane: Index,
    first: Index,
    second: Index,
    back: float,
) -> None:
    """Let a row have the second column in place of the first, and find the ratio of weights.

    The log-odds to be proposed the way `back` are added. States that are none are left alone.
    """
    memory.asking[lane], memory.other[lane], memory.change[lane] = row, NOBODY, -np.inf
    memory.before[lane], memory.picked[lane] = first, second
    present = _potentials(graph, kernel, values, row, other, lane)
    if present == -np.inf:
        memory.whole[lane] = 0
    if memory.whole[lane] == 1:
        change = back - present + _gain(kernel, row, second) - _gain(kernel, row, first)
        if other < len(kernel.variable):
            change += _gain(kernel, other, first) - _gain(kernel, other, second)
        _move(kernel, memory, values, row, other, lane, first, second)
        memory.change[lane] = change + _potentials(graph, kernel, values, row, other, lane)
        memory.other[lane] = other


@shared
def _is_possible(kernel: Matching, row: Index, other: Index, first: Index, second: Index) -> bool:
    """Whether a row may have the second column, and another one the first, if it has the second."""
    rows, columns = kernel.variable.shape
    if second == first or (second < columns and kernel.variable[row, second] < 0):
        return False
    if other < rows:
        return bool(first < columns and kernel.variable[other, first] >= 0)
    leaves = first == columns or kernel.column_needed[first] == 0
    return bool(leaves and (second < columns or kernel.row_needed[row] == 0))


@shared
def _potentials(
    graph: FactorGraph, kernel: Matching, values: Bytes, row: Index, other: Index, lane: Index
) -> float:
    """The sum of the factors around one row or two, each once; both lists are in order."""
    place, end = np.int64(kernel.factor_start[row]), np.int64(kernel.factor_start[row + 1])
    second = last = np.int64(0)
    if other < len(kernel.variable):
        second = np.int64(kernel.factor_start[other])
        last = np.int64(kernel.factor_start[other + 1])
    total = 0.0
    while place < end or second < last:
        if second == last or (place < end and kernel.factor[place] <= kernel.factor[second]):
            factor = kernel.factor[place]
            if second < last and kernel.factor[second] == factor:
                second += 1
            place += 1
        else:
            factor = kernel.factor[second]
            second += 1
        total += potential_in_lane(graph, values, factor, lane)
    return total


@shared
def _gain(kernel: Matching, row: Index, column: Index) -> float:
    return 0.0 if column == kernel.variable.shape[1] else kernel.gain[row, column]


@shared
def _move(
    kernel: Matching,
    memory: MatchingMemory,
    values: Bytes,
    row: Index,
    other: Index,
    lane: Index,
    first: Index,
    second: Index,
) -> None:
    """Give a row the second column, and another one, if there is one, the first."""
    rows, columns = kernel.variable.shape
    _set_column(kernel, memory, values, row, columns, lane)
    if other < rows:
        _set_column(kernel, memory, values, other, first, lane)
    _set_column(kernel, memory, values, row, second, lane)


@shared
def _accept_or_undo(
    kernel: Matching, memory: MatchingMemory, values: Bytes, outcomes: Numbers, rng: Any
) -> None:
    """Accept what was proposed, or take it back."""
    accept_by_log_ratio(rng, memory.change, memory.accepted)
    for lane in range(lanes_of(memory.scratch)):
        row, other = memory.asking[lane], memory.other[lane]
        if other != NOBODY and memory.accepted[lane] == 1:
            outcomes[EXCHANGED if other < len(kernel.variable) else MOVED] += 1
        elif other != NOBODY:
            first, second = memory.before[lane], memory.picked[lane]
            _move(kernel, memory, values, row, other, lane, second, first)


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
    limit, log_chance = _chances(gain)
    return Matching(
        variable=readonly(table),
        gain=readonly(gain),
        limit=limit,
        log_chance=log_chance,
        row_needed=readonly(needed[0]),
        column_needed=readonly(needed[1]),
        factor_start=starts(np.bincount(owner, minlength=len(table))),
        factor=indices(factors),
        freed=indices(np.zeros(0, np.int64) if hard else table[table >= 0]),
        draws=draws,
    )


def _chances(gain: Floats) -> tuple[Indices, Floats]:
    """With which chances rows ask for columns, or for none: as fields say, but for a share.

    Given as limits of what is drawn, and as logarithms of exactly the chances that these are.
    """
    weights = np.exp(np.pad(gain, ((0, 0), (0, 1))) - np.maximum(gain.max(axis=1), 0.0)[:, None])
    chances = (1.0 - SPREAD) * weights / weights.sum(axis=1, keepdims=True)
    chances += SPREAD * (weights > 0) / (weights > 0).sum(axis=1, keepdims=True)
    upto = np.minimum(np.cumsum(chances, axis=1)[:, :-1] * 2.0**32, 2.0**32 - 1.0).astype(np.uint32)
    drawn = np.diff(upto.astype(np.int64), axis=1, prepend=0, append=2**32)
    with np.errstate(divide="ignore"):
        return indices(upto.ravel()), readonly(np.log(drawn * 2.0**-32))


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
