"""Refine an ordered partition by the arcs that leave its cells, with a record of what happened."""

import numpy as np

from orbitmc._numba.jit import shared
from orbitmc._numba.tiers import of_first, tiered
from orbitmc._simd.bits import mixed
from orbitmc._util.arrays import Numbers, Words, number_classes
from orbitmc.symmetry.detection.encoding.colored_graph import ColoredGraph
from orbitmc.symmetry.detection.search.partition import (
    Memory,
    Partition,
    cut,
    dequeue,
    enqueue,
    memory,
    partition,
    swap,
)

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
def _split(partition: Partition, memory: Memory, cell: int, trace: np.uint64) -> np.uint64:
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
        trace = mixed(trace ^ key) + np.uint64(last - begin)
        if last - begin > largest_size:
            largest, largest_size = begin, last - begin
        if begin > cell:
            cut(partition, cell, begin, last)
        last = begin
    waiting = memory.is_waiting[cell]
    for number in range(born, partition.splits[0] + 1):
        part = partition.born[number] if number < partition.splits[0] else cell
        if partition.splits[0] > born and (waiting or part != largest):
            enqueue(memory, part)
    return np.uint64(mixed(trace ^ np.uint64(cell)))


@shared
def _touch(partition: Partition, memory: Memory, vertex: int, label: int, found: int) -> int:
    """Add a label to a vertex's key; a first touch moves it to the end of its cell."""
    cell = partition.cell[vertex]
    first = cell + partition.size[cell] - memory.reached[cell]
    if partition.place[vertex] < first:
        if memory.reached[cell] == 0:
            memory.cells[found] = cell
            found += 1
        memory.reached[cell] += 1
        swap(partition, partition.place[vertex], first - 1)
    memory.key[vertex] += mixed(label)
    return found


@shared
def _touch_around(graph: ColoredGraph, partition: Partition, memory: Memory, cell: int) -> int:
    """Touch every vertex at the end of an arc from a cell; gives how many cells were reached."""
    size = partition.size[cell]
    for k in range(size):
        memory.member[k] = partition.element[cell + k]
    found = 0
    for k in range(size):
        vertex = memory.member[k]
        for arc in range(graph.start[vertex], graph.start[vertex + 1]):
            found = _touch(partition, memory, graph.neighbor[arc], graph.label[arc], found)
        memory.work[0] += 1 + graph.start[vertex + 1] - graph.start[vertex]
    return found


@shared
def _use(graph: ColoredGraph, partition: Partition, memory: Memory, cell: int) -> np.uint64:
    """Split all cells by the arcs that leave one cell; gives a fingerprint of what happened.

    The fingerprint does not depend on the names of vertices, only on where cells stand.
    """
    found = _touch_around(graph, partition, memory, cell)
    _sort_cells(memory.cells, found)
    trace = np.uint64(cell)
    for k in range(found):
        reached = memory.cells[k]
        end = reached + partition.size[reached]
        first = end - memory.reached[reached]
        trace = _split(partition, memory, reached, trace)
        memory.reached[reached] = 0
        for place in range(first, end):
            memory.key[partition.element[place]] = np.uint64(0)
    return trace


@tiered(of_first)
def refine(
    graph: ColoredGraph, partition: Partition, memory: Memory, trace: Words, begin: int, end: int
) -> int:
    """Use waiting cells until none is left.

    With `end < 0`, write fingerprints to `trace` from `begin` on; gives the end of the record.
    Otherwise compare with the record and stop at the first difference, which gives -1.
    """
    place = begin
    while memory.queue[1] > 0:
        fingerprint = _use(graph, partition, memory, dequeue(memory))
        if end < 0:
            trace[place % len(trace)] = fingerprint
        elif place == end or trace[place] != fingerprint:
            while memory.queue[1] > 0:
                dequeue(memory)
            return DIFFERENT
        place += 1
    return place if end < 0 or place == end else DIFFERENT


def refine_colors(graph: ColoredGraph, colors: Numbers, own: Memory) -> Partition:
    """The coarsest partition that refines the colours and that no vertex can tell apart further."""
    cells = partition(colors)
    begins = np.flatnonzero(cells.size)
    own.waiting[: len(begins)] = begins
    own.is_waiting[begins] = True
    own.queue[:] = 0, len(begins)
    refine(graph, cells, own, np.zeros(1, dtype=np.uint64), 0, -1)
    return cells


def equitable_cells(graph: ColoredGraph, colors: Numbers | None = None) -> Numbers:
    """Number the cells of the coarsest equitable partition that refines the colours.

    Takes time proportional to arcs times the logarithm of vertices (Hopcroft's rule).
    """
    given = graph.color if colors is None else colors
    return number_classes(refine_colors(graph, given, memory(graph.vertices)).cell)
