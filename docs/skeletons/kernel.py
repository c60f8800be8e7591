"""Exchange two values of one variable; accept by the true model.

Exact because the exchange is its own inverse and is drawn without looking at the state. All lanes
share the draw, so a lane must keep the distribution given the draw: an exchange does. "Set the
variable to a value drawn for all lanes" keeps it on average only: errors would be too small.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc.kernels import accept_by_log_ratio, integer, log_weight_change, step


class ValueExchangeMemory(NamedTuple):
    """What the step overwrites: it belongs to a pack, and is saved with it."""

    proposed: NDArray[np.uint8]
    change: NDArray[np.float64]
    accepted: NDArray[np.uint8]
    factors: NDArray[np.uint32]


class ValueExchange(NamedTuple):
    """What the kernel is made of: read-only numbers and arrays; this one needs the sizes only."""

    cardinality: NDArray[np.int64]

    @property
    def outcomes(self) -> tuple[str, ...]:
        return ("proposals", "accepted")

    def memory(self, prepared: Any, lanes: int) -> ValueExchangeMemory:
        return ValueExchangeMemory(
            proposed=np.zeros((len(self.cardinality), lanes), dtype=np.uint8),
            change=np.zeros(lanes),
            accepted=np.zeros(lanes, dtype=np.uint8),
            factors=np.arange(prepared.graph.factors, dtype=np.uint32),
        )


@step(ValueExchange)
def value_exchange_step(
    prepared: Any, kernel: Any, memory: Any, values: Any, outcomes: Any, rng: Any
) -> None:
    """One step of all lanes; it is compiled, allocates nothing and checks nothing."""
    variable = integer(rng, len(values))  # one draw for all lanes, wherever it is called
    first = integer(rng, kernel.cardinality[variable])
    second = integer(rng, kernel.cardinality[variable])
    for other in range(len(values)):
        for lane in range(values.shape[1]):
            memory.proposed[other, lane] = values[other, lane]
    for lane in range(values.shape[1]):
        if values[variable, lane] == first:
            memory.proposed[variable, lane] = second
        elif values[variable, lane] == second:
            memory.proposed[variable, lane] = first
    log_weight_change(prepared.graph, memory.factors, values, memory.proposed, memory.change)
    accept_by_log_ratio(rng, memory.change, memory.accepted)
    for lane in range(values.shape[1]):
        outcomes[0] += 1
        if memory.accepted[lane]:
            values[variable, lane] = memory.proposed[variable, lane]
            outcomes[1] += 1


def value_exchange(graph: Any) -> ValueExchange:
    """What people call; a builder with more arguments checks them here."""
    return ValueExchange(np.asarray(graph.cardinality, dtype=np.int64))
