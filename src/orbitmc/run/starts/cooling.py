"""States of high weight by cooling chains slowly, then climbing."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from orbitmc.graph.components import components
from orbitmc.graph.copies import at_beta
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.prepared import PreparedGraph, prepare
from orbitmc.graph.weights.sums import log_weight
from orbitmc.kernels.base.gibbs import SystematicScan
from orbitmc.machine.arrays import Bytes, Numbers, starts
from orbitmc.machine.interrupts import heed
from orbitmc.machine.lanes.random import generator
from orbitmc.run.pack import Pack, empty_pack, walk
from orbitmc.run.starts.annealing import annealed_states, heaviest
from orbitmc.run.starts.ascent import ascend, changed_weights

BETAS = tuple(np.geomspace(0.25, 8.0, 9).tolist())
"""Inverse temperatures, from hot to cold."""

FIRST_SWEEPS = 2
PURPOSE = 2**30  # keeps these random numbers apart from others
UPDATES_PER_CALL = 10**7  # of all lanes, so that Ctrl-C is heard


def cooled_states(graph: FactorGraph, *, seed: int, lanes: int) -> Iterator[Bytes]:
    """Round after round of states [variable, lane] that no single change improves.

    The first round starts from annealed states and where heavy factors are at their best; each
    later one cools from a hot start, twice as slowly as the one before.
    """
    states = annealed_states(graph, seed=seed, group=0, lanes=lanes)
    ascend(graph, states)
    yield states
    ladder = [prepare(at_beta(graph, beta)) for beta in BETAS]
    kernel, sweeps, number = SystematicScan(), FIRST_SWEEPS, 1
    while True:
        states = annealed_states(graph, seed=seed, group=number, lanes=lanes)
        rng = generator(seed, PURPOSE + number, lanes)
        for prepared in ladder:
            pack = replace(empty_pack(prepared, kernel, lanes=lanes), rng=rng)
            pack.values[...] = states
            _walk(prepared, kernel, pack, sweeps * graph.variables)
            states = pack.values
        ascend(graph, states)
        yield states
        sweeps, number = 2 * sweeps, number + 1


def _walk(prepared: PreparedGraph, kernel: SystematicScan, pack: Pack, updates: int) -> None:
    """Take steps in slices."""
    while updates > 0:
        heed()
        some = min(updates, max(1, UPDATES_PER_CALL // pack.values.shape[1]))
        walk(prepared, kernel, pack, some)
        updates -= some


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
            weight = log_weight(self.graph, state.astype(np.int64))
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
