"""Questions about groups that only tests ask: products, membership, equality."""

import math

import numpy as np

from orbitmc.errors import InputError, LimitError
from orbitmc.groups.chains.chain_growth import sift_one
from orbitmc.groups.chains.stabilizer_chain import uniform_element
from orbitmc.groups.elements.decomposition import Exchangeable, Generated, decompose
from orbitmc.groups.pairs import element_of, row_in
from orbitmc.groups.permutation import changes_values, counted, normal
from orbitmc.groups.permutation_groups import group_from_arrays, moved_points
from orbitmc.machine.arrays import lengths, starts
from orbitmc.machine.compiling import compiled


def compose(first, *others):
    """The permutation that acts like the last one, then the one before it, and so on."""
    result = first
    for other in others:
        result = _product(result, other)
    return result


def _product(left, right):
    """Do `right`, then `left`."""
    if left.degree != right.degree:
        raise InputError(f"cannot compose permutations of {left.degree} and {right.degree} points")
    if left.is_identity or right.is_identity:
        return right if left.is_identity else left
    if left.maps_values != right.maps_values:
        raise InputError("cannot compose permutations with and without value maps: use with_values")
    point = np.union1d(left.point, right.point)
    between = _images(right, point)
    image = _images(left, between)
    if not left.maps_values:
        return normal(left.degree, point, image)
    sizes = np.maximum(_sizes(left, point), _sizes(right, point))
    value = _mapped(right, np.repeat(point, sizes), counted(sizes))
    value = _mapped(left, np.repeat(between, sizes), value)
    return normal(left.degree, point, image, starts(sizes), value)


def _places(element, points):
    """Where points are among the moved ones, and whether they are."""
    place = np.minimum(np.searchsorted(element.point, points), len(element.point) - 1)
    return place, element.point[place] == points


def _images(element, points):
    place, moved = _places(element, points)
    return np.where(moved, element.image[place], points)


def _sizes(element, points):
    place, moved = _places(element, points)
    return np.where(moved, lengths(element.map_start)[place], 0)


def _mapped(element, points, values):
    place, moved = _places(element, points)
    entry = np.where(moved, element.map_start[place].astype(np.int64) + values, 0)
    return np.where(moved, element.value_map[entry], values)


def part_of(element, chosen):
    """The part of a permutation on chosen entries; it must keep their points together."""
    point, image = element.point[chosen], element.image[chosen]
    if not element.maps_values:
        return normal(element.degree, point, image)
    sizes = lengths(element.map_start)
    maps = element.value_map[np.repeat(chosen, sizes)]
    return normal(element.degree, point, image, starts(sizes[chosen]), maps)


def contains(chain, element):
    """Whether a permutation is in the group."""
    if element.degree != chain.pairs.degree:
        raise InputError(f"expected a permutation of {chain.pairs.degree} points")
    try:
        row = row_in(chain.pairs, element).copy()
    except InputError:  # it moves a point, or changes a value, that the group keeps
        return False
    stuck = sift_one(chain.base, chain.place, chain.back, row)
    return stuck == len(chain.base) and bool((row == np.arange(len(row))).all())


@compiled
def _fill_uniform(chain, rng, forward, backward):
    uniform_element(chain, rng, forward, backward)


def uniform(chain, rng):
    """Draw an element of the group, each with the same chance."""
    forward, backward = np.empty((2, len(chain.pairs.owner)), dtype=np.uint32)
    _fill_uniform(chain, rng, forward, backward)
    return element_of(chain.pairs, forward)


def group_contains(group, element):
    """Whether a permutation is in the group; LimitError if finding out costs too much."""
    return factors_contain(decompose(group), element)


def same_group(one, other):
    """Whether two groups have the same elements, however they are generated."""
    if one.degree != other.degree:
        return False
    first, second = decompose(one), decompose(other)
    return all(factors_contain(first, element) for element in other.generators()) and all(
        factors_contain(second, element) for element in one.generators()
    )


def factors_contain(factors, element):
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


def _in_factor(factor, element):
    if isinstance(factor, Exchangeable):
        return not changes_values(element) and _permutes_rows(factor.rows, element)
    if isinstance(factor, Generated):
        raise LimitError(f"membership is unknown: {factor.reason}")
    return contains(factor.chain, element)


def _permutes_rows(rows, element):
    """Whether a permutation of the entries of a matrix moves whole rows."""
    images = rows.copy()
    order = np.argsort(rows, axis=None)
    place = order[np.searchsorted(rows.ravel()[order], element.point)]
    images.ravel()[place] = element.image
    first = {int(row[0]): row for row in rows}
    return all(int(row[0]) in first and np.array_equal(first[int(row[0])], row) for row in images)


def group_of(blocks, degree):
    """The group of all permitted permutations, generated by swaps of neighbouring rows."""
    upper, lower, sizes = [], [], []
    for block in range(blocks.blocks):
        rows = blocks.rows(block).astype(np.int64)
        upper.append(rows[:-1].ravel())
        lower.append(rows[1:].ravel())
        sizes.append(np.full(len(rows) - 1, 2 * rows.shape[1]))
    nothing = np.empty(0, dtype=np.int64)
    above, below = np.concatenate([nothing, *upper]), np.concatenate([nothing, *lower])
    # The two halves of a swap need not be in order: the builder sorts within each generator.
    point, image = np.stack([above, below], 1).ravel(), np.stack([below, above], 1).ravel()
    return group_from_arrays(degree, starts(np.concatenate([nothing, *sizes])), point, image)


def order_of(blocks):
    """How many permutations are permitted."""
    rows = lengths(blocks.start) // np.maximum(blocks.width, 1)
    return math.prod(math.factorial(int(count)) for count in rows)
