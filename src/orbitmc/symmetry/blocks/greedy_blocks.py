"""The greedy search for sets of variables that are cheap to exchange, compiled.

Each round starts from the cheapest variable left and adds, one at a time, the variable that
moves the fewest further factors. Only what a round has met is looked at, so its cost is that of
the factors around the block, not of the graph.
"""

from orbitmc._numba.jit import shared
from orbitmc._numba.tiers import of_first, tiered
from orbitmc._util.arrays import Numbers
from orbitmc.symmetry.blocks.greedy_choice import (
    NOBODY,
    cheapest,
    count_cliques,
    credit,
    distance_of,
    meet,
    pairs,
    rate,
)
from orbitmc.symmetry.blocks.greedy_memory import (
    CLIQUES,
    COMMON,
    FRONT,
    INVARIANT,
    MET,
    ROUND,
    SIZE,
    STEP,
    TOUCHED,
    Candidates,
    Memory,
)
from orbitmc.symmetry.detection.encoding.exchangeable import Links


@tiered(of_first)
def search(
    links: Links,
    candidates: Candidates,
    memory: Memory,
    max_moved: float,
    budget: float,
    slack: float,
    member: Numbers,
    ends: Numbers,
) -> int:
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
def _leave(candidates: Candidates, memory: Memory, variable: int, first: int) -> int:
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
    _begin(links, candidates, memory, first)
    kept, best_size, best_moved, uneven = 0, 0, 0, 0.0
    while True:
        room = (budget - uneven) * (count[SIZE] + 1) / (2 * count[SIZE])
        chosen = cheapest(candidates, memory, last, room)
        if chosen == NOBODY:
            break
        uneven += distance_of(candidates, memory, chosen) * 2 * count[SIZE] / (count[SIZE] + 1)
        _join(links, candidates, memory, chosen)
        moved = _moved(memory)
        if moved > max_moved:
            break
        if best_size == 0 or count[SIZE] * best_moved >= best_size * moved:
            best_size, best_moved = count[SIZE], moved
        if count[SIZE] * best_moved >= (1 - slack) * best_size * moved:
            kept = count[SIZE]
    return kept


@shared
def _moved(memory: Memory) -> int:
    """How many factors permutations of the members change and replace by no equal ones."""
    count = memory.counter
    traded = count[COMMON] * count[SIZE]
    if count[SIZE] > 2:  # the factors that join just two members are invariant
        traded += count[CLIQUES] * pairs(count[SIZE])
    return int(count[MET] - count[INVARIANT] - traded)


@shared
def _begin(links: Links, candidates: Candidates, memory: Memory, first: int) -> None:
    """Start a round: a single variable moves nothing, so all its factors are invariant."""
    count = memory.counter
    seed = candidates.variable[first]
    count[ROUND] += 1
    count[STEP] += 1
    count[SIZE], count[MET], count[TOUCHED] = 0, 0, 0
    count[FRONT] = first
    count[INVARIANT], count[COMMON], count[CLIQUES] = 0, 0, 0
    memory.total[:] = 0.0
    _enlist(candidates, memory, seed)
    for link in range(links.variable_start[seed], links.variable_start[seed + 1]):
        factor = links.factor[link]
        memory.class_in[factor] = links.own[link]
        memory.invariant[count[INVARIANT]] = factor
        count[INVARIANT] += 1
        meet(links, candidates, memory, factor, seed)
        rate(links, candidates, memory, factor, seed, -1)
        memory.common_in[links.bond[link]] = count[STEP]
        memory.common[count[COMMON]] = links.bond[link]
        count[COMMON] += 1
        credit(links, candidates, memory, links.bond[link], seed, 1)


@shared
def _join(links: Links, candidates: Candidates, memory: Memory, variable: int) -> None:
    """Add a variable: factors it does not share, or not in the same role, are now moved.

    So are those of bonds that it does not have, and those within the block by which it is not
    joined to everybody.
    """
    count = memory.counter
    before = count[STEP]
    count[STEP] += 1
    _enlist(candidates, memory, variable)
    for link in range(links.variable_start[variable], links.variable_start[variable + 1]):
        factor = links.factor[link]
        if memory.met_in[factor] != count[ROUND]:
            meet(links, candidates, memory, factor, variable)
            memory.class_in[factor] = NOBODY
        elif memory.class_in[factor] == links.own[link]:
            memory.kept_in[factor] = count[STEP]
        if memory.common_in[links.bond[link]] == before:
            memory.common_in[links.bond[link]] = count[STEP]
    _drop(links, candidates, memory, variable)
    count_cliques(links, candidates, memory, variable)


@shared
def _drop(links: Links, candidates: Candidates, memory: Memory, variable: int) -> None:
    """Forget what the newest member does not share: factors that were invariant, common bonds."""
    count = memory.counter
    had = count[COMMON]
    count[COMMON] = _bring_forward(memory.common, had, memory.common_in, count[STEP])
    for place in range(count[COMMON], had):
        credit(links, candidates, memory, memory.common[place], variable, -1)
    had = count[INVARIANT]
    count[INVARIANT] = _bring_forward(memory.invariant, had, memory.kept_in, count[STEP])
    for place in range(count[INVARIANT], had):
        rate(links, candidates, memory, memory.invariant[place], variable, 1)
        memory.class_in[memory.invariant[place]] = NOBODY


@shared
def _bring_forward(items: Numbers, count: int, stamp: Numbers, step: int) -> int:
    """Put those of the first items that have the stamp before the others; gives their number."""
    kept = 0
    for place in range(count):
        item = items[place]
        if stamp[item] == step:
            items[place] = items[kept]
            items[kept] = item
            kept += 1
    return kept


@shared
def _enlist(candidates: Candidates, memory: Memory, variable: int) -> None:
    memory.block[memory.counter[SIZE]] = variable
    memory.counter[SIZE] += 1
    memory.joined_in[variable] = memory.counter[ROUND]
    start = candidates.field_start[variable]
    for value in range(candidates.field_start[variable + 1] - start):
        memory.total[value] += candidates.field[start + value]
