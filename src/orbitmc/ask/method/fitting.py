"""How many chains and tables a large model gets: those for which memory and time are enough.

What is chosen depends on the model and on what was asked for, not on the machine, so the same seed
gives the same samples everywhere. What was asked for by name is never changed.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from orbitmc._simd.random import LANE_UNIT
from orbitmc._util.arrays import lengths
from orbitmc.ask.method.memory import sampling_bytes
from orbitmc.ask.settings import Settings
from orbitmc.conditionals.prepared import FEW_LIMITS, PreparedGraph, prepare
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.sampling.schedule import LANES, PACKS, SWEEPS_PER_SAMPLE, Schedule

LARGE = 50_000  # variables; smaller models have the usual packs
ENOUGH = 24  # samples of each chain that a timed run should have
SHARE = 0.6  # of its time for them: the rest is for preparing, the warm-up and the answer
NANOSECONDS = 0.25  # of a sweep, for each lane and each variable that is or that a factor reads
NANOSECONDS_PER_VALUE = 1.0  # for each value of one that meets others than binary ones, and factor
RECORDING = 1.2  # sweeps that recording a sample takes
AT_ONCE = 2  # packs that most machines advance at the same time

PREPARING_SHARE = 0.1  # of its time for tables of conditionals
LIMITS_PER_SECOND = 1.6e7

WAYS = (
    (PACKS, LANES, SWEEPS_PER_SAMPLE),
    (AT_ONCE, LANES, SWEEPS_PER_SAMPLE),
    *((AT_ONCE, LANE_UNIT, sweeps) for sweeps in (SWEEPS_PER_SAMPLE, 2, 1)),
)
"""Packs, lanes, and sweeps between two samples, the best first.

Two packs of 64 chains have half as many sums as four packs of 32.
"""


def prepared_for(graph: FactorGraph, schedule: Schedule) -> PreparedGraph:
    """Prepare a graph in a share of the time that a run may take; all of it if that is open."""
    if schedule.seconds is None:
        return prepare(graph)
    affordable = int(PREPARING_SHARE * schedule.seconds * LIMITS_PER_SECOND)
    return prepare(graph, most_limits=max(affordable, FEW_LIMITS))


def fitted(graph: FactorGraph, settings: Settings) -> Settings:
    """Settings with as many packs, lanes and steps between samples as a large model can afford."""
    if graph.variables < LARGE:
        return settings
    timed = _within_time(graph, settings)
    for packs, lanes in _shapes(timed, settings):
        chosen = replace(timed, packs=packs, lanes=lanes)
        if sampling_bytes(graph, chosen) <= settings.memory:
            break
    return chosen


def _within_time(graph: FactorGraph, settings: Settings) -> Settings:
    """Fewer packs, lanes, then sweeps between samples, until there is time for enough samples."""
    seconds = settings.schedule().seconds
    if seconds is None:
        return settings
    for way in WAYS:
        chosen = _with(graph, settings, *way)
        if ENOUGH * sample_seconds(graph, chosen) <= SHARE * seconds:
            break
    return chosen


def _with(graph: FactorGraph, settings: Settings, packs: int, lanes: int, sweeps: int) -> Settings:
    usual = settings.spacing is not None or sweeps == SWEEPS_PER_SAMPLE
    spacing = settings.spacing if usual else sweeps * graph.variables
    packs, lanes = settings.packs or packs, settings.lanes or lanes
    return replace(settings, packs=packs, lanes=lanes, spacing=spacing)


def sample_seconds(graph: FactorGraph, settings: Settings) -> float:
    """About how long one sample of all packs takes."""
    sweep = 1e-9 * settings.lane_count * _sweep_nanoseconds(graph)
    spacing = settings.schedule().spacing_for(graph.variables)
    turns = -(-settings.pack_count // AT_ONCE)
    return turns * sweep * (spacing / graph.variables + RECORDING)


def _sweep_nanoseconds(graph: FactorGraph) -> float:
    """About how long a sweep of one lane takes."""
    degree = lengths(graph.incident_start)
    many = graph.cardinality[graph.scope] > 2
    factor_of = graph.factor_of_edge
    among_many = np.bincount(factor_of[many], minlength=graph.factors) > 0
    slow = np.bincount(graph.scope[among_many[factor_of]], minlength=graph.variables) > 0
    fast = NANOSECONDS * (1 + degree)
    return float(np.where(slow, NANOSECONDS_PER_VALUE * graph.cardinality * degree, fast).sum())


def _shapes(timed: Settings, asked: Settings) -> Iterator[tuple[int, int]]:
    """Numbers of packs and of lanes, the largest first; only those that nobody asked for vary."""
    fewer = (timed.lane_count, LANE_UNIT) if asked.lanes is None else (asked.lanes,)
    for lanes in dict.fromkeys(fewer):
        for packs in range(timed.pack_count, 0, -1) if asked.packs is None else (asked.packs,):
            yield packs, lanes
