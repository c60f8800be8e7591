"""An ordered partition of vertices that can be refined, and taken back step by step."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc.compiled import compiled, shared
from orbitmc.symmetry.colored_graph import ColoredGraph, Ints

Keys = NDArray[np.uint64]


class Partition(NamedTuple):
    """Cells are stretches of `element`, called by the place where they begin.

    `place` says where a vertex stands, `cell` to which cell it belongs, `size[c]` how long cell
    `c` is. `born` and `parent` list the cells that splitting made, in order; `count[0]` of them.
    """

    element: Ints
    place: Ints
    cell: Ints
    size: Ints
    born: Ints
    parent: Ints
    count: Ints


class Memory(NamedTuple):
    """What refinement overwrites; everything is clean between two calls.

    `key` and `touched` belong to vertices, `reached` and `is_waiting` to cells. `waiting` is a
    ring of cells still to be used, `queue` says where it begins and how long it is. `work[0]`
    counts the arcs looked at.
    """

    key: Keys
    reached: Ints
    is_waiting: NDArray[np.bool_]
    waiting: Ints
    queue: Ints
    member: Ints
    cells: Ints
    work: Ints


def memory(vertices: int) -> Memory:
    def zeros() -> Ints:
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


def partition(colors: Ints) -> Partition:
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
def mixed(number):
    """Scatter an integer over 64 bits (the finaliser of splitmix64)."""
    bits = np.uint64(number) + np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


@shared
def enqueue(memory, cell):
    if not memory.is_waiting[cell]:
        memory.is_waiting[cell] = True
        place = memory.queue[0] + memory.queue[1]
        size = len(memory.waiting)
        memory.waiting[place - size if place >= size else place] = cell
        memory.queue[1] += 1


@shared
def dequeue(memory):
    cell = memory.waiting[memory.queue[0]]
    memory.queue[0] += 1
    if memory.queue[0] == len(memory.waiting):
        memory.queue[0] = 0
    memory.queue[1] -= 1
    memory.is_waiting[cell] = False
    return cell


@shared
def swap(partition, one, other):
    """Exchange the vertices at two places."""
    first, second = partition.element[one], partition.element[other]
    partition.element[one], partition.element[other] = second, first
    partition.place[first], partition.place[second] = other, one


@shared
def cut(partition, parent, begin, end):
    """Make the last part of a cell a cell of its own."""
    partition.size[begin] = end - begin
    partition.size[parent] -= end - begin
    for place in range(begin, end):
        partition.cell[partition.element[place]] = begin
    partition.born[partition.count[0]] = begin
    partition.parent[partition.count[0]] = parent
    partition.count[0] += 1


@compiled
def take_back(partition, count):
    """Undo the last splits until `count` of them are left."""
    while partition.count[0] > count:
        partition.count[0] -= 1
        begin = partition.born[partition.count[0]]
        parent = partition.parent[partition.count[0]]
        for place in range(begin, begin + partition.size[begin]):
            partition.cell[partition.element[place]] = parent
        partition.size[parent] += partition.size[begin]
        partition.size[begin] = 0


@shared
def individualize(partition, memory, vertex):
    """Put a vertex into a cell of its own, at the end of its cell, and let it wait for use."""
    parent = partition.cell[vertex]
    last = parent + partition.size[parent] - 1
    swap(partition, partition.place[vertex], last)
    cut(partition, parent, last, last + 1)
    enqueue(memory, last)


@shared
def _sift(partition, key, first, root, length):
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


@compiled
def sort_by_key(partition, key, first, last):
    """Sort the elements at places `first:last` by key, on the spot (heap sort)."""
    length = last - first
    for root in range(length // 2 - 1, -1, -1):
        _sift(partition, key, first, root, length)
    for end in range(length - 1, 0, -1):
        swap(partition, first, first + end)
        _sift(partition, key, first, 0, end)


@shared
def keys_agree(partition, key, first, last):
    for place in range(first + 1, last):
        if key[partition.element[place]] != key[partition.element[first]]:
            return False
    return True


@compiled
def split(partition, memory, cell, trace):
    """Split a cell by the keys of its touched vertices, which stand at its end.

    Gives the trace with the new cells mixed in. All parts but the largest must be used later,
    or all if the cell itself was still waiting (Hopcroft).
    """
    end = cell + partition.size[cell]
    first = end - memory.reached[cell]
    if not keys_agree(partition, memory.key, first, end):
        sort_by_key(partition, memory.key, first, end)
    largest = cell
    largest_size = first - cell
    last = end
    born = partition.count[0]
    while last > cell:
        begin = last - 1
        if begin < first:
            break
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
    for number in range(born, partition.count[0]):
        begin = partition.born[number]
        if waiting or begin != largest:
            enqueue(memory, begin)
    if not waiting and largest != cell and partition.count[0] > born:
        enqueue(memory, cell)
    return mixed(trace ^ np.uint64(cell))


@shared
def touch(partition, memory, vertex, label, found):
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


@compiled
def use(graph, partition, memory, cell):
    """Split all cells by the arcs that leave one cell; gives a fingerprint of what happened.

    The fingerprint does not depend on the names of vertices, only on where cells stand.
    """
    size = partition.size[cell]
    for k in range(size):
        memory.member[k] = partition.element[cell + k]
    found = 0
    for k in range(size):
        vertex = memory.member[k]
        for arc in range(graph.start[vertex], graph.start[vertex + 1]):
            found = touch(partition, memory, graph.neighbor[arc], graph.label[arc], found)
        memory.work[0] += 1 + graph.start[vertex + 1] - graph.start[vertex]
    cells = memory.cells[:found]
    cells.sort()
    trace = np.uint64(cell)
    for k in range(found):
        touched_cell = cells[k]
        end = touched_cell + partition.size[touched_cell]
        first = end - memory.reached[touched_cell]
        trace = split(partition, memory, touched_cell, trace)
        memory.reached[touched_cell] = 0
        for place in range(first, end):
            memory.key[partition.element[place]] = np.uint64(0)
    return trace


@compiled
def forget_queue(memory):
    while memory.queue[1] > 0:
        dequeue(memory)


@compiled
def refine_all(graph, partition, memory):
    """Refine until every cell looks the same from inside every other; none may be left waiting."""
    while memory.queue[1] > 0:
        use(graph, partition, memory, dequeue(memory))


def refine_colors(graph: ColoredGraph, colors: Ints, own: Memory) -> Partition:
    """The coarsest partition that refines the colours and that no vertex can tell apart further."""
    cells = partition(colors)
    begins = np.flatnonzero(cells.size)
    own.waiting[: len(begins)] = begins
    own.is_waiting[begins] = True
    own.queue[:] = 0, len(begins)
    refine_all(graph, cells, own)
    return cells
