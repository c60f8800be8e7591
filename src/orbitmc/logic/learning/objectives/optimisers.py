"""Two ways to climb with noisy slopes: Adam, and Newton's method with a diagonal matrix."""

from collections.abc import Sequence

import numpy as np

from orbitmc._util.arrays import Floats
from orbitmc.logic.learning.counts import States
from orbitmc.logic.learning.objectives.prior import Prior
from orbitmc.logic.learning.step import Arrays

RATE = 0.1
COOLING = 25  # iterations until steps begin to shrink
MEMORY, SQUARE_MEMORY, SMALL = 0.9, 0.999, 1e-8  # as usual for Adam (Kingma & Ba 2015)
LONGEST = 0.5  # how far one step may move a weight


class Adam:
    """Steps of similar length for all weights, in the direction of recent slopes.

    `kept` is all that later moves need to know of earlier ones; iterations count from 1.
    """

    def __init__(self, weights: int) -> None:
        self.kept: Arrays = {"mean": np.zeros(weights), "square": np.zeros(weights)}

    def move(self, iteration: int, slope: Floats, worlds: Sequence[States], prior: Prior) -> Floats:
        mean = MEMORY * self.kept["mean"] + (1 - MEMORY) * slope
        square = SQUARE_MEMORY * self.kept["square"] + (1 - SQUARE_MEMORY) * slope**2
        self.kept = {"mean": mean, "square": square}
        mean = mean / (1 - MEMORY**iteration)
        square = square / (1 - SQUARE_MEMORY**iteration)
        rate = RATE / np.sqrt(1 + iteration / COOLING)
        return np.asarray(rate * mean / (np.sqrt(square) + SMALL))


class DiagonalNewton:
    """Each slope is divided by its own curvature, the variance of the weight's counts.

    The whole step is as long as the curvature along it allows (Lowd & Domingos 2007).
    """

    def __init__(self) -> None:
        self.kept: Arrays = {}

    def move(self, iteration: int, slope: Floats, worlds: Sequence[States], prior: Prior) -> Floats:
        precision = prior.deviation**-2
        curvature = np.sum([states.variance for states in worlds], axis=0) + precision
        direction = np.where(prior.learned, slope / curvature, 0.0)
        along = sum(states.spread(direction) for states in worlds)
        along += precision * float(direction @ direction)
        length = float(slope @ direction) / along if along > 0 else 0.0
        step = length * direction / (1 + iteration / COOLING)
        return np.asarray(step * min(1.0, LONGEST / max(np.abs(step).max(initial=0.0), SMALL)))


Optimiser = Adam | DiagonalNewton
