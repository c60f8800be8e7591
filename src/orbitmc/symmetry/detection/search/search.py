"""Individualisation and refinement: find automorphisms by following two partitions in step.

The left partition follows one path of individualised vertices down to single points. Going back
up, other choices are tried on the right; where the two differ only in single points, the
difference is an automorphism, mostly a sparse one (as in saucy; Darga et al. 2008). Each is
checked arc by arc. Whatever is left undecided when the budget ends costs completeness only.
"""

import numpy as np

from orbitmc._numba.jit import shared
from orbitmc._numba.tiers import of_first, tiered
from orbitmc._util.arrays import Numbers
from orbitmc.groups.permutation_groups import root_of
from orbitmc.symmetry.detection.encoding.colored_graph import ColoredGraph
from orbitmc.symmetry.detection.search.completion import (
    FOUND,
    REFUTED,
    UNDECIDED,
    agrees,
    complete,
    recorded,
)
from orbitmc.symmetry.detection.search.matching import guess
from orbitmc.symmetry.detection.search.partition import Partition, memory, partition, take_back
from orbitmc.symmetry.detection.search.preservation import checker
from orbitmc.symmetry.detection.search.search_memory import (
    DEPTH,
    FAILED,
    LEFT_OPEN,
    LEVEL,
    LISTED,
    QUICK,
    Search,
    empty_frames,
    empty_path,
    no_orbits,
    nothing_found,
)

QUICK_TRIES = 4
"""Candidates tried before a level lists all of them."""

QUICK_LOOKS = 64
"""How far to look for each of them."""


PORTION = 1_000
"""Work after which to ask again whether compiling would be sooner."""


@tiered(of_first)
def _follow_path(graph: ColoredGraph, search: Search) -> int:
    """Go down on the left until points are single; gives the depth."""
    left, path = search.left, search.path
    level, place = 0, 0
    while True:
        while place < graph.points and left.size[place] == 1:
            place += 1
        if place == graph.points:
            return level
        path.cell[level], path.vertex[level] = place, left.element[place]
        path.mark[level] = left.splits[0]
        begin = path.trace_start[level]
        path.trace_start[level + 1] = recorded(graph, search, left.element[place], begin)
        level += 1


@shared
def _attempt(graph: ColoredGraph, search: Search, level: int, candidate: int, limit: int) -> int:
    """Look for an automorphism that fixes the path above `level` and moves its vertex."""
    path = search.path
    begin, end, mark = path.trace_start[level], path.trace_start[level + 1], path.mark[level]
    outcome = REFUTED
    if agrees(graph, search, candidate, begin, end):
        recorded(graph, search, path.vertex[level], begin)
        outcome = complete(graph, search, mark, path.cell[level], limit)
    take_back(search.left, mark)
    take_back(search.right, mark)
    return outcome


@shared
def _is_open(search: Search, level: int, vertex: int) -> bool:
    """Whether a candidate may still be in the orbit of the path's vertex."""
    orbits = search.orbits
    root = root_of(orbits.parent, vertex)
    return (
        root != root_of(orbits.parent, search.path.vertex[level])
        and orbits.refuted[root] != len(orbits.parent) - level
    )


@shared
def _is_full(search: Search, level: int) -> bool:
    cell = search.path.cell[level]
    root = root_of(search.orbits.parent, search.path.vertex[level])
    return bool(search.orbits.size[root] == search.left.size[cell])


@shared
def _try_candidate(
    graph: ColoredGraph, search: Search, level: int, candidate: int, patience: int
) -> None:
    limit = search.memory.work[0] + patience
    outcome = _attempt(graph, search, level, candidate, limit)
    if outcome != FOUND:
        root = root_of(search.orbits.parent, candidate)
        search.orbits.refuted[root] = len(search.orbits.parent) - level
        search.progress[LEFT_OPEN if outcome == UNDECIDED else FAILED] += 1


@shared
def _quick_candidate(search: Search, level: int) -> int:
    """An open candidate near the start of the target cell; -1 if there is none."""
    cell, size = search.path.cell[level], search.left.size[search.path.cell[level]]
    for place in range(cell, cell + min(size, QUICK_LOOKS)):
        if _is_open(search, level, search.right.element[place]):
            return int(search.right.element[place])
    return -1


@shared
def _next_candidate(search: Search, level: int) -> int:
    """The next open candidate of a level; -1 if there is none.

    A few are taken from where they stand, because mostly the first one joins all orbits. Then
    all are listed: attempts may change the order in which they stand.
    """
    progress, candidates = search.progress, search.candidates
    cell, size = search.path.cell[level], search.left.size[search.path.cell[level]]
    if progress[QUICK] < QUICK_TRIES:
        progress[QUICK] += 1
        quick = _quick_candidate(search, level)
        if quick >= 0:
            return quick
        progress[QUICK] = QUICK_TRIES
    if progress[QUICK] == QUICK_TRIES:
        progress[QUICK] += 1
        progress[LISTED] = 0
        for k in range(size):
            candidates[k] = search.right.element[cell + k]
    while progress[LISTED] < size:
        progress[LISTED] += 1
        if _is_open(search, level, candidates[progress[LISTED] - 1]):
            return int(candidates[progress[LISTED] - 1])
    return -1


@shared
def _finish_level(search: Search, level: int) -> None:
    """Note the size of the orbit, and go one level up."""
    root = root_of(search.orbits.parent, search.path.vertex[level])
    search.path.orbit[level] = search.orbits.size[root]
    search.progress[LEVEL] = level
    search.progress[QUICK] = 0
    if level > 0:
        take_back(search.left, search.path.mark[level - 1])
        take_back(search.right, search.path.mark[level - 1])


@tiered(lambda graph, search, patience, work: work)
def advance(graph: ColoredGraph, search: Search, patience: int, work: int) -> bool:
    """Search on for about so much work; gives whether everything has been tried.

    `patience` is how much work one attempt may take before it is left undecided.
    """
    until = search.memory.work[0] + work
    while search.progress[LEVEL] > 0 and search.memory.work[0] <= until:
        level = search.progress[LEVEL] - 1
        candidate = -1
        if not _is_full(search, level):
            candidate = _next_candidate(search, level)
        if candidate >= 0:
            _try_candidate(graph, search, level, candidate, patience)
        else:
            _finish_level(search, level)
    return bool(search.progress[LEVEL] == 0)


def advance_by(graph: ColoredGraph, search: Search, patience: int, work: int) -> bool:
    """Search on for about so much work, in portions that small searches do not exceed."""
    until = int(search.memory.work[0]) + work
    done, portion = False, PORTION
    while not done and search.memory.work[0] <= until:
        portion = min(4 * portion, until - int(search.memory.work[0]))
        done = bool(advance(graph, search, patience, portion))
    return done


def begin(graph: ColoredGraph, cells: Numbers, *, room: int) -> Search:
    """Follow the left path from an equitable partition, given by a number per vertex.

    `room` is how many entries generators may take together.
    """
    left = partition(_search_order(graph, cells))
    size, points = graph.vertices, graph.points
    search = Search(
        left=left,
        right=left,
        memory=memory(size),
        checker=checker(graph),
        path=empty_path(size),
        frames=empty_frames(size),
        orbits=no_orbits(points),
        found=nothing_found(points, room),
        guess=guess(points),
        candidates=np.zeros(points, dtype=np.int64),
        progress=np.zeros(6, dtype=np.int64),
    )
    depth = _follow_path(graph, search)
    search.progress[DEPTH] = search.progress[LEVEL] = depth
    take_back(left, search.path.mark[max(depth - 1, 0)])
    return search._replace(right=Partition(*(array.copy() for array in left)))


def _search_order(graph: ColoredGraph, cells: Numbers) -> Numbers:
    """Points before factors, small cells before large ones."""
    _, which, counts = np.unique(cells, return_inverse=True, return_counts=True)
    is_factor = (np.arange(graph.vertices) >= graph.points).astype(np.int64)
    order = np.lexsort((which, counts[which], is_factor))
    new = np.ones(len(order), dtype=bool)
    new[1:] = which[order][1:] != which[order][:-1]
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.cumsum(new)
    return rank
