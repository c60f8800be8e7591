"""What exact inference gives."""

from dataclasses import dataclass

from orbitmc.machine.arrays import Floats


@dataclass(frozen=True)
class ExactAnswer:
    """The natural logarithm of the sum of all weights, and the marginals of every variable."""

    log_z: float
    marginals: tuple[Floats, ...]
