"""Where learning stands."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from orbitmc.arrays import Floats


@dataclass(frozen=True)
class Step:
    """Weights after some iterations, the objective there, and the largest of its slopes.

    The objective is a log-likelihood with the logarithm of the prior; `kept` is what else is
    needed to go on as if nothing had happened.
    """

    iteration: int
    weights: Floats
    objective: float
    slope: float
    finished: bool = False
    kept: Mapping[str, NDArray[Any]] = field(default_factory=dict)
