"""From permutations of points to groups that act on variables and their values."""

from typing import NamedTuple

import numpy as np

from orbitmc.groups.permutation_groups import PermutationGroup, group_from_arrays
from orbitmc.machine.arrays import Numbers, indices, sealed, starts
from orbitmc.symmetry.detection.encoding.encoding import first_literals


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
