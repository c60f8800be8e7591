"""What every kernel offers."""

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.machine.arrays import Bytes
from orbitmc.machine.compiling import generic


class Kernel(Protocol):
    """A NamedTuple of read-only data; its type selects the compiled `steps`."""

    @property
    def outcomes(self) -> tuple[str, ...]:
        """What the counts that `steps` adds to mean."""

    def memory(self, graph: FactorGraph, lanes: int) -> Any:
        """Arrays that `steps` may overwrite; they belong to one pack."""


@generic("kernel")
def steps(
    graph: FactorGraph,
    kernel: Kernel,
    memory: Any,
    values: Bytes,
    outcomes: NDArray[np.int64],
    rng: Any,
    count: int,
) -> None:
    """Take `count` steps in every lane, in place."""
    raise NotImplementedError
