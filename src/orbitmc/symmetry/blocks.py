"""Sets of variables that are cheap to exchange: many variables for each factor that notices.

The subgroup heuristic of Lifted Metropolis-Hastings: orbits of an approximation may be far too
large to be permuted at once, so each is cut greedily into disjoint blocks around which few
factors change, and each block gets its symmetric group.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orbitmc._numba.compile_log import require_time
from orbitmc._numba.jit import compiled, shared
from orbitmc._util.arrays import Floats, Indices, Numbers, indices, lengths, readonly, starts
from orbitmc.errors import InputError
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.groups._exchange_blocks import ExchangeBlocks, blocks_from_arrays
from orbitmc.symmetry.block_search import (
    BLOCKS,
    Candidates,
    memory_for,
    search_on,
    start_search,
)
from orbitmc.symmetry.exchangeability import NO_JOINT, Links, links, table_bounds

RATIO_SLACK = 0.2  # how much of the best ratio of members to moved factors is worth a larger block
LEAST_LOG_POTENTIAL = -30.0  # what stands for minus infinity where log-potentials are averaged


def blocks(
    graph: FactorGraph,
    orbits: ArrayLike,
    *,
    max_moved: int = 200,
    budget: float | None = None,
    slack: float = RATIO_SLACK,
    connections: Links | None = None,
) -> ExchangeBlocks:
    """Cut orbits into disjoint blocks with many members for each factor they move.

    `orbits` numbers the orbit of each variable; a negative number keeps a variable out, and
    variables of different cardinality never share a block. No block moves more than `max_moved`
    factors. Where few factors are shared a pair often has the best ratio; so a block keeps growing
    while its ratio is within `slack` of the best (0 insists on the best). With a `budget`, a
    uniform shuffle of a block changes the log-odds of its members by a sum of squares of at most
    that on average (`budget_for` says how large it may be). Variables that cannot be moved cheaply
    are in no block. Those who ask often give the `connections`, which are `links(graph)`. The same
    question has the same answer.

    >>> import orbitmc as om
    >>> star = om.ising([0.0] * 4, [(0, 1), (0, 2), (0, 3)], 0.3)
    >>> found = blocks(star.graph, [-1, 0, 0, 0], max_moved=0)  # the leaves trade equal links
    >>> found.member.tolist()
    [1, 2, 3]
    """
    numbers = _check_orbits(graph, orbits)
    if max_moved < 0:
        raise InputError(f"a block cannot move {max_moved} factors; expected 0 or more")
    if budget is not None and not budget >= 0:
        raise InputError(f"the acceptance budget must be 0 or more, got {budget}")
    if not 0 <= slack < 1:
        raise InputError(f"the slack is a share from 0 to below 1, got {slack}")
    known = links(graph) if connections is None else connections
    candidates = _candidates(graph, known, numbers)
    memory = memory_for(known, candidates, int(graph.cardinality.max(initial=1)))
    limit = np.inf if budget is None else float(budget)
    progress = start_search(candidates, graph.variables)
    while search_on(known, candidates, memory, int(max_moved), limit, slack, progress):
        require_time()
    count = progress.at[BLOCKS]
    start = np.concatenate([[0], progress.ends[:count]])
    member = progress.member[: start[-1]]
    return blocks_from_arrays(indices(start), indices(np.ones(count)), indices(member))


def _check_orbits(graph: FactorGraph, orbits: ArrayLike) -> Numbers:
    numbers = np.asarray(orbits)
    if numbers.shape != (graph.variables,) or not (
        np.issubdtype(numbers.dtype, np.integer) or numbers.size == 0
    ):
        raise InputError(
            f"{graph.variables} variables need an orbit number each, got {numbers.dtype} numbers "
            f"of shape {numbers.shape}"
        )
    return numbers.astype(np.int64)


def _candidates(graph: FactorGraph, connections: Links, orbits: Numbers) -> Candidates:
    """Sort by orbit and cardinality, then by degree and field, so that neighbours are alike."""
    field, field_start = fields(graph)
    degree = lengths(connections.variable_start)
    sizes = graph.cardinality.astype(np.int64)
    _, class_of = np.unique(np.stack([orbits, sizes]), axis=1, return_inverse=True)
    class_of = np.where(orbits < 0, -1, class_of.reshape(-1))
    # the last value first: for binary variables that is the log-odds in favour of 1
    last_value = field[field_start[1:].astype(np.int64) - 1]
    order = np.lexsort((np.arange(graph.variables), last_value, degree, class_of))
    variable = order[orbits[order] >= 0]
    place_of = np.zeros(graph.variables, np.int64)
    place_of[variable] = np.arange(len(variable))
    counts = np.bincount(class_of[variable])
    return Candidates(
        variable=readonly(variable),
        place_of=readonly(place_of),
        class_start=readonly(starts(counts).astype(np.int64)),
        class_of=readonly(class_of),
        degree=readonly(degree),
        field=field,
        field_start=readonly(field_start.astype(np.int64)),
    )


def moved(graph: FactorGraph, members: ArrayLike, *, connections: Links | None = None) -> Indices:
    """The factors that some permutation of the members changes, computed from scratch.

    Factors of one or two variables that permutations only trade for each other are not moved: if
    all members have the same field, or the same coupling to the same neighbour, or the same one to
    each other, nothing changes. `len(members) / len(moved(graph, members))` is what `blocks` makes
    large. Those who ask often give the `connections`, which are `links(graph)`.

    >>> import orbitmc as om
    >>> star = om.ising([0.0] * 4, [(0, 1), (0, 2), (0, 3)], 0.3)
    >>> len(moved(star.graph, [1, 2, 3])), len(moved(star.graph, [0, 1]))
    (0, 2)
    """
    block = np.unique(np.asarray(members, dtype=np.int64))
    if len(block) and (block[0] < 0 or block[-1] >= graph.variables):
        raise InputError(f"the variables are 0 to {graph.variables - 1}, got {block.tolist()}")
    known = links(graph) if connections is None else connections
    begin, end = known.variable_start[block], known.variable_start[block + 1]
    mine = np.concatenate(
        [np.zeros(0, np.int64), *(np.arange(*bounds) for bounds in zip(begin, end, strict=True))]
    )
    around, which, members_in = np.unique(
        known.factor[mine], return_inverse=True, return_counts=True
    )
    unmoved = _is_kept(known, mine, which, members_in == len(block))
    unmoved[which[_number_of_equals(known.bond[mine]) == len(block)]] = True
    inner = np.flatnonzero((members_in == 2) & (known.joint[around] != NO_JOINT))
    pairs = len(block) * (len(block) - 1) // 2
    unmoved[inner[_number_of_equals(known.joint[around[inner]]) == pairs]] = True
    return readonly(around[~unmoved])


def _is_kept(
    known: Links, mine: Numbers, which: Numbers, whole: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Which factors around a block depend on the `whole` of it, on all members alike."""
    classes = known.variable_class[mine]
    lowest, highest = np.full(len(whole), classes.max(initial=0)), np.full(len(whole), -1)
    np.minimum.at(lowest, which, classes)
    np.maximum.at(highest, which, classes)
    return np.asarray(whole & (lowest == highest))


def _number_of_equals(numbers: Numbers) -> Numbers:
    """How often each number occurs."""
    _, which, count = np.unique(numbers, return_inverse=True, return_counts=True)
    return np.asarray(count[which.reshape(-1)])


def fields(graph: FactorGraph) -> tuple[Floats, Indices]:
    """What each value of a variable earns by itself, averaged over everything else.

    The entries of variable `v` start at `start[v]` and are centred; their scale makes the squared
    distance of two binary variables the square of the difference of their log-odds.
    """
    start = starts(graph.cardinality)
    total = np.zeros(start[-1])
    _add_fields(graph, start, total)
    owner = np.repeat(np.arange(graph.variables), graph.cardinality)
    sums = np.bincount(owner, weights=total, minlength=graph.variables)
    centred = total - (sums / graph.cardinality)[owner]
    return readonly(np.sqrt(2) * centred), start


@compiled
def _add_fields(graph: FactorGraph, start: Indices, total: Floats) -> None:
    for factor in range(graph.first_clause):
        _add_table(graph, factor, start, total)
    for clause in range(graph.first_clause, len(graph.table_of)):
        _add_clause(graph, clause, start, total)


@shared
def _add_table(graph: FactorGraph, factor: int, start: Indices, total: Floats) -> None:
    entries, last = table_bounds(graph, factor)
    for edge in range(graph.scope_start[factor], graph.scope_start[factor + 1]):
        variable, stride = graph.scope[edge], np.int64(graph.stride[edge])
        size = np.int64(graph.cardinality[variable])
        share = size / (last - entries)
        for entry in range(last - entries):
            value = (entry // stride) % size
            earned = max(graph.table[entries + entry], LEAST_LOG_POTENTIAL)
            total[np.int64(start[variable]) + value] += share * earned


@shared
def _add_clause(graph: FactorGraph, clause: int, start: Indices, total: Floats) -> None:
    """A variable decides a clause when no other one satisfies it: the more others, the rarer."""
    entries, _ = table_bounds(graph, clause)
    gain = max(graph.table[entries + 1], LEAST_LOG_POTENTIAL) - max(
        graph.table[entries], LEAST_LOG_POTENTIAL
    )
    first, last = graph.scope_start[clause], graph.scope_start[clause + 1]
    log_open, always = 0.0, 0
    for edge in range(first, last):
        size = graph.cardinality[graph.scope[edge]]
        always += size == 1
        log_open += np.log1p(-1.0 / size) if size > 1 else 0.0
    for edge in range(first, last):
        variable = graph.scope[edge]
        size = graph.cardinality[variable]
        if always == 0:
            rest = np.exp(log_open - np.log1p(-1.0 / size))
            total[np.int64(start[variable]) + np.int64(graph.satisfying[edge])] += gain * rest


# Blocks of variables whose marginals are nearly the same, as far as these are known.
#
# The blocks of the paper look at degrees and fields, and not at what neighbours do. Variables that
# take their values about equally often exchange them more easily. Where the marginals come from
# does not matter for exactness: blocks only propose, and the model accepts.

MEMBERS = 30  # of a block: on WebKB about seven shuffles in ten are accepted
LEAST = 1e-6  # probability: less makes no difference to what is exchanged
LOG_ODDS_DIGITS = 6  # of log-odds: the last bits of a sum may differ between machines


def similar_marginal_blocks(
    cardinality: Indices, probability: Floats, *, members: int = MEMBERS
) -> ExchangeBlocks:
    """Cut variables with equally many values into blocks that have nearly equal marginals.

    `probability` has a number for each value, variable after variable. Binary variables are sorted
    by their log-odds and cut into blocks of at most so many `members`. Others are halved by the
    value that tells them apart most, until a half is a block.

    >>> marginals = np.array([0.1, 0.9, 0.5, 0.5, 0.2, 0.8, 0.6, 0.4])
    >>> similar_marginal_blocks(indices([2] * 4), marginals, members=2).member.tolist()
    [3, 1, 2, 0]
    """
    if members < 2:
        raise InputError(f"a block has at least two members, not {members}")
    first = starts(cardinality)[:-1].astype(np.int64)
    parts: list[Numbers] = []
    for size in np.unique(cardinality[cardinality > 1]).tolist():
        variables = np.flatnonzero(cardinality == size)
        chances = probability[first[variables][:, None] + np.arange(size)]
        parts += (variables[part] for part in _parts(_log_odds(chances), members) if len(part) > 1)
    sizes = np.array([len(part) for part in parts], dtype=np.int64)
    member = np.concatenate([np.zeros(0, np.int64), *parts])
    return blocks_from_arrays(starts(sizes), indices(np.ones(len(sizes))), indices(member))


def _log_odds(chances: Floats) -> Floats:
    """Log-probabilities of all values but the first, each beside the mean of all values."""
    logs = np.log(np.maximum(chances, LEAST))
    return np.asarray(np.round(logs - logs.mean(axis=1, keepdims=True), LOG_ODDS_DIGITS)[:, 1:])


def _parts(traits: Floats, members: int) -> Iterator[Numbers]:
    """Halve rows by the column that varies most, as long as a part is larger than a block.

    Halves are as large as the numbers of blocks that they will become.
    """
    waiting = [np.arange(len(traits))]
    while waiting:
        part = waiting.pop()
        widest = int(np.argmax(traits[part].var(axis=0)))
        part = part[np.argsort(traits[part, widest], kind="stable")]
        blocks = -(-len(part) // members)
        cut = len(part) * (blocks // 2) // blocks
        if cut:
            waiting += [part[cut:], part[:cut]]
        else:
            yield part
