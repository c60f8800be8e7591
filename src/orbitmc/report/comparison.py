"""An estimate beside the truth."""

from dataclasses import dataclass

import numpy as np

from orbitmc.estimate.marginals import Marginals


@dataclass(frozen=True)
class Comparison:
    """How far estimates are from the truth; a binary variable counts once."""

    compared: int
    covered: int
    mean_error: float
    largest_error: float


def compare(estimate: Marginals, truth: Marginals) -> Comparison:
    """Count the intervals that hold the true value, and measure the errors."""
    errors, covered = [], 0
    for name, found in estimate.items():
        for place in _independent(len(found.values)):
            true = float(truth[name].probability[place])
            errors.append(abs(float(found.probability[place]) - true))
            covered += bool(found.low[place] <= true <= found.high[place])
    return Comparison(
        compared=len(errors),
        covered=covered,
        mean_error=float(np.mean(errors)) if errors else 0.0,
        largest_error=max(errors, default=0.0),
    )


def _independent(values: int) -> range:
    """The probabilities of a binary variable mirror each other: one of them says all."""
    return range(1, 2) if values == 2 else range(values)
