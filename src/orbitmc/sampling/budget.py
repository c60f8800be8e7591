"""The time and the memory of a run: what it may take, and what it takes at its peak.

Both are known before they are taken. Of memory everything counts: the model, its conditionals, the
search for modes, the packs, the statistics and the answer. What an interpreter with all its code
takes comes on top.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc._simd.random import COLUMNS
from orbitmc._util.arrays import Floats, lengths
from orbitmc.conditionals.classify import MOST_BITS, MOST_LIMITS, MOST_NEIGHBOURS
from orbitmc.conditionals.layout import LONG_CLAUSE
from orbitmc.estimate.statistics import lanes_to_look_at, row_summaries
from orbitmc.estimate.tally import PARTS, rows_of
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.sampling.schedule import WARM_UP_SHARE

if TYPE_CHECKING:
    from orbitmc.sampling.run import Run

# How fast chains advance, and how many of them a timed run can afford.

ROUND_SECONDS = 0.1  # a compiled call cannot be interrupted, so it must be short
MEASURED_SECONDS = 0.02  # a round that takes so long says what the next ones will take
ENOUGH_SAMPLES = 16  # of each chain; a run that has no time for them has fewer chains
RECORDING = 1.25  # what a sample costs, recorded, beside the steps that lead to it
TRIED_ROWS = 2**15  # of statistics, to see how long they take
ANSWERING, WITH_MODES = 1.6, 3.0  # what an answer costs, beside the summaries of its rows


class Pace:
    """Learns what a unit of work takes, and how many units fit into a round."""

    def __init__(self) -> None:
        self.units = 1
        self.each = 0.0

    def learn(self, units: float, seconds: float, wanted: float = ROUND_SECONDS) -> None:
        """Aim at rounds that take so many seconds; grow carefully."""
        self.each = max(seconds, 1e-6) / units
        self.units = max(1, int(min(wanted / self.each, 4.0 * units)))

    def fitting(self, seconds: float) -> int:
        """How many units to take now, with so much time left; at least one."""
        return max(1, min(self.units, round(seconds / self.each))) if self.each else self.units


LEAST_SHARE = 0.1  # of the time that was asked for belongs to the chains


@dataclass
class Budget:
    """The seconds of a run: those it may take, if it is timed, those it took, those it must leave.

    `seconds` are spent so far, over all sessions; `preparing` is how much of it went by before the
    first step. `starting` is what one pack took to start, `answering` what an answer takes for each
    pack, `after` what is to be done after it.
    """

    limit: float | None
    seconds: float = 0.0
    preparing: float = 0.0
    starting: float = 0.0
    answering: float = 0.0
    after: float = 0.0

    def ends(self, packs: int, waiting: float) -> float | None:
        """When so many packs record no more; `waiting` seconds are to be spent on notes.

        Chains get a share even if preparing took it all.
        """
        if self.limit is None:
            return None
        answering = self.after + self.answering * packs
        answering += waiting
        left = self.limit - self.preparing - answering
        return self.preparing + max(left, LEAST_SHARE * self.limit)

    def part_over(self, share: float, ends: float) -> float:
        """When a share of the time that chains have is over."""
        return self.preparing + share * (ends - self.preparing)


class Clock:
    """Knows the time of a session, and the pace of warming up (in sweeps) and of recording.

    `at_once` packs advance at the same time; `round` is how long the last round took.
    """

    def __init__(self, spent: float, at_once: int) -> None:
        self.begun = time.perf_counter() - spent
        self.at_once = at_once
        self.sweeps, self.samples = Pace(), Pace()
        self.round = 0.0
        self.snapshot_due = 0

    def __call__(self) -> float:
        """Seconds of the run so far."""
        return time.perf_counter() - self.begun

    def turns(self, run: Run) -> int:
        """How often threads have to take another pack until all have advanced."""
        return -(-len(run.packs) // self.at_once)

    def learn(self, run: Run, steps: int, samples: int, seconds: float, wanted: float) -> None:
        """Remember how long a round of so many steps of warm-up, or samples, took."""
        self.round = seconds
        if steps:
            self.sweeps.learn(steps / run.sweep, seconds / self.turns(run), wanted)
        elif samples:
            self.samples.learn(samples, seconds / self.turns(run), wanted)


@dataclass(frozen=True)
class Costs:
    """Seconds: left for recording, for one sample of packs that run at once, to add one pack."""

    left: float
    sample: float
    pack: float


def costs_of(run: Run, clock: Clock) -> Costs:
    """What a timed run can spend, and on what; a pack that is added has to catch up."""
    ends = run.ends or 0.0
    steps = clock.sweeps.each / max(run.sweep, 1)
    behind = run.warm_up_steps * steps + run.recorded * clock.samples.each
    warm = run.budget.part_over(WARM_UP_SHARE, ends)
    return Costs(
        left=ends - max(clock(), warm),
        sample=clock.samples.each or RECORDING * run.spacing * steps,
        pack=run.budget.starting + behind,
    )


def affordable_packs(most: int, at_once: int, started: int, costs: Costs) -> int:
    """How many packs can each record enough samples; if none can, those that run at once.

    More packs take longer to start and take turns. What there is no time to start is left out.
    """
    for turns in range(-(-most // at_once), 1, -1):
        packs = min(most, turns * at_once)
        left = costs.left - (packs - started) * costs.pack
        if left >= ENOUGH_SAMPLES * turns * costs.sample:
            return packs
    at_once = min(most, at_once)
    starts = costs.left >= (at_once - started) * costs.pack
    return at_once if starts and at_once > started else started


def answering_seconds(run: Run) -> float:
    """How long the answer takes for each pack, from how long some rows of its statistics do."""
    tallies = [pack.tally._replace(sums=pack.tally.sums[:, :TRIED_ROWS]) for pack in run.packs]
    begun = time.perf_counter()
    row_summaries(tallies, PARTS, run.lanes)
    seconds = (time.perf_counter() - begun) / len(run.packs)
    tried: int = min(TRIED_ROWS, run.packs[0].tally.sums.shape[1])
    beside = ANSWERING if run.heaviest is None else WITH_MODES
    return beside * seconds * max(1.0, run.rows / max(tried, 1))


def available_cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


NAME = 256  # bytes of a variable's name, of its place in tuples, and of what reading leaves
NEIGHBOUR, LIMIT = 24, 4  # bytes that stay of a neighbour and of a limit
GROUPED = 8  # bytes that stay of a neighbour of which there is no list
WHILE_MADE = 3  # times as much, in double precision and rounded, until conditionals are made
FEWEST_LIMITS = 8  # of a variable that has any
COUNT = 4  # bytes of a long clause in a lane: the kernel and the tally have two each
OF_VARIABLE = 32  # bytes of what conditionals know of each variable
STATISTICS, COLUMN = 100, 90  # bytes of a row of statistics and of a value of the answer
OVERHEAD = 2**24  # bytes of small objects, and of what is written at a time


class RunShape(NamedTuple):
    """What decides the size of a run.

    The kernel takes `shared` bytes for all packs and `extra` bytes for each of them.
    """

    packs: int
    lanes: int
    shared: int = 0
    extra: int = 0


def run_bytes(graph: FactorGraph, shape: RunShape) -> int:
    """The peak: while modes are searched for, or when the answer of all packs is made."""
    prepared = conditionals_bytes(graph)
    started = shape.packs * graph.variables * shape.lanes
    searching = started + search_bytes(graph, shape.lanes) + WHILE_MADE * prepared
    answering = shape.packs * pack_bytes(graph, shape) + answer_bytes(graph, shape)
    standing = model_bytes(graph) + prepared + shape.shared + OVERHEAD
    return standing + max(searching, answering)


def model_bytes(graph: FactorGraph) -> int:
    return array_bytes(graph) + NAME * graph.variables


def pack_bytes(graph: FactorGraph, shape: RunShape) -> int:
    """What one pack takes: its states, what is tallied, and what its kernel overwrites."""
    rows = int(rows_of(graph.cardinality).sum())
    states = 1 + int(graph.has_zeros())
    long = int((lengths(graph.scope_start)[graph.first_clause :] >= LONG_CLAUSE).sum())
    counts = COUNT * shape.lanes * long
    tallied = 8 * PARTS * rows * COLUMNS
    return states * graph.variables * shape.lanes + tallied + counts + shape.extra


def conditionals_bytes(graph: FactorGraph) -> int:
    """About what the conditionals of a graph take."""
    others = int((lengths(graph.scope_start)[_factor_of(graph)].astype(np.int64) - 1).sum())
    listed = int(_listed_neighbours(graph).sum())
    near = NEIGHBOUR * listed + GROUPED * (others - listed)
    return near + LIMIT * int(_most_limits(graph).sum()) + OF_VARIABLE * graph.variables


def _listed_neighbours(graph: FactorGraph) -> NDArray[np.int64]:
    """How many neighbours each variable keeps a list of, at most; see `paths`."""
    others = lengths(graph.scope_start)[_factor_of(graph)].astype(np.int64) - 1
    reached = np.bincount(graph.scope, others, minlength=graph.variables).astype(np.int64)
    widest = np.zeros(graph.variables, dtype=np.int64)
    np.maximum.at(widest, graph.scope, others)
    return np.where((widest > 1) & (reached > MOST_NEIGHBOURS), 0, reached)


def search_bytes(graph: FactorGraph, lanes: int) -> int:
    """What the search for modes takes: states, and what lanes should begin with."""
    return 3 * graph.variables * lanes + graph.table.nbytes


def answer_bytes(graph: FactorGraph, shape: RunShape) -> int:
    """What statistics and the answer take, and the states in which log-weights are looked at."""
    rows = int(rows_of(graph.cardinality).sum())
    values = int(graph.cardinality.sum(dtype=np.int64))
    looked_at = graph.variables * lanes_to_look_at(graph, shape.packs * shape.lanes)
    return STATISTICS * rows + COLUMN * values + looked_at


def array_bytes(holder: Any, seen: set[int] | None = None) -> int:
    """What the arrays in a tuple, and in the tuples within it, take; each counts once."""
    seen = set() if seen is None else seen
    if isinstance(holder, np.ndarray):
        fresh = id(holder) not in seen
        seen.add(id(holder))
        return holder.nbytes if fresh else 0
    return sum(array_bytes(part, seen) for part in holder) if isinstance(holder, tuple) else 0


def _factor_of(graph: FactorGraph) -> Any:
    return np.repeat(np.arange(graph.factors), lengths(graph.scope_start))


def _most_limits(graph: FactorGraph) -> Floats:
    """About how many limits each variable has: one for each state of its neighbours.

    A neighbour in two factors counts twice. Variables that would have too many have none, unless
    they are binary and their neighbours are fewer than they seem.
    """
    logs = np.log(np.maximum(graph.cardinality, 1))
    factor_of = _factor_of(graph)
    of_factor = np.bincount(factor_of, logs[graph.scope], minlength=graph.factors)
    others = of_factor[factor_of] - logs[graph.scope]
    states = np.bincount(graph.scope, others, minlength=graph.variables)
    few = np.maximum(states + np.log(np.maximum(graph.cardinality, 2) - 1), np.log(FEWEST_LIMITS))
    many = np.where(graph.cardinality == 2, 2.0**MOST_BITS, FEWEST_LIMITS)
    return np.where(few <= np.log(MOST_LIMITS) + 1e-9, np.exp(np.minimum(few, 30.0)), many)
