"""A run: packs of chains, and how far they have come."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from orbitmc.estimate.statistics import Statistics, statistics
from orbitmc.estimate.tallies import PARTS, RaoBlackwellTally, rows_of
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.prepared import PreparedGraph
from orbitmc.kernels.kernel import Kernel
from orbitmc.machine.arrays import Bytes
from orbitmc.run.kept.snapshots import Snapshot
from orbitmc.run.pack import Pack
from orbitmc.run.part_ends import unmixed_variables
from orbitmc.run.schedule import Schedule

if TYPE_CHECKING:
    from orbitmc.groups.permutation_groups import PermutationGroup

LEAST_SHARE = 0.1  # of the time that was asked for belongs to the chains


@dataclass
class Run:
    """Packs of one kernel on one graph, and how far they have come.

    `warm_up_steps` counts steps per lane, `recorded` samples; `wanted` is how many are to be
    recorded, once that is known. `most_packs` is how many packs there will be: more than there are
    until it is known how many a timed run can afford. `seconds` is the time spent so far, over all
    sessions; `preparing` is how much of it went by before the first step. `starting` is what one
    pack took to start, `answering` what an answer takes for each pack, `after` what is to be done
    after it: a timed run keeps time for them.

    `heaviest` is the heaviest state that a search for modes has found; a run that comes from a
    file searches again, unless it `skips_modes`. `part_of` has the connected component of each
    variable; `kind` and `group` say what is tallied.
    """

    prepared: PreparedGraph
    kernel: Kernel
    schedule: Schedule
    seed: int
    lanes: int
    packs: tuple[Pack, ...]
    most_packs: int
    part_of: NDArray[np.int64]
    kind: type = RaoBlackwellTally
    group: PermutationGroup | None = None
    warm_up_steps: int = 0
    recorded: int = 0
    wanted: int | None = None
    piloted: bool = False
    seconds: float = 0.0
    preparing: float = 0.0
    starting: float = 0.0
    answering: float = 0.0
    after: float = 0.0
    skips_modes: bool = False
    interrupted: bool = False
    heaviest: Bytes | None = None
    snapshots: list[Snapshot] = field(default_factory=list)

    @property
    def graph(self) -> FactorGraph:
        return self.prepared.graph

    @property
    def spacing(self) -> int:
        return self.schedule.spacing_for(self.graph.variables)

    @property
    def sweep(self) -> int:
        """Steps that visit every variable once, or lie between two samples if these are fewer."""
        return min(self.graph.variables, self.spacing)

    @property
    def warmed(self) -> int:
        """Whole samples of warm-up."""
        return self.warm_up_steps // max(self.spacing, 1)

    @property
    def ends(self) -> float | None:
        """When a timed run records no more; chains get a share even if preparing took it all."""
        if self.schedule.seconds is None:
            return None
        answering = self.after + self.answering * len(self.packs)
        left = self.schedule.seconds - self.preparing - answering
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
        rows = rows_of(self.graph.cardinality)
        part_of_row = np.repeat(self.part_of, rows)
        known = statistics(tallies, self.recorded, self.lanes, pools, part_of_row)
        return replace(known, kept=known.kept | np.repeat(self._unmixed(), rows))

    def _unmixed(self) -> NDArray[np.bool_]:
        """Variables whose log-weights say that the chains have not mixed."""
        ends = [pack.ends for pack in self.packs if pack.ends is not None]
        if not ends or self.recorded < PARTS:
            return np.zeros(self.graph.variables, dtype=np.bool_)
        return unmixed_variables(ends, self.recorded)


Watcher = Callable[[Run], None]
"""Called after every round: progress, checkpoints."""
