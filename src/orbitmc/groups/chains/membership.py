"""Questions about whole groups: how large, does it contain, are they the same."""

import math
from collections.abc import Sequence

import numpy as np

from orbitmc.errors import LimitError
from orbitmc.groups.chains.stabilizer_chain import contains
from orbitmc.groups.elements.decomposition import Exchangeable, Factor, Generated, decompose
from orbitmc.groups.permutation import Permutation, changes_values
from orbitmc.groups.permutation_groups import PermutationGroup, moved_points, part_of
from orbitmc.machine.arrays import Indices


def group_order(group: PermutationGroup) -> int:
    """How many elements a group has, exactly; LimitError if counting costs too much."""
    return order_of_factors(decompose(group))


def order_of_factors(factors: Sequence[Factor]) -> int:
    for factor in factors:
        if isinstance(factor, Generated):
            raise LimitError(f"the order of the group is unknown: {factor.reason}")
    return math.prod(factor.order for factor in factors if not isinstance(factor, Generated))


def group_contains(group: PermutationGroup, element: Permutation) -> bool:
    """Whether a permutation is in the group; LimitError if finding out costs too much."""
    return factors_contain(decompose(group), element)


def same_group(one: PermutationGroup, other: PermutationGroup) -> bool:
    """Whether two groups have the same elements, however they are generated."""
    if one.degree != other.degree:
        return False
    first, second = decompose(one), decompose(other)
    return all(factors_contain(first, element) for element in other.generators()) and all(
        factors_contain(second, element) for element in one.generators()
    )


def factors_contain(factors: Sequence[Factor], element: Permutation) -> bool:
    """Whether a permutation is a product of elements of the factors."""
    left = len(element.point)
    for factor in factors:
        inside = np.isin(element.point, moved_points(factor.group))
        if not np.array_equal(np.sort(element.image[inside]), element.point[inside]):
            return False
        if not _in_factor(factor, part_of(element, inside)):
            return False
        left -= int(inside.sum())
    return left == 0


def _in_factor(factor: Factor, element: Permutation) -> bool:
    if isinstance(factor, Exchangeable):
        return not changes_values(element) and _permutes_rows(factor.rows, element)
    if isinstance(factor, Generated):
        raise LimitError(f"membership is unknown: {factor.reason}")
    return contains(factor.chain, element)


def _permutes_rows(rows: Indices, element: Permutation) -> bool:
    """Whether a permutation of the entries of a matrix moves whole rows."""
    images = rows.copy()
    order = np.argsort(rows, axis=None)
    place = order[np.searchsorted(rows.ravel()[order], element.point)]
    images.ravel()[place] = element.image
    first = {int(row[0]): row for row in rows}
    return all(int(row[0]) in first and np.array_equal(first[int(row[0])], row) for row in images)
