"""Proofs of best states by toulbar2, a branch-and-bound solver, in a process of its own.

The solver adds whole numbers. Log-weights are multiplied and rounded; what that may cost is part of
what is said of a proof.
"""

import importlib.util
import json
import math
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from orbitmc._util.arrays import Numbers
from orbitmc._util.interrupts import check_interrupt
from orbitmc._util.loading import extra
from orbitmc.errors import ContradictionError
from orbitmc.exact.problem import Problem
from orbitmc.exact.toulbar2_child import FORBIDDEN
from orbitmc.graph.log_weights import exact_sum

CHILD = Path(__file__).with_name("toulbar2_child.py")
MOST_COST = 2.0**50  # of all factors together: sums of costs stay exact as doubles, too
FINEST = 2.0**40  # parts of a nat
GRACE = 2.0  # seconds that it has to tell what it knows
LOOK = 0.1  # seconds between two looks whether somebody wants it to stop


class Proof(NamedTuple):
    """What the solver knows: its best state, if any, and a log-weight that none exceeds.

    If `optimal`, no state is heavier by more than `precision`.
    """

    state: list[int] | None
    optimal: bool
    bound: float
    precision: float


def is_installed() -> bool:
    """Whether there is a solver to ask."""
    return importlib.util.find_spec("pytoulbar2") is not None


def require_installed() -> None:
    """Refuse to go on without the solver; it is not loaded into this process."""
    if not is_installed():
        extra("pytoulbar2", "map")


class Costs(NamedTuple):
    """The log-tables of a problem as whole numbers, the best entry of each table 0."""

    scale: float
    tables: list[Numbers]
    most: int

    @property
    def precision(self) -> float:
        """By how much log-weights of two states may differ from what costs say."""
        return len(self.tables) / self.scale


def round_costs(problem: Problem) -> Costs:
    """Multiply and round, as finely as sums of costs allow.

    >>> import orbitmc as om
    >>> from orbitmc.exact.problem import prepare
    >>> costs = round_costs(prepare(om.ising_grid(2, 2, 0.5).graph))
    >>> len(costs.tables), costs.precision < 1e-9
    (4, True)
    """
    spans = [float(-table.min(where=table > -np.inf, initial=0.0)) for table in problem.tables]
    scale = min(FINEST, MOST_COST / max(math.fsum(spans), 1e-9))
    tables = []
    for table in problem.tables:
        possible = table > -np.inf
        costs = np.where(possible, np.rint(-np.where(possible, table, 0.0) * scale), FORBIDDEN)
        tables.append(costs.astype(np.int64).reshape(-1))
    return Costs(scale, tables, sum(int(costs.max(initial=0)) for costs in tables) + 1)


class Toulbar2:
    """The solver at work on a problem, for so many seconds."""

    def __init__(self, problem: Problem, seconds: float) -> None:
        require_installed()
        self.interrupted = False
        self.problem, self.costs = problem, round_costs(problem)
        self.folder = tempfile.TemporaryDirectory(prefix="orbitmc-")
        self.answer_file = Path(self.folder.name, "answer.json")
        source = Path(self.folder.name, "problem.npz")
        _write(source, problem, self.costs)
        self.process = subprocess.Popen(
            [sys.executable, str(CHILD), str(source), str(self.answer_file), str(_whole(seconds))],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for the one who asks
        )

    def __enter__(self) -> "Toulbar2":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def is_done(self) -> bool:
        return self.process.poll() is not None

    def stop(self) -> None:
        """End the process and forget its files."""
        if not self.is_done:
            self.process.kill()
        self.process.wait()
        self.folder.cleanup()

    def interrupt(self) -> None:
        """Let it end now and tell what it knows; where that is not possible, nothing happens."""
        if not self.is_done and os.name == "posix":
            self.interrupted = True
            self.process.send_signal(signal.SIGINT)

    def wait(self, seconds: float) -> Proof | None:
        """What it knows after so many seconds at most; None if it does not answer."""
        if not self._ends_within(seconds):
            self.interrupt()
        return self.proof() if self._ends_within(GRACE) else None

    def _ends_within(self, seconds: float) -> bool:
        for _ in range(math.ceil(seconds / LOOK)):
            check_interrupt()
            try:
                self.process.wait(LOOK)
                return True
            except subprocess.TimeoutExpired:
                continue
        return self.is_done

    def proof(self) -> Proof | None:
        """What it has written; None if nothing, and an error if no state is possible."""
        if not self.answer_file.exists():
            return None
        told = json.loads(self.answer_file.read_text(encoding="ascii"))
        values, dual = told["values"], told["dual"]
        if values is None and self.interrupted:
            return None
        if values is None and told["early"]:
            raise ContradictionError("no state is possible: every state has weight 0")
        if values is None or not self._is_possible(values):
            return Proof(None, False, math.inf if dual is None else self._bound(dual), 0.0)
        cost = self._cost(values)
        optimal = dual is not None and dual >= cost
        bound = math.inf if dual is None else self._bound(min(dual, cost))
        return Proof(values, optimal, bound, self.costs.precision)

    def _bound(self, dual: float) -> float:
        """No log-weight is above this if no cost is below `dual`; rounding included."""
        rounded = len(self.costs.tables) / (2.0 * self.costs.scale)
        return exact_sum([self.problem.constant, -dual / self.costs.scale, rounded])

    def _cost(self, values: Sequence[int]) -> int:
        return sum(self._entries(values))

    def _is_possible(self, values: Sequence[int]) -> bool:
        return FORBIDDEN not in self._entries(values)

    def _entries(self, values: Sequence[int]) -> list[int]:
        """The cost of each factor in a state."""
        pairs = zip(self.problem.scopes, self.problem.tables, self.costs.tables, strict=True)
        return [
            int(costs.reshape(table.shape)[tuple(values[v] for v in scope)])
            for scope, table, costs in pairs
        ]


def _whole(seconds: float) -> int:
    """Its limit is a whole number of seconds of processor time, at least one."""
    return max(1, math.floor(min(seconds, 1e6)))


def _write(path: Path, problem: Problem, costs: Costs) -> None:
    empty = np.zeros(0, dtype=np.int64)
    np.savez(
        path,
        sizes=np.array(problem.sizes, dtype=np.int64),
        scope_start=np.cumsum([0, *map(len, problem.scopes)]),
        scope=np.array([v for scope in problem.scopes for v in scope], dtype=np.int64),
        cost_start=np.cumsum([0, *map(len, costs.tables)]),
        cost=np.concatenate([empty, *costs.tables]),
        most=np.int64(costs.most),
    )
