"""Notes of a run for questions about several variables: features, summed up in batches.

States of the variables that matter are kept until there are many of them; then features are
evaluated outside of compiled code, on all of them at once. Where a question allows it, one variable
is averaged over, by its probabilities given all others (Rao-Blackwell).
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

import numpy as np

from orbitmc._simd.random import COLUMNS
from orbitmc._util.arrays import Bytes, Floats, Numbers, lengths
from orbitmc.estimate.features import Conditional, column_means, empty_sums, part_of_time
from orbitmc.estimate.tally import PARTS, merge_parts

if TYPE_CHECKING:
    from orbitmc.graph.factor_graph import FactorGraph

STATES = 2**14  # in a batch, if their bytes are not too many
BYTES = 2**22
MOST_FACTORS = 256  # that read a variable which is averaged over
NOBODY = -1


class Feature(Protocol):
    """What is asked of states.

    `variables` are places in the graph; the one that is averaged over, if any, is `averaged`.
    """

    variables: Numbers
    averaged: int
    rows: int

    def sums(self, states: Bytes, chances: Floats | None) -> Floats:
        """Add up each row over states `[variable, state]`, in eight columns.

        `chances[value, state]` are those of the variable that is averaged over.
        """

    def errors(self, means: Floats) -> Floats:
        """The errors of what is reported, from means of rows `[row, column]`."""


def best_averaged(graph: FactorGraph, variables: Iterable[int]) -> int:
    """The variable with the most values, and then the fewest factors, if these are few enough."""
    factors = lengths(graph.incident_start)
    few = [one for one in variables if factors[one] <= MOST_FACTORS]
    ranked = [(-int(graph.cardinality[one]), int(factors[one]), one) for one in few]
    return min(ranked)[2] if ranked else NOBODY


class FeatureNotes:
    """Keeps sums of a feature for each pack, in parts of time as tallies do."""

    def __init__(self, graph: FactorGraph, feature: Feature, lanes: int) -> None:
        self.feature, self.lanes = feature, lanes
        self.conditional = (
            None if feature.averaged == NOBODY else Conditional(graph, feature.averaged)
        )
        near = self.conditional.neighbours if self.conditional else []
        self.needed = np.concatenate([feature.variables, np.array(near, dtype=np.int64)])
        self.samples = max(1, min(STATES // lanes, BYTES // (max(len(self.needed), 1) * lanes)))
        self.packs: dict[int, _Batches] = {}

    @property
    def bytes(self) -> int:
        """What the notes of one pack take: states that wait, sums, and sums of a batch."""
        states = len(self.needed) * self.samples * self.lanes
        return 2 * states + 8 * COLUMNS * (PARTS + 3) * self.feature.rows

    def note(self, number: int, states: Bytes, recorded: int) -> None:
        if number not in self.packs or recorded == 0:
            self.packs[number] = _Batches(self)
        own = self.packs[number]
        part, merges, ends = part_of_time(recorded)
        if merges:
            own.flush()
            merge_parts(own.sums)
        own.add(states, part)
        if ends or own.filled == self.samples or recorded == 0:
            own.flush()  # after the first sample it is known what that takes

    @property
    def waiting(self) -> float:
        return sum(own.waiting for own in self.packs.values())

    def summed(self, states: Bytes) -> Floats:
        """Sums of the feature over states of all variables that are needed."""
        chances = None
        if self.conditional is not None:
            near = dict(zip(self.needed.tolist(), states, strict=True))
            chances = self.conditional.chances(near, states.shape[1])
        return self.feature.sums(states[: len(self.feature.variables)], chances)

    @property
    def sums(self) -> list[Floats]:
        """What was summed up so far, of each pack."""
        for own in self.packs.values():
            own.flush()
        return [self.packs[number].sums for number in sorted(self.packs)]

    def spread(self, recorded: int, lanes: int) -> Floats:
        return self.feature.errors(column_means(self.sums, recorded, lanes))


class _Batches:
    """The states of one pack that wait to be summed up, and the sums of earlier ones."""

    def __init__(self, notes: FeatureNotes) -> None:
        self.notes, self.filled, self.part = notes, 0, 0
        self.last, self.seconds = 1, 0.0  # how many samples were summed up at last, and how long
        self.sums = empty_sums(notes.feature.rows)
        self.states = np.zeros((len(notes.needed), notes.samples, notes.lanes), dtype=np.uint8)

    def add(self, states: Bytes, part: int) -> None:
        self.states[:, self.filled] = states
        self.part = part
        self.filled += 1

    def flush(self) -> None:
        if self.filled:
            count = self.filled * self.notes.lanes
            states = self.states[:, : self.filled].reshape(len(self.states), count)
            begun = time.perf_counter()
            self.sums[self.part] += self.notes.summed(states)
            self.last, self.seconds = self.filled, time.perf_counter() - begun
            self.filled = 0

    @property
    def waiting(self) -> float:
        """Seconds to sum up what waits: in proportion, but no less than the last time."""
        return self.seconds * max(1.0, self.filled / self.last) if self.filled else 0.0
