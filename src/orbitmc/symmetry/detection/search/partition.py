"""An ordered partition of vertices that can be refined, and taken back step by step."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc._numba.jit import shared
from orbitmc._numba.tiers import of_one, tiered
from orbitmc._util.arrays import Numbers, Words


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
def swap(partition: Partition, one: int, other: int) -> None:
    """Exchange the vertices at two places."""
    first, second = partition.element[one], partition.element[other]
    partition.element[one], partition.element[other] = second, first
    partition.place[first], partition.place[second] = other, one


@shared
def cut(partition: Partition, parent: int, begin: int, end: int) -> None:
    """Make the last part of a cell a cell of its own."""
    partition.size[begin] = end - begin
    partition.size[parent] -= end - begin
    for place in range(begin, end):
        partition.cell[partition.element[place]] = begin
    partition.born[partition.splits[0]] = begin
    partition.parent[partition.splits[0]] = parent
    partition.splits[0] += 1


@tiered(of_one)
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
    cut(partition, parent, last, last + 1)
    enqueue(memory, last)
