"""States of high weight by cooling chains slowly, then climbing."""

from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from itertools import count
from typing import NamedTuple

import numpy as np

from orbitmc._simd.random import generator
from orbitmc._util.arrays import Bytes, Numbers, starts
from orbitmc._util.interrupts import heed
from orbitmc.conditionals.prepared import PreparedGraph, prepare
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.log_weights import exact_log_weight
from orbitmc.graph.relevance import components
from orbitmc.graph.transforms import at_beta
from orbitmc.kernels._gibbs import SystematicScan
from orbitmc.run.pack import Pack, empty_pack, walk
from orbitmc.run.starts.annealing import annealed_states, heaviest
from orbitmc.run.starts.ascent import ascend, changed_weights
from orbitmc.run.workers.seals import sealed_graph
from orbitmc.run.workers.sending import Sender, pack_shared

BETAS = tuple(np.geomspace(0.25, 8.0, 9).tolist())
"""Inverse temperatures, from hot to cold."""

FIRST_SWEEPS = 2
BEST_STATE_STREAM = 2**30  # keeps these random numbers apart from others
UPDATES_PER_CALL = 10**7  # of all lanes, so that Ctrl-C is heard
CLIMBED_PER_CALL = 10**6  # states of variables


class Round(NamedTuple):
    """A pack of one round of the search."""

    seed: int
    lanes: int
    number: int
    """Of the pack; it keeps random numbers apart."""
    sweeps: int
    """At each temperature; 0 in the first round, which does not cool."""


class Cooling:
    """A graph at falling temperatures, each prepared when chains first need it."""

    def __init__(self, graph: FactorGraph, is_over: Callable[[], bool] = lambda: False) -> None:
        self.graph, self.is_over = graph, is_over
        self.prepared: dict[float, PreparedGraph] = {}

    def at(self, beta: float) -> PreparedGraph:
        """The graph at a temperature; prepared once."""
        if beta not in self.prepared:
            self.prepared[beta] = prepare(at_beta(self.graph, beta))
        return self.prepared[beta]

    def states(self, work: Round) -> Bytes:
        """States [variable, lane] that no single change improves."""
        seed, lanes, number, sweeps = work
        states = annealed_states(self.graph, seed=seed, group=number, lanes=lanes)
        kernel, rng = SystematicScan(), generator(seed, BEST_STATE_STREAM + number, lanes)
        for beta in BETAS if sweeps else ():
            if self.is_over():
                break
            prepared = self.at(beta)
            pack = replace(empty_pack(prepared, kernel, lanes=lanes), rng=rng)
            pack.values[...] = states
            self._walk(prepared, kernel, pack, sweeps * self.graph.variables)
            states = pack.values
        self._ascend(states)
        return states

    def _ascend(self, states: Bytes) -> None:
        """Climb, a few lanes at a time, until time is over; the first lanes always climb."""
        some = max(1, CLIMBED_PER_CALL // max(1, self.graph.variables))
        for first in range(0, states.shape[1], some):
            if first and self.is_over():
                return
            lanes = np.ascontiguousarray(states[:, first : first + some])
            ascend(self.graph, lanes)
            states[:, first : first + some] = lanes

    def _walk(
        self, prepared: PreparedGraph, kernel: SystematicScan, pack: Pack, updates: int
    ) -> None:
        """Take steps in slices, until time is over."""
        while updates > 0 and not self.is_over():
            heed()
            some = min(updates, max(1, UPDATES_PER_CALL // pack.values.shape[1]))
            walk(prepared, kernel, pack, some)
            updates -= some


@dataclass(frozen=True)
class SharedCooling:
    """What workers need to cool chains."""

    graph: FactorGraph

    def opened(self) -> Cooling:
        """Chains that a worker cools by itself."""
        return Cooling(sealed_graph(self.graph))


def cooled_states(
    graph: FactorGraph,
    *,
    seed: int,
    lanes: int,
    packs: int = 1,
    executor: Executor | None = None,
    stopped: Callable[[], bool] = lambda: False,
    is_over: Callable[[], bool] = lambda: False,
) -> Iterator[Bytes]:
    """Round after round of states [variable, lane] that no single change improves.

    The first round starts from annealed states and where heavy factors are at their best; each
    later one cools from a hot start, twice as slowly as the one before. With an `executor` the
    packs of a round are cooled by its workers; the states are the same. When time `is_over`, the
    chains of the present round cool no further; workers end their round.
    """
    cool = _here(graph, is_over) if executor is None else _elsewhere(graph, executor, stopped)
    for number in count():
        sweeps = FIRST_SWEEPS << number - 1 if number else 0
        work = [Round(seed, lanes, number * packs + pack, sweeps) for pack in range(packs)]
        yield np.concatenate(cool(work), axis=1)


Cool = Callable[[list[Round]], list[Bytes]]


def _here(graph: FactorGraph, is_over: Callable[[], bool]) -> Cool:
    cooling = Cooling(graph, is_over)
    return lambda work: [cooling.states(one) for one in work]


def _elsewhere(graph: FactorGraph, executor: Executor, stopped: Callable[[], bool]) -> Cool:
    sender, needed = Sender(executor), pack_shared(SharedCooling(graph))

    def cool(work: list[Round]) -> list[Bytes]:
        found = sender.all(Cooling.states, needed, work, stopped)
        if found is None:
            raise KeyboardInterrupt
        return found

    return cool


class Champions:
    """The best states so far, all different."""

    def __init__(self, graph: FactorGraph, count: int) -> None:
        self.graph, self.count = graph, count
        self.part_of = components(graph)
        self.weights: dict[bytes, float] = {}

    def consider(self, states: Bytes) -> None:
        """Look at all lanes, at the best of each connected part, and at what is next to that."""
        best = heaviest(self.graph, states, self.part_of)
        columns = [best, *np.unique(states, axis=1).T] if self.count > 1 else [best]
        for column in columns:
            self._add(column)
        if self.count > 1:
            self._add_neighbours(np.frombuffer(self.ranked()[0][1], dtype=np.uint8))

    def _add(self, state: Bytes) -> None:
        key = np.ascontiguousarray(state, dtype=np.uint8).tobytes()
        if key not in self.weights:
            weight = exact_log_weight(self.graph, state.astype(np.int64))
            if weight > -np.inf:
                self.weights[key] = weight
        self.weights = {key: weight for weight, key in self.ranked()}

    def _add_neighbours(self, state: Bytes) -> None:
        """Change the best state in one variable, the most harmless changes first."""
        start = starts(self.graph.cardinality)
        gains = np.zeros(int(start[-1]))
        changed_weights(self.graph, state[:, None].copy(), start, gains)
        own = start[:-1].astype(np.int64) + state
        gains[own] = -np.inf
        for place in np.argsort(-gains, kind="stable")[: self.count]:
            if gains[place] > -np.inf:
                variable = int(np.searchsorted(start, place, side="right")) - 1
                other = state.copy()
                other[variable] = place - int(start[variable])
                self._add(other)

    def ranked(self) -> list[tuple[float, bytes]]:
        """Heaviest first, then in the order of their values."""
        pairs = sorted((-weight, key) for key, weight in self.weights.items())
        return [(-negative, key) for negative, key in pairs[: self.count]]

    def states(self) -> list[Numbers]:
        """Value numbers, heaviest first."""
        return [np.frombuffer(key, dtype=np.uint8).astype(np.int64) for _, key in self.ranked()]
