"""Tables up to the order of their arguments, and which arguments can be exchanged."""

import itertools
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc.machine.arrays import Numbers
from orbitmc.machine.equal_numbers import distinct_rows

MOST_WORK = 20_000_000
"""Table entries we are ready to look at; beyond it, tables count as equal only as written."""


class OrderedTables(NamedTuple):
    """Per table: its number up to argument order, and a place class for each argument.

    Tables are simple when exchanging arguments of one class is all that leaves them unchanged.
    """

    number: Numbers
    place: Numbers
    is_simple: NDArray[np.bool_]


def ordered_tables(tables: Numbers, shape: tuple[int, ...]) -> OrderedTables:
    """Compare tables of one shape under all orders of their arguments that keep the shape."""
    count, arity = len(tables), len(shape)
    if math.factorial(arity) * tables.size > MOST_WORK:
        place = np.tile(np.arange(arity), (count, 1))
        return OrderedTables(np.arange(count), place, np.ones(count, dtype=bool))
    orders = [
        order
        for order in itertools.permutations(range(arity))
        if tuple(shape[axis] for axis in order) == shape
    ]
    least, chosen, ties = _least(tables, shape, orders)
    distinct, number = distinct_rows(least)
    classes = np.stack([_place_classes(row.reshape(shape)) for row in distinct])
    # Argument `order[k]` of the table is argument k of its least form.
    place = np.empty((count, arity), dtype=np.int64)
    np.put_along_axis(place, np.array(orders)[chosen], classes[number], axis=1)
    sizes = [np.bincount(row) for row in classes]
    exchanges = np.array([math.prod(math.factorial(int(k)) for k in size) for size in sizes])
    return OrderedTables(number, place, ties == exchanges[number])


def _least(
    tables: Numbers, shape: tuple[int, ...], orders: list[tuple[int, ...]]
) -> tuple[Numbers, Numbers, Numbers]:
    """The least form of each table, the order that gives it, and how many orders give it."""
    full = tables.reshape(-1, *shape)
    least, chosen = tables.copy(), np.zeros(len(tables), dtype=np.int64)
    ties = np.zeros(len(tables), dtype=np.int64)
    for number, order in enumerate(orders):
        turned = full.transpose(0, *(axis + 1 for axis in order)).reshape(len(tables), -1)
        differs = turned != least
        first = differs.argmax(axis=1)[:, None]
        less = np.take_along_axis(turned, first, axis=1) < np.take_along_axis(least, first, axis=1)
        less = less[:, 0]
        least[less], chosen[less], ties[less] = turned[less], number, 0
        ties += less | ~differs.any(axis=1)
    return least, chosen, ties


def _place_classes(table: Numbers) -> Numbers:
    """Number arguments so that those which can be swapped without effect have equal numbers."""
    classes = np.arange(table.ndim)
    for one, other in itertools.combinations(range(table.ndim), 2):
        turned = table.swapaxes(one, other)
        if turned.shape == table.shape and np.array_equal(turned, table):
            classes[other] = classes[one]
    return classes
