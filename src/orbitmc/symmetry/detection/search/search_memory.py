"""What the search for automorphisms overwrites, and the orbits it has joined so far."""

from typing import NamedTuple

import numpy as np

from orbitmc._numba.jit import shared
from orbitmc._util.arrays import Numbers, Words
from orbitmc.groups.permutation_groups import root_of
from orbitmc.symmetry.detection.search.matching import Guess
from orbitmc.symmetry.detection.search.partition import Memory, Partition
from orbitmc.symmetry.detection.search.preservation import Checker

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


class Found(NamedTuple):
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
    found: Found
    guess: Guess
    candidates: Numbers
    progress: Numbers


@shared
def unite(orbits: Orbits, one: int, other: int) -> None:
    first, second = root_of(orbits.parent, one), root_of(orbits.parent, other)
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


def nothing_found(points: int, room: int) -> Found:
    start = np.zeros(points + 1, dtype=np.int64)
    entries = np.zeros((2, room), dtype=np.int64)
    return Found(start, entries[0], entries[1], np.zeros(2, dtype=np.int64))
