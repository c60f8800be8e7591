"""Extend an agreement of two partitions to an automorphism, trying all ways if need be.

Where left and right differ only in single points, the difference is the guess. Elsewhere a point
is individualised on both sides, and taken back when that leads nowhere.
"""

from orbitmc._numba.jit import compiled, shared
from orbitmc._numba.tiers import of_first, tiered
from orbitmc.symmetry.detection.encoding.colored_graph import ColoredGraph
from orbitmc.symmetry.detection.search.matching import match_differences
from orbitmc.symmetry.detection.search.partition import Partition, individualize, take_back
from orbitmc.symmetry.detection.search.preservation import preserves
from orbitmc.symmetry.detection.search.refinement import refine
from orbitmc.symmetry.detection.search.search_memory import DEPTH, Search, unite

FOUND, REFUTED, UNDECIDED = 1, 0, -1


@shared
def recorded(graph: ColoredGraph, search: Search, vertex: int, begin: int) -> int:
    """Individualise on the left, and record fingerprints; gives the end of the record."""
    individualize(search.left, search.memory, vertex)
    return refine(graph, search.left, search.memory, search.path.trace, begin, -1)


@tiered(of_first)
def agrees(graph: ColoredGraph, search: Search, vertex: int, begin: int, end: int) -> bool:
    """Individualise on the right as long as fingerprints agree with the record."""
    individualize(search.right, search.memory, vertex)
    return refine(graph, search.right, search.memory, search.path.trace, begin, end) >= 0


@shared
def _hint(left: Partition, right: Partition, vertex: int) -> int:
    """Where a vertex that is the image of a single one should go: back; -1 if it cannot."""
    here, there = right.cell[vertex], left.cell[vertex]
    if left.size[here] == 1 and left.size[there] > 1:
        source = left.element[here]
        if right.cell[source] == there:
            return int(source)
    return -1


@tiered(of_first)
def _difference(
    graph: ColoredGraph, left: Partition, right: Partition, scan: int
) -> tuple[int, int]:
    """A point that is in another cell on the left than on the right, not both single.

    Looks at born cells from number `scan` on. Points with a hint come first: sending them back
    keeps automorphisms small, most are swaps. Gives the first number with such a point, and the
    point; (-1, -1) if there is none.
    """
    first, chosen = -1, -1
    for number in range(scan, right.splits[0]):
        cell = right.born[number]
        if right.element[cell] < graph.points:
            for place in range(cell, cell + right.size[cell]):
                vertex = right.element[place]
                there = left.cell[vertex]
                if there != cell and (left.size[there] > 1 or right.size[cell] > 1):
                    if first < 0:
                        first, chosen = number, vertex
                    if _hint(left, right, vertex) >= 0:
                        return first, vertex
                    break
    return first, chosen


@shared
def _choice(left: Partition, right: Partition, vertex: int) -> tuple[int, int, int]:
    """How to settle a differing point: a cell, a vertex of it on the left, its image."""
    here, there = right.cell[vertex], left.cell[vertex]
    hint = _hint(left, right, vertex)
    if hint >= 0:
        return there, vertex, hint
    if left.size[there] > 1:
        return there, vertex, right.element[there]
    source = left.element[here]
    if left.cell[right.element[there]] == here:
        source = right.element[there]
    return here, source, vertex


@shared
def _save(search: Search, count: int) -> bool:
    """Keep a generator and join the orbits it joins; gives False when there is no room."""
    found = search.found
    begin = found.used[1]
    room = begin + count <= len(found.point) and found.used[0] + 1 < len(found.start)
    for k in range(count):
        vertex, image = search.guess.moved[k], search.guess.image[search.guess.moved[k]]
        if room:
            found.point[begin + k], found.image[begin + k] = vertex, image
            unite(search.orbits, vertex, image)
    if room:
        found.used[0] += 1
        found.used[1] += count
        found.start[found.used[0]] = found.used[1]
    return bool(room)


@shared
def _try_guess(graph: ColoredGraph, search: Search, mark: int) -> int:
    """Try the permutation that moves only what differs, and keep it if it is an automorphism."""
    guess = search.guess
    count = match_differences(graph, search.left, search.right, mark, guess)
    outcome = REFUTED
    if count and preserves(graph, search.checker, guess.image, guess.moved, count):
        outcome = FOUND if _save(search, count) else UNDECIDED
    for k in range(count):
        guess.image[guess.moved[k]] = guess.moved[k]
    return outcome


@shared
def _first_open(graph: ColoredGraph, search: Search, place: int) -> int:
    """The first cell of several points on the left from a place on; -1 if there is none."""
    left = search.left
    while place < graph.points:
        cell = left.cell[left.element[place]]
        if left.size[cell] > 1:
            return int(cell)
        place = cell + 1
    return -1


@shared
def _push(
    graph: ColoredGraph, search: Search, depth: int, choice: tuple[int, int, int], scan: int
) -> None:
    """Open a frame: individualise on the left, and remember where we were."""
    frames = search.frames
    frames.left_mark[depth], frames.right_mark[depth] = (
        search.left.splits[0],
        search.right.splits[0],
    )
    frames.cell[depth], frames.vertex[depth], frames.first[depth] = choice
    frames.scan[depth] = scan
    frames.option[depth] = -1
    frames.options_end[depth] = 0 if depth == 0 else frames.options_end[depth - 1]
    begin = (
        frames.trace_end[depth - 1] if depth else search.path.trace_start[search.progress[DEPTH]]
    )
    frames.trace_begin[depth] = begin
    frames.trace_end[depth] = recorded(graph, search, frames.vertex[depth], begin)


@shared
def _next_option(search: Search, depth: int) -> int:
    """Another image for the vertex of a frame; -1 when there is none, -2 when there is no room."""
    frames, right = search.frames, search.right
    if frames.option[depth] < 0:
        begin = frames.options_end[depth]
        cell, size = frames.cell[depth], right.size[frames.cell[depth]]
        if begin + size > len(frames.pool):
            return -2
        count = 0
        for place in range(cell, cell + size):
            if right.element[place] != frames.first[depth]:
                frames.pool[begin + count] = right.element[place]
                count += 1
        frames.option[depth], frames.options_end[depth] = begin, begin + count
    if frames.option[depth] == frames.options_end[depth]:
        return -1
    frames.option[depth] += 1
    return int(frames.pool[frames.option[depth] - 1])


@compiled
def _step_back(graph: ColoredGraph, search: Search, depth: int, limit: int) -> int:
    """Take other images for the innermost choices until one agrees; gives the depth.

    -1 means that none is left, -2 that the limit of work was reached.
    """
    frames = search.frames
    while depth > 0:
        top = depth - 1
        take_back(search.right, frames.right_mark[top])
        vertex = _next_option(search, top)
        if vertex == -2 or search.memory.work[0] > limit:
            return -2
        if vertex == -1:
            take_back(search.left, frames.left_mark[top])
            depth = top
        elif agrees(graph, search, vertex, frames.trace_begin[top], frames.trace_end[top]):
            return depth
    return -1


@tiered(of_first)
def complete(graph: ColoredGraph, search: Search, mark: int, place: int, limit: int) -> int:
    """Extend an agreement of left and right to an automorphism, trying all ways if need be."""
    frames, left, right = search.frames, search.left, search.right
    depth, scan = 0, mark
    while True:
        number, vertex = _difference(graph, left, right, scan)
        scan = number if number >= 0 else right.splits[0]
        if number < 0 or _hint(left, right, vertex) < 0:
            outcome = _try_guess(graph, search, mark)
            if outcome != REFUTED:
                return outcome
        choice = (-1, -1, -1)
        if number >= 0:
            choice = _choice(left, right, vertex)
        else:
            cell = _first_open(graph, search, place)
            if cell >= 0:
                same = left.element[cell]
                choice = (cell, same, same)
        going = False
        if choice[0] >= 0:
            if depth == len(frames.cell):
                return UNDECIDED
            _push(graph, search, depth, choice, scan)
            depth += 1
            going = agrees(
                graph,
                search,
                choice[2],
                frames.trace_begin[depth - 1],
                frames.trace_end[depth - 1],
            )
        if not going:
            depth = _step_back(graph, search, depth, limit)
            if depth == -1:
                return REFUTED
            if depth == -2:
                return UNDECIDED
            scan = frames.scan[depth - 1]
