"""Do whole blocks of an equivalence relation pay, split and united beside draws of single items?

Two chains begin in the same partitions, one of them with proposals of whole blocks once in a sweep.
Pairs are watched that the proposals are about. All this comes before the first counted sample.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from orbitmc._numba.jit import Stopwatch
from orbitmc._util.text import format_number
from orbitmc.conditionals.prepared import PreparedGraph
from orbitmc.errors import InputError
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.model import Model
from orbitmc.kernels._alternation import alternation
from orbitmc.kernels._split_merge import SplitMerge, split_merge
from orbitmc.kernels.protocol import Kernel, start_states
from orbitmc.kernels.relations import PartitionScan, relation_scan
from orbitmc.tuning.panel import COMBINED, SINGLE, TOGETHER, Panel, panel
from orbitmc.tuning.race import SURE_WIN, UNCLEAR, RaceResult, TrialResult
from orbitmc.tuning.record import SPLITS, Tuning, tuning_from_record
from orbitmc.tuning.trial import FEWEST, TrialChain, lanes_for

WORDS = "whole blocks are split and united"
ROUNDS = 2  # trials of each chain: proposals win if they do in each
LAPS = 2 * ROUNDS + 2  # of trials of one length: they are led from their starts, and timed
SEED = 0


def race_splits(
    model: Model, prepared: PreparedGraph, *, seconds: float, least_sweep: float = 0.0
) -> RaceResult:
    """Find out whether proposals of whole blocks pay, in about so many seconds of running.

    A sweep takes about `least_sweep` seconds: nothing is tried where there is no time for enough.
    """
    if FEWEST * least_sweep > seconds / LAPS:
        return RaceResult(Tuning(), "")
    with Stopwatch() as watch:
        scan, _ = relation_scan(prepared, model.relations)
        jump = _proposals(scan)
        gain = None if jump is None else _measure(prepared, scan, jump, seconds)
    if gain is None:
        return RaceResult(Tuning(), "", seconds=watch.seconds)
    if gain < SURE_WIN:
        price = TrialResult(SPLITS, gain, None, UNCLEAR)
        about = "proposals of whole blocks show no clear gain"
        return RaceResult(Tuning(), about, (price,), watch.seconds)
    price = TrialResult(SPLITS, gain, None, "chosen")
    times = f"{format_number(gain)} times as many effective samples per second"
    recipe = Tuning((SPLITS,), prepared.graph.variables)
    return RaceResult(recipe, f"{WORDS} ({times})", (price,), watch.seconds)


def _proposals(scan: Kernel) -> SplitMerge | None:
    """Proposals for the items of a scan; None where they have no blocks to split."""
    if not isinstance(scan, PartitionScan) or scan.partition.partial:
        return None
    return split_merge(scan.partition)


def _measure(prepared: PreparedGraph, scan: Any, jump: SplitMerge, seconds: float) -> float | None:
    """The least gain of all rounds; None if there is no time for trials."""
    graph, length = prepared.graph, seconds / LAPS
    starts = start_states(scan, graph, lanes_for(graph), np.random.SeedSequence(SEED))
    base = TrialChain(prepared, scan, starts)
    if FEWEST * graph.variables * base.seconds_per_step(0.0) > 0.5 * length:
        return None
    period = graph.variables
    arm = TrialChain(prepared, alternation(scan, jump, period=period), starts)
    watched = _watch_pairs(graph, jump)
    arm.trial(watched, 0.5 * length, cycle=period)
    base.trial(watched, 0.5 * length)
    return min(
        arm.trial(watched, length, cycle=period).rate / base.trial(watched, length).rate
        for _ in range(ROUNDS)
    )


def _watch_pairs(graph: FactorGraph, jump: SplitMerge) -> Panel:
    """A panel of pairs that proposals are about, in place of any variables."""
    rng = np.random.default_rng(SEED)
    sides = jump.partition.one.astype(np.int64), jump.partition.other.astype(np.int64)
    items = len(jump.partition.apart)
    ends = np.minimum(*sides) * items + np.maximum(*sides)
    likely = np.flatnonzero(np.isin(ends, jump.first.astype(np.int64) * items + jump.second))
    usual, count = panel(graph, SEED), min(SINGLE, len(likely))
    together = rng.choice(likely, min(TOGETHER, len(likely)), replace=False)
    signs = rng.choice(np.array([-1, 1], dtype=np.float32), (COMBINED, len(together)))
    signs[0] = 1
    chosen = np.sort(rng.choice(likely, count, replace=False))
    return replace(usual, watched=chosen, together=together, signs=signs)


def add_splits(record: object, scan: Kernel) -> Kernel:
    """The chain of recorded moves: a scan of items, and proposals of whole blocks."""
    tuning, jump = tuning_from_record(record), _proposals(scan)
    if jump is None or tuning != Tuning((SPLITS,), tuning.period):
        raise InputError(
            f"moves of relations that are not ground are of the family {SPLITS} alone, and only "
            "equivalence relations have them"
        )
    return alternation(scan, jump, period=tuning.period)
