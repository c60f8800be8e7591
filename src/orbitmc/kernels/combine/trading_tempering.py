"""Parallel tempering in which lanes trade parts on the cold rungs.

Lanes on one rung have one temperature, so two of them trade connected parts in which they differ
without ever being rejected (see `replica`), and cold copies get past barriers that hardly any
single step climbs. Whose turn it is follows a fixed order. Lanes that trade depend on each other,
within a column only.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc.graph.prepared import PreparedGraph
from orbitmc.kernels.combine.tempering import TURN, Tempering, TemperingMemory
from orbitmc.kernels.jumps.replica import ReplicaExchange, ReplicaMemory, replica_exchange
from orbitmc.kernels.kernel import steps
from orbitmc.machine.arrays import Bytes, Numbers
from orbitmc.machine.compiling import implementation, shared


class TradingMemory(NamedTuple):
    """Memories of both parts, and the rung on which lanes trade next."""

    tempering: TemperingMemory
    trades: ReplicaMemory
    rung: NDArray[np.int64]


class TradingTempering(NamedTuple):
    """After each sweep of tempering, let lanes trade on one of the first `cold` rungs in turn."""

    tempering: Tempering
    trades: ReplicaExchange
    cold: int
    split: int

    @property
    def outcomes(self) -> tuple[str, ...]:
        return (*self.tempering.outcomes, *self.trades.outcomes)

    def memory(self, prepared: PreparedGraph, lanes: int) -> TradingMemory:
        return TradingMemory(
            self.tempering.memory(prepared, lanes),
            self.trades.memory(prepared, lanes),
            np.zeros(1, dtype=np.int64),
        )


@implementation(steps, TradingTempering)
def trading_tempering_steps(
    prepared: PreparedGraph,
    kernel: TradingTempering,
    memory: TradingMemory,
    values: Bytes,
    outcomes: Numbers,
    rng: Any,
    count: int,
) -> None:
    variables = len(values)
    left = count
    while left > 0:
        todo = min(left, variables - memory.tempering.turn[TURN])
        before = outcomes[: kernel.split]
        steps(prepared, kernel.tempering, memory.tempering, values, before, rng, todo)
        left -= todo
        if memory.tempering.turn[TURN] == 0:
            _trade(prepared, kernel, memory, values, outcomes[kernel.split :], rng)


@shared
def _trade(
    prepared: PreparedGraph,
    kernel: TradingTempering,
    memory: TradingMemory,
    values: Bytes,
    outcomes: Numbers,
    rng: Any,
) -> None:
    """Let lanes trade on the rung whose turn it is."""
    variables, rung = len(values), memory.rung[0]
    if rung == 0:
        steps(prepared, kernel.trades, memory.trades, values, outcomes, rng, 1)
    else:
        states = memory.tempering.hot[(rung - 1) * variables : rung * variables]
        steps(prepared, kernel.trades, memory.trades, states, outcomes, rng, 1)
    memory.rung[0] = (rung + 1) % kernel.cold


def trading_tempering(tempering: Tempering) -> TradingTempering:
    """Let lanes trade on the colder half of the rungs; on hot ones they differ everywhere."""
    cold = (len(tempering.betas) + 1) // 2
    return TradingTempering(tempering, replica_exchange(), cold, len(tempering.outcomes))
