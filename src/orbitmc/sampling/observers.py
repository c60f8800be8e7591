"""What is kept of a run beside its tallies: notes of samples, and estimates on the way."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from orbitmc._util.arrays import Bytes, Floats, Numbers
from orbitmc.conditionals.prepared import PreparedGraph
from orbitmc.estimate.statistics import CoursePoint
from orbitmc.kernels.protocol import Kernel
from orbitmc.sampling.pack import Pack, advance

if TYPE_CHECKING:
    from orbitmc.sampling.run import Run


# What a question keeps of the samples of a run, beside the tallies of marginals.

Needed = Numbers | slice
"""The variables that notes look at, as places in the graph."""


class Observer(Protocol):
    """Takes a note of every sample of every pack; packs advance in threads of their own."""

    @property
    def needed(self) -> Needed:
        """What it looks at."""

    @property
    def waiting(self) -> float:
        """About how many seconds it takes to sum up what was noted and waits for that."""

    def note(self, number: int, states: Bytes, recorded: int) -> None:
        """Look at a sample of a pack, before which so many were recorded.

        `states[variable, lane]` are those of the variables that are needed.
        """

    def spread(self, recorded: int, lanes: int) -> Floats:
        """The error that columns show in each number that was asked for."""


def observed_states(
    prepared: PreparedGraph,
    kernel: Kernel,
    pack: Pack,
    needed: Needed,
    recorded: int,
    samples: int,
    spacing: int,
) -> Iterator[Bytes]:
    """Record samples as `advance` does; gives of each what notes need."""
    for place in range(recorded, recorded + samples):
        advance(prepared, kernel, pack, recorded=place, samples=1, spacing=spacing)
        yield pack.values[needed].copy()


def advance_observed(
    prepared: PreparedGraph,
    kernel: Kernel,
    pack: Pack,
    *,
    notes: Observer,
    number: int,
    recorded: int,
    samples: int,
    spacing: int,
) -> None:
    """Record samples as `advance` does, and take a note of each."""
    todo = (prepared, kernel, pack, notes.needed, recorded, samples, spacing)
    for place, states in enumerate(observed_states(*todo), recorded):
        notes.note(number, states, place)


COST = 0.005  # of the time that a run has taken
GROWTH = 1.5  # of samples between two points
FEWEST = 8  # samples in every chain before the first point
SECONDS_PER_NUMBER = 1e-8  # what statistics take per tallied number, before they are measured


@dataclass(frozen=True)
class Snapshot:
    """What a run believed after so many seconds, updates and samples per lane."""

    seconds: float
    updates: int
    samples: int
    probability: Floats


def snapshot(run: Run) -> Snapshot:
    """What a run believes by now."""
    return Snapshot(run.seconds, run.updates, run.recorded, run.statistics().probability)


def next_snapshot(recorded: int) -> int:
    """The next of the sample counts 1, 2, 3, 4, 6, 8, 12, 16, 24, … at which to remember.

    >>> [next_snapshot(recorded) for recorded in (0, 1, 4, 6, 100)]
    [1, 2, 6, 8, 128]
    """
    count = 1
    while count <= recorded:
        half_step = count + count // 2
        if count & (count - 1) == 0 and count > 1 and half_step > recorded:
            return half_step
        count *= 2
    return count


class Course:
    """Notes standard errors when samples have grown enough, if that is cheap."""

    def __init__(self) -> None:
        self.due, self.cost, self.spent = FEWEST, 0.0, 0.0

    def is_due(self, run: Run) -> bool:
        """Whether it is time for a point, and it would cost a small part of the run."""
        if run.recorded < self.due:
            return False
        expected = self.cost or SECONDS_PER_NUMBER * sum(p.tally.sums.size for p in run.packs)
        return self.spent + expected <= COST * run.seconds

    def point(self, run: Run) -> CoursePoint:
        """The standard errors of a run by now."""
        begun = time.perf_counter()
        errors = run.statistics().standard_error
        middle = float(np.median(errors)) if len(errors) else 0.0
        point = CoursePoint(run.seconds, run.recorded, middle, float(errors.max(initial=0.0)))
        self.due = int(GROWTH * run.recorded) + 1
        self.cost = time.perf_counter() - begun
        self.spent += self.cost
        return point
