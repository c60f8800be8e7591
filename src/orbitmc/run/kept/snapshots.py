"""Estimates and errors remembered on the way, for curves of error against time."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from orbitmc._util.arrays import Floats
from orbitmc.estimate.statistics import CoursePoint, Statistics

if TYPE_CHECKING:
    from orbitmc.run.run import Run

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


def snapshot(statistics: Statistics, samples: int, run: Run) -> Snapshot:
    return Snapshot(run.seconds, run.updates, samples, statistics.probability)


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
    """A watcher that notes standard errors when samples have grown enough, if that is cheap."""

    def __init__(self) -> None:
        self.due, self.cost, self.spent = FEWEST, 0.0, 0.0

    def __call__(self, run: Run) -> None:
        if run.recorded < self.due:
            return
        expected = self.cost or SECONDS_PER_NUMBER * sum(p.tally.sums.size for p in run.packs)
        if self.spent + expected > COST * run.seconds:
            return
        begun = time.perf_counter()
        run.course.append(point(run))
        self.due = int(GROWTH * run.recorded) + 1
        self.cost = time.perf_counter() - begun
        self.spent += self.cost


def point(run: Run) -> CoursePoint:
    """The standard errors of a run by now."""
    errors = run.statistics().standard_error
    middle = float(np.median(errors)) if len(errors) else 0.0
    return CoursePoint(run.seconds, run.recorded, middle, float(errors.max(initial=0.0)))
