"""Estimates remembered on the way, for curves of error against time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from orbitmc.estimate.statistics import Statistics
from orbitmc.machine.arrays import Floats

if TYPE_CHECKING:
    from orbitmc.run.run import Run


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
