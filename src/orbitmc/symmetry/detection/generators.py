"""From permutations of points to groups of variables and values, and the last word on them."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc._numba.jit import shared
from orbitmc._numba.tiers import of_first, tiered
from orbitmc._util.arrays import Bytes, Index, Numbers, indices, sealed, starts
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.log_weights import log_potential
from orbitmc.groups.permutation_groups import PermutationGroup, group_from_arrays
from orbitmc.symmetry.detection.encoding.encoding import first_literals

STATES = 16
"""States to try: even a wrong swap of two binary variables changes only every other one."""

TOLERANCE = 1e-9
"""Relative to the sum of absolute log-potentials, which bounds the rounding of their sum."""


class PointMoves(NamedTuple):
    """Sparse permutations of points: number `g` moves `point[start[g]:start[g + 1]]` to `image`."""

    start: Numbers
    point: Numbers
    image: Numbers


def swaps(one: Numbers, other: Numbers) -> PointMoves:
    """One exchange per pair."""
    point, image = np.stack([one, other], axis=1), np.stack([other, one], axis=1)
    return PointMoves(2 * np.arange(len(one) + 1), point.reshape(-1), image.reshape(-1))


def together(parts: list[PointMoves]) -> PointMoves:
    sizes = [np.diff(part.start) for part in parts]
    start = np.concatenate([[0], np.cumsum(np.concatenate([np.zeros(0, np.int64), *sizes]))])
    none = [np.zeros(0, dtype=np.int64)]
    return PointMoves(
        start.astype(np.int64),
        np.concatenate(none + [part.point for part in parts]),
        np.concatenate(none + [part.image for part in parts]),
    )


def variable_group(cardinality: Numbers, moves: PointMoves) -> PermutationGroup:
    """Points are variables: values are kept."""
    return group_from_arrays(len(cardinality), moves.start, moves.point, moves.image)


def value_group(cardinality: Numbers, moves: PointMoves) -> PermutationGroup:
    """Points are variables and then literals: values move along with their literals."""
    degree, first = len(cardinality), first_literals(cardinality)
    owner = np.concatenate([np.arange(degree), np.repeat(np.arange(degree), cardinality)])
    number = np.repeat(np.arange(len(moves.start) - 1), np.diff(moves.start))
    moved = np.unique(number * degree + owner[moves.point])
    generator, variable = moved // degree, moved % degree
    sizes = cardinality[variable]
    begin = np.cumsum(sizes) - sizes
    # all literals of the variables concerned, at home until some of them are moved
    literal = np.repeat(first[variable] - begin, sizes) + np.arange(sizes.sum())
    is_literal = moves.point >= degree
    at = moves.point[is_literal]
    place = np.searchsorted(moved, number[is_literal] * degree + owner[at])
    literal[begin[place] + at - first[owner[at]]] = moves.image[is_literal]
    group = PermutationGroup(
        degree,
        start=starts(np.bincount(generator, minlength=len(moves.start) - 1)),
        point=indices(variable),
        image=indices(owner[literal[begin]]) if len(variable) else indices([]),
        map_start=starts(sizes) if len(variable) else indices([]),
        value_map=sealed((literal - first[owner[literal]]).astype(np.uint8)),
    )
    return group if len(variable) else variable_group(cardinality, together([]))


def changes_energy(graph: FactorGraph, group: PermutationGroup) -> np.ndarray:
    """For each generator: whether it changes the log-weight of some random state."""
    rng = np.random.default_rng(0)
    most = np.minimum(graph.cardinality, 256)[:, None]
    values = rng.integers(0, most, size=(graph.variables, STATES), dtype=np.uint8)
    if not group.maps_values:
        kept = np.minimum(graph.cardinality.max(initial=1), 256)
        map_start = indices(np.zeros(len(group.point)))
        group = group._replace(map_start=map_start, value_map=np.arange(kept, dtype=np.uint8))
    changes = np.zeros(len(group.start) - 1, dtype=bool)
    _check(graph, group, values, values.copy(), np.full(graph.factors, -1), changes)
    return changes


@shared
def _move(
    group: PermutationGroup, begin: Index, end: Index, values: Bytes, proposed: Bytes
) -> None:
    for k in range(begin, end):
        first = np.int64(group.map_start[k])
        for lane in range(values.shape[1]):
            value = np.int64(values[group.point[k], lane])
            proposed[group.image[k], lane] = group.value_map[first + value]


@shared
def _differ(
    graph: FactorGraph, factors: Numbers, count: int, values: Bytes, proposed: Bytes, lane: int
) -> bool:
    """Whether the log-potentials of some factors add up to something else."""
    before, after, scale = 0.0, 0.0, 1.0
    for k in range(count):
        old = log_potential(graph, factors[k], values, lane)
        before += old
        after += log_potential(graph, factors[k], proposed, lane)
        scale += abs(old)
    if before == -np.inf or after == -np.inf:
        return before != after
    return abs(after - before) > TOLERANCE * scale


@tiered(of_first)
def _check(
    graph: FactorGraph,
    group: PermutationGroup,
    values: Bytes,
    proposed: Bytes,
    mark: Numbers,
    changes: NDArray[np.bool_],
) -> None:
    factors = np.zeros(len(mark), dtype=np.int64)
    for number in range(len(changes)):
        begin, end = np.int64(group.start[number]), np.int64(group.start[number + 1])
        _move(group, begin, end, values, proposed)
        count = 0
        for k in range(begin, end):
            # every moved point is somebody's image
            variable = group.image[k]
            for edge in range(graph.incident_start[variable], graph.incident_start[variable + 1]):
                factor = graph.incident[edge]
                if mark[factor] != number:
                    mark[factor] = number
                    factors[count] = factor
                    count += 1
        for lane in range(values.shape[1]):
            if _differ(graph, factors, count, values, proposed, lane):
                changes[number] = True
        for k in range(begin, end):
            for lane in range(values.shape[1]):
                proposed[group.image[k], lane] = values[group.image[k], lane]
