"""A run: packs of chains, and how far they have come."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from orbitmc._simd.random import COLUMNS
from orbitmc._util.arrays import Bytes, Floats, short_repr
from orbitmc.conditionals.prepared import PreparedGraph
from orbitmc.estimate.statistics import (
    SAMPLES_APART,
    CoursePoint,
    Statistics,
    lanes_to_look_at,
    missed_modes,
    statistics,
)
from orbitmc.estimate.tally import PARTS, RaoBlackwellTally, all_sums, rows_of
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.kernels.protocol import Kernel, draws_anew, independent_after
from orbitmc.sampling.observers import Snapshot, advance_observed
from orbitmc.sampling.pack import Pack, advance, copy_pack, unmixed_variables
from orbitmc.sampling.schedule import SAFETY, Schedule

if TYPE_CHECKING:
    from orbitmc.estimate.control_variates import Controls
    from orbitmc.sampling.estimator_trial import EstimatorChoice
    from orbitmc.sampling.observers import Observer


LEAST_DRAWS = 8  # of all variables in each chain, on average
LEAST_SHARE = 0.1  # of the time that was asked for belongs to the chains


@dataclass
class Run:
    """Packs of one kernel on one graph, and how far they have come.

    `annealing` is how many of the first steps of warm-up go from hot to cold.
    `warm_up_steps` counts steps per lane, `recorded` samples; `wanted` is how many are to be
    recorded, once that is known. `most_packs` is how many packs there will be: more than there are
    until it is known how many a timed run can afford. `seconds` is the time spent so far, over all
    sessions; `preparing` is how much of it went by before the first step. `starting` is what one
    pack took to start, `answering` what an answer takes for each pack, `after` what is to be done
    after it: a timed run keeps time for them.

    A run that `may_thin` was not told how far apart its samples are.

    `heaviest` is the heaviest state that a search for modes has found; a run that comes from a
    file searches again, unless it `skips_modes`. `part_of` has the connected component of each
    variable; `kind` says what is tallied. `notes` are taken of every sample, if any.
    A run that is `controlled` uses control variates where they pay; what it has found of that is
    its `choice`; they may take `room` bytes, unless that is None.
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
    controlled: bool = False
    room: int | None = None
    choice: EstimatorChoice | None = None
    annealing: int = 0
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
    may_thin: bool = False
    interrupted: bool = False
    heaviest: Bytes | None = None
    notes: Observer | None = None
    snapshots: list[Snapshot] = field(default_factory=list)
    course: list[CoursePoint] = field(default_factory=list)
    controls: Controls | None = None

    def __repr__(self) -> str:
        return short_repr(self)

    @property
    def graph(self) -> FactorGraph:
        return self.prepared.graph

    @property
    def spacing(self) -> int:
        return self.schedule.spacing_for(self.graph.variables)

    @property
    def looks(self) -> int:
        """How often a sample looks at the chains."""
        return 1 if self.choice is None else self.choice.looks

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
        answering += 0.0 if self.notes is None else self.notes.waiting
        left = self.schedule.seconds - self.preparing - answering
        return self.preparing + max(left, LEAST_SHARE * self.schedule.seconds)

    @property
    def chains(self) -> int:
        return self.lanes * len(self.packs)

    @property
    def outcomes(self) -> dict[str, int]:
        """What the steps of all packs came to, warm-up included."""
        counts: dict[str, int] = {}
        for pack in self.packs:
            for name, count in zip(self.kernel.outcomes, pack.outcomes.tolist(), strict=True):
                counts[name] = counts.get(name, 0) + count
        return counts

    @property
    def drawn_anew(self) -> bool:
        """Whether jumps drew all variables anew, and did so often: then zeros freeze none."""
        if not draws_anew(self.kernel):
            return False
        often = self.outcomes.get("accepted", 0) >= LEAST_DRAWS * self.chains
        return often or self.independent

    @property
    def independent(self) -> bool:
        """Whether all variables are drawn anew, and surely accepted, before each record."""
        after = independent_after(self.kernel)
        return after is not None and after <= self.spacing

    @property
    def updates(self) -> int:
        """Single variables drawn anew by all chains, warm-up included."""
        return self.outcomes.get("updates", 0) * self.lanes

    def recording(self, number: int, plain: Callable[..., None]) -> Callable[..., None]:
        """How a pack records samples: the `plain` way, or with notes if there are any."""
        if self.notes is None:
            return partial(plain, looks=self.looks)

        return partial(advance_observed, notes=self.notes, number=number)

    def statistics(self, pools: NDArray[np.int64] | None = None) -> Statistics:
        """Estimates and errors so far; rows in one pool are known to be equal."""
        tallies = [pack.tally for pack in self.packs]
        rows = rows_of(self.graph.cardinality)
        part_of_row = np.repeat(self.part_of, rows)
        known = statistics(
            tallies, self.recorded, self.lanes, pools, part_of_row,
            looks=self.looks, sharper=self._sharper(), independent=self.independent,
        )  # fmt: skip
        if self.independent:
            return known
        return replace(known, persists=known.persists | np.repeat(self._unmixed(), rows))

    def _sharper(self) -> Floats | None:
        """Estimates of columns with control variates, if the run uses them."""
        if self.choice is None or not self.choice.terms or not self.recorded:
            return None
        from orbitmc.estimate.control_variates import apply_controls

        if self.controls is None:
            from orbitmc.sampling.estimator_trial import controls_of

            self.controls = controls_of(self.graph, self.choice)
        records = self.recorded * self.looks * self.lanes // COLUMNS
        return apply_controls([pack.tally for pack in self.packs], records, self.controls)

    def missed(self, statistics: Statistics) -> NDArray[np.bool_] | None:
        """Say of each variable whether a mode was provably missed; None if nobody looked.

        Independent draws miss none.
        """
        if self.skips_modes or self.independent or not self.graph.variables:
            return None
        from orbitmc.sampling.initialization import search_modes

        if self.heaviest is None:
            packs = dict.fromkeys(range(len(self.packs)))
            self.heaviest = search_modes(
                self.graph, packs, self.lanes, self.part_of, seed=self.seed
            )
        each = -(-lanes_to_look_at(self.graph, self.chains) // len(self.packs))
        values = np.concatenate([pack.values[:, :each] for pack in self.packs], axis=1)
        return missed_modes(self.graph, self.heaviest, values, statistics, self.part_of)

    def _unmixed(self) -> NDArray[np.bool_]:
        """Variables whose log-weights say that the chains have not mixed."""
        ends = [pack.ends for pack in self.packs if pack.ends is not None]
        if not ends or self.recorded < PARTS:
            return np.zeros(self.graph.variables, dtype=np.bool_)
        return unmixed_variables(ends, self.recorded)


RunObserver = Callable[[Run], None]
"""Called after every round: progress, checkpoints."""


# The pilot of a run that is to reach an error, and a glimpse at one that ends too early.


def partial_answer(run: Run, *, samples: int = 4) -> Run:
    """Let copies of the chains record a few samples; the run itself stays as it is.

    For runs that were interrupted in their warm-up: a rough answer instead of none.
    """
    seen = replace(run, packs=tuple(copy_pack(pack) for pack in run.packs))
    for number, pack in enumerate(seen.packs):
        more = partial(run.recording(number, advance), run.prepared, run.kernel, pack)
        more(recorded=run.recorded, samples=samples, spacing=run.spacing)
    seen.recorded += samples
    return seen


def end_pilot(run: Run) -> None:
    """After the pilot, plan the second stage and forget the pilot's samples."""
    target = run.schedule.standard_error
    if target is None or run.piloted or run.recorded < (run.wanted or 0):
        return
    spread, error = _errors(run)
    longer = max(float((spread / target).max(initial=0.0)) ** 2, error / target)
    run.wanted = max(8, int(run.recorded * SAFETY * longer) + 1)
    run.piloted, run.recorded = True, 0
    for pack in run.packs:
        for sums in all_sums(pack.tally):
            sums[:] = 0.0


def _errors(run: Run) -> tuple[Floats, float]:
    """The errors that columns show in what was asked, and the largest of what is not seen."""
    if run.notes is not None:
        return run.notes.spread(run.recorded, run.lanes), SAMPLES_APART / (
            run.chains * run.recorded
        )
    statistics = run.statistics()
    return statistics.spread, float(statistics.standard_error.max(initial=0.0))
