"""Growing a stabilizer chain: first with random elements, then until it is proved complete."""

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from orbitmc.errors import LimitError
from orbitmc.groups.chains.chain_growth import (
    fill_rows,
    grow_orbit,
    sift_one,
    sift_random,
    sift_schreier,
)
from orbitmc.groups.elements.random_elements import product_replacement
from orbitmc.groups.orbits import connected
from orbitmc.machine.arrays import Indices, indices
from orbitmc.machine.lanes.random import generator

QUIET_SIFTS = 20  # random elements in a row that leave nothing, before the proof is tried


@dataclass
class Level:
    """The orbit of a base point and the generators of the group that fixes earlier base points."""

    base: int
    orbit: NDArray[np.uint32]
    size: int = 1
    generators: list[NDArray[np.uint32]] = field(default_factory=list)


class ChainBuilder:
    """A chain that grows with every element that it cannot yet express."""

    def __init__(self, rows: Indices, *, max_entries: int, max_work: int) -> None:
        self.rows, self.degree = rows, rows.shape[1]
        self.max_entries, self.max_work = max_entries, max_work
        self.levels: list[Level] = []
        self.place = np.empty((0, self.degree), dtype=np.int32)
        self.back = np.empty((0, self.degree), dtype=np.uint32)
        self.used = 0

    def build(self) -> None:
        """Complete the chain, or raise LimitError."""
        for row in self.rows:
            element = row.copy()
            self._add(element, sift_one(self._base(), self.place, self.back, element))
        self._grow_randomly()
        if self.order() < self._largest_order():
            self._check_work()
            self._prove()

    def order(self) -> int:
        return math.prod(level.size for level in self.levels)

    def _base(self) -> Indices:
        return indices([level.base for level in self.levels])

    def _grow_randomly(self) -> None:
        replacement, rng = product_replacement(self.rows), generator(1, 0, 32)
        element = np.empty(self.degree, dtype=np.uint32)
        largest, stuck = self._largest_order(), 0
        while stuck >= 0 and self.order() < largest:
            stuck = sift_random(
                self._base(), self.place, self.back, element, replacement, rng, QUIET_SIFTS
            )
            if stuck >= 0:
                self._add(element.copy(), stuck)

    def _prove(self) -> None:
        """Sift the Schreier generators of every level, deepest first; go down again after each."""
        element = np.empty(self.degree, dtype=np.uint32)
        number = len(self.levels) - 1
        while number >= 0:
            level = self.levels[number]
            # The given generators make the whole group, so the found ones add nothing at the top.
            generators = self.rows if number == 0 else np.array(level.generators)
            orbit = level.orbit[: level.size].copy()
            stuck = sift_schreier(
                self._base(), self.place, self.back, element, number, orbit, generators
            )
            if stuck >= 0:
                self._add(element.copy(), stuck)
            number = stuck if stuck >= 0 else number - 1

    def _add(self, residue: NDArray[np.uint32], stuck: int) -> None:
        """Make a residue a generator of all levels down to where it got stuck."""
        moved = np.flatnonzero(residue != np.arange(self.degree))
        if len(moved) == 0:
            return
        if stuck == len(self.levels):
            self._add_level(int(moved[0]))
        for number in range(stuck + 1):
            self.levels[number].generators.append(residue)
            self._complete(number, residue)

    def _add_level(self, base: int) -> None:
        orbit = np.empty(self.degree, dtype=np.uint32)
        orbit[0] = base
        self.levels.append(Level(base, orbit))
        self.place = np.vstack([self.place, np.full((1, self.degree), -1, dtype=np.int32)])
        self._reserve(1)
        self.back[self.used] = np.arange(self.degree)
        self.place[-1, base] = self.used
        self.used += 1

    def _complete(self, number: int, latest: NDArray[np.uint32]) -> None:
        """Extend the orbit of a level that was complete before its latest generator."""
        level = self.levels[number]
        if (self.place[number, latest[level.orbit[: level.size]]] >= 0).all():
            return
        generators = np.array(level.generators)
        before, by = np.empty((2, self.degree), dtype=np.int64)
        old = level.size
        level.size = grow_orbit(self.place, number, level.orbit, old, generators, before, by)
        self._reserve(level.size - old)
        inverses = np.argsort(generators, axis=1).astype(np.uint32)
        fill_rows(
            self.place, number, level.orbit, old, level.size, inverses, before, by,
            self.back, self.used,
        )  # fmt: skip
        self.used += level.size - old

    def _reserve(self, more: int) -> None:
        needed = self.used + more
        if needed * self.degree > self.max_entries:
            raise LimitError(
                f"a stabilizer chain of {self.degree} points needs more than {needed} rows,"
                f" and at most {self.max_entries // self.degree} are allowed"
            )
        if needed > len(self.back):
            larger = np.empty((2 * needed, self.degree), dtype=np.uint32)
            larger[: self.used] = self.back[: self.used]
            self.back = larger

    def _largest_order(self) -> int:
        """No group with these orbits is larger; reaching it is a proof."""
        points = np.tile(np.arange(self.degree, dtype=np.uint32), len(self.rows))
        labels = connected(self.degree, points, self.rows.ravel())
        return math.prod(math.factorial(int(size)) for size in np.bincount(labels))

    def _check_work(self) -> None:
        work = 0
        for number, level in enumerate(self.levels):
            count = len(level.generators) if number else len(self.rows)
            work += level.size * count * (len(self.levels) - number) * self.degree
        if work > self.max_work:
            raise LimitError(f"proving a stabilizer chain takes {work:.1e} operations, too many")
