"""Gibbs on the cells of constants: pairs that nobody has observed are summed out and only counted.

A variable is the cell of a constant. Constants of one sort weigh a pair of cells alike, so all
pairs together weigh what the numbers of constants in the cells say: no pair needs a factor. Pairs
of which something was observed differ from that by a table of their own.

    log P(cell i | rest) = log_u[i] + sum over cells j of count[j] log_r[i, j]
                         + sum over observed partners of correction[i, cell of the partner]

Exact because it draws from the conditional distribution of one variable. Counts are whole numbers,
so nothing drifts; zeros of `log_r` are counted and never added.

Between two modes, numbers of constants in cells may lie that no chain ever reaches. So there may be
flattened copies of the chain, which have a bias for the number of constants in some cells. After
each sweep, a copy and the one below it exchange their states by the Metropolis rule for the product
of their distributions. Copies belong to the pack's memory; only the true chain is recorded.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc._numba.jit import compiled, implementation, shared
from orbitmc._simd.neighbour_sums import logistic
from orbitmc._simd.random import (
    COLUMNS,
    accept_by_log_ratio,
    bernoulli,
    choose_by_log_weights,
    cumulate_weights,
    flip_by_field,
    generator,
    integer,
    lanes_of,
    width_of,
)
from orbitmc._util.arrays import (
    LANE_UNIT,
    Bytes,
    Floats,
    Index,
    Indices,
    Numbers,
    Width,
    indices,
    short_repr,
    starts,
    zeros,
)
from orbitmc.conditionals.prepared import PreparedGraph
from orbitmc.errors import InputError, LimitError
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.feasibility import possible_states
from orbitmc.kernels.metropolis import ACCEPTED, JUMP_OUTCOMES, MOVED, NULL, PROPOSALS
from orbitmc.kernels.protocol import steps

VARIABLE, STARTED = range(2)
NO_START = (
    "no state was found that hard rules allow to start from; the method mcsat grounds all rules, "
    "and may find one"
)
MENDING_SWEEPS = 1_000
ASTRAY = 0.05  # of changes that mend a state are made at random, so that it is not lost in a corner
IMPOSSIBLE = 2**40  # conflicts


class CountMemory(NamedTuple):
    """Arrays of one pack: `counts[copy, cell, lane]`, and what one variable's cells weigh.

    `field` and `total` are log-odds, `blocked` how many partners forbid a cell. `copies` are the
    states of flattened copies below each other, and `marked` how many constants of one have a bias.
    `turn` is the variable whose turn it is, and whether copies have been given the pack's start.
    """

    field: NDArray[Any]
    total: Floats
    blocked: NDArray[np.int32]
    log_weights: Floats
    counts: NDArray[np.int32]
    copies: Bytes
    marked: NDArray[np.int32]
    change: Floats
    accepted: Bytes
    turn: NDArray[np.int64]
    width: Width


class CountGibbs(NamedTuple):
    """Draw the cells of constants in turn; `first_cell` of each variable is that of its sort.

    `log_u[variable, i]` is what a constant alone weighs, with all that never changes.
    `log_r[i, j]` is what a pair of cells weighs, 0 where `forbidden`. The partners of a variable
    with observed pairs are `partner[partner_start[v]:…]`, with `correction[pattern]`. The graph has
    the same `log_u` and corrections as factors, and nothing of `log_r`. Chains start at the `modes`
    in turn: chances of cells, by variable.

    Copy k has the log-weight `bias[k, m]` more if m constants are in cells with `mark[k, cell]`; it
    exchanges states with copy `below[k]`. Copy 0 is the true one.
    """

    first_cell: Indices
    log_u: Floats
    log_r: Floats
    forbidden: Bytes
    smooth: int
    partner_start: Indices
    partner: Indices
    pattern: Indices
    correction: Floats
    modes: Floats
    mark: Bytes
    bias: Floats
    below: Indices

    def __repr__(self) -> str:
        return short_repr(self)

    @property
    def outcomes(self) -> tuple[str, ...]:
        exchanges = ("exchanges of copies", "accepted exchanges")
        return ("updates", *(exchanges if len(self.bias) > 1 else ()))

    @property
    def constrained(self) -> NDArray[np.int64]:
        """All variables: the graph does not know what pairs weigh that nobody has observed."""
        return np.arange(len(self.first_cell))

    def frees(self, graph: FactorGraph) -> NDArray[np.bool_]:
        """Every variable, if nothing that was observed of pairs forbids cells.

        All constants may be in cells that forbid nothing, so there is a way between any two states
        with the same such cells; chains start with all others.
        """
        return np.full(graph.variables, bool(np.isfinite(self.correction).all()))

    def count_plan(self, memory: CountMemory) -> "tuple[CountGibbs, CountMemory]":
        return self, memory

    def starts(self, graph: FactorGraph, lanes: int, seed: np.random.SeedSequence) -> Bytes:
        """Cells drawn at each mode in turn: columns of lanes begin at different modes.

        Where zeros forbid what was drawn, a lane begins in a state that is possible.
        """
        rng = np.random.default_rng(seed)
        values = np.zeros((graph.variables, lanes), dtype=np.uint8)
        for lane in range(lanes):
            row, column = divmod(lane, COLUMNS)
            mode = column + COLUMNS * row if len(self.modes) > COLUMNS else column
            chances = np.cumsum(self.modes[mode % len(self.modes)], axis=1)
            drawn = rng.random((graph.variables, 1)) * chances[:, -1:]
            values[:, lane] = (chances <= drawn).sum(axis=1)
        if self.forbidden.any():
            for lane in range(lanes):
                order = rng.permutation(graph.variables)
                own_seed = int(rng.integers(2**62))
                state = values[:, lane].copy()
                chooser = generator(own_seed, 0, LANE_UNIT)
                if not mend_cells(self, graph.cardinality, state, order, chooser):
                    raise LimitError(NO_START)
                values[:, lane] = state
        elif not self.smooth:
            return possible_states(graph, lanes, seed, values.astype(np.int16))
        return values

    def memory(self, prepared: PreparedGraph, lanes: int) -> CountMemory:
        return CountMemory(
            field=zeros(lanes, prepared.conditionals.bias.dtype),
            total=zeros(lanes, np.float64),
            blocked=zeros(lanes, np.int32),
            log_weights=zeros((self.log_u.shape[1], lanes), np.float64),
            counts=np.zeros((len(self.bias), len(self.log_r), lanes), np.int32),
            copies=zeros(((len(self.bias) - 1) * prepared.graph.variables, lanes), np.uint8),
            marked=zeros(lanes, np.int32),
            change=zeros(lanes, np.float64),
            accepted=zeros(lanes, np.uint8),
            turn=np.zeros(2, dtype=np.int64),
            width=width_of(lanes),
        )


@compiled
def mend_cells(
    kernel: CountGibbs, cardinality: Indices, state: Bytes, order: Numbers, rng: Any
) -> bool:
    """Change cells that hard rules forbid, until none is left; false if that takes too long."""
    counts = np.zeros(len(kernel.log_r), np.int64)
    for variable in range(len(state)):
        counts[np.int64(kernel.first_cell[variable]) + np.int64(state[variable])] += 1
    for _ in range(MENDING_SWEEPS):
        broken = 0
        for place in range(len(order)):
            variable = order[place]
            first = np.int64(kernel.first_cell[variable])
            counts[first + np.int64(state[variable])] -= 1
            if conflicts(kernel, counts, state, variable, np.int64(state[variable])) > 0:
                broken += 1
                size = np.int64(cardinality[variable])
                state[variable] = choose_cell(kernel, counts, state, variable, size, rng)
            counts[first + np.int64(state[variable])] += 1
        if broken == 0:
            return True
    return False


@shared
def conflicts(
    kernel: CountGibbs, counts: Numbers, state: Bytes, variable: Index, cell: Index
) -> Index:
    """With how many others a constant must not be in a cell."""
    if kernel.log_u[variable, cell] == -np.inf:
        return IMPOSSIBLE
    total = np.int64(0)
    row = np.int64(kernel.first_cell[variable]) + cell
    for other in range(len(counts)):
        total += np.int64(kernel.forbidden[row, other]) * counts[other]
    for place in range(kernel.partner_start[variable], kernel.partner_start[variable + 1]):
        table = kernel.correction[np.int64(kernel.pattern[place])]
        total += table[cell, np.int64(state[np.int64(kernel.partner[place])])] == -np.inf
    return total


@shared
def choose_cell(
    kernel: CountGibbs, counts: Numbers, state: Bytes, variable: Index, size: Index, rng: Any
) -> Index:
    """A cell with the fewest conflicts, or now and then any possible one."""
    astray, chosen, equal = bernoulli(rng, ASTRAY), np.int64(0), np.int64(0)
    fewest: Index = IMPOSSIBLE
    for cell in range(size):
        number = conflicts(kernel, counts, state, variable, np.int64(cell))
        if number == IMPOSSIBLE:
            continue
        if astray:
            number = np.int64(0)
        if number < fewest:
            fewest, equal = number, np.int64(0)
        if number == fewest:
            equal += 1
            if integer(rng, equal) == 0:
                chosen = np.int64(cell)
    return chosen


@implementation(steps, CountGibbs)
def count_gibbs_steps(
    prepared: PreparedGraph,
    kernel: CountGibbs,
    memory: CountMemory,
    values: Bytes,
    outcomes: Numbers,
    rng: Any,
    count: int,
) -> None:
    variables, copies = len(values), len(kernel.bias)
    if memory.turn[STARTED] == 0:
        for row in range(len(memory.copies)):
            for lane in range(lanes_of(memory)):
                memory.copies[row, lane] = values[row % variables, lane]
        memory.turn[STARTED] = 1
    count_cells(kernel, memory, values, 0)
    outcomes[0] += count
    while count > 0:
        first = memory.turn[VARIABLE]
        now = min(count, variables - first)
        draw_cells(prepared, kernel, memory, values, 0, first, now, rng)
        count -= now
        memory.turn[VARIABLE] = (first + now) % variables
        if copies > 1 and first + now == variables:
            for copy in range(1, copies):
                states = memory.copies[(copy - 1) * variables : copy * variables]
                count_cells(kernel, memory, states, copy)
                draw_cells(prepared, kernel, memory, states, copy, 0, variables, rng)
            for copy in range(copies - 1, 0, -1):
                exchange_copies(kernel, memory, values, copy, outcomes, rng)


@shared
def draw_cells(
    prepared: PreparedGraph,
    kernel: CountGibbs,
    memory: CountMemory,
    values: Bytes,
    copy: Index,
    first: Index,
    count: Index,
    rng: Any,
) -> None:
    """Draw the cells of some constants of a copy in turn; its counts are those of `values`."""
    for variable in range(first, first + count):
        size = np.int64(prepared.graph.cardinality[variable])
        add_to_counts(kernel, memory, values, copy, variable, -1)
        if is_smooth(kernel, size):
            find_log_odds(kernel, memory, values, copy, variable)
            flip_by_field(rng, memory.field, values, variable)
        else:
            weigh_cells(kernel, memory, values, copy, variable, size)
            choose_by_log_weights(rng, memory.log_weights, size, values, variable)
        add_to_counts(kernel, memory, values, copy, variable, 1)


@shared
def exchange_copies(
    kernel: CountGibbs,
    memory: CountMemory,
    values: Bytes,
    copy: Index,
    outcomes: Numbers,
    rng: Any,
) -> None:
    """Offer a copy and the one below it to exchange their states and counts."""
    variables, below = len(values), np.int64(kernel.below[copy])
    memory.change[:] = 0.0
    add_bias(kernel, memory, copy, below, 1.0)
    add_bias(kernel, memory, below, copy, 1.0)
    add_bias(kernel, memory, copy, copy, -1.0)
    add_bias(kernel, memory, below, below, -1.0)
    accept_by_log_ratio(rng, memory.change, memory.accepted)
    mine = memory.copies[(copy - 1) * variables : copy * variables]
    if below == 0:
        exchange_states(memory, mine, values)
    else:
        exchange_states(memory, mine, memory.copies[(below - 1) * variables : below * variables])
    for cell in range(len(kernel.log_r)):
        for lane in range(lanes_of(memory)):
            gap = memory.counts[copy, cell, lane] - memory.counts[below, cell, lane]
            gap *= np.int32(memory.accepted[lane])
            memory.counts[copy, cell, lane] -= gap
            memory.counts[below, cell, lane] += gap
    outcomes[1] += lanes_of(memory)
    for lane in range(lanes_of(memory)):
        outcomes[2] += np.int64(memory.accepted[lane])


@shared
def exchange_states(memory: CountMemory, mine: Bytes, theirs: Bytes) -> None:
    for variable in range(len(mine)):
        for lane in range(lanes_of(memory)):
            differing = (mine[variable, lane] ^ theirs[variable, lane]) * memory.accepted[lane]
            mine[variable, lane] ^= differing
            theirs[variable, lane] ^= differing


@shared
def add_bias(
    kernel: CountGibbs, memory: CountMemory, of: Index, states: Index, sign: float
) -> None:
    """Add the bias of one copy for the states of another."""
    count_marked(kernel, memory, of, states)
    for lane in range(lanes_of(memory)):
        memory.change[lane] += sign * kernel.bias[of, np.int64(memory.marked[lane])]


@shared
def count_marked(kernel: CountGibbs, memory: CountMemory, of: Index, states: Index) -> None:
    """Count the constants of a copy's states that have another copy's mark."""
    memory.marked[:] = 0
    for cell in range(len(kernel.log_r)):
        if kernel.mark[of, cell] == 1:
            for lane in range(lanes_of(memory)):
                memory.marked[lane] += memory.counts[states, cell, lane]


@shared
def is_smooth(kernel: CountGibbs, size: Index) -> bool:
    """Whether log-odds of two cells say it all."""
    return bool(size == 2 and kernel.smooth == 1)


@shared
def count_cells(kernel: CountGibbs, memory: CountMemory, values: Bytes, copy: Index) -> None:
    """Count the constants of a copy in each cell, in every lane."""
    for cell in range(len(kernel.log_r)):
        for lane in range(lanes_of(memory)):
            memory.counts[copy, cell, lane] = 0
    for variable in range(len(values)):
        add_to_counts(kernel, memory, values, copy, variable, 1)


@shared
def add_to_counts(
    kernel: CountGibbs,
    memory: CountMemory,
    values: Bytes,
    copy: Index,
    variable: Index,
    change: int,
) -> None:
    """Count a constant, or no more."""
    first = np.int64(kernel.first_cell[variable])
    for lane in range(lanes_of(memory)):
        memory.counts[copy, first + np.int64(values[variable, lane]), lane] += change


@shared
def find_log_odds(
    kernel: CountGibbs, memory: CountMemory, values: Bytes, copy: Index, variable: Index
) -> None:
    """Fill `field` with the log-odds of cell 1; the constant itself is not counted."""
    first = np.int64(kernel.first_cell[variable])
    alone = kernel.log_u[variable, 1] - kernel.log_u[variable, 0]
    for lane in range(lanes_of(memory)):
        memory.total[lane] = alone
    for cell in range(len(kernel.log_r)):
        gain = kernel.log_r[first + 1, cell] - kernel.log_r[first, cell]
        if gain != 0.0:
            for lane in range(lanes_of(memory)):
                memory.total[lane] += gain * np.float64(memory.counts[copy, cell, lane])
    begin, end = kernel.partner_start[variable], kernel.partner_start[variable + 1]
    for place in range(begin, end):
        partner = np.int64(kernel.partner[place])
        table = kernel.correction[np.int64(kernel.pattern[place])]
        if table.shape[1] == 2:
            base = table[1, 0] - table[0, 0]
            slope = table[1, 1] - table[0, 1] - base
            for lane in range(lanes_of(memory)):
                memory.total[lane] += base + slope * np.float64(values[partner, lane])
        else:
            for lane in range(lanes_of(memory)):
                theirs = np.int64(values[partner, lane])
                memory.total[lane] += table[1, theirs] - table[0, theirs]
    if copy > 0:
        count_marked(kernel, memory, copy, copy)
        zero, one = np.int64(kernel.mark[copy, first]), np.int64(kernel.mark[copy, first + 1])
        for lane in range(lanes_of(memory)):
            others = np.int64(memory.marked[lane])
            memory.total[lane] += kernel.bias[copy, others + one] - kernel.bias[copy, others + zero]
    for lane in range(lanes_of(memory)):
        memory.field[lane] = memory.total[lane]


@shared
def weigh_cells(
    kernel: CountGibbs,
    memory: CountMemory,
    values: Bytes,
    copy: Index,
    variable: Index,
    size: Index,
) -> None:
    """Fill `log_weights[cell, lane]`; the constant itself is not counted."""
    first = np.int64(kernel.first_cell[variable])
    if copy > 0:
        count_marked(kernel, memory, copy, copy)
    for own in range(size):
        row = first + own
        for lane in range(lanes_of(memory)):
            memory.total[lane] = kernel.log_u[variable, own]
            memory.blocked[lane] = 0
        for cell in range(len(kernel.log_r)):
            if kernel.forbidden[row, cell] == 1:
                for lane in range(lanes_of(memory)):
                    memory.blocked[lane] += memory.counts[copy, cell, lane]
            elif kernel.log_r[row, cell] != 0.0:
                gain = kernel.log_r[row, cell]
                for lane in range(lanes_of(memory)):
                    memory.total[lane] += gain * np.float64(memory.counts[copy, cell, lane])
        begin, end = kernel.partner_start[variable], kernel.partner_start[variable + 1]
        for place in range(begin, end):
            partner = np.int64(kernel.partner[place])
            table = kernel.correction[np.int64(kernel.pattern[place])]
            for lane in range(lanes_of(memory)):
                memory.total[lane] += table[own, np.int64(values[partner, lane])]
        if copy > 0:
            more = np.int64(kernel.mark[copy, row])
            for lane in range(lanes_of(memory)):
                memory.total[lane] += kernel.bias[copy, np.int64(memory.marked[lane]) + more]
        for lane in range(lanes_of(memory)):
            allowed = memory.blocked[lane] == 0
            memory.log_weights[own, lane] = memory.total[lane] if allowed else -np.inf


@shared
def find_chances(
    kernel: CountGibbs, memory: CountMemory, values: Bytes, variable: Index, size: Index
) -> None:
    """Fill `log_weights` with the chance of each cell or a smaller one; the last is 1."""
    add_to_counts(kernel, memory, values, 0, variable, -1)
    if is_smooth(kernel, size):
        find_log_odds(kernel, memory, values, 0, variable)
        for lane in range(lanes_of(memory)):
            memory.log_weights[0, lane] = np.float64(logistic(-memory.field[lane]))
    else:
        weigh_cells(kernel, memory, values, 0, variable, size)
        cumulate_weights(memory.log_weights, size, lanes_of(memory))
        for cell in range(size - 1):
            for lane in range(lanes_of(memory)):
                memory.log_weights[cell, lane] /= memory.log_weights[size - 1, lane]
    add_to_counts(kernel, memory, values, 0, variable, 1)


# Jumps: two constants of a sort exchange their cells, and the true model accepts.
#
# The number of constants in each cell stays the same, so all pairs that nobody has observed weigh
# the same as before: only what is known of the two, alone and beside observed partners, decides.
# Numbers of constants that are held fast (one leader, a few seats) keep Gibbs from moving anybody;
# they do not keep two constants from changing places.
#
# Exact because the two are drawn without looking at the state, and an exchange undoes itself. Any
# classes of constants of one sort are safe; in good ones, constants are nearly exchangeable.


class SwapMemory(NamedTuple):
    """Arrays of one pack, per lane: change of log-weight, and the decision."""

    change: Floats
    accepted: Bytes
    width: Width


class CellSwaps(NamedTuple):
    """Exchange the cells of `pairs` random pairs of constants, one pair after the other.

    `member[start[c]:start[c + 1]]` are the constants of class c, and `class_of[place]` is the class
    of a member. The other fields are those of the chain of cells.
    """

    start: Indices
    member: Indices
    class_of: Indices
    pairs: int
    log_u: Floats
    partner_start: Indices
    partner: Indices
    pattern: Indices
    correction: Floats

    def __repr__(self) -> str:
        return short_repr(self)

    @property
    def outcomes(self) -> tuple[str, ...]:
        return JUMP_OUTCOMES

    def memory(self, prepared: PreparedGraph, lanes: int) -> SwapMemory:
        return SwapMemory(zeros(lanes, np.float64), zeros(lanes, np.uint8), width_of(lanes))


@implementation(steps, CellSwaps)
def cell_swap_steps(
    prepared: PreparedGraph,
    kernel: CellSwaps,
    memory: SwapMemory,
    values: Bytes,
    outcomes: Numbers,
    rng: Any,
    count: int,
) -> None:
    for _ in range(count * kernel.pairs):
        place = np.int64(integer(rng, len(kernel.member)))
        number = np.int64(kernel.class_of[place])
        first = np.int64(kernel.start[number])
        other = first + np.int64(integer(rng, np.int64(kernel.start[number + 1]) - first - 1))
        other += other >= place
        one, two = np.int64(kernel.member[place]), np.int64(kernel.member[other])
        memory.change[:] = 0.0
        add_gain(kernel, memory, values, one, two)
        add_gain(kernel, memory, values, two, one)
        add_gain_between(kernel, memory, values, one, two)
        accept_by_log_ratio(rng, memory.change, memory.accepted)
        exchange_cells(memory, values, one, two, outcomes)


@shared
def add_gain(
    kernel: CellSwaps, memory: SwapMemory, values: Bytes, mine: Index, other: Index
) -> None:
    """Add what a constant gains in the other's cell, alone and beside its observed partners."""
    for lane in range(lanes_of(memory)):
        now, then = np.int64(values[mine, lane]), np.int64(values[other, lane])
        memory.change[lane] += kernel.log_u[mine, then] - kernel.log_u[mine, now]
    for place in range(kernel.partner_start[mine], kernel.partner_start[mine + 1]):
        partner = np.int64(kernel.partner[place])
        if partner != other:
            table = kernel.correction[np.int64(kernel.pattern[place])]
            for lane in range(lanes_of(memory)):
                theirs = np.int64(values[partner, lane])
                now, then = np.int64(values[mine, lane]), np.int64(values[other, lane])
                memory.change[lane] += table[then, theirs] - table[now, theirs]


@shared
def add_gain_between(
    kernel: CellSwaps, memory: SwapMemory, values: Bytes, one: Index, two: Index
) -> None:
    """Add what two constants gain of which something was observed together."""
    for place in range(kernel.partner_start[one], kernel.partner_start[one + 1]):
        if np.int64(kernel.partner[place]) == two:
            table = kernel.correction[np.int64(kernel.pattern[place])]
            for lane in range(lanes_of(memory)):
                mine, theirs = np.int64(values[one, lane]), np.int64(values[two, lane])
                memory.change[lane] += table[theirs, mine] - table[mine, theirs]


@shared
def exchange_cells(
    memory: SwapMemory, values: Bytes, one: Index, two: Index, outcomes: Numbers
) -> None:
    """Exchange two cells in the lanes that accept, and count what happened."""
    outcomes[PROPOSALS] += lanes_of(memory)
    for lane in range(lanes_of(memory)):
        differing = values[one, lane] ^ values[two, lane]
        outcomes[NULL] += differing == 0
        differing *= memory.accepted[lane]
        outcomes[ACCEPTED] += differing != 0
        outcomes[MOVED] += 2 * np.int64(differing != 0)
        values[one, lane] ^= differing
        values[two, lane] ^= differing


def cell_swaps(chain: CountGibbs, classes: Sequence[NDArray[Any]], *, pairs: int) -> CellSwaps:
    """Exchange the cells of so many pairs in each step; classes of one constant are left out."""
    several = [members for members in classes if len(members) > 1]
    if not several or pairs < 1:
        raise InputError("there are no two constants whose cells could be exchanged")
    sizes = np.array([len(members) for members in several])
    member = np.concatenate(several)
    class_of = np.repeat(np.arange(len(several)), sizes)
    sorts = chain.first_cell.astype(np.int64)[member]
    if (sorts != sorts[np.cumsum(sizes)[class_of] - 1]).any():
        raise InputError("constants of different sorts have no cells to exchange")
    return CellSwaps(
        starts(sizes),
        indices(member),
        indices(class_of),
        pairs,
        chain.log_u,
        chain.partner_start,
        chain.partner,
        chain.pattern,
        chain.correction,
    )
