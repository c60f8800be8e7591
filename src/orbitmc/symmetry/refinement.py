"""Ordered partitions of vertices: refined by arcs, taken back step by step, seeded by balls."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc._numba.jit import shared
from orbitmc._numba.tiers import of_first, of_one, tier
from orbitmc._simd.bits import hash_integer
from orbitmc._util.arrays import Numbers, Words, number_classes, row_classes
from orbitmc.symmetry.encoding import ColoredGraph

# An ordered partition of vertices that can be refined, and taken back step by step.


class Partition(NamedTuple):
    """Cells are stretches of `element`, called by the place where they begin.

    `place` says where a vertex stands, `cell` to which cell it belongs, `size[c]` how long cell
    `c` is. `born` and `parent` list the cells that splitting made, in order; `splits[0]` of them.
    """

    element: Numbers
    place: Numbers
    cell: Numbers
    size: Numbers
    born: Numbers
    parent: Numbers
    splits: Numbers


class Memory(NamedTuple):
    """What refinement overwrites; everything is clean between two calls.

    `key` and `touched` belong to vertices, `reached` and `is_waiting` to cells. `waiting` is a
    ring of cells still to be used, `queue` says where it begins and how long it is. `work[0]`
    counts the arcs looked at.
    """

    key: Words
    reached: Numbers
    is_waiting: NDArray[np.bool_]
    waiting: Numbers
    queue: Numbers
    member: Numbers
    cells: Numbers
    work: Numbers


def memory(vertices: int) -> Memory:
    def zeros() -> Numbers:
        return np.zeros(vertices, dtype=np.int64)

    return Memory(
        key=np.zeros(vertices, dtype=np.uint64),
        reached=zeros(),
        is_waiting=np.zeros(vertices, dtype=np.bool_),
        waiting=zeros(),
        queue=np.zeros(2, dtype=np.int64),
        member=zeros(),
        cells=zeros(),
        work=np.zeros(1, dtype=np.int64),
    )


def partition(colors: Numbers) -> Partition:
    """One cell per colour, in ascending order of colours."""
    vertices = len(colors)
    element = np.argsort(colors, kind="stable")
    place = np.empty(vertices, dtype=np.int64)
    place[element] = np.arange(vertices)
    ordered = colors[element]
    begins = np.flatnonzero(np.diff(ordered, prepend=ordered[:1] - 1))
    sizes = np.diff(begins, append=vertices)
    size = np.zeros(vertices, dtype=np.int64)
    size[begins] = sizes
    cell = np.empty(vertices, dtype=np.int64)
    cell[element] = np.repeat(begins, sizes)
    nothing = np.zeros(vertices, dtype=np.int64)
    return Partition(element, place, cell, size, nothing, nothing.copy(), np.zeros(1, np.int64))


@shared
def enqueue(memory: Memory, cell: int) -> None:
    if not memory.is_waiting[cell]:
        memory.is_waiting[cell] = True
        place = memory.queue[0] + memory.queue[1]
        size = len(memory.waiting)
        memory.waiting[place - size if place >= size else place] = cell
        memory.queue[1] += 1


@shared
def dequeue(memory: Memory) -> int:
    cell = memory.waiting[memory.queue[0]]
    memory.queue[0] += 1
    if memory.queue[0] == len(memory.waiting):
        memory.queue[0] = 0
    memory.queue[1] -= 1
    memory.is_waiting[cell] = False
    return int(cell)


@shared
def swap(partition: Partition, place: int, partner: int) -> None:
    """Exchange the vertices at two places."""
    first, second = partition.element[place], partition.element[partner]
    partition.element[place], partition.element[partner] = second, first
    partition.place[first], partition.place[second] = partner, place


@shared
def split_off(partition: Partition, parent: int, begin: int, end: int) -> None:
    """Make the last part of a cell a cell of its own."""
    partition.size[begin] = end - begin
    partition.size[parent] -= end - begin
    for place in range(begin, end):
        partition.cell[partition.element[place]] = begin
    partition.born[partition.splits[0]] = begin
    partition.parent[partition.splits[0]] = parent
    partition.splits[0] += 1


@tier(of_one)
def take_back(partition: Partition, mark: int) -> None:
    """Undo the last splits until `mark` of them are left."""
    while partition.splits[0] > mark:
        partition.splits[0] -= 1
        begin = partition.born[partition.splits[0]]
        parent = partition.parent[partition.splits[0]]
        for place in range(begin, begin + partition.size[begin]):
            partition.cell[partition.element[place]] = parent
        partition.size[parent] += partition.size[begin]
        partition.size[begin] = 0


@shared
def individualize(partition: Partition, memory: Memory, vertex: int) -> None:
    """Put a vertex into a cell of its own, at the end of its cell, and let it wait for use."""
    parent = partition.cell[vertex]
    last = parent + partition.size[parent] - 1
    swap(partition, partition.place[vertex], last)
    split_off(partition, parent, last, last + 1)
    enqueue(memory, last)


DIFFERENT = -1


@shared
def _sift(partition: Partition, key: Words, first: int, root: int, length: int) -> None:
    """Restore the heap below `root` among `length` elements from place `first` on."""
    while 2 * root + 1 < length:
        child = 2 * root + 1
        if child + 1 < length and (
            key[partition.element[first + child]] < key[partition.element[first + child + 1]]
        ):
            child += 1
        if key[partition.element[first + root]] >= key[partition.element[first + child]]:
            break
        swap(partition, first + root, first + child)
        root = child


@shared
def _sort_by_key(partition: Partition, key: Words, first: int, last: int) -> None:
    """Sort the elements at places `first:last` by key, on the spot (heap sort)."""
    length = last - first
    for step in range(length // 2 + length - 1):
        if step < length // 2:
            _sift(partition, key, first, length // 2 - 1 - step, length)
        else:
            end = length // 2 + length - 1 - step
            swap(partition, first, first + end)
            _sift(partition, key, first, 0, end)


@shared
def _sort_cells(cells: Numbers, count: int) -> None:
    """Sort the numbers of a few cells (heap sort)."""
    for step in range(count // 2 + count - 1):
        root, length = count // 2 - 1 - step, count
        if root < 0:
            root, length = 0, count // 2 + count - 1 - step
            cells[0], cells[length] = cells[length], cells[0]
        while 2 * root + 1 < length:
            child = 2 * root + 1
            if child + 1 < length and cells[child] < cells[child + 1]:
                child += 1
            if cells[root] >= cells[child]:
                break
            cells[root], cells[child] = cells[child], cells[root]
            root = child


@shared
def _keys_agree(partition: Partition, key: Words, first: int, last: int) -> bool:
    for place in range(first + 1, last):
        if key[partition.element[place]] != key[partition.element[first]]:
            return False
    return True


@shared
def _split_cell(partition: Partition, memory: Memory, cell: int, trace: np.uint64) -> np.uint64:
    """Split a cell by the keys of its touched vertices, which stand at its end.

    Gives the trace with the parts mixed in. All parts but the largest must be used later, or all
    if the cell itself was still waiting (Hopcroft).
    """
    last = cell + partition.size[cell]
    first = last - memory.reached[cell]
    if not _keys_agree(partition, memory.key, first, last):
        _sort_by_key(partition, memory.key, first, last)
    largest, largest_size, born = cell, first - cell, partition.splits[0]
    while last > first:
        begin = last - 1
        key = memory.key[partition.element[begin]]
        while begin > first and memory.key[partition.element[begin - 1]] == key:
            begin -= 1
        trace = hash_integer(trace ^ key) + np.uint64(last - begin)
        if last - begin > largest_size:
            largest, largest_size = begin, last - begin
        if begin > cell:
            split_off(partition, cell, begin, last)
        last = begin
    waiting = memory.is_waiting[cell]
    for number in range(born, partition.splits[0] + 1):
        part = partition.born[number] if number < partition.splits[0] else cell
        if partition.splits[0] > born and (waiting or part != largest):
            enqueue(memory, part)
    return np.uint64(hash_integer(trace ^ np.uint64(cell)))


@shared
def _touch(partition: Partition, memory: Memory, vertex: int, label: int, count: int) -> int:
    """Add a label to a vertex's key; a first touch moves it to the end of its cell."""
    cell = partition.cell[vertex]
    first = cell + partition.size[cell] - memory.reached[cell]
    if partition.place[vertex] < first:
        if memory.reached[cell] == 0:
            memory.cells[count] = cell
            count += 1
        memory.reached[cell] += 1
        swap(partition, partition.place[vertex], first - 1)
    memory.key[vertex] += hash_integer(label)
    return count


@shared
def _touch_around(graph: ColoredGraph, partition: Partition, memory: Memory, cell: int) -> int:
    """Touch every vertex at the end of an arc from a cell; gives how many cells were reached."""
    size = partition.size[cell]
    for k in range(size):
        memory.member[k] = partition.element[cell + k]
    count = 0
    for k in range(size):
        vertex = memory.member[k]
        for arc in range(graph.start[vertex], graph.start[vertex + 1]):
            count = _touch(partition, memory, graph.neighbor[arc], graph.label[arc], count)
        memory.work[0] += 1 + graph.start[vertex + 1] - graph.start[vertex]
    return count


@shared
def _split_by_cell(
    graph: ColoredGraph, partition: Partition, memory: Memory, cell: int
) -> np.uint64:
    """Split all cells by the arcs that leave one cell; gives a fingerprint of what happened.

    The fingerprint does not depend on the names of vertices, only on where cells stand.
    """
    count = _touch_around(graph, partition, memory, cell)
    _sort_cells(memory.cells, count)
    trace = np.uint64(cell)
    for k in range(count):
        reached = memory.cells[k]
        end = reached + partition.size[reached]
        first = end - memory.reached[reached]
        trace = _split_cell(partition, memory, reached, trace)
        memory.reached[reached] = 0
        for place in range(first, end):
            memory.key[partition.element[place]] = np.uint64(0)
    return trace


@tier(of_first)
def refine(
    graph: ColoredGraph, partition: Partition, memory: Memory, trace: Words, begin: int, end: int
) -> int:
    """Use waiting cells until none is left.

    With `end < 0`, write fingerprints to `trace` from `begin` on; gives the end of the record.
    Otherwise compare with the record and stop at the first difference, which gives -1.
    """
    place = begin
    while memory.queue[1] > 0:
        fingerprint = _split_by_cell(graph, partition, memory, dequeue(memory))
        if end < 0:
            trace[place % len(trace)] = fingerprint
        elif place == end or trace[place] != fingerprint:
            while memory.queue[1] > 0:
                dequeue(memory)
            return DIFFERENT
        place += 1
    return place if end < 0 or place == end else DIFFERENT


def refine_colors(graph: ColoredGraph, colors: Numbers, memory: Memory) -> Partition:
    """The coarsest partition that refines the colours and that no vertex can tell apart further."""
    cells = partition(colors)
    begins = np.flatnonzero(cells.size)
    memory.waiting[: len(begins)] = begins
    memory.is_waiting[begins] = True
    memory.queue[:] = 0, len(begins)
    refine(graph, cells, memory, np.zeros(1, dtype=np.uint64), 0, -1)
    return cells


def equitable_cells(graph: ColoredGraph, colors: Numbers | None = None) -> Numbers:
    """Number the cells of the coarsest equitable partition that refines the colours.

    Takes time proportional to arcs times the logarithm of vertices (Hopcroft's rule).
    """
    initial = graph.color if colors is None else colors
    return number_classes(refine_colors(graph, initial, memory(graph.vertices)).cell)


# Tell vertices apart by what lies within some distance of them.
#
# Refinement sees nothing but trees: in a regular graph all vertices look alike. Counting arcs to
# new and to known vertices, layer by layer, sees cycles, which settles graphs without symmetry at
# once.


def ball_cells(graph: ColoredGraph, cells: Numbers, *, reach: int) -> Numbers:
    """Split cells of several points by balls of at most `reach` arcs; not equitable any more.

    Cycles begin to show when a ball is as large as the square root of the graph. It is enough
    that some vertices show them: refinement does the rest.
    """
    _, which, counts = np.unique(cells, return_inverse=True, return_counts=True)
    centers = np.flatnonzero(counts[which[: graph.points]] > 1)
    ball, color_hash = np.zeros((2, graph.vertices), dtype=np.uint64)
    distance, queue = np.zeros((2, graph.vertices), dtype=np.int32)
    _fill_balls(graph, cells, centers, reach, ball, color_hash, distance, queue)
    return row_classes(np.column_stack([cells, ball.view(np.int64)]))[1]


@tier(of_first)
def _fill_balls(
    graph: ColoredGraph,
    cells: Numbers,
    centers: Numbers,
    reach: int,
    ball: Words,
    color_hash: Words,
    distance: NDArray[np.int32],
    queue: NDArray[np.int32],
) -> None:
    for vertex in range(len(cells)):
        color_hash[vertex] = hash_integer(cells[vertex])
    for center in centers:
        queue[0], distance[center] = center, 1
        first, last, layer, work = 0, 1, 1, 0
        while first < last:
            for k in range(first, last):
                work += graph.start[queue[k] + 1] - graph.start[queue[k]]
            if work > reach:
                break
            total, end = _visit_layer(graph, first, last, layer, color_hash, distance, queue)
            ball[center] = hash_integer(ball[center] ^ total) + np.uint64(end - last)
            first, last, layer = last, end, layer + 1
        for k in range(last):
            distance[queue[k]] = 0


@shared
def _visit_layer(
    graph: ColoredGraph,
    first: int,
    last: int,
    layer: int,
    color_hash: Words,
    distance: NDArray[np.int32],
    queue: NDArray[np.int32],
) -> tuple[np.uint64, int]:
    """Follow the arcs of one layer: gives a fingerprint of them, and where the next layer ends."""
    total, end = np.uint64(0), last
    for k in range(first, last):
        for arc in range(graph.start[queue[k]], graph.start[queue[k] + 1]):
            vertex = graph.neighbor[arc]
            if distance[vertex] == 0:
                distance[vertex] = layer + 1
                queue[end] = vertex
                end += 1
            # arcs lead one layer back, along the layer, or one layer on; odd factors lose nothing
            step = 3 * np.int64(graph.label[arc]) + distance[vertex] - layer + 1
            total += color_hash[vertex] * np.uint64(2 * step + 1)
    return total, end
