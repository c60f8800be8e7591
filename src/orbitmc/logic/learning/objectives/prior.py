"""What is believed of weights before data are seen, and which of them are learned."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orbitmc._util.arrays import Floats
from orbitmc.errors import InputError
from orbitmc.logic.grounding.grounding import Ground

DEVIATION = 2.0  # a formula seldom makes odds more than fifty times as large


@dataclass(frozen=True)
class Prior:
    """Normal distributions of equal width around the written weights, or around 0.

    Weights that are not `learned` (hard, or fixed by the program) keep their mean.
    """

    mean: Floats
    learned: NDArray[np.bool_]
    deviation: float

    def log_density(self, weights: Floats) -> float:
        """The logarithm, but for a constant."""
        away = (weights[self.learned] - self.mean[self.learned]) / self.deviation
        return float(-0.5 * (away @ away))

    def slope(self, weights: Floats) -> Floats:
        """The gradient of the log-density; 0 for weights that are not learned."""
        slope = np.zeros(len(weights))
        away = self.mean[self.learned] - weights[self.learned]
        slope[self.learned] = away / self.deviation**2
        return slope

    def complete(self, learned: Floats) -> Floats:
        """All weights, from those that are learned."""
        weights = self.mean.copy()
        weights[self.learned] = learned
        return weights


def prior(ground: Ground, *, deviation: float = DEVIATION) -> Prior:
    """Believe what is written; a fixed formula without a weight makes no sense."""
    if not deviation > 0 or not np.isfinite(deviation):
        raise InputError(f"the standard deviation of weights must be above 0, not {deviation}")
    rules = ground.program.rules
    copies = np.diff(ground.first_weight)
    fixed = np.repeat(np.array([rule.fixed for rule in rules], dtype=bool), copies)
    written = ~np.isnan(ground.weights)
    if (fixed & ~written).any():
        place = next(rule.place for rule in rules if rule.fixed and rule.weight is None)
        raise InputError(f"{place}: a weight that is fixed must be written")
    learned = ~fixed & ~np.isinf(ground.weights)
    if not learned.any():
        raise InputError("the program has no weight to learn: all formulas are hard or fixed")
    return Prior(np.where(written, ground.weights, 0.0), learned, deviation)
