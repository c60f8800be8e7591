"""Individualisation and refinement: find automorphisms by following two partitions in step.

The left partition follows one path of individualised vertices down to single points. Going back
up, other choices are tried on the right; where the two differ only in single points, the
difference is an automorphism, mostly a sparse one (as in saucy; Darga et al. 2008). Each is
checked arc by arc. Whatever is left undecided when the budget ends costs completeness only.
"""

from typing import NamedTuple

import numpy as np

from orbitmc._numba.jit import compiled, shared
from orbitmc._numba.tiers import of_first, tier
from orbitmc._util.arrays import Numbers, Words
from orbitmc.groups.permutation_groups import root_of
from orbitmc.symmetry.encoding import ColoredGraph
from orbitmc.symmetry.matching import (
    Checker,
    Guess,
    checker,
    empty_guess,
    match_differences,
    preserves,
)
from orbitmc.symmetry.refinement import (
    Memory,
    Partition,
    individualize,
    memory,
    partition,
    refine,
    take_back,
)

# What the search for automorphisms overwrites, and the orbits it has joined so far.

DEPTH, LEVEL, QUICK, LISTED, LEFT_OPEN, FAILED = range(6)
"""What `progress` holds: the depth of the path, the level at work (plus one), how many quick tries
and how many listed candidates it has seen, how many attempts stayed undecided, and how many
candidates were refuted in all."""


class Path(NamedTuple):
    """The left path: at each level a target cell, the vertex taken from it, and marks.

    `orbit` is how many images the vertex has under generators that fix the levels above.
    `trace[trace_start[k]:trace_start[k + 1]]` are the fingerprints of level k's refinement.
    """

    cell: Numbers
    vertex: Numbers
    mark: Numbers
    orbit: Numbers
    trace_start: Numbers
    trace: Words


class Frames(NamedTuple):
    """Choices below the current level: what was individualised, and which images are left."""

    left_mark: Numbers
    right_mark: Numbers
    cell: Numbers
    vertex: Numbers
    scan: Numbers
    trace_begin: Numbers
    trace_end: Numbers
    first: Numbers
    option: Numbers
    options_end: Numbers
    pool: Numbers


class Orbits(NamedTuple):
    """Points joined by the generators found so far, and orbits known not to join the base."""

    parent: Numbers
    size: Numbers
    refuted: Numbers


class Automorphisms(NamedTuple):
    """Generators as sparse lists; `used` holds how many, and how many entries they take."""

    start: Numbers
    point: Numbers
    image: Numbers
    used: Numbers


class Search(NamedTuple):
    """Everything the search overwrites."""

    left: Partition
    right: Partition
    memory: Memory
    checker: Checker
    path: Path
    frames: Frames
    orbits: Orbits
    generators: Automorphisms
    guess: Guess
    candidates: Numbers
    progress: Numbers


@shared
def unite(orbits: Orbits, left: int, right: int) -> None:
    first, second = root_of(orbits.parent, left), root_of(orbits.parent, right)
    if first != second:
        if orbits.size[first] < orbits.size[second]:
            first, second = second, first
        orbits.parent[second] = first
        orbits.size[first] += orbits.size[second]
        orbits.refuted[first] = max(orbits.refuted[first], orbits.refuted[second])


def no_orbits(points: int) -> Orbits:
    """Every point alone, nothing refuted."""
    return Orbits(np.arange(points), np.ones(points, np.int64), np.zeros(points, np.int64))


def empty_path(size: int) -> Path:
    def zeros() -> Numbers:
        return np.zeros(size + 1, dtype=np.int64)

    # Each level and each split uses one cell more; a path and the frames below it share the room.
    trace = np.zeros(8 * size + 8, dtype=np.uint64)
    return Path(zeros(), zeros(), zeros(), zeros() + 1, zeros(), trace)


def empty_frames(size: int) -> Frames:
    sizes = [size] * (len(Frames._fields) - 1) + [4 * size + 1024]
    return Frames(*(np.zeros(length, dtype=np.int64) for length in sizes))


def empty_results(points: int, room: int) -> Automorphisms:
    start = np.zeros(points + 1, dtype=np.int64)
    entries = np.zeros((2, room), dtype=np.int64)
    return Automorphisms(start, entries[0], entries[1], np.zeros(2, dtype=np.int64))


# Extend an agreement of two partitions to an automorphism, trying all ways if need be.
#
# Where left and right differ only in single points, the difference is the guess. Elsewhere a point
# is individualised on both sides, and taken back when that leads nowhere.

FOUND, REFUTED, UNDECIDED = 1, 0, -1


@shared
def record_path(graph: ColoredGraph, search: Search, vertex: int, begin: int) -> int:
    """Individualise on the left, and record fingerprints; gives the end of the record."""
    individualize(search.left, search.memory, vertex)
    return refine(graph, search.left, search.memory, search.path.trace, begin, -1)


@tier(of_first)
def follows_record(graph: ColoredGraph, search: Search, vertex: int, begin: int, end: int) -> bool:
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


@tier(of_first)
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
    generators = search.generators
    begin = generators.used[1]
    room = begin + count <= len(generators.point) and generators.used[0] + 1 < len(generators.start)
    for k in range(count):
        vertex, image = search.guess.moved[k], search.guess.image[search.guess.moved[k]]
        if room:
            generators.point[begin + k], generators.image[begin + k] = vertex, image
            unite(search.orbits, vertex, image)
    if room:
        generators.used[0] += 1
        generators.used[1] += count
        generators.start[generators.used[0]] = generators.used[1]
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
    frames.trace_end[depth] = record_path(graph, search, frames.vertex[depth], begin)


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
        elif follows_record(graph, search, vertex, frames.trace_begin[top], frames.trace_end[top]):
            return depth
    return -1


@tier(of_first)
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
            going = follows_record(
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


QUICK_TRIES = 4  # candidates tried before a level lists all of them
QUICK_LOOKS = 64  # how far to look for each of them


PORTION = 1_000  # work after which to ask again whether compiling would be sooner


@tier(of_first)
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
        path.trace_start[level + 1] = record_path(graph, search, left.element[place], begin)
        level += 1


@shared
def _attempt(graph: ColoredGraph, search: Search, level: int, candidate: int, limit: int) -> int:
    """Look for an automorphism that fixes the path above `level` and moves its vertex."""
    path = search.path
    begin, end, mark = path.trace_start[level], path.trace_start[level + 1], path.mark[level]
    outcome = REFUTED
    if follows_record(graph, search, candidate, begin, end):
        record_path(graph, search, path.vertex[level], begin)
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


@tier(lambda graph, search, patience, work: work)
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
        generators=empty_results(points, room),
        guess=empty_guess(points),
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
