"""The greedy search for sets of variables that are cheap to exchange, compiled.

Each round starts from the cheapest variable left and adds, one at a time, the variable that
moves the fewest further factors. Only what a round has met is looked at, so its cost is that of
the factors around the block, not of the graph.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc.arrays import Floats
from orbitmc.compiled import compiled, shared
from orbitmc.symmetry.exchangeable import Links

Numbers = NDArray[np.int64]

NOBODY = -1
FAR = 2**62

WIDE = 64
"""Factors that read more variables than this are counted, but do not make variables cheaper:
they are shared by so many that it would hardly change who comes next."""

WIDE_BOND = 1024
"""The same for bonds, of which a block loses all that some member does not have."""

TIES = 32
"""How many equally cheap variables that share nothing with the block are compared."""

ROUND, STEP, SIZE, MET, INVARIANT, COMMON, TOUCHED, FRONT = range(8)
"""What `counter` holds: the present round and step; how many members, factors met, factors left
invariant, bonds common to all members and variables touched there are; the first place whose
variable may be untouched."""


class Candidates(NamedTuple):
    """Variables in the order in which rounds begin, one class after the other.

    Only variables of one class may share a block. `field[field_start[v]:field_start[v + 1]]` is
    what the values of variable `v` earn by themselves.
    """

    variable: Numbers
    place_of: Numbers
    class_start: Numbers
    class_of: Numbers
    degree: Numbers
    field: Floats
    field_start: Numbers


class Memory(NamedTuple):
    """What the search overwrites; a stamp says in which round or step something last happened.

    `cost[v]` is how many moved factors variable `v` would add, less those that the block has met;
    `has[v]` how many of the common bonds it has.
    """

    counter: Numbers
    met_in: Numbers  # per factor: round
    kept_in: Numbers  # per factor: step
    class_in: Numbers  # per factor left invariant: the class of all members in it
    invariant: Numbers
    common_in: Numbers  # per bond: step, the last in which a member had it while all had
    common: Numbers
    touched_in: Numbers  # per variable: round
    joined_in: Numbers  # per variable: round
    cost: Numbers
    has: Numbers
    touched: Numbers
    block: Numbers
    total: Floats  # sum of the members' fields
    before: Numbers  # places of the variables that no block has, as a chain
    after: Numbers
    gone: NDArray[np.bool_]


def memory_for(links: Links, candidates: Candidates, values: int) -> Memory:
    variables, factors = len(candidates.place_of), len(links.factor_start) - 1
    places = len(candidates.variable)
    return Memory(
        counter=np.zeros(8, np.int64),
        met_in=np.zeros(factors, np.int64),
        kept_in=np.zeros(factors, np.int64),
        class_in=np.zeros(factors, np.int64),
        invariant=np.zeros(max(1, int(candidates.degree.max(initial=0))), np.int64),
        common_in=np.zeros(len(links.holder_start) - 1, np.int64),
        common=np.zeros(max(1, int(candidates.degree.max(initial=0))), np.int64),
        touched_in=np.zeros(variables, np.int64),
        joined_in=np.zeros(variables, np.int64),
        cost=np.zeros(variables, np.int64),
        has=np.zeros(variables, np.int64),
        touched=np.zeros(variables, np.int64),
        block=np.zeros(variables, np.int64),
        total=np.zeros(max(1, values)),
        before=np.arange(-1, places - 1),
        after=np.arange(1, places + 1),
        gone=np.zeros(places, np.bool_),
    )


@compiled
def search(links, candidates, memory, max_moved, budget, slack, member, ends):
    """Fill `member` with disjoint blocks and `ends` with where each ends; gives their number."""
    blocks, filled = 0, 0
    for number in range(len(candidates.class_start) - 1):
        first, last = candidates.class_start[number], candidates.class_start[number + 1]
        while first < last:
            size = _grow(links, candidates, memory, first, last, max_moved, budget, slack)
            for place in range(size):
                member[filled + place] = memory.block[place]
            for place in range(max(1, size)):
                first = _leave(candidates, memory, memory.block[place], first)
            if size > 0:
                filled += size
                ends[blocks] = filled
                blocks += 1
    return blocks


@shared
def _leave(candidates, memory, variable, first):
    """Take a variable out of the chain; gives where the chain of its class now begins."""
    place = candidates.place_of[variable]
    left, right = memory.before[place], memory.after[place]
    if left >= 0:
        memory.after[left] = right
    if right < len(memory.before):
        memory.before[right] = left
    memory.gone[place] = True
    return right if place == first else first


@shared
def _grow(links, candidates, memory, first, last, max_moved, budget, slack):
    """Build a block from the variable at `first`; gives the size of the beginning to keep, or 0.

    That is the longest whose ratio of members to moved factors is nearly that of the best.
    """
    count = memory.counter
    _begin(links, candidates, memory, first)
    kept, best_size, best_moved, uneven = 0, 0, 0, 0.0
    while True:
        room = (budget - uneven) * (count[SIZE] + 1) / (2 * count[SIZE])
        chosen = _cheapest(candidates, memory, last, room)
        if chosen == NOBODY:
            break
        uneven += _distance(candidates, memory, chosen) * 2 * count[SIZE] / (count[SIZE] + 1)
        _join(links, candidates, memory, chosen)
        moved = count[MET] - count[INVARIANT] - count[COMMON] * count[SIZE]
        if moved > max_moved:
            break
        if best_size == 0 or count[SIZE] * best_moved >= best_size * moved:
            best_size, best_moved = count[SIZE], moved
        if count[SIZE] * best_moved >= (1 - slack) * best_size * moved:
            kept = count[SIZE]
    return kept


@shared
def _begin(links, candidates, memory, first):
    """Start a round: a single variable moves nothing, so all its factors are invariant."""
    count = memory.counter
    seed = candidates.variable[first]
    count[ROUND] += 1
    count[STEP] += 1
    count[SIZE], count[MET], count[TOUCHED] = 0, 0, 0
    count[FRONT] = first
    count[INVARIANT], count[COMMON] = 0, 0
    memory.total[:] = 0.0
    _enlist(candidates, memory, seed)
    for link in range(links.variable_start[seed], links.variable_start[seed + 1]):
        factor = links.factor[link]
        memory.class_in[factor] = links.own[link]
        memory.invariant[count[INVARIANT]] = factor
        count[INVARIANT] += 1
        _meet(links, candidates, memory, factor, seed)
        _rate(links, candidates, memory, factor, seed, -1)
        memory.common_in[links.bond[link]] = count[STEP]
        memory.common[count[COMMON]] = links.bond[link]
        count[COMMON] += 1
        _credit(links, candidates, memory, links.bond[link], seed, 1)


@shared
def _join(links, candidates, memory, variable):
    """Add a variable: factors it does not share, or not in the same role, are now moved.

    So are those of bonds that it does not have.
    """
    count = memory.counter
    before = count[STEP]
    count[STEP] += 1
    _enlist(candidates, memory, variable)
    for link in range(links.variable_start[variable], links.variable_start[variable + 1]):
        factor = links.factor[link]
        if memory.met_in[factor] != count[ROUND]:
            _meet(links, candidates, memory, factor, variable)
            memory.class_in[factor] = NOBODY
        elif memory.class_in[factor] == links.own[link]:
            memory.kept_in[factor] = count[STEP]
        if memory.common_in[links.bond[link]] == before:
            memory.common_in[links.bond[link]] = count[STEP]
    _keep_common(links, candidates, memory, variable)
    kept = 0
    for place in range(count[INVARIANT]):
        factor = memory.invariant[place]
        if memory.kept_in[factor] == count[STEP]:
            memory.invariant[kept] = factor
            kept += 1
        else:
            _rate(links, candidates, memory, factor, variable, 1)
            memory.class_in[factor] = NOBODY
    count[INVARIANT] = kept


@shared
def _keep_common(links, candidates, memory, variable):
    """Forget the bonds that the newest member does not have."""
    count = memory.counter
    kept = 0
    for place in range(count[COMMON]):
        bond = memory.common[place]
        if memory.common_in[bond] == count[STEP]:
            memory.common[kept] = bond
            kept += 1
        else:
            _credit(links, candidates, memory, bond, variable, -1)
    count[COMMON] = kept


@shared
def _enlist(candidates, memory, variable):
    memory.block[memory.counter[SIZE]] = variable
    memory.counter[SIZE] += 1
    memory.joined_in[variable] = memory.counter[ROUND]
    start = candidates.field_start[variable]
    for value in range(candidates.field_start[variable + 1] - start):
        memory.total[value] += candidates.field[start + value]


@shared
def _meet(links, candidates, memory, factor, member):
    """Count a factor; those who read it too become cheaper."""
    memory.met_in[factor] = memory.counter[ROUND]
    memory.counter[MET] += 1
    first, last = links.factor_start[factor], links.factor_start[factor + 1]
    if last - first <= WIDE:
        for link in range(first, last):
            _touch(candidates, memory, links.variable[link], member, -1)


@shared
def _rate(links, candidates, memory, factor, member, change):
    """Change the cost of those who could join without moving an invariant factor."""
    first, last = links.factor_start[factor], links.factor_start[factor + 1]
    if last - first <= WIDE:
        for link in range(first, last):
            if links.alike[link] == memory.class_in[factor]:
                _touch(candidates, memory, links.variable[link], member, change)


@shared
def _credit(links, candidates, memory, bond, member, change):
    """Remember who else has a bond, or that it no longer counts."""
    first, last = links.holder_start[bond], links.holder_start[bond + 1]
    if last - first <= WIDE_BOND:
        for place in range(first, last):
            variable = links.holder[place]
            if candidates.class_of[variable] == candidates.class_of[member]:
                _touch(candidates, memory, variable, member, 0)
                memory.has[variable] += change


@shared
def _touch(candidates, memory, variable, member, change):
    count = memory.counter
    if candidates.class_of[variable] != candidates.class_of[member]:
        return
    if memory.touched_in[variable] != count[ROUND]:
        memory.touched_in[variable] = count[ROUND]
        memory.cost[variable] = candidates.degree[variable]
        memory.has[variable] = 0
        memory.touched[count[TOUCHED]] = variable
        count[TOUCHED] += 1
    memory.cost[variable] += change


@shared
def _cheapest(candidates, memory, last, room):
    """Who adds the fewest moved factors; then who is nearest to the members; then the first.

    Nobody farther from the members than `room` (a squared distance) is considered.
    """
    best = (FAR, np.inf, NOBODY)
    for place in range(memory.counter[TOUCHED]):
        variable = memory.touched[place]
        # a common bond that stays spares the factors of all members, the new one's too
        cost = memory.cost[variable] - memory.has[variable] * (memory.counter[SIZE] + 1)
        if cost <= best[0] and _free(candidates, memory, variable):
            distance = _distance(candidates, memory, variable)
            if distance <= room:
                best = _lesser(best, (cost, distance, variable))
    stranger = _stranger(candidates, memory, last)
    if stranger != NOBODY:
        distance = _distance(candidates, memory, stranger)
        if distance <= room:
            best = _lesser(best, (candidates.degree[stranger], distance, stranger))
    return best[2]


@shared
def _lesser(one, two):
    return two if two < one else one


@shared
def _free(candidates, memory, variable):
    """Whether a variable is still in the chain and not in the block."""
    place = candidates.place_of[variable]
    return memory.joined_in[variable] != memory.counter[ROUND] and not memory.gone[place]


@shared
def _stranger(candidates, memory, last):
    """The nearest of the cheapest variables that share no factor with the block."""
    place = memory.counter[FRONT]
    while place < last and not _untouched(memory, candidates.variable[place]):
        place = memory.after[place]
    memory.counter[FRONT] = place
    if place >= last:
        return NOBODY
    degree = candidates.degree[candidates.variable[place]]
    nearest = (np.inf, NOBODY)
    for _ in range(TIES):
        variable = candidates.variable[place]
        if candidates.degree[variable] != degree:
            break
        if _untouched(memory, variable):
            nearest = _lesser(nearest, (_distance(candidates, memory, variable), variable))
        place = memory.after[place]
        if place >= last:
            break
    return nearest[1]


@shared
def _untouched(memory, variable):
    number = memory.counter[ROUND]
    return memory.touched_in[variable] != number and memory.joined_in[variable] != number


@shared
def _distance(candidates, memory, variable):
    """Squared distance of a variable's field to the mean of the members'."""
    total = 0.0
    start = candidates.field_start[variable]
    for value in range(candidates.field_start[variable + 1] - start):
        difference = candidates.field[start + value] - memory.total[value] / memory.counter[SIZE]
        total += difference * difference
    return total
