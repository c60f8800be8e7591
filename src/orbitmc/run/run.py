"""A run: packs of chains, and how far they have come."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from orbitmc.arrays import Bytes
from orbitmc.estimate.statistics import Statistics, statistics
from orbitmc.estimate.tallies import rows_of
from orbitmc.graph.components import components
from orbitmc.graph.conditionals import Conditionals
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.kernels.kernel import Kernel
from orbitmc.run.pack import Pack
from orbitmc.run.schedule import Schedule
from orbitmc.run.snapshots import Snapshot

LEAST_SHARE = 0.25  # of the time that was asked for belongs to the chains


@dataclass
class Run:
    """Packs of one kernel on one graph, and how far they have come.

    `warmed` and `recorded` count samples per lane; `wanted` is how many are to be recorded, once
    that is known. `seconds` is the time spent so far, over all sessions; `preparing` is how much
    of it went by before the first step. `heaviest` is the heaviest state that a search for modes
    has found; a run that comes from a file searches again.
    """

    graph: FactorGraph
    kernel: Kernel
    prepared: Conditionals
    schedule: Schedule
    seed: int
    lanes: int
    packs: tuple[Pack, ...]
    warmed: int = 0
    recorded: int = 0
    wanted: int | None = None
    piloted: bool = False
    seconds: float = 0.0
    preparing: float = 0.0
    interrupted: bool = False
    heaviest: Bytes | None = None
    snapshots: list[Snapshot] = field(default_factory=list)

    @property
    def spacing(self) -> int:
        return self.schedule.spacing_for(self.graph.variables)

    @property
    def ends(self) -> float | None:
        """When a timed run ends; chains get a share of the time even if preparing took it all."""
        if self.schedule.seconds is None:
            return None
        left = self.schedule.seconds - self.preparing
        return self.preparing + max(left, LEAST_SHARE * self.schedule.seconds)

    @property
    def chains(self) -> int:
        return self.lanes * len(self.packs)

    @property
    def outcomes(self) -> dict[str, int]:
        """What the steps of all packs came to, warm-up included."""
        found: dict[str, int] = {}
        for pack in self.packs:
            for name, count in zip(self.kernel.outcomes, pack.outcomes.tolist(), strict=True):
                found[name] = found.get(name, 0) + count
        return found

    @property
    def updates(self) -> int:
        """Single variables drawn anew by all chains, warm-up included."""
        return self.outcomes.get("updates", 0) * self.lanes

    def statistics(self, pools: NDArray[np.int64] | None = None) -> Statistics:
        """Estimates and errors so far; rows in one pool are known to be equal."""
        tallies = [pack.tally for pack in self.packs]
        return statistics(tallies, self.recorded, self.lanes, pools, self.part_of_row)

    @cached_property
    def part_of_row(self) -> NDArray[np.int64]:
        """Which connected component of the graph each tallied row belongs to."""
        return np.repeat(components(self.graph), rows_of(self.graph.cardinality))


Watcher = Callable[[Run], None]
"""Called after every round: progress, checkpoints."""
