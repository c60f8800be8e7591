"""An arm of the race: a base chain with some jumps, as often as their share of the time allows."""

from collections.abc import Sequence

import numpy as np

from orbitmc._util.arrays import Bytes
from orbitmc.conditionals.prepared import PreparedGraph
from orbitmc.graph.log_weights import log_weight
from orbitmc.graph.model import Model
from orbitmc.kernels._alternation import Alternation, alternation
from orbitmc.kernels.protocol import Kernel
from orbitmc.tuning.families.families import FAMILIES
from orbitmc.tuning.families.family import Propose
from orbitmc.tuning.panel import Panel
from orbitmc.tuning.recipe import Recipe, base_chain, combined
from orbitmc.tuning.trial import TIMED, Track, Trial

SHARE = 0.2  # of the time, for jumps in their first lap
DEAR = 1e-3  # seconds: a jump that takes as long
LEAST_COST = 0.02  # of all base steps between two jumps: less cannot be measured
GUESSES, LEAST_LANES = 16, 8
MOST_POTENTIALS = 2**22  # that a guess may look at: large models are guessed from fewer lanes


class Arm:
    """Families of jumps on a base chain, running from given states.

    `step` is how long a step of the base chain alone takes; the last family is the one on trial.
    """

    def __init__(
        self,
        model: Model,
        prepared: PreparedGraph,
        jumps: dict[str, Kernel],
        betas: Sequence[float],
        values: Bytes | None = None,
        step: float = 0.0,
    ) -> None:
        self.jumps, self.families, self.betas = jumps, tuple(jumps), tuple(betas)
        self.step, self.cost, self.period = step, 0.0, max(1, model.graph.variables)
        self.seen: Trial | None = None  # in its first trial
        self.alone = False  # whether that trial is so long that there is time for no other
        kernel = base_chain(prepared, betas)
        if jumps:
            kernel = alternation(kernel, combined(list(jumps.values())), period=self.period)
        self.track = Track(prepared, kernel, values)
        self._counted = len(list(jumps.values())[-1].outcomes) if jumps else 0

    def find_cost(self, seconds: float, share: float = SHARE, base: Track | None = None) -> None:
        """Learn how many base steps a jump costs, and give jumps their first share of the time.

        Between modes one jump for each state that a run would record is enough. Steps of the `base`
        chain are timed once more beside, as long as it can be had alone.
        """
        if base is not None:
            self.step = min(self.step, base.seconds_per_step(seconds))
        together = self.track.seconds_per_step(seconds, self.period)
        self.cost = max(together / self.step - 1.0, LEAST_COST) * self.period
        switches = FAMILIES[self.families[-1]].switches
        self.hold(max(self.period_for(share), self.track.sample if switches else 1))

    @property
    def cycle(self) -> float:
        """Seconds from one jump to the next."""
        return self.step * (self.period + self.cost)

    @property
    def share(self) -> float:
        """Of the time, for jumps."""
        return self.cost / (self.period + self.cost)

    def period_for(self, share: float) -> int:
        """After how many base steps a jump comes if jumps take such a share of the time."""
        return max(1, round(self.cost * (1.0 - share) / share))

    def hold(self, period: int) -> None:
        """Let a jump come after every so many base steps."""
        kernel = self.track.kernel
        if isinstance(kernel, Alternation):
            self.period = period
            self.track.run(kernel._replace(period=period))
            self.track.pack.memory.left[0] = period

    def trial(self, watched: Panel, seconds: float) -> Trial:
        """Go on for so long; where a jump or what lies between two takes long, it is not timed."""
        dear = self.cost * self.step > DEAR or self.cycle > TIMED * seconds
        step = self.cycle / self.period if dear else None
        timed = self.jumps and not self.betas
        return self.track.trial(watched, seconds, step, self.period if timed else 1)

    @property
    def acceptance(self) -> float | None:
        """Of the family on trial, in its last lap; None if it never rejects."""
        return self.track.acceptance(self._counted) if self._counted else None

    @property
    def recipe(self) -> Recipe:
        period = self.period if self.families else 1
        return Recipe(self.families, period, self.betas)

    @property
    def words(self) -> str:
        parts = [FAMILIES[name].words for name in self.families]
        return "; ".join([*parts, *(["the chain is tempered"] if self.betas else [])])


def guessed_acceptance(model: Model, propose: Propose, values: Bytes) -> float:
    """How often jumps from these states would be accepted, among those that change something."""
    rng = np.random.default_rng(0)
    lanes = max(LEAST_LANES, MOST_POTENTIALS // (GUESSES * max(1, model.graph.factors)))
    values = np.ascontiguousarray(values[:, :lanes])
    graph = model.graph._replace(constant=0.0)  # beside a large one differences are lost
    before = log_weight(graph, values)
    chances = []
    for _ in range(GUESSES):
        after = propose(values, rng)
        real = (after != values).any(axis=0)
        change = log_weight(graph, after)[real] - before[real]
        chances.append(np.exp(np.minimum(change, 0.0)))
    found = np.concatenate(chances)
    return float(found.mean()) if len(found) else 0.0
