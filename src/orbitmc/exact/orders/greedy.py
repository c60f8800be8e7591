"""One greedy elimination order, compiled: thousands are tried, the cheapest is kept.

Neighbours are rows of bits. Eliminating a variable joins all its neighbours; the table built on
the way has one axis for the variable and one for each neighbour, and its size is the price.
"""

from typing import NamedTuple

import numpy as np

from orbitmc._numba.jit import shared
from orbitmc._numba.tiers import tiered
from orbitmc._simd.bits import WORD, Bits, bit_count, has, lowest, put
from orbitmc._util.arrays import Floats, Numbers

FILL, WEIGHT, WEIGHTED_FILL = 0, 1, 2
"""What the next variable has least of: new edges, table entries, or new edges by their weight."""

LARGEST_COUNTS = 16
"""The cost of an order is the number of entries of all its tables, which is time, and this many
times those of the largest, which is memory."""


def bit_rows(variables: int, edges: Numbers) -> Bits:
    """Neighbours of every variable as bits."""
    rows = np.zeros((variables, (variables + WORD - 1) // WORD), dtype=np.uint64)
    for first, second in (edges.T, edges.T[::-1]):
        np.bitwise_or.at(
            rows, (first, second // WORD), np.uint64(1) << (second % WORD).astype(np.uint64)
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


@tiered(of_rows)
def order_stretch(
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
        entries[step] = 2.0 ** _log_table(log_sizes, chosen, members[:count])
        total += entries[step]
        largest = max(largest, entries[step])
        if total + LARGEST_COUNTS * largest > bound:
            return stretch[:step], entries[:step], np.inf
        _eliminate(rows, log_sizes, prices, choice.rule, chosen, members[:count])
    return stretch, entries, total + LARGEST_COUNTS * largest


@tiered(of_rows)
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
        put(rows[member], member, False)
        put(rows[member], chosen, False)


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
        put(rows[member], chosen, False)
    for index in range(len(members)):
        first = members[index]
        for other in range(index):
            second = members[other]
            if not has(rows[first], second):
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
                prices[word * WORD + lowest(common)] -= weight
                common &= common - np.uint64(1)
        prices[first] += _missing(rows, log_sizes, first, second, rule)
        prices[second] += _missing(rows, log_sizes, second, first, rule)
    put(rows[first], second, True)
    put(rows[second], first, True)


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
                total += log_sizes[word * WORD + lowest(apart)]
                apart &= apart - np.uint64(1)
    if rule == FILL:
        return total - (1.0 if has(rows[member], other) else 0.0)
    own = log_sizes[other] if has(rows[member], other) else 0.0
    return float((total - own) * log_sizes[other])


@shared
def _price(rows: Bits, log_sizes: Floats, variable: int, members: Numbers, rule: int) -> float:
    if rule == WEIGHT:
        return _log_table(log_sizes, variable, members)
    total = 0.0
    for member in members:
        total += _missing(rows, log_sizes, variable, member, rule)
    return total / 2


@shared
def _log_table(log_sizes: Floats, variable: int, members: Numbers) -> float:
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
            members[count] = word * WORD + lowest(bits)
            count += 1
            bits &= bits - np.uint64(1)
    return count
