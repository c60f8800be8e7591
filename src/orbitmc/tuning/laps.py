"""The time of a race: how long trials are, and whether there is time for more of them."""

from collections.abc import Callable
from dataclasses import replace

from orbitmc.sampling.schedule import SWEEPS_PER_SAMPLE
from orbitmc.tuning.arm import Arm
from orbitmc.tuning.panel import STATES, Panel
from orbitmc.tuning.trial import TIMED, Trial

CLEARLY_FRESH = 0.1  # share of independent states that leaves room to see a tenfold gain
DEPENDENT, DEEPER = 0.5, 2.0  # share of independent states, times as long a memory
LOOKED = 0.5  # of a lap, as long as one may look at states
LEAST_LOOK = 1e-9  # seconds


class Laps:
    """Trials of a `length` each, as long as a clock shows that there is time.

    A trial takes longer than its steps: these are timed before, and states are looked at and
    judged. How much longer is seen in the first trials.
    """

    def __init__(
        self, watched: Panel, seconds: float, count: int, clock: Callable[[], float]
    ) -> None:
        self.watched, self.seconds, self.clock = watched, seconds, clock
        self.length = self.first = seconds / count
        self.overhead = 0.0

    def prepare(self, arm: Arm) -> None:
        """Look at fewer states where that takes long."""
        states = LOOKED * self.length / max(arm.track.look(self.watched), LEAST_LOOK)
        self.watched = replace(self.watched, states=min(int(states), STATES))

    @property
    def left(self) -> float:
        """Seconds."""
        return self.seconds - self.clock()

    def affords(self, *trials: float) -> bool:
        """Whether there is time for trials of so many seconds."""
        return (1.0 + TIMED) * sum(trials) + len(trials) * self.overhead <= self.left

    def trial(self, arm: Arm, seconds: float) -> Trial:
        """Let an arm run for so long."""
        begun = self.clock()
        seen = arm.trial(self.watched, seconds)
        self.overhead = max(self.overhead, self.clock() - begun - (1.0 + TIMED) * seconds)
        return seen

    def first_look(self, arm: Arm) -> Trial:
        """A lap that shows how soon an arm forgets, also what it seldom leaves.

        A short lap may miss modes that chains seldom leave. So a whole one counts if its states are
        far from independent, at their larger distance, and the memory is longer than it seemed.
        """
        short = self.resolved(arm)
        if self.length == self.first or not self.affords(self.first):
            return short
        whole = self.trial(arm, self.first)
        deeper = whole.fresh < DEPENDENT and whole.memory > DEEPER * short.memory
        return whole if deeper else short

    def resolved(self, arm: Arm) -> Trial:
        """A lap of an arm, so short that one can see how soon it forgets; so are later laps."""
        seen = self.trial(arm, self.length)
        while seen.fresh > CLEARLY_FRESH and seen.spacing > SWEEPS_PER_SAMPLE:
            if not self.affords(0.5 * self.length):
                break
            self.length *= 0.5
            seen = self.trial(arm, self.length)
        return seen
