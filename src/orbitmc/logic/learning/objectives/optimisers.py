"""Two ways to climb with noisy slopes: Adam, and Newton's method with a diagonal matrix."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from orbitmc.logic.learning.counts import States
from orbitmc.logic.learning.objectives.prior import Prior
from orbitmc.machine.arrays import Floats

RATE = 0.1
COOLING = 25  # iterations until steps begin to shrink
MEMORY, SQUARE_MEMORY, SMALL = 0.9, 0.999, 1e-8  # as usual for Adam (Kingma & Ba 2015)
LONGEST = 0.5  # how far one step may move a weight


class Optimiser(Protocol):
    """Turns slopes into moves."""

    def move(self, iteration: int, slope: Floats, worlds: Sequence[States], prior: Prior) -> Floats:
        """How to change the weights; iterations count from 1."""
        ...

    @property
    def kept(self) -> Mapping[str, NDArray[Any]]:
        """All that later moves need to know of earlier ones."""
        ...

    def restore(self, kept: Mapping[str, NDArray[Any]]) -> None: ...


class Adam:
    """Steps of similar length for all weights, in the direction of recent slopes."""

    def __init__(self, weights: int) -> None:
        self.mean, self.square = np.zeros(weights), np.zeros(weights)

    def move(self, iteration: int, slope: Floats, worlds: Sequence[States], prior: Prior) -> Floats:
        self.mean = MEMORY * self.mean + (1 - MEMORY) * slope
        self.square = SQUARE_MEMORY * self.square + (1 - SQUARE_MEMORY) * slope**2
        mean = self.mean / (1 - MEMORY**iteration)
        square = self.square / (1 - SQUARE_MEMORY**iteration)
        rate = RATE / np.sqrt(1 + iteration / COOLING)
        return np.asarray(rate * mean / (np.sqrt(square) + SMALL))

    @property
    def kept(self) -> dict[str, Floats]:
        return {"mean": self.mean, "square": self.square}

    def restore(self, kept: Mapping[str, NDArray[Any]]) -> None:
        self.mean, self.square = kept["mean"], kept["square"]


class DiagonalNewton:
    """Each slope is divided by its own curvature, the variance of the weight's counts.

    The whole step is as long as the curvature along it allows (Lowd & Domingos 2007).
    """

    def move(self, iteration: int, slope: Floats, worlds: Sequence[States], prior: Prior) -> Floats:
        precision = prior.deviation**-2
        curvature = np.sum([states.variance for states in worlds], axis=0) + precision
        direction = np.where(prior.learned, slope / curvature, 0.0)
        along = sum(states.spread(direction) for states in worlds)
        along += precision * float(direction @ direction)
        length = float(slope @ direction) / along if along > 0 else 0.0
        step = length * direction / (1 + iteration / COOLING)
        return np.asarray(step * min(1.0, LONGEST / max(np.abs(step).max(initial=0.0), SMALL)))

    @property
    def kept(self) -> dict[str, Floats]:
        return {}

    def restore(self, kept: Mapping[str, NDArray[Any]]) -> None:
        """There is nothing to remember."""
