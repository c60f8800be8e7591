"""The greedy search for sets of variables that are cheap to exchange, compiled."""

from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from orbitmc._numba.jit import shared
from orbitmc._numba.tiers import of_first, tier
from orbitmc._util.arrays import Floats, Numbers
from orbitmc.symmetry.exchangeability import NO_JOINT, Links

# What the greedy search for blocks looks at, and what it overwrites.

ROUND, STEP, SIZE, MET, INVARIANT, COMMON, CLIQUES, TOUCHED, FRONT = range(9)
"""What `counter` holds: the present round and step; how many members, factors met, factors left
invariant, bonds common to all members, joints that join every two members and variables touched
there are; the first place whose variable may be untouched."""


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
    `has[v]` how many of the common bonds it has; `joins[v]` how many factors join it to members in
    a way in which every two members were joined at that time.
    """

    counter: Numbers
    met_in: Numbers  # per factor: round
    kept_in: Numbers  # per factor: step
    class_in: Numbers  # per factor left invariant: the class of all members in it
    invariant: Numbers
    common_in: Numbers  # per bond: step, the last in which a member had it while all had
    common: Numbers
    inner_in: Numbers  # per joint: round
    inner: Numbers  # per joint: how many of its factors join members
    touched_in: Numbers  # per variable: round
    joined_in: Numbers  # per variable: round
    cost: Numbers
    has: Numbers
    joins: Numbers
    touched: Numbers
    block: Numbers
    total: Floats  # sum of the members' fields
    before: Numbers  # places of the variables that no block has, as a chain
    after: Numbers
    gone: NDArray[np.bool_]


def memory_for(links: Links, candidates: Candidates, values: int) -> Memory:
    variables, factors = len(candidates.place_of), len(links.factor_start) - 1
    places = len(candidates.variable)
    bonds, joints = len(links.holder_start) - 1, int(links.joint.max(initial=-1)) + 1
    most = max(1, int(candidates.degree.max(initial=0)))
    return Memory(
        counter=np.zeros(9, np.int64),
        met_in=np.zeros(factors, np.int64),
        kept_in=np.zeros(factors, np.int64),
        class_in=np.zeros(factors, np.int64),
        invariant=np.zeros(most, np.int64),
        common_in=np.zeros(bonds, np.int64),
        common=np.zeros(most, np.int64),
        inner_in=np.zeros(joints, np.int64),
        inner=np.zeros(joints, np.int64),
        touched_in=np.zeros(variables, np.int64),
        joined_in=np.zeros(variables, np.int64),
        cost=np.zeros(variables, np.int64),
        has=np.zeros(variables, np.int64),
        joins=np.zeros(variables, np.int64),
        touched=np.zeros(variables, np.int64),
        block=np.zeros(variables, np.int64),
        total=np.zeros(max(1, values)),
        before=np.arange(-1, places - 1),
        after=np.arange(1, places + 1),
        gone=np.zeros(places, np.bool_),
    )


Ordered = TypeVar("Ordered", bound=tuple[float, ...])

NO_MEMBER = -1
FARTHEST = 2**62

TIES = 32  # how many equally cheap variables that share nothing with the block are compared
WIDEST_FACTOR = 64
"""Factors that read more variables than this are counted, but do not make variables cheaper:
they are shared by so many that it would hardly change who comes next."""

WIDE_BOND = 1024  # the same for bonds, of which a block loses all that some member does not have


@shared
def cheapest(candidates: Candidates, memory: Memory, last: int, room: float) -> int:
    """Who adds the fewest moved factors; then who is nearest to the members; then the first.

    Nobody farther from the members than `room` (a squared distance) is considered.
    """
    best = (FARTHEST, np.inf, NO_MEMBER)
    for place in range(memory.counter[TOUCHED]):
        variable = memory.touched[place]
        cost = memory.cost[variable] - _count_traded(memory, variable)
        if cost <= best[0] and _free(candidates, memory, variable):
            distance = distance_of(candidates, memory, variable)
            if distance <= room:
                best = _smaller(best, (cost, distance, variable))
    stranger = _nearest_unrelated(candidates, memory, last)
    if stranger != NO_MEMBER:
        distance = distance_of(candidates, memory, stranger)
        if distance <= room:
            best = _smaller(best, (candidates.degree[stranger], distance, stranger))
    return best[2]


@shared
def _count_traded(memory: Memory, variable: int) -> int:
    """How many factors would only be traded for equal ones if a variable joined.

    A common bond that stays spares the factors of all members, the new one's too; so does a joint
    that joins the new one to everybody, if every two members have one.
    """
    count, size = memory.counter, memory.counter[SIZE]
    traded: int = memory.has[variable] * (size + 1)
    if count[CLIQUES] > 0:
        traded += min(count[CLIQUES], memory.joins[variable] // size) * (size * (size + 1) // 2)
    return traded


@shared
def _smaller(first: Ordered, second: Ordered) -> Ordered:
    return second if second < first else first


@shared
def _free(candidates: Candidates, memory: Memory, variable: int) -> bool:
    """Whether a variable is still in the chain and not in the block."""
    place = candidates.place_of[variable]
    return memory.joined_in[variable] != memory.counter[ROUND] and not memory.gone[place]


@shared
def _nearest_unrelated(candidates: Candidates, memory: Memory, last: int) -> int:
    """The nearest of the cheapest variables that share no factor with the block."""
    place = memory.counter[FRONT]
    while place < last and not _is_untouched(memory, candidates.variable[place]):
        place = memory.after[place]
    memory.counter[FRONT] = place
    if place >= last:
        return NO_MEMBER
    degree = candidates.degree[candidates.variable[place]]
    nearest = (np.inf, NO_MEMBER)
    for _ in range(TIES):
        variable = candidates.variable[place]
        if candidates.degree[variable] != degree:
            break
        if _is_untouched(memory, variable):
            nearest = _smaller(nearest, (distance_of(candidates, memory, variable), variable))
        place = memory.after[place]
        if place >= last:
            break
    return nearest[1]


@shared
def _is_untouched(memory: Memory, variable: int) -> bool:
    number = memory.counter[ROUND]
    return bool(memory.touched_in[variable] != number and memory.joined_in[variable] != number)


@shared
def distance_of(candidates: Candidates, memory: Memory, variable: int) -> float:
    """Squared distance of a variable's field to the mean of the members'."""
    total = 0.0
    start = candidates.field_start[variable]
    for value in range(candidates.field_start[variable + 1] - start):
        difference = candidates.field[start + value] - memory.total[value] / memory.counter[SIZE]
        total += difference * difference
    return total


@shared
def count_factor(
    links: Links, candidates: Candidates, memory: Memory, factor: int, member: int
) -> None:
    """Count a factor; those who read it too become cheaper."""
    memory.met_in[factor] = memory.counter[ROUND]
    memory.counter[MET] += 1
    first, last = links.factor_start[factor], links.factor_start[factor + 1]
    if last - first <= WIDEST_FACTOR:
        for link in range(first, last):
            _touch(candidates, memory, links.variable[link], member, -1)


@shared
def change_cost(
    links: Links, candidates: Candidates, memory: Memory, factor: int, member: int, change: int
) -> None:
    """Change the cost of those who could join without moving an invariant factor."""
    first, last = links.factor_start[factor], links.factor_start[factor + 1]
    if last - first <= WIDEST_FACTOR:
        for link in range(first, last):
            if links.alike[link] == memory.class_in[factor]:
                _touch(candidates, memory, links.variable[link], member, change)


@shared
def change_bond(
    links: Links, candidates: Candidates, memory: Memory, bond: int, member: int, change: int
) -> None:
    """Remember who else has a bond, or that it no longer counts."""
    first, last = links.holder_start[bond], links.holder_start[bond + 1]
    if last - first <= WIDE_BOND:
        for place in range(first, last):
            variable = links.holder[place]
            if candidates.class_of[variable] == candidates.class_of[member]:
                _touch(candidates, memory, variable, member, 0)
                memory.has[variable] += change


@shared
def _touch(candidates: Candidates, memory: Memory, variable: int, member: int, change: int) -> None:
    count = memory.counter
    if candidates.class_of[variable] != candidates.class_of[member]:
        return
    if memory.touched_in[variable] != count[ROUND]:
        memory.touched_in[variable] = count[ROUND]
        memory.cost[variable] = candidates.degree[variable]
        memory.has[variable] = 0
        memory.joins[variable] = 0
        memory.touched[count[TOUCHED]] = variable
        count[TOUCHED] += 1
    memory.cost[variable] += change


@shared
def count_cliques(links: Links, candidates: Candidates, memory: Memory, variable: int) -> None:
    """Count the ways in which all members are joined, the newest too, and who else is so."""
    count = memory.counter
    count[CLIQUES] = 0
    for link in range(links.variable_start[variable], links.variable_start[variable + 1]):
        factor = links.factor[link]
        joint = links.joint[factor]
        if joint == NO_JOINT or not _joins_members(links, memory, factor, variable):
            continue
        if memory.inner_in[joint] != count[ROUND]:
            memory.inner_in[joint] = count[ROUND]
            memory.inner[joint] = 0
        memory.inner[joint] += 1
        if memory.inner[joint] == pairs(count[SIZE]):
            count[CLIQUES] += 1
    if count[CLIQUES] > 0:
        for place in range(count[SIZE] - 1 if count[SIZE] > 2 else 0, count[SIZE]):
            _extend(links, candidates, memory, memory.block[place])


@shared
def _joins_members(links: Links, memory: Memory, factor: int, member: int) -> bool:
    return bool(memory.joined_in[_partner(links, factor, member)] == memory.counter[ROUND])


@shared
def _extend(links: Links, candidates: Candidates, memory: Memory, member: int) -> None:
    """Remember who is joined to a member as all members are."""
    count = memory.counter
    for link in range(links.variable_start[member], links.variable_start[member + 1]):
        joint = links.joint[links.factor[link]]
        if joint == NO_JOINT or memory.inner_in[joint] != count[ROUND]:
            continue
        other = _partner(links, links.factor[link], member)
        same_class = candidates.class_of[other] == candidates.class_of[member]
        if same_class and memory.inner[joint] == pairs(count[SIZE]):
            _touch(candidates, memory, other, member, 0)
            memory.joins[other] += 1


@shared
def _partner(links: Links, factor: int, variable: int) -> int:
    """The other variable of a factor that joins two."""
    first = links.factor_start[factor]
    first_variable, second_variable = (
        np.int64(links.variable[first]),
        np.int64(links.variable[first + 1]),
    )
    return int(second_variable if first_variable == variable else first_variable)


@shared
def pairs(size: int) -> int:
    return size * (size - 1) // 2


# The greedy search for sets of variables that are cheap to exchange, compiled.
#
# Each round starts from the cheapest variable left and adds, one at a time, the variable that
# moves the fewest further factors. Only what a round has met is looked at, so its cost is that of
# the factors around the block, not of the graph.


class Progress(NamedTuple):
    """How far a search has come: `at` has the class, a place in it, blocks, and their members.

    `member` has the members of all blocks, `ends` where each ends.
    """

    at: Numbers
    member: Numbers
    ends: Numbers


CLASS, FIRST, BLOCKS, FILLED = range(4)
WORK_AT_ONCE = 10_000_000  # looks at variables; a compiled call cannot be interrupted


def start_search(candidates: Candidates, variables: int) -> Progress:
    """Begin with the first class."""
    at = np.zeros(4, np.int64)
    at[FIRST] = candidates.class_start[0]
    return Progress(at, np.zeros(variables, np.int64), np.zeros(variables, np.int64))


@tier(of_first)
def search_on(
    links: Links,
    candidates: Candidates,
    memory: Memory,
    max_moved: float,
    budget: float,
    slack: float,
    progress: Progress,
) -> bool:
    """Find more disjoint blocks for a while; whether there is more to do."""
    at, looks = progress.at, 0
    while at[CLASS] < len(candidates.class_start) - 1 and looks < WORK_AT_ONCE:
        first, last = at[FIRST], candidates.class_start[at[CLASS] + 1]
        if first >= last:
            at[CLASS] += 1
            at[FIRST] = last
            continue
        size = _grow(links, candidates, memory, first, last, max_moved, budget, slack)
        looks += 1 + memory.counter[SIZE] * memory.counter[TOUCHED]
        for place in range(size):
            progress.member[at[FILLED] + place] = memory.block[place]
        for place in range(max(1, size)):
            first = _unlink(candidates, memory, memory.block[place], first)
        at[FIRST] = first
        if size > 0:
            at[FILLED] += size
            progress.ends[at[BLOCKS]] = at[FILLED]
            at[BLOCKS] += 1
    return bool(at[CLASS] < len(candidates.class_start) - 1)


@shared
def _unlink(candidates: Candidates, memory: Memory, variable: int, first: int) -> int:
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
def _grow(
    links: Links,
    candidates: Candidates,
    memory: Memory,
    first: int,
    last: int,
    max_moved: float,
    budget: float,
    slack: float,
) -> int:
    """Build a block from the variable at `first`; gives the size of the beginning to keep, or 0.

    That is the longest whose ratio of members to moved factors is nearly that of the best.
    """
    count = memory.counter
    _start_block(links, candidates, memory, first)
    best, best_size, best_moved, uneven = 0, 0, 0, 0.0
    while True:
        room = (budget - uneven) * (count[SIZE] + 1) / (2 * count[SIZE])
        chosen = cheapest(candidates, memory, last, room)
        if chosen == NO_MEMBER:
            break
        uneven += distance_of(candidates, memory, chosen) * 2 * count[SIZE] / (count[SIZE] + 1)
        _join(links, candidates, memory, chosen)
        moved = _count_moved(memory)
        if moved > max_moved:
            break
        if best_size == 0 or count[SIZE] * best_moved >= best_size * moved:
            best_size, best_moved = count[SIZE], moved
        if count[SIZE] * best_moved >= (1 - slack) * best_size * moved:
            best = count[SIZE]
    return best


@shared
def _count_moved(memory: Memory) -> int:
    """How many factors permutations of the members change and replace by no equal ones."""
    count = memory.counter
    traded = count[COMMON] * count[SIZE]
    if count[SIZE] > 2:  # the factors that join just two members are invariant
        traded += count[CLIQUES] * pairs(count[SIZE])
    return int(count[MET] - count[INVARIANT] - traded)


@shared
def _start_block(links: Links, candidates: Candidates, memory: Memory, first: int) -> None:
    """Start a round: a single variable moves nothing, so all its factors are invariant."""
    count = memory.counter
    seed = candidates.variable[first]
    count[ROUND] += 1
    count[STEP] += 1
    count[SIZE], count[MET], count[TOUCHED] = 0, 0, 0
    count[FRONT] = first
    count[INVARIANT], count[COMMON], count[CLIQUES] = 0, 0, 0
    memory.total[:] = 0.0
    _append_member(candidates, memory, seed)
    for link in range(links.variable_start[seed], links.variable_start[seed + 1]):
        factor = links.factor[link]
        memory.class_in[factor] = links.variable_class[link]
        memory.invariant[count[INVARIANT]] = factor
        count[INVARIANT] += 1
        count_factor(links, candidates, memory, factor, seed)
        change_cost(links, candidates, memory, factor, seed, -1)
        memory.common_in[links.bond[link]] = count[STEP]
        memory.common[count[COMMON]] = links.bond[link]
        count[COMMON] += 1
        change_bond(links, candidates, memory, links.bond[link], seed, 1)


@shared
def _join(links: Links, candidates: Candidates, memory: Memory, variable: int) -> None:
    """Add a variable: factors it does not share, or not in the same role, are now moved.

    So are those of bonds that it does not have, and those within the block by which it is not
    joined to everybody.
    """
    count = memory.counter
    before = count[STEP]
    count[STEP] += 1
    _append_member(candidates, memory, variable)
    for link in range(links.variable_start[variable], links.variable_start[variable + 1]):
        factor = links.factor[link]
        if memory.met_in[factor] != count[ROUND]:
            count_factor(links, candidates, memory, factor, variable)
            memory.class_in[factor] = NO_MEMBER
        elif memory.class_in[factor] == links.variable_class[link]:
            memory.kept_in[factor] = count[STEP]
        if memory.common_in[links.bond[link]] == before:
            memory.common_in[links.bond[link]] = count[STEP]
    _drop_unshared(links, candidates, memory, variable)
    count_cliques(links, candidates, memory, variable)


@shared
def _drop_unshared(links: Links, candidates: Candidates, memory: Memory, variable: int) -> None:
    """Forget what the newest member does not share: factors that were invariant, common bonds."""
    count = memory.counter
    had = count[COMMON]
    count[COMMON] = _bring_forward(memory.common, had, memory.common_in, count[STEP])
    for place in range(count[COMMON], had):
        change_bond(links, candidates, memory, memory.common[place], variable, -1)
    had = count[INVARIANT]
    count[INVARIANT] = _bring_forward(memory.invariant, had, memory.kept_in, count[STEP])
    for place in range(count[INVARIANT], had):
        change_cost(links, candidates, memory, memory.invariant[place], variable, 1)
        memory.class_in[memory.invariant[place]] = NO_MEMBER


@shared
def _bring_forward(items: Numbers, count: int, stamp: Numbers, step: int) -> int:
    """Put those of the first items that have the stamp before the others; gives their number."""
    front = 0
    for place in range(count):
        item = items[place]
        if stamp[item] == step:
            items[place] = items[front]
            items[front] = item
            front += 1
    return front


@shared
def _append_member(candidates: Candidates, memory: Memory, variable: int) -> None:
    memory.block[memory.counter[SIZE]] = variable
    memory.counter[SIZE] += 1
    memory.joined_in[variable] = memory.counter[ROUND]
    start = candidates.field_start[variable]
    for value in range(candidates.field_start[variable + 1] - start):
        memory.total[value] += candidates.field[start + value]
