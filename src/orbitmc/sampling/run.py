"""A run: packs of chains, and how far they have come."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from orbitmc._simd.random import COLUMNS
from orbitmc._util.arrays import Bytes, Floats, short_repr
from orbitmc.conditionals.prepared import PreparedGraph
from orbitmc.estimate.control_variates import Controls, apply_controls, joint_sensitivities
from orbitmc.estimate.statistics import (
    SAMPLES_APART,
    CoursePoint,
    Statistics,
    is_rare,
    lanes_to_look_at,
    missed_modes,
    statistics,
)
from orbitmc.estimate.tally import PARTS, RaoBlackwellTally, rows_of, with_values
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.relevance import components
from orbitmc.kernels.protocol import (
    Kernel,
    constrained_variables,
    draws_anew,
    independent_after,
)
from orbitmc.sampling.budget import Budget
from orbitmc.sampling.observers import Snapshot, advance_observed
from orbitmc.sampling.pack import Pack, advance, copy_pack, unmixed_variables
from orbitmc.sampling.schedule import SAFETY, Schedule

if TYPE_CHECKING:
    from orbitmc.sampling.collapsed import Recovery
    from orbitmc.sampling.observers import Observer
    from orbitmc.sampling.pack import Groups


LOOKS = (1, 2, 4)  # for a sample of four sweeps
LEAST_DRAWS = 8  # of all variables in each chain, on average


@dataclass(frozen=True)
class Recording:
    """What is recorded of samples: a tally of some `kind`, and `notes`, if any.

    A run that is `controlled` uses control variates where they pay; they may take `room` bytes,
    unless that is None. With a `recovery` the run samples the core of a larger graph, and what it
    tells is told of all of it.
    """

    kind: type = RaoBlackwellTally
    notes: Observer | None = None
    controlled: bool = False
    room: int | None = None
    recovery: Recovery | None = None


def _no_states() -> Bytes:
    return np.zeros((0, 0), dtype=np.uint8)


@dataclass(frozen=True)
class EstimatorChoice:
    """So many `looks` are taken for a sample, so many `terms` of the series are added up.

    Without terms there are no control variates. `about` says why, in words. `states` are those
    of the end of the warm-up that secants are made of, `[variable, lane]`; their matrix is scaled
    to have `radius` as its largest eigenvalue: these are the `controls`.
    """

    looks: int
    terms: int
    about: str
    radius: float = 0.0
    states: Bytes = field(default_factory=_no_states)
    controls: Controls | None = None


def without_controls(about: str) -> EstimatorChoice:
    """No control variates, for a reason."""
    return EstimatorChoice(1, 0, f"no control variates: {about}")


def with_controls(pack: Pack, choice: EstimatorChoice | None) -> Pack:
    """Let a pack record what an estimate needs."""
    if choice is None or not choice.terms:
        return pack
    return replace(pack, tally=with_values(pack.tally))


def components_of(graph: FactorGraph, kernel: Kernel) -> NDArray[np.int64]:
    """The connected component of each variable, also by what only the kernel knows."""
    part_of, together = components(graph), constrained_variables(kernel)
    if together is None:
        return part_of
    joined = np.isin(part_of, part_of[together])
    _, numbered = np.unique(np.where(joined, -1, part_of), return_inverse=True)
    return numbered.reshape(-1).astype(np.int64)


@dataclass
class Run:
    """Packs of one kernel on one graph, and how far they have come. Only the sampler writes it.

    Samples are `spacing` steps apart, as the schedule says unless there is no time. `most_packs`
    is how many packs there will be: more than there are until it is known how many a timed run can
    afford.
    `annealing` is how many of the first steps of warm-up go from hot to cold. `warm_up_steps`
    counts steps per lane, `recorded` samples; `wanted` is how many are to be recorded, once that is
    known; the pilot of a run that is to reach an error is over when it is `piloted`.

    `heaviest` is the heaviest state that a search for modes has found, None if there was no time
    for a search, or if the graph does not say which states are possible. `choice` says how the run
    estimates, once that is known.
    """

    prepared: PreparedGraph
    kernel: Kernel
    schedule: Schedule
    seed: int
    lanes: int
    budget: Budget
    spacing: int
    most_packs: int
    recording: Recording = Recording()
    packs: tuple[Pack, ...] = ()
    annealing: int = 0
    warm_up_steps: int = 0
    recorded: int = 0
    wanted: int | None = None
    piloted: bool = False
    choice: EstimatorChoice | None = None
    heaviest: Bytes | None = None
    interrupted: bool = False
    snapshots: list[Snapshot] = field(default_factory=list)
    course: list[CoursePoint] = field(default_factory=list)

    def __repr__(self) -> str:
        return short_repr(self)

    def stop(self) -> None:
        """Ask the run to end after this round: for observers."""
        self.interrupted = True

    def end(self) -> None:
        """Say that enough is recorded: for observers that know what a question needs."""
        self.wanted = self.recorded

    @property
    def graph(self) -> FactorGraph:
        return self.prepared.graph

    @cached_property
    def part_of(self) -> NDArray[np.int64]:
        """The connected component of each variable."""
        return components_of(self.graph, self.kernel)

    @property
    def answered_graph(self) -> FactorGraph:
        """The graph that the run tells of: its own, unless that is the core of another one."""
        recovery = self.recording.recovery
        return self.graph if recovery is None else recovery.graph

    @property
    def answered_parts(self) -> NDArray[np.int64]:
        """The connected component of each variable that the run tells of."""
        recovery = self.recording.recovery
        return self.part_of if recovery is None else recovery.part_of

    @property
    def rows(self) -> int:
        """How many rows statistics have."""
        return int(rows_of(self.answered_graph.cardinality).sum())

    @property
    def groups(self) -> Groups:
        """Variables whose joint values are counted."""
        return () if self.recording.recovery is None else self.recording.recovery.groups

    @property
    def seconds(self) -> float:
        """The time spent so far, over all sessions."""
        return self.budget.seconds

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
        """When a timed run records no more."""
        notes = self.recording.notes
        return self.budget.ends(len(self.packs), 0.0 if notes is None else notes.waiting)

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

    def advancer(self, number: int) -> Callable[..., None]:
        """What lets a pack record samples, and takes notes if there are any."""
        notes = self.recording.notes
        if notes is None:
            return partial(advance, looks=self.looks)
        return partial(advance_observed, notes=notes, number=number)

    def statistics(self, pools: NDArray[np.int64] | None = None) -> Statistics:
        """Estimates and errors so far; rows in one pool are known to be equal."""
        recovery, tallies = self.recording.recovery, [pack.tally for pack in self.packs]
        if recovery is not None:
            tallies = recovery.tallies(self.packs, self.recorded, self.lanes, self.looks)
        rows = rows_of(self.answered_graph.cardinality)
        part_of_row = np.repeat(self.answered_parts, rows)
        known = statistics(
            tallies, self.recorded, self.lanes, pools, part_of_row,
            looks=self.looks, sharper=self._sharper(), independent=self.independent,
        )  # fmt: skip
        if self.independent:
            return known
        known = self._without_false_alarms(known, rows)
        unmixed = self._unmixed()
        unmixed = unmixed if recovery is None else recovery.any_below(unmixed)
        return replace(known, persists=known.persists | np.repeat(unmixed, rows))

    def _without_false_alarms(self, known: Statistics, rows: NDArray[np.int64]) -> Statistics:
        """Ask nothing of pairs of items that were hardly ever in one block, or apart.

        Almost all pairs are such ones, and the chance of a pair is near 0 but for a few moments,
        far from the normal numbers that the test is for. They are called rare.
        """
        together = constrained_variables(self.kernel)
        if together is None:
            return known
        asked = np.ones(self.graph.variables, dtype=np.bool_)
        asked[together] = False
        tested = np.repeat(asked, rows) | ~is_rare(known.probability, known.states)
        return replace(known, persists=known.persists & tested, drifts=known.drifts & tested)

    def _sharper(self) -> Floats | None:
        """Estimates of columns with control variates, if the run uses them."""
        if self.choice is None or self.choice.controls is None or not self.recorded:
            return None
        records = self.recorded * self.looks * self.lanes // COLUMNS
        tallies = [pack.tally for pack in self.packs]
        recovery, controls = self.recording.recovery, self.choice.controls
        if recovery is None:
            return apply_controls(tallies, records, controls)[0]
        joints = [pack.joints for pack in self.packs if pack.joints is not None]
        matrix = self._joint_sensitivities if joints else None
        return recovery.columns(1.0, apply_controls(tallies, records, controls, joints, matrix))

    @cached_property
    def _joint_sensitivities(self) -> csr_array:
        """How joint values that are counted change with the values of variables."""
        joints, choice = self.packs[0].joints, self.choice
        assert joints is not None
        assert choice is not None
        return joint_sensitivities(joints, self.graph.cardinality, choice.states)

    def missed(self, statistics: Statistics) -> NDArray[np.bool_] | None:
        """Say of each variable whether a mode was provably missed; None if nobody looked.

        Independent draws miss none.
        """
        if self.heaviest is None or self.independent or not self.graph.variables:
            return None
        each = -(-lanes_to_look_at(self.graph, self.chains) // len(self.packs))
        values = np.concatenate([pack.values[:, :each] for pack in self.packs], axis=1)
        recovery = self.recording.recovery
        known = statistics if recovery is None else recovery.of_core(statistics)
        missed = missed_modes(self.graph, self.heaviest, values, known, self.part_of)
        return missed if recovery is None else recovery.any_below(missed)

    def _unmixed(self) -> NDArray[np.bool_]:
        """Variables whose log-weights say that the chains have not mixed."""
        ends = [pack.ends for pack in self.packs if pack.ends is not None]
        if not ends or self.recorded < PARTS:
            return np.zeros(self.graph.variables, dtype=np.bool_)
        return unmixed_variables(ends, self.recorded)


RunObserver = Callable[[Run], None]
"""Called after every round: progress, checkpoints."""


def partial_answer(run: Run, *, samples: int = 4) -> Run:
    """Let copies of the chains record a few samples; the run itself stays as it is.

    For runs that were interrupted in their warm-up: a rough answer instead of none.
    """
    packs = tuple(copy_pack(pack) for pack in run.packs)
    for number, pack in enumerate(packs):
        more = partial(run.advancer(number), run.prepared, run.kernel, pack)
        more(recorded=run.recorded, samples=samples, spacing=run.spacing)
    return replace(run, packs=packs, recorded=run.recorded + samples)


def samples_after_pilot(run: Run, standard_error: float) -> int:
    """How many samples a run needs to reach an error, by what its pilot shows."""
    spread, error = _errors(run)
    longer = max(float((spread / standard_error).max(initial=0.0)) ** 2, error / standard_error)
    return max(8, int(run.recorded * SAFETY * longer) + 1)


def _errors(run: Run) -> tuple[Floats, float]:
    """The errors that columns show in what was asked, and the largest of what is not seen."""
    notes = run.recording.notes
    if notes is not None:
        spread = notes.spread(run.recorded, run.lanes)
        return spread, SAMPLES_APART / (run.chains * run.recorded)
    statistics = run.statistics()
    return statistics.spread, float(statistics.standard_error.max(initial=0.0))
