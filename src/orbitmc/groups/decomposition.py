"""Groups as products of factors that move disjoint points, each sampled in the best way it allows.

Factors commute and are drawn independently, and a move may use one factor only. Small ones are
listed, element by element.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc._numba.jit import compiled
from orbitmc._simd.random import generator
from orbitmc._util.arrays import Indices, Numbers, indices, lengths, readonly
from orbitmc.errors import LimitError
from orbitmc.groups._exchange_blocks import ExchangeBlocks, exchange_blocks
from orbitmc.groups.permutation_groups import (
    Pairs,
    PermutationGroup,
    connected_components,
    element_of,
    moved_points,
    orbits,
    pairs_of,
    permutation_group,
    row_in,
    rows_of,
    subgroup,
    unite,
)
from orbitmc.groups.permutations import Permutation, cycles_of
from orbitmc.groups.random_elements import burn_in, product_replacement

# All elements of a small group, from its generators (Dimino's algorithm).


def closure(generators: Iterable[Indices], degree: int, *, most: int) -> NDArray[np.uint32] | None:
    """Everything that products of dense rows give, the identity first; None if above `most` rows.

    Each generator that is not there yet at least doubles the group, so that a large group is known
    to be large after a few generators.
    """
    rows = np.arange(degree, dtype=np.uint32)[None, :]
    known, used = {rows[0].tobytes()}, list[Indices]()
    for element in generators:
        if element.tobytes() in known:
            continue
        used.append(element)
        subgroup, cosets = rows, [rows]
        # The union of cosets `subgroup * row` is a group if no generator leads out of it.
        for coset in cosets:
            for factor in used:
                row = coset[0][factor]
                if row.tobytes() in known:
                    continue
                if len(known) + len(subgroup) > most:
                    return None
                cosets.append(subgroup[:, row])
                known.update(row.tobytes() for row in cosets[-1])
        rows = np.concatenate(cosets)
    return rows


# Recognising symmetric groups: on points, and on the aligned rows of a matrix.
#
# A group that can exchange any two points of a set, or any two rows, is best sampled by shuffling.

MAX_MATRIX_ENTRIES = 20_000_000  # of dense generators that are looked at
FEW_POINTS = 8  # up to here, counting the elements is cheap
JORDAN_TRIES = 60  # a random element of S_m shows its nature with chance about 1 / log m


def exchangeable_rows(group: PermutationGroup) -> Indices | None:
    """The matrix whose rows the group permutes in all ways, if there is one that is all it moves.

    Columns are the orbits, and each generator moves all of them alike. A single column is a
    natural symmetric group.
    """
    if group.maps_values:
        return None
    if _transpositions_connect(group):
        return readonly(moved_points(group).reshape(-1, 1))
    columns = orbits(group)
    if len({len(column) for column in columns}) != 1:
        return None
    if (len(group.start) - 1) * len(columns) * len(columns[0]) > MAX_MATRIX_ENTRIES:
        return None
    actions = _actions(group, columns)
    if not is_symmetric(actions[0]):
        return None
    aligned = [_alignment(actions[0], action) for action in actions]
    if any(alignment is None for alignment in aligned):
        return None
    matrix = [column[alignment] for column, alignment in zip(columns, aligned, strict=True)]
    return readonly(np.stack(matrix, axis=1))


def is_symmetric(rows: NDArray[np.uint32]) -> bool:
    """Whether dense generators of a transitive group make all permutations of its points.

    "No" is certain for up to eight points and when a generator is a transposition; otherwise it
    may, rarely, be wrong. "Yes" is always certain.
    """
    degree = rows.shape[1]
    swaps = [np.flatnonzero(row != np.arange(degree)) for row in rows]
    pairs = np.array([moved for moved in swaps if len(moved) == 2], dtype=np.int64)
    if len(pairs):
        return bool(_classes_of_swaps(rows, pairs) == 1)
    if degree <= FEW_POINTS:
        every = closure(rows, degree, most=math.factorial(degree))
        return every is not None and len(every) == math.factorial(degree)
    parity = [sum(len(cycle) - 1 for cycle in cycles_of(row)) % 2 for row in rows]
    return any(parity) and _contains_alternating(rows)


@compiled
def _classes_of_swaps(rows: Indices, pairs: Numbers) -> int:
    """Into how many classes of points known swaps, moved around by all generators, connect.

    If a group contains the swap of a and b, it also contains the swap of g(a) and g(b).
    """
    degree = rows.shape[1]
    parent = np.arange(degree)
    edges = np.empty((degree, 2), dtype=np.int64)
    count = 0
    for k in range(len(pairs)):
        if unite(parent, pairs[k, 0], pairs[k, 1]):
            edges[count, 0], edges[count, 1] = pairs[k, 0], pairs[k, 1]
            count += 1
    done = 0
    while done < count:
        for number in range(len(rows)):
            first, second = (
                np.int64(rows[number, edges[done, 0]]),
                np.int64(rows[number, edges[done, 1]]),
            )
            if unite(parent, first, second):
                edges[count, 0], edges[count, 1] = first, second
                count += 1
        done += 1
    return int(degree - count)


@compiled
def _align(first: Indices, second: Indices, start: int, image_of: Numbers, queue: Numbers) -> bool:
    """Match points of two actions, the first point with `start`; tells whether they act alike."""
    degree = first.shape[1]
    for point in range(degree):
        image_of[point] = degree
    image_of[0] = start
    queue[0] = 0
    done, count = 0, 1
    while done < count:
        point = queue[done]
        done += 1
        for number in range(len(first)):
            image, there = first[number, point], second[number, image_of[point]]
            if image_of[image] == degree:
                image_of[image] = there
                queue[count] = image
                count += 1
            elif image_of[image] != there:
                return False
    return True


def _transpositions_connect(group: PermutationGroup) -> bool:
    """Whether the generators that swap two points already reach every moved point."""
    points, begins = moved_points(group), group.start[:-1][lengths(group.start) == 2]
    here = np.searchsorted(points, group.point[begins])
    there = np.searchsorted(points, group.image[begins])
    return not connected_components(len(points), here, there).any()


def _actions(group: PermutationGroup, columns: tuple[Indices, ...]) -> list[NDArray[np.uint32]]:
    """What the generators do to each orbit, its points counted from 0."""
    pairs = pairs_of(group)
    rows = rows_of(pairs, group)
    places = [np.searchsorted(pairs.point, column) for column in columns]
    return [np.searchsorted(place, rows[:, place]).astype(np.uint32) for place in places]


def _alignment(first: NDArray[np.uint32], second: NDArray[np.uint32]) -> NDArray[np.int64] | None:
    """Which points of the second action behave like the points of the first, if any do."""
    alignment, queue = np.empty((2, first.shape[1]), dtype=np.int64)
    for start in range(first.shape[1]):
        if _align(first, second, start, alignment, queue):
            return alignment
    return None


def _contains_alternating(rows: NDArray[np.uint32]) -> bool:
    """Jordan's test: a transitive group with a cycle of prime length m/2 < p < m - 2 has A_m."""
    degree = rows.shape[1]
    primes = {p for p in range(degree // 2 + 1, degree - 2) if _is_prime(p)}
    replacement, rng = product_replacement(readonly(rows)), generator(2, 0, 32)
    for _ in range(JORDAN_TRIES):
        burn_in(replacement, rng, 1)
        if any(len(cycle) in primes for cycle in cycles_of(replacement.forward[0])):
            return True
    return False


def _is_prime(number: int) -> bool:
    return number > 1 and all(number % k for k in range(2, math.isqrt(number) + 1))


MAX_ORDER = 5000
MAX_ENTRIES = 50_000_000  # 200 MB


@dataclass(frozen=True)
class Exchangeable:
    """The rows of a matrix may be permuted in any way; one column is a natural symmetric group."""

    group: PermutationGroup
    rows: Indices

    @property
    def order(self) -> int:
        return math.factorial(len(self.rows))


class ElementTable(NamedTuple):
    """All elements of a group: dense rows, the identity first, and where their inverses are."""

    pairs: Pairs
    row: Indices
    inverse: Indices


@dataclass(frozen=True)
class ListedFactor:
    """A small group: all of its elements are known."""

    group: PermutationGroup
    table: ElementTable

    @property
    def order(self) -> int:
        return len(self.table.row)


@dataclass(frozen=True)
class GeneratedFactor:
    """A group too large to list: its elements are drawn by product replacement."""

    group: PermutationGroup


Factor = Exchangeable | ListedFactor | GeneratedFactor


def decompose(group: PermutationGroup) -> tuple[Factor, ...]:
    """Split a group into factors that move disjoint points, and say what each of them is."""
    return tuple(_recognise(part) for part in disjoint_factors(group))


def disjoint_factors(group: PermutationGroup) -> tuple[PermutationGroup, ...]:
    """Put generators together that move a common point, directly or through others."""
    if group.is_trivial:
        return ()
    first = np.repeat(group.point[group.start[:-1]], lengths(group.start))
    labels = connected_components(group.degree, group.point, first)[group.point[group.start[:-1]]]
    order = np.argsort(labels, kind="stable")
    ends = np.flatnonzero(np.diff(labels[order])) + 1
    return tuple(_subgroup_of(group, numbers) for numbers in np.split(order, ends))


def blocks_of(factors: Iterable[Factor]) -> ExchangeBlocks:
    """The exchangeable factors, as blocks."""
    return exchange_blocks(part.rows for part in factors if isinstance(part, Exchangeable))


def _recognise(group: PermutationGroup) -> Factor:
    rows = exchangeable_rows(group)
    if rows is not None:
        return Exchangeable(group, rows)
    table = element_table(group)
    return GeneratedFactor(group) if table is None else ListedFactor(group, table)


def _subgroup_of(group: PermutationGroup, numbers: np.ndarray) -> PermutationGroup:
    """The group generated by some of the generators; it maps values only where these change."""
    if not group.maps_values:
        return subgroup(group, numbers)
    every = group.generators()
    return permutation_group(group.degree, [every[number] for number in numbers])


def group_order(group: PermutationGroup) -> int:
    """How many elements a group has, exactly; LimitError where its structure does not say it."""
    return order_of_factors(decompose(group))


def order_of_factors(factors: Sequence[Factor]) -> int:
    for factor in factors:
        if isinstance(factor, GeneratedFactor):
            raise LimitError("the order of the group is unknown: it has too many elements to list")
    return math.prod(factor.order for factor in factors if not isinstance(factor, GeneratedFactor))


def element_table(
    group: PermutationGroup, *, max_order: int = MAX_ORDER, max_entries: int = MAX_ENTRIES
) -> ElementTable | None:
    """List the elements of a group, unless there are too many."""
    pairs = pairs_of(group)
    degree = len(pairs.owner)
    generators = (row_in(pairs, element) for element in group.generators())
    rows = closure(generators, degree, most=min(max_order, max_entries // max(degree, 1)))
    if rows is None:
        return None
    number = {row.tobytes(): k for k, row in enumerate(rows)}
    inverses = np.argsort(rows, axis=1).astype(np.uint32)
    where = indices([number[row.tobytes()] for row in inverses])
    return ElementTable(pairs, readonly(rows), where)


def elements(table: ElementTable) -> tuple[Permutation, ...]:
    return tuple(element_of(table.pairs, row) for row in table.row)
