"""A search for an elimination order: greedy ones, sweeps, and patches to the best so far.

One greedy elimination order, compiled: thousands are tried, the cheapest is kept.

Neighbours are rows of bits. Eliminating a variable joins all its neighbours; the table built on
the way has one axis for the variable and one for each neighbour, and its size is the price.
"""

import itertools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from orbitmc._numba.compile_log import working_time
from orbitmc._numba.jit import ThreadClock, load_numba, shared
from orbitmc._numba.tiers import compile_next, is_compiled, tier
from orbitmc._simd.bits import WORD_BITS, Bits, bit_count, lowest, set_bit, test_bit, unpack_bits
from orbitmc._util.arrays import Floats, Numbers

FILL, WEIGHT, WEIGHTED_FILL = 0, 1, 2
"""What the next variable has least of: new edges, table entries, or new edges by their weight."""

LARGEST_COUNTS = 16
"""The cost of an order is the number of entries of all its tables, which is time, and this many
times those of the largest, which is memory."""


def bit_rows(variables: int, edges: Numbers) -> Bits:
    """Neighbours of every variable as bits."""
    rows = np.zeros((variables, (variables + WORD_BITS - 1) // WORD_BITS), dtype=np.uint64)
    for first, second in (edges.T, edges.T[::-1]):
        np.bitwise_or.at(
            rows,
            (first, second // WORD_BITS),
            np.uint64(1) << (second % WORD_BITS).astype(np.uint64),
        )
    return rows


class InteractionGraph(NamedTuple):
    """Neighbours of every variable as bits, and binary logarithms of cardinalities."""

    neighbours: Bits
    log_sizes: Floats


class GreedyChoice(NamedTuple):
    """How a greedy order chooses: by a rule, lowest stage first, ties broken by chance.

    A variable within `slack` (relative) of the cheapest may be taken too.
    """

    rule: int
    slack: float
    stages: Numbers
    seed: int


def of_rows(interactions: InteractionGraph, *rest: object) -> int:
    """The work of an order, where few variables have many neighbours."""
    return 10 * interactions.neighbours.size


@tier(of_rows)
def reorder_stretch(
    interactions: InteractionGraph,
    order: Numbers,
    first: int,
    last: int,
    choice: GreedyChoice,
    total: float,
    largest: float,
    bound: float,
) -> tuple[Numbers, Floats, float]:
    """Eliminate `order[:first]` as it stands, then the variables up to `last` greedily.

    `total` and `largest` are table entries outside the stretch. Gives the stretch in its new
    order, the entries of its tables, and the cost of everything; once that exceeds `bound`, the
    stretch stops short and the cost is infinite.
    """
    rows, log_sizes = interactions.neighbours.copy(), interactions.log_sizes
    members = np.empty(len(rows), dtype=np.int64)
    for variable in order[:first]:
        count = _members(rows[variable], members)
        _join_all(rows, variable, members[:count])
    left = order[first:last].copy()
    prices = np.zeros(len(rows), dtype=np.float64)
    for variable in left:
        count = _members(rows[variable], members)
        prices[variable] = _price(rows, log_sizes, variable, members[:count], choice.rule)
    chance = np.array([choice.seed], dtype=np.uint64)
    stretch = np.empty(len(left), dtype=np.int64)
    entries = np.empty(len(left), dtype=np.float64)
    for step in range(len(left)):
        remaining = len(left) - step
        place = _choose(left[:remaining], prices, choice.stages, choice.slack, chance)
        chosen = left[place]
        left[place] = left[remaining - 1]
        count = _members(rows[chosen], members)
        stretch[step] = chosen
        entries[step] = 2.0 ** _log_table_size(log_sizes, chosen, members[:count])
        total += entries[step]
        largest = max(largest, entries[step])
        if total + LARGEST_COUNTS * largest > bound:
            return stretch[:step], entries[:step], np.inf
        _eliminate(rows, log_sizes, prices, choice.rule, chosen, members[:count])
    return stretch, entries, total + LARGEST_COUNTS * largest


@tier(of_rows)
def parents_in(interactions: InteractionGraph, order: Numbers) -> Numbers:
    """For each variable the neighbour that is eliminated next after it, or -1."""
    rows = interactions.neighbours.copy()
    position = np.empty(len(order), dtype=np.int64)
    position[order] = np.arange(len(order))
    members = np.empty(len(order), dtype=np.int64)
    parents = np.full(len(order), -1, dtype=np.int64)
    for variable in order:
        count = _members(rows[variable], members)
        _join_all(rows, variable, members[:count])
        for member in members[:count]:
            if parents[variable] < 0 or position[member] < position[parents[variable]]:
                parents[variable] = member
    return parents


@shared
def _join_all(rows: Bits, chosen: int, members: Numbers) -> None:
    """Eliminate a variable without keeping prices."""
    for member in members:
        for word in range(rows.shape[1]):
            rows[member, word] |= rows[chosen, word]
        set_bit(rows[member], member, False)
        set_bit(rows[member], chosen, False)


@shared
def _choose(left: Numbers, prices: Floats, stages: Numbers, slack: float, chance: Bits) -> int:
    """Place of a variable of the lowest stage whose price is near the least; uniform among them."""
    stage = stages[left[0]]
    least = prices[left[0]]
    for variable in left:
        if stages[variable] < stage or (stages[variable] == stage and prices[variable] < least):
            stage = stages[variable]
            least = prices[variable]
    enough = least + slack * abs(least) + 1e-9
    chosen, ties = 0, 0
    for place in range(len(left)):
        variable = left[place]
        if stages[variable] == stage and prices[variable] <= enough:
            ties += 1
            if _draw(chance, ties) == 0:
                chosen = place
    return chosen


@shared
def _draw(chance: Bits, bound: int) -> int:
    """Draw one of 0, …, bound - 1: good enough to break ties (a 64-bit congruential generator)."""
    chance[0] = chance[0] * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
    return int(((chance[0] >> np.uint64(33)) * np.uint64(bound)) >> np.uint64(31))


@shared
def _eliminate(
    rows: Bits, log_sizes: Floats, prices: Floats, rule: int, chosen: int, members: Numbers
) -> None:
    """Join the neighbours of a variable, remove it, and keep all prices up to date."""
    for member in members:
        if rule == WEIGHT:
            prices[member] -= log_sizes[chosen]
        else:
            prices[member] -= _missing(rows, log_sizes, member, chosen, rule)
        set_bit(rows[member], chosen, False)
    for index in range(len(members)):
        first = members[index]
        for other in range(index):
            second = members[other]
            if not test_bit(rows[first], second):
                _join(rows, log_sizes, prices, rule, first, second)


@shared
def _join(
    rows: Bits, log_sizes: Floats, prices: Floats, rule: int, first: int, second: int
) -> None:
    if rule == WEIGHT:
        prices[first] += log_sizes[second]
        prices[second] += log_sizes[first]
    else:
        weight = 1.0 if rule == FILL else log_sizes[first] * log_sizes[second]
        for word in range(rows.shape[1]):
            common = rows[first, word] & rows[second, word]
            while common:
                prices[word * WORD_BITS + lowest(common)] -= weight
                common &= common - np.uint64(1)
        prices[first] += _missing(rows, log_sizes, first, second, rule)
        prices[second] += _missing(rows, log_sizes, second, first, rule)
    set_bit(rows[first], second, True)
    set_bit(rows[second], first, True)


@shared
def _missing(rows: Bits, log_sizes: Floats, member: int, other: int, rule: int) -> float:
    """Price of joining `other` to those neighbours of `member` that it is not joined to."""
    total = 0.0
    for word in range(rows.shape[1]):
        apart = rows[member, word] & ~rows[other, word]
        if rule == FILL:
            total += bit_count(apart)
        else:
            while apart:
                total += log_sizes[word * WORD_BITS + lowest(apart)]
                apart &= apart - np.uint64(1)
    if rule == FILL:
        return total - (1.0 if test_bit(rows[member], other) else 0.0)
    excluded = log_sizes[other] if test_bit(rows[member], other) else 0.0
    return float((total - excluded) * log_sizes[other])


@shared
def _price(rows: Bits, log_sizes: Floats, variable: int, members: Numbers, rule: int) -> float:
    if rule == WEIGHT:
        return _log_table_size(log_sizes, variable, members)
    total = 0.0
    for member in members:
        total += _missing(rows, log_sizes, variable, member, rule)
    return total / 2


@shared
def _log_table_size(log_sizes: Floats, variable: int, members: Numbers) -> float:
    total = float(log_sizes[variable])
    for member in members:
        total += log_sizes[member]
    return total


@shared
def _members(row: Bits, members: Numbers) -> int:
    """Write the numbers of the bits of a row; gives how many there are."""
    count = 0
    for word in range(len(row)):
        bits = row[word]
        while bits:
            members[count] = word * WORD_BITS + lowest(bits)
            count += 1
            bits &= bits - np.uint64(1)
    return count


# A search for an elimination order: greedy ones, sweeps, and patches to the best so far.
#
# The order inside any stretch of eliminations does not matter to what comes before or after it. So
# the best order is improved by doing one stretch again, greedily and with some chance, and keeping
# the outcome if it is no worse: a thousand such patches find orders that fresh starts never do.

ENTRIES_PER_SECOND = 2e9
"""About what elimination handles; a search longer than the work is a waste."""

SHORT, MANY = 0.05, 2e7
"""Seconds of search that nobody notices beside the elimination of so many entries."""

GAIN, IN_VAIN = 0.01, 0.2
"""These seconds are over sooner where no order costs so much less for such a share of them."""

LARGEST_COST = 2.0**75  # entries of orders that patches do not bring into the reach of any machine
WORTH_LOADING = 3e7
"""Entries whose elimination takes about as long as loading Numba."""

WORTH_COMPILING = 1e8
"""Entries whose elimination takes longer than loading the code that tries orders."""

RULES = (FILL, WEIGHTED_FILL, WEIGHT)

SLACKS = (0.0, 0.05, 0.1, 0.2, 0.4)  # how far from the best choice a greedy order may stray

ORDER_PARTS = (0.05, 0.1, 0.2, 0.4, 0.7, 1.0)  # parts of an order that are done again

PATCHES_PER_LAYOUT = 20  # patches before branches are laid out in another order

LANDMARKS = 4  # variables that distances are counted from

RUNS = (1, 2, 4, 8, 16, 32)  # variables in a row that make a stage


def search_order(
    edges: Numbers, log_sizes: Floats, *, seconds: float, seed: int, times: int = 1
) -> tuple[Numbers, float]:
    """Give the cheapest order met, and its cost; ends when further search would not pay.

    An order that is used several `times` may be looked for longer.
    """
    with ThreadClock() as clock:
        search = _OrderSearch(edges, log_sizes, seconds, seed, clock, times)
        for rule, slack, stages in _fresh_starts(edges, len(log_sizes)):
            if search.is_over():
                break
            search.attempt(rule, slack, stages)
        while search.cost < np.inf and not search.is_over():
            search.patch()
    return search.order, search.cost


def _fresh_starts(edges: Numbers, variables: int) -> Iterator[tuple[int, float, Numbers]]:
    """Each rule once, then sweeps."""
    together = np.zeros(variables, dtype=np.int64)
    yield from ((rule, 0.0, together) for rule in RULES)
    yield from ((rule, 0.0, stages) for stages in sweeps(variables, edges) for rule in RULES[::2])


class _OrderSearch:
    """The best order so far, the entries of its tables, its cost, and how long it all takes."""

    def __init__(
        self,
        edges: Numbers,
        log_sizes: Floats,
        seconds: float,
        seed: int,
        clock: ThreadClock,
        times: int,
    ) -> None:
        self.seconds, self.times = seconds, times
        self.interactions = InteractionGraph(bit_rows(len(log_sizes), edges), log_sizes)
        self.rng = np.random.default_rng(seed)
        self.order = np.arange(len(log_sizes))
        self.entries = np.zeros(len(log_sizes))
        self.cost, self.longest, self.interpreted = np.inf, 0.0, 0.0
        self.cost_before, self.gained = np.inf, 0.0  # the last time that an order cost less
        self.together = np.zeros(len(log_sizes), dtype=np.int64)
        # what the machine does besides is no reason to search less
        self.start, self.clock = working_time(), clock
        self.attempt(FILL, 0.0, self.together)
        if self.cost < np.inf:
            self._shuffle_branches()

    def is_over(self) -> bool:
        """Whether there is no time for another order, or none is worth it."""
        left = self.seconds - (working_time() - self.start)
        if left > 0 and self._gets_code():
            self.longest, self.interpreted, self.gained = 0.0, self.clock(), 0.0
            return False
        if left < self.longest:
            return True
        entries = self.times * self.cost
        spent = self.clock() - self.interpreted
        short = SHORT * min(1.0, entries / MANY)
        if self.cost < (1.0 - GAIN) * self.cost_before:
            self.cost_before, self.gained = self.cost, spent
        short = min(short, self.gained + IN_VAIN * short)
        return spent > short + entries / ENTRIES_PER_SECOND

    def _gets_code(self) -> bool:
        """Load Numba, or the code that tries orders, if that pays and was not done before."""
        if is_compiled(reorder_stretch):
            return False
        if self.cost > WORTH_COMPILING:
            compile_next(reorder_stretch)
            return True
        return self.cost > WORTH_LOADING and load_numba()

    def attempt(self, rule: int, slack: float, stages: Numbers) -> None:
        """Make one greedy order of everything."""
        self._reorder(0, len(self.order), rule, slack, stages)

    def patch(self) -> None:
        """Do some stretches of the best order again, each with a rule and a slack by chance."""
        self._shuffle_branches()
        for _ in range(PATCHES_PER_LAYOUT):
            first, last = self._costly_stretch()
            rule, slack = int(self.rng.choice(RULES)), float(self.rng.choice(SLACKS))
            self._reorder(first, last, rule, slack, self.together)

    def _costly_stretch(self) -> tuple[int, int]:
        """Choose a stretch of random length around a table, the larger the likelier."""
        length = int(np.ceil(len(self.order) * self.rng.choice(ORDER_PARTS)))
        weights = np.cumsum(np.sqrt(self.entries))
        table = int(np.searchsorted(weights, weights[-1] * self.rng.random()))
        earliest, latest = max(0, table - length + 1), min(table, len(self.order) - length)
        first = int(self.rng.integers(earliest, latest + 1))
        return first, first + length

    def _reorder(self, first: int, last: int, rule: int, slack: float, stages: Numbers) -> None:
        """Order a stretch anew; an equally good one is welcome, it leads elsewhere."""
        begun = working_time()
        outside = np.concatenate([self.entries[:first], self.entries[last:]])
        choice = GreedyChoice(rule, slack, stages, int(self.rng.integers(2**62)))
        stretch, entries, cost = reorder_stretch(
            self.interactions,
            self.order,
            first,
            last,
            choice,
            float(outside.sum()),
            float(outside.max(initial=0.0)),
            min(self.cost * (1 + 1e-9), LARGEST_COST),
        )
        self.longest = max(self.longest, working_time() - begun)
        if cost < np.inf:
            self.order[first:last] = stretch
            self.entries[first:last] = entries
            self.cost = float(cost)

    def _shuffle_branches(self) -> None:
        """Put the branches of the elimination one after the other, in an order by chance.

        Variables of different branches may change places at no cost; where they stand decides
        which stretches can be done again together.
        """
        children: dict[int, list[int]] = {}
        for variable, above in enumerate(parents_in(self.interactions, self.order).tolist()):
            children.setdefault(above, []).append(variable)
        waiting = children.get(-1, [])
        laid_out: list[int] = []
        while waiting:
            laid_out.append(waiting.pop())
            branches = children.get(laid_out[-1], [])
            waiting += self.rng.permutation(branches).tolist() if len(branches) > 1 else branches
        entries = np.empty(len(self.order))
        entries[self.order] = self.entries
        self.order = np.array(laid_out[::-1], dtype=np.int64)
        self.entries = entries[self.order]


def sweeps(variables: int, edges: Numbers) -> Iterator[Numbers]:
    """Stages per variable: as numbered, and by distances from far-apart variables.

    On a grid, the sum and the difference of the distances from two corners of one side are rows
    and columns, which no local rule finds.
    """
    for run in RUNS:
        yield np.arange(variables) // run
    distances = _distances(variables, edges)
    yield from distances
    for first, second in itertools.combinations(distances, 2):
        yield first + second
        yield first - second


def _distances(variables: int, edges: Numbers) -> list[Numbers]:
    """Steps from a few variables, each as far as possible from those before."""
    rows = bit_rows(variables, edges)
    distances = [_steps_from(rows, int(_steps_from(rows, 0).argmax()))]
    while len(distances) < LANDMARKS:
        nearest = np.minimum.reduce(distances)
        distances.append(_steps_from(rows, int(nearest.argmax())))
    return distances


def _steps_from(rows: Bits, start: int) -> Numbers:
    """Steps from one variable to each; as many as there are variables where no path leads."""
    steps = np.full(len(rows), len(rows))
    frontier, count = np.array([start]), 0
    while len(frontier):
        steps[frontier] = count
        near = unpack_bits(np.bitwise_or.reduce(rows[frontier], axis=0)[None], len(rows))[0]
        frontier = np.flatnonzero(near & (steps == len(rows)))
        count += 1
    return steps
