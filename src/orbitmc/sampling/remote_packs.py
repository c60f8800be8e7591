"""A pack of a run on a worker: it is sent, advances, and comes back.

What is sent of a pack are all arrays that a checkpoint has. So a pack that comes back is the one
that this process would have, to the bit, and one that gets lost is sent again.
"""

from __future__ import annotations

import time
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from orbitmc._numba.jit import Stopwatch
from orbitmc._util.arrays import Bytes
from orbitmc._util.digests import digest_of
from orbitmc.conditionals.prepared import PreparedGraph, is_unrounded, prepare, prepare_unrounded
from orbitmc.errors import OrbitError
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.kernels.protocol import Kernel
from orbitmc.sampling.executor import (
    Sender,
    Shared,
    digest,
    pack_shared,
    readonly_flags,
    restore_readonly,
)
from orbitmc.sampling.observers import Needed, observed_states
from orbitmc.sampling.pack import Groups, Pack, advance, arrays_of, empty_pack
from orbitmc.sampling.run import EstimatorChoice, Run, with_controls, without_controls
from orbitmc.sampling.warmup import warm_up
from orbitmc.version import __version__


@dataclass(frozen=True)
class RunContext:
    """What all packs of a run need, with fingerprints that a worker compares.

    A kernel is sent as it is, its jumps frozen: no worker looks for jumps of its own.
    """

    graph: FactorGraph
    kernel: Kernel
    seals: tuple[bool, ...]
    unrounded: bool
    lanes: int
    kind: type
    part_of: NDArray[np.int64]
    groups: Groups
    choice: EstimatorChoice | None
    needed: Needed | None
    digests: tuple[str, str]
    version: str
    sources: str | None

    def open(self) -> OpenedRun:
        """Check that this is what was sent, and prepare it."""
        if (self.version, self.sources) != (__version__, sources_of(self.kernel)):
            raise OrbitError(
                f"a worker has another orbitmc than version {self.version} of the process that "
                f"asks (it has {__version__}): install the same one everywhere"
            )
        restore_readonly((self.graph, self.kernel), self.seals)
        if (digest(self.graph), digest(self.kernel)) != self.digests:
            raise OrbitError("a worker got another model or other jumps than were sent")
        prepared = (prepare_unrounded if self.unrounded else prepare)(self.graph)
        return OpenedRun(self, prepared)


@dataclass(frozen=True)
class OpenedRun:
    """A run as a worker sees it."""

    context: RunContext
    prepared: PreparedGraph

    def pack(self, arrays: list[NDArray[Any]]) -> Pack:
        """The pack that has these arrays."""
        context = self.context
        pack = empty_pack(
            self.prepared, context.kernel, lanes=context.lanes, kind=context.kind,
            part_of=context.part_of, groups=context.groups,
        )  # fmt: skip
        pack = with_controls(pack, context.choice)
        restore_arrays(pack, arrays)
        return pack


class PackWork(NamedTuple):
    """A pack, and how far to advance it: `steps` of warm-up after those taken, or `samples`.

    `annealing` steps of warm-up go from hot to cold.
    """

    arrays: list[NDArray[Any]]
    steps: int
    taken: int
    annealing: int
    recorded: int
    samples: int
    spacing: int


class PackDone(NamedTuple):
    """The pack afterwards, what notes need of each sample, and the seconds that it took."""

    arrays: list[NDArray[Any]]
    states: Bytes | None
    seconds: float


def context_of(run: Run) -> RunContext:
    """What the packs of a run need, as far as the run has got."""
    choice = run.choice and replace(run.choice, states=without_controls("").states, controls=None)
    return RunContext(
        graph=run.graph,
        kernel=run.kernel,
        seals=readonly_flags((run.graph, run.kernel)),
        unrounded=is_unrounded(run.prepared),
        lanes=run.lanes,
        kind=run.recording.kind,
        part_of=run.part_of,
        groups=run.groups,
        choice=choice,
        needed=None if run.recording.notes is None else run.recording.notes.needed,
        digests=(digest(run.graph), digest(run.kernel)),
        version=__version__,
        sources=sources_of(run.kernel),
    )


def sources_of(kernel: Kernel) -> str | None:
    """A fingerprint of the code that advances packs."""
    return digest_of([__name__, type(kernel).__module__])


def arrays_in(pack: Pack) -> list[NDArray[Any]]:
    """All arrays that a pack overwrites, each once."""
    by_id = {id(array): array for _, array in arrays_of(pack, "")}
    return list(by_id.values())


def restore_arrays(pack: Pack, arrays: list[NDArray[Any]]) -> None:
    """Let a pack have these arrays."""
    for array, sent in zip(arrays_in(pack), arrays, strict=True):
        array[...] = sent


def advance_pack(run: OpenedRun, work: PackWork) -> PackDone:
    """Advance a pack."""
    pack, context, states = run.pack(work.arrays), run.context, None
    todo = (run.prepared, context.kernel, pack)
    with Stopwatch() as watch:
        if work.steps or not work.samples:
            warm_up(*todo, steps=work.steps, taken=work.taken, annealing=work.annealing)
        elif context.needed is None:
            looks = 1 if context.choice is None else context.choice.looks
            advance(
                *todo, recorded=work.recorded, samples=work.samples, spacing=work.spacing,
                looks=looks,
            )  # fmt: skip
        else:
            states = np.stack(list(observed_states(*todo, context.needed, *work[4:])))
    return PackDone(arrays_in(pack), states, watch.seconds)


# Rounds of a run whose packs advance on the workers of an executor.

LEAST_ROUND, MOST_ROUND = 0.5, 10.0  # seconds: a round cannot be interrupted
WORK = 10.0  # times as long as sending packs, at least, should a round last
NOTED = 2**26  # bytes of states that one pack sends back for notes, at most


class Remote:
    """Packs advance on workers, and come back after each round.

    So this process always has a complete run: it can be saved, and no worker that is lost takes
    anything with it.
    """

    def __init__(self, executor: Executor, at_once: int) -> None:
        self.sender, self.at_once = Sender(executor), at_once
        self.round_seconds = LEAST_ROUND
        self._shared: tuple[object, Shared] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        """Leave the executor as it is: it belongs to whoever made it."""

    def begin(self, run: Run) -> float:
        """Let workers load what they have not seen of the run, and compile; no step is taken.

        Gives the seconds that this took: they are not part of the run.
        """
        if self._needed(run).name in self.sender.sent:
            return 0.0
        begun = time.perf_counter()
        self.advance(run, 0, 0)
        return time.perf_counter() - begun

    def most_samples(self, run: Run) -> int:
        """How many samples a round may have: what notes need of them is sent back."""
        if run.recording.notes is None:
            return 2**62
        rows = len(run.packs[0].values[run.recording.notes.needed])
        return max(1, NOTED // max(1, rows * run.lanes))

    def advance(self, run: Run, steps: int, samples: int) -> bool:
        """Advance every pack, or none: false if the run was asked to end and could not wait."""
        begun = time.perf_counter()
        work = [
            PackWork(
                arrays_in(pack),
                steps,
                run.warm_up_steps,
                run.annealing,
                run.recorded,
                samples,
                run.spacing,
            )
            for pack in run.packs
        ]
        advanced = self.sender.all(advance_pack, self._needed(run), work, lambda: run.interrupted)
        if advanced is None:
            run.stop()
            return False
        for number, done in enumerate(advanced):
            self._take(run, number, done)
        turns = -(-len(advanced) // self.at_once)
        waited = time.perf_counter() - begun - turns * max(done.seconds for done in advanced)
        self.round_seconds = min(MOST_ROUND, max(LEAST_ROUND, WORK * waited))
        return True

    def _needed(self, run: Run) -> Shared:
        """What workers need of the run; it changes when the run has chosen its estimator."""
        if self._shared is None or self._shared[0] is not run.choice:
            self._shared = (run.choice, pack_shared(context_of(run)))
        return self._shared[1]

    def _take(self, run: Run, number: int, done: PackDone) -> None:
        restore_arrays(run.packs[number], done.arrays)
        notes = run.recording.notes
        if notes is not None and done.states is not None:
            for place, states in enumerate(done.states, run.recorded):
                notes.note(number, states, place)
