"""Groups whose orders are known from books, or from looking at the picture."""

import numpy as np

from orbitmc.groups._exchange_blocks import exchange_blocks
from orbitmc.groups.cycles import from_cycles, read_cycles
from orbitmc.groups.permutation_groups import permutation_group
from tests.groups.builders import group_from_rows, permutation
from tests.groups.group_questions import group_of


def symmetric(points):
    return group_of(exchange_blocks([range(points)]), points)


def cyclic(points):
    return permutation_group(points, [from_cycles(points, [range(points)])])


def grid(side):
    """The symmetries of a square grid."""
    places = np.arange(side * side).reshape(side, side)
    return group_from_rows([np.rot90(places).ravel(), places.T.ravel()])


def chimera(side):
    """Swaps of equal wires in each row and column of cells, and the symmetries of the square."""
    places = np.arange(8 * side * side).reshape(side, side, 2, 4)
    rows = [places[::-1].ravel(), places.transpose(1, 0, 2, 3)[:, :, ::-1].ravel()]
    for line in range(side):
        for wire in range(3):
            both = slice(wire, wire + 2)
            down, across = places.copy(), places.copy()
            down[:, line, 0, both] = places[:, line, 0, both][:, ::-1]
            across[line, :, 1, both] = places[line, :, 1, both][:, ::-1]
            rows += [down.ravel(), across.ravel()]
    return group_from_rows(rows)


def renaming(people, *, friends):
    """What renaming people does to Smokes(x), Cancer(x) and, perhaps, Friends(x, y)."""
    pairs = np.arange(people * people).reshape(people, people) + 2 * people
    rows = []
    for first in range(people - 1):
        name = np.arange(people)
        name[[first, first + 1]] = first + 1, first
        row = [name, people + name]
        rows.append(np.concatenate([*row, pairs[np.ix_(name, name)].ravel()] if friends else row))
    return group_from_rows(rows)


def mathieu_24():
    words = [
        "(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22)",
        "(2 16 9 6 8)(3 12 13 18 4)(7 17 10 11 22)(14 19 21 20 15)",
        "(0 23)(1 22)(2 11)(3 15)(4 17)(5 9)(6 19)(7 13)(8 20)(10 16)(12 21)(14 18)",
    ]
    return permutation_group(24, [read_cycles(word, 24) for word in words])


def projective_line(prime, root):
    """All fractional linear maps of a projective line: sharply 3-transitive, odd elements too."""
    far = prime
    undone = [far, *(-pow(x, -1, prime) % prime for x in range(1, prime)), 0]
    shifted = [*((x + 1) % prime for x in range(prime)), far]
    scaled = [*(root * x % prime for x in range(prime)), far]
    return group_from_rows([shifted, scaled, undone])


def signed(points):
    """All signed permutations: exchange binary variables in any way, negate any of them."""
    flip = permutation(points, {}, {0: [1, 0]})
    return permutation_group(points, [*symmetric(points).generators(), flip], cardinality=2)


def global_flip(points):
    return permutation_group(
        points, [permutation(points, {}, {point: [1, 0] for point in range(points)})]
    )
