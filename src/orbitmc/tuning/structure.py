"""Sets of variables that want to be treated together, read off the model itself.

Parts of a binary model that hold together: strong couplings inside, weak ones to the rest.

All that flipping a part can change is its fields and the couplings at its border. Parts are found
by joining pairs, the closest first; a part is noted when it is about twice as large as what it
was made of, so there are parts of every size.
"""

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

from orbitmc._simd.bits import hash_integer
from orbitmc._util.arrays import Floats, Numbers, Words, float_classes, lengths
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.support import hard_factors
from orbitmc.symmetry.exchangeability import budget_for, table_kinds

# Sets of variables that want to be treated together, read off the model itself.

EXCLUSIVE = -2.0  # log-odds: a neighbour at 1 makes a 1 at least seven times less likely
LEAST_MEMBERS, MOST_MEMBERS = 3, 64  # two that exclude each other are a coupling like others


def exclusive_groups(graph: FactorGraph) -> list[Numbers]:
    """Disjoint groups of binary variables of which each keeps the others from being 1."""
    rivals: dict[int, set[int]] = {}
    for first, second in _exclusive_pairs(graph).tolist():
        rivals.setdefault(first, set()).add(second)
        rivals.setdefault(second, set()).add(first)
    groups: list[Numbers] = []
    left = set(rivals)
    for variable in sorted(rivals, key=lambda candidate: (-len(rivals[candidate]), candidate)):
        if variable in left:
            group = _clique(variable, rivals, left)
            if len(group) >= LEAST_MEMBERS:
                groups.append(np.array(sorted(group), dtype=np.int64))
                left -= group
    return groups


def _exclusive_pairs(graph: FactorGraph) -> Numbers:
    """Pairs of binary variables that factors of two keep from both being 1, or nearly so."""
    factor = np.flatnonzero(lengths(graph.scope_start) == 2)
    place = graph.scope_start[factor].astype(np.int64)
    pair = np.stack([graph.scope[place], graph.scope[place + 1]], axis=1).astype(np.int64)
    binary = (graph.cardinality[pair] == 2).all(axis=1)
    factor, place, pair = factor[binary], place[binary], np.sort(pair[binary], axis=1)
    clause = factor >= graph.first_clause
    forbids = (graph.satisfying[place] == 0) & (graph.satisfying[place + 1] == 0)
    start = graph.table_start[graph.table_of[factor]].astype(np.int64)
    strength = np.zeros(len(factor))
    strength[~clause] = _coupling(graph.table, start[~clause])
    exclusive = clause & forbids
    strength[exclusive] = graph.table[start[exclusive]] - graph.table[start[exclusive] + 1]
    pairs, which = np.unique(pair, axis=0, return_inverse=True)
    total = np.zeros(len(pairs))
    np.add.at(total, which.reshape(-1), strength)
    return pairs[total <= EXCLUSIVE]


def _coupling(table: Floats, start: Numbers) -> Floats:
    """How much a table of two binary variables likes both at 1, beside one of them alone."""
    entries = table[start[:, None] + np.arange(4)]
    finite = np.isfinite(entries[:, :3]).all(axis=1)
    coupling = np.zeros(len(start))
    coupling[finite] = entries[finite] @ np.array([1.0, -1.0, -1.0, 1.0])
    return coupling


def _clique(first: int, rivals: dict[int, set[int]], left: set[int]) -> set[int]:
    """Grow a set of mutual rivals, those with most rivals in common first."""
    group = {first}
    candidates = rivals[first] & left
    while candidates and len(group) < MOST_MEMBERS:
        best = max(
            candidates, key=lambda candidate: (len(rivals[candidate] & candidates), -candidate)
        )
        group.add(best)
        candidates &= rivals[best]
    return group


# Find out whether pairs that exclude each other are those of a matching.

MOST_EXCLUSIONS = 2**20  # pairs of variables: to look at more takes too long


def matching_table(graph: FactorGraph) -> NDArray[np.int32] | None:
    """Variables as a table [row, column] of which no two in a line may be 1; -1 where none is.

    Hard factors say so of every two in a line and of no others. None if there is no such table, or
    if fewer than half of its variables have both a row and a column with others: pairs that exclude
    each other by chance are no matching.
    """
    rivals = _hard_rivals(graph)
    lines = None if rivals is None else _lines_of(rivals)
    side = None if lines is None else _sides(lines)
    if lines is None or side is None:
        return None
    variables = sorted({variable for line in lines for variable in line})
    crossings = sum(map(len, lines)) - len(variables)
    if 2 * crossings < len(variables):
        return None
    place = {variable: [-1, -1] for variable in variables}
    counts = [0, 0]
    for line, which in zip(lines, side, strict=True):
        for variable in line:
            place[variable][which] = counts[which]
        counts[which] += 1
    for variable in variables:  # alone in its row or column
        for which in range(2):
            if place[variable][which] < 0:
                place[variable][which] = counts[which]
                counts[which] += 1
    table = np.full(counts, -1, dtype=np.int32)
    for variable, (row, column) in place.items():
        table[row, column] = variable
    return table


def _hard_rivals(graph: FactorGraph) -> dict[int, set[int]] | None:
    """For each variable those that hard factors of two keep from being 1 with it, but no less."""
    factor = np.flatnonzero(hard_factors(graph) & (graph.arities == 2))
    if not 0 < len(factor) <= MOST_EXCLUSIONS:
        return None
    place = graph.scope_start[factor].astype(np.int64)
    pair = np.stack([graph.scope[place], graph.scope[place + 1]], axis=1).astype(np.int64)
    clause = factor >= graph.first_clause
    forbids = (graph.satisfying[place] == 0) & (graph.satisfying[place + 1] == 0)
    start = graph.table_start[graph.table_of[factor]].astype(np.int64)
    entries = graph.table[np.minimum(start[:, None] + np.arange(4), len(graph.table) - 1)]
    table = np.isfinite(entries[:, :3]).all(axis=1) & np.isneginf(entries[:, 3])
    exclusive = np.where(clause, forbids, table) & (graph.cardinality[pair] == 2).all(axis=1)
    rivals: dict[int, set[int]] = {}
    for first, second in pair[exclusive].tolist():
        rivals.setdefault(first, set()).add(second)
        rivals.setdefault(second, set()).add(first)
    return rivals


def _lines_of(rivals: dict[int, set[int]]) -> list[frozenset[int]] | None:
    """Sets of mutual rivals, two for each variable at most, that have all rivals between them."""
    lines = dict[frozenset[int], None]()
    for variable, near in rivals.items():
        left = set(near)
        for _ in range(2):
            if left:
                one = min(left)
                line = {variable, one} | (left & rivals[one])
                lines[frozenset(line)] = None
                left -= line
        if left:
            return None
    pairs = sum(len(near) for near in rivals.values()) // 2
    inside = sum(len(line) * (len(line) - 1) // 2 for line in lines)
    mutual = all(line - {v} <= rivals[v] for line in lines for v in line)
    return list(lines) if mutual and inside == pairs else None


def _sides(lines: list[frozenset[int]]) -> list[int] | None:
    """Which lines are rows (0) and which columns (1), so that no two of one side meet."""
    of_variable: dict[int, list[int]] = {}
    for number, line in enumerate(lines):
        for variable in line:
            of_variable.setdefault(variable, []).append(number)
    meeting: dict[int, set[int]] = {number: set() for number in range(len(lines))}
    for numbers in of_variable.values():
        if len(numbers) == 2:
            meeting[numbers[0]].add(numbers[1])
            meeting[numbers[1]].add(numbers[0])
    if not any(meeting.values()) or max(map(len, of_variable.values())) > 2:
        return None
    side = [-1] * len(lines)
    for first in range(len(lines)):
        if side[first] < 0:
            side[first], waiting = 0, [first]
            while waiting:
                number = waiting.pop()
                for other in meeting[number]:
                    if side[other] < 0:
                        side[other] = 1 - side[number]
                        waiting.append(other)
                    elif side[other] == side[number]:
                        return None
    return side


# Find out whether the variables of a model are the sites of a square lattice.
#
# Nobody has to say so: the graph of its pairs shows it. A first row is found at the border, or on a
# torus by going straight on; then each site knows all its neighbours but the one below.

LEAST_SIDE = 3
NOWHERE = 0  # sites are numbered from 1 here

Near = list[set[int]]


def lattice(graph: FactorGraph) -> Numbers | None:
    """The variables as an array [row, column] whose neighbours alone are coupled, or None.

    Grids, cylinders and tori with sides of three or more are found if no pair of neighbours is
    missing (a torus of four by four is not: each direction looks like every other one).
    """
    pairs = _pairs(graph)
    if pairs is None or (graph.cardinality != graph.cardinality[0]).any():
        return None
    ends = pairs.reshape(-1)
    degree = np.bincount(ends, minlength=graph.variables + 1)
    if degree[1:].min() < 2 or degree.max() > 4:
        return None
    near: Near = [set() for _ in range(graph.variables + 1)]
    for first_end, second_end in pairs.tolist():
        near[first_end].add(second_end)
        near[second_end].add(first_end)
    first = _first_rows(near, degree)
    rows = None if first is None else _all_rows(*first, pairs, graph.variables)
    return rows if rows is not None and _fits(rows, pairs) else None


def _pairs(graph: FactorGraph) -> Numbers | None:
    """Coupled pairs, each once, numbered from 1; None if they are too many, or factors larger."""
    arity = lengths(graph.scope_start)
    if graph.variables < LEAST_SIDE**2 or arity.max(initial=0) != 2:
        return None
    place = graph.scope_start[np.flatnonzero(arity == 2)].astype(np.int64)
    if len(place) < graph.variables:
        return None
    ends = np.stack([graph.scope[place], graph.scope[place + 1]], axis=1).astype(np.int64)
    base = graph.variables + 1
    keys = np.unique((ends.min(axis=1) + 1) * base + ends.max(axis=1) + 1)
    return np.stack([keys // base, keys % base], axis=1) if len(keys) <= 2 * base else None


def _first_rows(near: Near, degree: Numbers) -> tuple[Numbers, Numbers] | None:
    """A row of sites, and the row above it (nowhere, at a border)."""
    corners = np.flatnonzero(degree == 2)
    border = np.flatnonzero(degree == 3)
    if len(corners):
        row = _along_border(near, degree, int(corners[0]))
    elif len(border):
        row = _along_border(near, degree, int(border[0]))
    else:
        return _straight_rows(near)
    return None if row is None else (np.array(row), np.full(len(row), NOWHERE))


def _along_border(near: Near, degree: Numbers, start: int) -> list[int] | None:
    """Walk along sites of few neighbours, to the next corner or around."""
    row, before, here = [start], NOWHERE, start
    while len(row) < len(near):
        ahead = sorted(site for site in near[here] if degree[site] < 4 and site != before)
        if not ahead:
            return None
        before, here = here, ahead[0]
        if here == start:
            return row
        row.append(here)
        if degree[here] == 2:
            return row
    return None


def _straight_rows(near: Near) -> tuple[Numbers, Numbers] | None:
    """A row around a torus, and the row above it."""
    for second in sorted(near[1]):
        row = [1, second]
        while (ahead := _straight_on(near, row[-2], row[-1])) != 1:
            if ahead == NOWHERE or len(row) > len(near):
                break
            row.append(ahead)
        else:
            above = _beside(near, row)
            return None if above is None else (np.array(row), above)
    return None


def _straight_on(near: Near, before: int, here: int) -> int:
    """The neighbour that has no other neighbour in common with the site before; else nowhere."""
    ahead = [s for s in near[here] if s != before and len(near[s] & near[before]) == 1]
    return ahead[0] if len(ahead) == 1 else NOWHERE


def _beside(near: Near, row: list[int]) -> Numbers | None:
    """One of the two rows beside a row: each pair of neighbours in both is a square."""
    beside = [min(near[row[0]] - {row[1], row[-1]})]
    for before, here in pairwise(row):
        corner = (near[beside[-1]] & near[here]) - {before}
        if len(corner) != 1:
            return None
        beside.append(corner.pop())
    return np.array(beside)


def _all_rows(row: Numbers, above: Numbers, pairs: Numbers, sites: int) -> Numbers | None:
    """Go down: of the neighbours of a site, only the one below is in no row so far."""
    columns = len(row)
    if sites % columns or min(columns, sites // columns) < LEAST_SIDE:
        return None
    every = np.zeros(sites + 1, dtype=np.int64)  # neighbours, all in one number
    np.bitwise_xor.at(every, pairs[:, 0], pairs[:, 1])
    np.bitwise_xor.at(every, pairs[:, 1], pairs[:, 0])
    around = bool((np.sort(pairs, axis=1) == np.sort(row[[0, -1]])).all(axis=1).any())
    ends = (row[-1], row[0]) if around else (NOWHERE, NOWHERE)
    rows = [row]
    for _ in range(sites // columns - 1):
        left, right = np.roll(row, 1), np.roll(row, -1)
        left[0], right[-1] = ends
        below = every[row] ^ left ^ right ^ above
        if below.min() < 1 or below.max() > sites:
            return None
        row, above = below, row
        ends = (row[-1], row[0]) if around else ends
        rows.append(row)
    return np.array(rows) - 1


def _fits(sites: Numbers, pairs: Numbers) -> bool:
    """Whether every site is there once, and every pair joins neighbours."""
    rows, columns = sites.shape
    if not np.array_equal(np.sort(sites.reshape(-1)), np.arange(sites.size)):
        return False
    place = np.empty(sites.size, dtype=np.int64)
    place[sites.reshape(-1)] = np.arange(sites.size)
    first, second = place[pairs[:, 0] - 1], place[pairs[:, 1] - 1]
    down, right = abs(first // columns - second // columns), abs(first % columns - second % columns)
    beside = (down == 0) & ((right == 1) | (right == columns - 1))
    below = (right == 0) & ((down == 1) | (down == rows - 1))
    return bool((beside | below).all())


MOST_SETS = 1000  # of variables that are flipped together
MOST_WALKS = 10**6  # of three steps: more take too long to count
MOST_OF_ALL = 2 / 3  # of a component: to flip more is much like flipping all of it
LEAST_ACCEPTANCE = 0.01  # that fields and border of a part let hope for


@dataclass(frozen=True)
class _Couplings:
    """Pairs of binary variables, each once, their couplings, and the fields beside them.

    In spins of -1 and 1 a pair earns a quarter of its `coupling`, a spin half of its `field`.
    """

    pair: Numbers
    coupling: Floats
    field: Floats


def strong_parts(graph: FactorGraph, *, most: int = MOST_SETS) -> list[Numbers]:
    """Sets of variables whose flips may be accepted; empty unless all factors are finite pairs.

    At `most` so many, equally many of each size as far as there are.
    """
    couplings = _couplings(graph)
    if couplings is None or not len(couplings.pair):
        return []
    chosen: list[Numbers] = []
    budget = budget_for(LEAST_ACCEPTANCE)
    layers = _layers(graph.variables, couplings.pair, _closeness(graph.variables, couplings))
    for labels in layers:
        changes = _changes(couplings, labels)
        order = np.argsort(changes, kind="stable")
        good = order[changes[order] <= budget][: most // len(layers)]
        chosen += [np.flatnonzero(labels == part) for part in good]
    return chosen


def _couplings(graph: FactorGraph) -> _Couplings | None:
    arity = lengths(graph.scope_start)
    if not graph.variables or (graph.cardinality != 2).any() or arity.max(initial=0) > 2:
        return None
    if graph.first_clause < graph.factors or not np.isfinite(graph.table).all():
        return None
    start = graph.table_start[graph.table_of].astype(np.int64)
    first = graph.scope_start[:-1].astype(np.int64)
    alone, two = start[arity == 1], start[arity == 2]
    field = np.zeros(graph.variables)
    np.add.at(field, graph.scope[first[arity == 1]], graph.table[alone + 1] - graph.table[alone])
    tables = graph.table[two[:, None] + np.arange(4)]
    ends = graph.scope[first[arity == 2][:, None] + np.arange(2)].astype(np.int64)
    np.add.at(field, ends[:, 0], tables @ np.array([-0.5, -0.5, 0.5, 0.5]))
    np.add.at(field, ends[:, 1], tables @ np.array([-0.5, 0.5, -0.5, 0.5]))
    keys, which = np.unique(ends.min(1) * graph.variables + ends.max(1), return_inverse=True)
    coupling = np.zeros(len(keys))
    np.add.at(coupling, which.reshape(-1), tables @ np.array([1.0, -1.0, -1.0, 1.0]))
    pair = np.stack([keys // graph.variables, keys % graph.variables], axis=1)
    some = coupling != 0.0
    return _Couplings(pair[some], coupling[some], field)


def _closeness(variables: int, couplings: _Couplings) -> Numbers:
    """Rank pairs by their strength, times one more than the triangles and squares they are in."""
    first, second = couplings.pair.T
    ends = np.concatenate([couplings.pair, couplings.pair[:, ::-1]]).T
    near = csr_array((np.ones(len(ends[0])), (ends[0], ends[1])), shape=(variables, variables))
    degree = np.bincount(couplings.pair.reshape(-1), minlength=variables)
    cycles = np.zeros(len(couplings.pair))
    if degree[first] @ degree[second] <= MOST_WALKS:
        two_steps = near @ near
        cycles += two_steps[first, second]
        cycles += (two_steps @ near)[first, second] - degree[first] - degree[second] + 1
    return float_classes(np.abs(couplings.coupling) * (1.0 + cycles))


def _layers(variables: int, pair: Numbers, rank: Numbers) -> list[Numbers]:
    """Parts of about one size in each layer, disjoint: the number of each variable's, or -1."""
    cost = (rank.max() + 1 - rank).astype(np.float64)
    links = coo_array((cost, (pair[:, 0], pair[:, 1])), shape=(variables, variables))
    tree = minimum_spanning_tree(links.tocsr()).tocoo()
    order = np.argsort(tree.data, kind="stable")
    joined = np.stack([tree.row, tree.col], axis=1)[order].tolist()
    breaks = np.flatnonzero(np.diff(tree.data[order])) + 1
    forest = _Forest(variables)
    noted: dict[int, list[list[int]]] = {}
    bounds = [0, *breaks.tolist(), len(joined)]
    for begin, end in pairwise(bounds):
        for part in forest.grown(joined[begin:end]):
            noted.setdefault(len(part).bit_length(), []).append(part)
    whole = np.bincount(forest.roots(), minlength=variables)[forest.roots()]
    layers = [_labels(variables, parts, whole) for _, parts in sorted(noted.items())]
    return [labels for labels in layers if labels.max() >= 0]


def _labels(variables: int, parts: list[list[int]], whole: Numbers) -> Numbers:
    """Number the parts that leave enough of their component alone."""
    labels = np.full(variables, -1)
    proper = [part for part in parts if len(part) <= MOST_OF_ALL * whole[part[0]]]
    for number, part in enumerate(proper):
        labels[part] = number
    return labels


class _Forest:
    """Parts that are joined step by step, each with its members."""

    def __init__(self, variables: int) -> None:
        self.part = [[variable] for variable in range(variables)]

    def grown(self, pairs: list[list[int]]) -> list[list[int]]:
        """Join pairs; gives copies of the parts that have grown to about twice their size."""
        before: dict[int, int] = {}
        for first, second in pairs:
            small, large = sorted((self.part[first], self.part[second]), key=len)
            most = max(before.pop(id(p), len(p).bit_length()) for p in (small, large))
            large += small
            for member in small:
                self.part[member] = large
            before[id(large)] = most
        parts = {id(self.part[first]): self.part[first] for first, _ in pairs}
        return [list(p) for key, p in parts.items() if len(p).bit_length() > before[key]]

    def roots(self) -> Numbers:
        return np.array([part[0] for part in self.part])


def _changes(couplings: _Couplings, labels: Numbers) -> Floats:
    """How much flips of the parts of a layer can change: squares of fields and border couplings."""
    count = int(labels.max()) + 1
    inside = labels >= 0
    total = np.bincount(labels[inside], 4.0 * couplings.field[inside] ** 2, count)
    first, second = labels[couplings.pair].T
    for part in (first, second):
        border = (first != second) & (part >= 0)
        total += np.bincount(part[border], couplings.coupling[border] ** 2, count)
    return np.asarray(total)


# Variables whose exchange alone changes nothing: their factors have the same tables and partners.
#
# Each factor is summed up in a random word, and each variable in the words of its factors without
# itself; twins have equal words. What shares no factor is compared at once, pairs that share one
# are compared without it. Jumps are accepted by the true model, so nothing has to be proven here,
# and nothing is compiled to look.


def twins(graph: FactorGraph) -> list[Numbers]:
    """Sets of two variables or more of which any two are twins.

    Twins that share several factors, or one of more than two variables, may be missed.
    """
    factor = np.repeat(np.arange(graph.factors), lengths(graph.scope_start))
    variable = graph.scope.astype(np.int64)
    role = _roles(graph, factor)
    name = hash_integer(np.arange(graph.variables, dtype=np.uint64))
    argument = hash_integer(role ^ name[variable])
    whole = np.zeros(graph.factors, dtype=np.uint64)
    np.add.at(whole, factor, argument)
    view = hash_integer((whole[factor] - argument) ^ role)
    outlook = graph.cardinality.astype(np.uint64)
    np.add.at(outlook, variable, view)
    order = np.argsort(outlook, kind="stable")
    same = outlook[order][1:] == outlook[order][:-1]
    left, right = _join_pairs(graph, variable, role, outlook, view)
    ends = np.concatenate([order[:-1][same], left]), np.concatenate([order[1:][same], right])
    shape = (graph.variables, graph.variables)
    links = coo_array((np.ones(len(ends[0]), dtype=np.int8), ends), shape=shape)
    labels = connected_components(links, directed=False)[1]
    order = np.argsort(labels, kind="stable")
    blocks = np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)
    return [block for block in blocks if len(block) > 1]


def _join_pairs(
    graph: FactorGraph, variable: Numbers, role: Words, outlook: Words, view: Words
) -> tuple[Numbers, Numbers]:
    """Pairs in one factor that are alike beside it, and have the same place in it."""
    first = graph.scope_start[:-1][lengths(graph.scope_start) == 2].astype(np.int64)
    left, right = variable[first], variable[first + 1]
    alike = outlook[left] - view[first] == outlook[right] - view[first + 1]
    alike &= role[first] == role[first + 1]
    return left[alike], right[alike]


def _roles(graph: FactorGraph, factor: Numbers) -> Words:
    """A word for each argument: what its factor says, and where in it the argument stands."""
    arity = lengths(graph.scope_start)
    content, symmetric = table_kinds(graph), _symmetric_tables(graph)
    first = graph.scope_start[:-1].astype(np.int64)
    clause = np.arange(graph.factors) >= graph.first_clause
    last = first + arity - 1
    equal = graph.cardinality[graph.scope[first]] == graph.cardinality[graph.scope[last]]
    turns = clause | ((arity == 2) & equal & symmetric[graph.table_of])
    kind = 2 * content[graph.table_of] + clause
    place = np.where(turns[factor], 0, np.arange(len(factor)) - first[factor])
    wanted = np.where(clause[factor], graph.satisfying, 0).astype(np.int64)
    spot = hash_integer(kind[factor].astype(np.uint64)) + place.astype(np.uint64)
    return np.asarray(hash_integer(hash_integer(spot) + wanted.astype(np.uint64)))


def _symmetric_tables(graph: FactorGraph) -> NDArray[np.bool_]:
    """Which tables two variables may read either way."""
    symmetric = np.zeros(len(graph.table_start) - 1, bool)
    for number in range(len(symmetric)):
        table = graph.table[graph.table_start[number] : graph.table_start[number + 1]]
        side = math.isqrt(len(table))
        symmetric[number] = side * side == len(table) and np.array_equal(*_both_ways(table, side))
    return symmetric


def _both_ways(table: Floats, side: int) -> tuple[Floats, Floats]:
    return table.reshape(side, side), table.reshape(side, side).T
