"""Draw an energy form as a coloured graph, with values kept or free to be permuted."""

import itertools
import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc._numba.compile_log import timed
from orbitmc._util.arrays import Numbers, count_within, distinct_rows, readonly, row_classes
from orbitmc.symmetry.terms import EnergyForm, Terms

# Factor graphs as coloured graphs: automorphisms of one are symmetries of the other.
#
# Vertices have colours, arcs have labels. The first vertices are *points*: what symmetries permute.
# The others stand for factors of three or more variables and touch points only. Factors of one
# variable are colours, factors of two are labelled arcs.


class ColoredGraph(NamedTuple):
    """Vertex `v` has arcs `start[v]:start[v + 1]` to `neighbor`, each with a label.

    Every arc has its reverse, whose label may differ. There are no loops and no parallel arcs.
    """

    points: int
    color: Numbers
    start: Numbers
    neighbor: NDArray[np.int32]
    label: NDArray[np.int32]

    @property
    def vertices(self) -> int:
        return len(self.color)

    @property
    def arcs(self) -> int:
        return len(self.neighbor)


class GraphEncoder:
    """Collects vertices and arcs; `finished` gives the coloured graph."""

    def __init__(self, point_colors: Numbers) -> None:
        self.points = self.vertices = len(point_colors)
        self._colors = [point_colors]
        self._next_color = int(point_colors.max(initial=-1)) + 1
        self._arcs: list[tuple[Numbers, Numbers, Numbers, Numbers]] = []

    def join(self, tail: Numbers, head: Numbers, forth: Numbers, back: Numbers) -> None:
        """Draw arcs between points, with a label for each direction."""
        self._arcs.append((tail, head, forth, back))

    def add_factors(self, colors: Numbers, members: Numbers, labels: Numbers) -> None:
        """Draw one vertex per row of `members`, joined to them by labelled arcs.

        Colours are compared among these vertices only: no other ones share them.
        """
        new = self.vertices + np.arange(len(members))
        self.vertices += len(members)
        self._colors.append(self._next_color + colors)
        self._next_color += int(colors.max(initial=-1)) + 1
        ends, all_labels = np.repeat(new, members.shape[1]), labels.reshape(-1)
        self._arcs.append((members.reshape(-1), ends, all_labels, all_labels))

    def build(self) -> ColoredGraph:
        none = [np.zeros(0, dtype=np.int64)]
        first, second, forth, back = (
            np.concatenate(none + [arcs[k] for arcs in self._arcs]) for k in range(4)
        )
        tail, head = np.concatenate([first, second]), np.concatenate([second, first])
        label = np.concatenate([forth, back])
        order = np.argsort(tail * self.vertices + head, kind="stable")
        tail, head, label = _without_parallels(tail[order], head[order], label[order])
        start = np.zeros(self.vertices + 1, dtype=np.int64)
        np.cumsum(np.bincount(tail, minlength=self.vertices), out=start[1:])
        return ColoredGraph(
            points=self.points,
            color=readonly(np.concatenate(self._colors)),
            start=readonly(start),
            neighbor=readonly(head.astype(np.int32)),
            label=readonly(label.astype(np.int32)),
        )


def _without_parallels(
    tail: Numbers, head: Numbers, label: Numbers
) -> tuple[Numbers, Numbers, Numbers]:
    """Put a label for the set of labels in the place of parallel arcs, which stand together."""
    again = np.zeros(len(tail), dtype=bool)
    again[1:] = (tail[1:] == tail[:-1]) & (head[1:] == head[:-1])
    if not again.any():
        return tail, head, label
    number = np.cumsum(~again) - 1
    place = np.arange(len(tail)) - np.flatnonzero(~again)[number]
    sets = np.full((number[-1] + 1, place.max() + 1), -1, dtype=np.int64)
    sets[number, place] = label
    sets.sort(axis=1)
    return tail[~again], head[~again], row_classes(sets)[1]


def is_symmetric_label(graph: ColoredGraph) -> NDArray[np.bool_]:
    """For each label: whether all its arcs have the same label in both directions."""
    symmetric = np.ones(int(graph.label.max(initial=-1)) + 1, dtype=bool)
    reverse = np.lexsort((tails(graph), graph.neighbor))
    symmetric[graph.label[graph.label != graph.label[reverse]]] = False
    return symmetric


def tails(graph: ColoredGraph) -> Numbers:
    """The vertex that each arc leaves."""
    return np.repeat(np.arange(graph.vertices), np.diff(graph.start))


MOST_WORK = 20_000_000
"""Table entries we are ready to look at; beyond it, tables count as equal only as written."""


def variable_graph(form: EnergyForm) -> ColoredGraph:
    """Points are variables, and automorphisms permute them without touching values."""
    drawing = GraphEncoder(_variable_colors(form))
    _join_pairs(drawing, form)
    for terms in timed(form.terms):
        if len(terms.shape) > 2:
            _add_ordered(drawing, terms)
    for clauses in form.clauses:
        drawing.add_factors(clauses.weights, clauses.scopes, clauses.satisfying)
    return drawing.build()


def value_graph(form: EnergyForm) -> ColoredGraph:
    """Points are variables, then their literals (variable, value), variable by variable."""
    drawing = GraphEncoder(_literal_colors(form))
    first = first_literals(form.cardinality)
    owner = np.repeat(np.arange(len(first)), form.cardinality)
    literals = len(first) + np.arange(len(owner))
    _join(drawing, owner, literals, np.zeros_like(owner))
    offset = 1
    for terms in timed(form.terms):
        if len(terms.shape) > 1:
            ends, kinds = _list_entries(terms, first)
            if len(terms.shape) == 2:
                _join(drawing, ends[:, 0], ends[:, 1], offset + kinds)
                offset += int(kinds.max(initial=-1)) + 1
            else:
                drawing.add_factors(kinds, ends, np.zeros_like(ends))
    for clauses in form.clauses:
        ends = first[clauses.scopes] + clauses.satisfying
        drawing.add_factors(clauses.weights, ends, np.zeros_like(ends))
    return drawing.build()


def first_literals(cardinality: Numbers) -> Numbers:
    """The vertex of each variable's value 0 in a value graph."""
    return len(cardinality) + np.cumsum(cardinality) - cardinality


def _variable_colors(form: EnergyForm) -> Numbers:
    earns, forbids = np.full((2, len(form.cardinality)), -1, dtype=np.int64)
    for terms in form.terms:
        if len(terms.shape) == 1:
            (forbids if terms.impossible else earns)[terms.scopes[:, 0]] = terms.table_of
    return row_classes(np.column_stack([form.cardinality, earns, forbids]))[1]


def _literal_colors(form: EnergyForm) -> Numbers:
    """Colours of variables, then of literals, by what they earn on their own."""
    first = first_literals(form.cardinality)
    size = len(first) + int(form.cardinality.sum())
    owner = np.repeat(np.arange(len(first)), form.cardinality)
    sizes = np.concatenate([form.cardinality, -form.cardinality[owner]])
    earns, forbids = np.zeros((2, size), dtype=np.int64)
    for terms in form.terms:
        if len(terms.shape) == 1:
            places = first[terms.scopes] + np.arange(terms.shape[0])
            (forbids if terms.impossible else earns)[places] = terms.tables[terms.table_of]
    return row_classes(np.column_stack([sizes, earns, forbids]))[1]


def _join(drawing: GraphEncoder, tail: Numbers, head: Numbers, label: Numbers) -> None:
    drawing.join(tail, head, label, label)


def _join_pairs(drawing: GraphEncoder, form: EnergyForm) -> None:
    """Label arcs with the table of a pair as seen from where the arc begins."""
    offset = 0
    for terms in form.terms:
        if len(terms.shape) == 2:
            turned = terms.tables.reshape(-1, *terms.shape).transpose(0, 2, 1)
            tables = np.concatenate([terms.tables, turned.reshape(len(turned), -1)])
            forth, back = np.split(row_classes(tables)[1] + offset, 2)
            tail, head = terms.scopes.T
            drawing.join(tail, head, forth[terms.table_of], back[terms.table_of])
            offset += len(tables)


def _add_ordered(drawing: GraphEncoder, terms: Terms) -> None:
    """Draw factors of one shape: arguments that cannot be exchanged get different labels."""
    tables = order_tables(terms.tables, terms.shape)
    simple = tables.is_simple[terms.table_of]
    read = terms.table_of[simple]
    drawing.add_factors(tables.number[read], terms.scopes[simple], tables.place[read])
    if not simple.all():
        rest = replace(terms, scopes=terms.scopes[~simple], table_of=terms.table_of[~simple])
        ends, kinds = _list_entries(rest, np.zeros(drawing.points, dtype=np.int64))
        owners = np.repeat(rest.scopes, _entries_each(rest), axis=0)
        drawing.add_factors(kinds, owners, ends)


def _list_entries(terms: Terms, first: Numbers) -> tuple[Numbers, Numbers]:
    """Every entry of every term, but one class of them per kind of table.

    Gives the literals `first[variable] + value` of each entry, and its kind: the class of the
    entry and the multiset of classes in its table, which says what the unlisted entries are.
    """
    table, entry = np.nonzero(~_most_frequent(terms.tables))
    multiset = row_classes(np.sort(terms.tables, axis=1))[1]
    kind = row_classes(np.column_stack([multiset[table], terms.tables[table, entry]]))[1]
    count = np.bincount(table, minlength=len(terms.tables))
    begin = np.cumsum(count) - count
    each = count[terms.table_of]
    factor = np.repeat(np.arange(len(each)), each)
    listed = begin[terms.table_of][factor] + count_within(each)
    values = np.stack(np.unravel_index(entry[listed], terms.shape), axis=1)
    return first[terms.scopes[factor]] + values, kind[listed]


def _entries_each(terms: Terms) -> Numbers:
    """How many entries of each term are listed."""
    listed: Numbers = (~_most_frequent(terms.tables)).sum(axis=1)
    return listed[terms.table_of]


def _most_frequent(tables: Numbers) -> NDArray[np.bool_]:
    """Which entries belong to the most frequent class of their table, the lowest among equals."""
    ordered = np.sort(tables, axis=1)
    place = np.arange(tables.shape[1])
    new = np.ones(tables.shape, dtype=bool)
    new[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    run = place - np.maximum.accumulate(np.where(new, place, 0), axis=1)
    chosen = np.take_along_axis(ordered, run.argmax(axis=1)[:, None], axis=1)
    frequent: NDArray[np.bool_] = tables == chosen
    return frequent


class OrderedTables(NamedTuple):
    """Per table: its number up to argument order, and a place class for each argument.

    Tables are simple when exchanging arguments of one class is all that leaves them unchanged.
    """

    number: Numbers
    place: Numbers
    is_simple: NDArray[np.bool_]


def order_tables(tables: Numbers, shape: tuple[int, ...]) -> OrderedTables:
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
    for first, second in itertools.combinations(range(table.ndim), 2):
        turned = table.swapaxes(first, second)
        if turned.shape == table.shape and np.array_equal(turned, table):
            classes[second] = classes[first]
    return classes
