"""Replica component exchange: two lanes trade connected parts in which they differ.

Exact for every model: where lanes differ only inside a component, each factor that reads it sees
outside of it only values on which both lanes agree, so exchanging the component merely exchanges
the factor's two values, and the product of the two weights stays as it is. Components are the same
after the exchange, so a fair coin for each is reversible; nothing is ever rejected.

Lanes that trade parts are no longer independent of each other. They are paired within a column of
lanes only, so that columns stay independent, and their spread an honest error.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.prepared import PreparedGraph
from orbitmc.kernels.kernel import steps
from orbitmc.machine.arrays import Bytes, Index, Numbers
from orbitmc.machine.compiling import implementation, shared
from orbitmc.machine.lanes.random import COLUMNS, integer, lanes_of, toss, width_of

PAIRS, COMPONENTS, TRADED, TRADED_VARIABLES = range(4)
OUTCOMES = ("pairs of lanes", "components", "traded components", "traded variables")


class ReplicaMemory(NamedTuple):
    """Arrays of one pack.

    `rows` is the order in which the lanes of each column are paired; `differs` marks the variables
    in which two lanes differ, until they are visited; `walk` lists the component being visited;
    `seen` says in which round each factor was visited last.
    """

    coins: Bytes
    rows: NDArray[np.int64]
    differs: Bytes
    walk: NDArray[np.uint32]
    seen: NDArray[np.uint32]
    round: NDArray[np.uint32]
    width: tuple[int, ...]


class ReplicaExchange(NamedTuple):
    """Pair all lanes of each column at random; toss a coin for each component of each pair."""

    columns: int

    @property
    def outcomes(self) -> tuple[str, ...]:
        return OUTCOMES

    def memory(self, prepared: PreparedGraph, lanes: int) -> ReplicaMemory:
        graph = prepared.graph
        return ReplicaMemory(
            coins=np.zeros(lanes, dtype=np.uint8),
            rows=np.arange(lanes // self.columns),
            differs=np.zeros(graph.variables, dtype=np.uint8),
            walk=np.zeros(graph.variables, dtype=np.uint32),
            seen=np.zeros(graph.factors, dtype=np.uint32),
            round=np.zeros(1, dtype=np.uint32),
            width=width_of(lanes),
        )


@implementation(steps, ReplicaExchange)
def replica_steps(
    prepared: PreparedGraph,
    kernel: ReplicaExchange,
    memory: ReplicaMemory,
    values: Bytes,
    outcomes: Numbers,
    rng: Any,
    count: int,
) -> None:
    rows = memory.rows
    for _ in range(count):
        for place in range(len(rows) - 1, 0, -1):
            other = integer(rng, place + 1)
            rows[place], rows[other] = rows[other], rows[place]
        for place in range(0, len(rows) - 1, 2):
            for column in range(kernel.columns):
                one = rows[place] * kernel.columns + column
                other = rows[place + 1] * kernel.columns + column
                _exchange(prepared.graph, memory, values, outcomes, rng, one, other)


@shared
def _exchange(
    graph: FactorGraph,
    memory: ReplicaMemory,
    values: Bytes,
    outcomes: Numbers,
    rng: Any,
    one: Index,
    other: Index,
) -> None:
    """Toss a coin for each component of the variables in which two lanes differ."""
    _next_round(memory)
    for variable in range(len(values)):
        memory.differs[variable] = values[variable, one] != values[variable, other]
    found = 0
    for variable in range(len(values)):
        if memory.differs[variable] == 0:
            continue
        coin = found % lanes_of(memory)
        if coin == 0:
            toss(rng, memory.coins)
        size = _walk(graph, memory, variable)
        found += 1
        if memory.coins[coin]:
            for place in range(size):
                moved = memory.walk[place]
                value = values[moved, one]
                values[moved, one] = values[moved, other]
                values[moved, other] = value
            outcomes[TRADED] += 1
            outcomes[TRADED_VARIABLES] += size
    outcomes[PAIRS] += 1
    outcomes[COMPONENTS] += found


@shared
def _next_round(memory: ReplicaMemory) -> None:
    memory.round[0] += np.uint32(1)
    if memory.round[0] == 0:  # after 2^32 rounds the numbers begin anew
        memory.seen[:] = 0
        memory.round[0] = 1


@shared
def _walk(graph: FactorGraph, memory: ReplicaMemory, start: Index) -> Index:
    """List the component of a variable, breadth first, and mark it as done; gives its size."""
    memory.walk[0] = start
    memory.differs[start] = 0
    size, place = 1, 0
    while place < size:
        variable = memory.walk[place]
        place += 1
        for edge in range(graph.incident_start[variable], graph.incident_start[variable + 1]):
            factor = graph.incident[edge]
            if memory.seen[factor] == memory.round[0]:
                continue
            memory.seen[factor] = memory.round[0]
            for spot in range(graph.scope_start[factor], graph.scope_start[factor + 1]):
                near = graph.scope[spot]
                if memory.differs[near]:
                    memory.differs[near] = 0
                    memory.walk[size] = near
                    size += 1
    return size


def replica_exchange() -> ReplicaExchange:
    """Let the lanes of a pack trade components; serves any model."""
    return ReplicaExchange(COLUMNS)
