"""Rounds of a run whose packs advance on the workers of an executor."""

from __future__ import annotations

import time
from concurrent.futures import Executor
from types import TracebackType
from typing import TYPE_CHECKING, Self

from orbitmc.run.workers.packs import (
    PackDone,
    PackWork,
    advance_pack,
    arrays_in,
    context_of,
    put_arrays,
)
from orbitmc.run.workers.sending import Sender, Shared, pack_shared

if TYPE_CHECKING:
    from orbitmc.run.run import Run

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
        if run.notes is None:
            return 2**62
        rows = len(run.packs[0].values[run.notes.needed])
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
        found = self.sender.all(advance_pack, self._needed(run), work, lambda: run.interrupted)
        if found is None:
            run.interrupted = True
            return False
        for number, done in enumerate(found):
            self._take(run, number, done)
        turns = -(-len(found) // self.at_once)
        waited = time.perf_counter() - begun - turns * max(done.seconds for done in found)
        self.round_seconds = min(MOST_ROUND, max(LEAST_ROUND, WORK * waited))
        return True

    def _needed(self, run: Run) -> Shared:
        """What workers need of the run; it changes when the run has chosen its estimator."""
        if self._shared is None or self._shared[0] is not run.choice:
            self._shared = (run.choice, pack_shared(context_of(run)))
        return self._shared[1]

    def _take(self, run: Run, number: int, done: PackDone) -> None:
        put_arrays(run.packs[number], done.arrays)
        if run.notes is not None and done.states is not None:
            for place, states in enumerate(done.states, run.recorded):
                run.notes.note(number, states, place)
