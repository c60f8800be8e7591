"""Annealed importance sampling (Neal 2001) with resampling (population annealing).

The lanes of a pack start in uniformly random states, where Z is known, and are cooled down along a
ladder of inverse temperatures, with one sweep of Gibbs at each. What a lane's log-weight gains at
every rung adds up to the logarithm of its importance weight. When few lanes have most of the
weight, lanes are drawn anew in proportion to it. The mean weights of a pack multiply to an unbiased
estimate of Z, for any ladder and however badly chains mix (Del Moral, Doucet and Jasra 2006).
"""

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc._numba.time_limits import require_time, timed
from orbitmc._simd.random import generator
from orbitmc._util.arrays import Bytes, Floats
from orbitmc.conditionals.prepared import PreparedGraph, prepare_briefly
from orbitmc.errors import LimitError
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.log_weights import partial_log_weight
from orbitmc.graph.transforms import at_beta
from orbitmc.kernels._gibbs import SystematicScan
from orbitmc.run.annealed.softening import softened
from orbitmc.run.pack import empty_pack, walk
from orbitmc.run.workers.seals import SharedGraph
from orbitmc.run.workers.sending import Sender, pack_shared

PURPOSE = 2**30  # keeps these random numbers apart from those of other packs
STEP = 1.0  # standard deviations of a log-weight between two rungs of the first ladder
SIZE = 64  # lanes of a population
POPULATIONS = 8  # in a pack
FEWEST = 0.5  # lanes are drawn anew when fewer than this share of them would weigh as much
MOST_RUNGS = 100_000  # a model whose first ladder is longer is not cooled down


def first_ladder(graph: FactorGraph, *, seed: int) -> list[float]:
    """Betas from 0 to 1 that log-weights pass in equal steps, measured while lanes cool down."""
    soft, kernel = softened(graph), SystematicScan()
    values, rng = _random_states(soft, seed, -1, SIZE), generator(seed, PURPOSE - 1, SIZE)
    betas = [0.0]
    while betas[-1] < 1.0 and len(betas) < MOST_RUNGS:
        spread = float(log_weights(soft, values).std())
        betas.append(min(1.0, betas[-1] + STEP / max(spread, STEP)))
        require_time()
        cooled = prepare_briefly(at_beta(soft, betas[-1]))
        pack = replace(empty_pack(cooled, kernel, lanes=SIZE), values=values, rng=rng)
        walk(cooled, kernel, pack, soft.variables)
    if betas[-1] < 1.0:
        raise LimitError(
            f"log-weights of chains lie too far apart to cool them down in {MOST_RUNGS:,} steps"
        )
    return betas


def refined(betas: Sequence[float], rungs: int) -> list[float]:
    """A ladder with as many rungs, as dense in each place as another one."""
    places = np.linspace(0.0, len(betas) - 1.0, rungs + 1)
    found: list[float] = np.interp(places, np.arange(len(betas)), betas).tolist()
    return found


class Cooled(NamedTuple):
    """The logarithm of an unbiased estimate of Z from each population, and the last states."""

    log_z: Floats
    states: Bytes


def cool_down(
    graph: FactorGraph,
    betas: Sequence[float],
    *,
    seed: int,
    number: int,
    packs: int,
    stopped: Callable[[], bool],
    threads: int,
) -> Cooled | None:
    """Cool packs down a ladder from 0 to 1; None if it was `stopped` on the way.

    `number` keeps passes with one seed apart.
    """
    soft = softened(graph)
    cooling = [_Cooling(soft, seed, number * packs + pack) for pack in range(packs)]
    with ThreadPoolExecutor(min(packs, threads)) as pool:
        for beta, hotter in timed(zip(betas[1:], betas[:-1], strict=True)):
            cooled = prepare_briefly(at_beta(soft, beta))
            list(pool.map(partial(_Cooling.cool, gain=beta - hotter, to=cooled), cooling))
            if stopped():
                return None
    return _joined(graph, [(one.log_z(graph), one.values) for one in cooling])


def cool_down_elsewhere(
    graph: FactorGraph,
    betas: Sequence[float],
    *,
    seed: int,
    number: int,
    packs: int,
    stopped: Callable[[], bool],
    sender: Sender,
) -> Cooled | None:
    """The same on workers, a pack in each piece of work; the numbers are the same."""
    numbers = [number * packs + pack for pack in range(packs)]
    work = [(tuple(betas), seed, own) for own in numbers]
    found = sender.all(_cooled_pack, pack_shared(SharedGraph(graph)), work, stopped)
    return None if found is None else _joined(graph, found)


def _cooled_pack(
    graph: FactorGraph, work: tuple[tuple[float, ...], int, int]
) -> tuple[Floats, Bytes]:
    """What one pack comes to at the foot of a ladder."""
    betas, seed, number = work
    soft = softened(graph)
    cooling = _Cooling(soft, seed, number)
    for beta, hotter in zip(betas[1:], betas[:-1], strict=True):
        cooling.cool(gain=beta - hotter, to=prepare_briefly(at_beta(soft, beta)))
    return cooling.log_z(graph), cooling.values


def _joined(graph: FactorGraph, packs: Sequence[tuple[Floats, Bytes]]) -> Cooled:
    """What all packs say of Z, and their states."""
    uniform = float(np.log(graph.cardinality.astype(np.float64)).sum())
    log_z = np.concatenate([own for own, _ in packs]) + uniform + graph.constant
    return Cooled(log_z, np.concatenate([states for _, states in packs], axis=1))


class _Cooling:
    """A pack of several populations on its way down the ladder."""

    def __init__(self, soft: FactorGraph, seed: int, number: int) -> None:
        self.soft, self.kernel = soft, SystematicScan()
        self.values = _random_states(soft, seed, number, POPULATIONS * SIZE)
        self.rng = generator(seed, PURPOSE + number, POPULATIONS * SIZE)
        source = np.random.SeedSequence(seed, spawn_key=(PURPOSE, number))
        self.choices = np.random.default_rng(source)
        self.log_weight = np.zeros((POPULATIONS, SIZE))
        self.gained = np.zeros(POPULATIONS)

    def cool(self, *, gain: float, to: PreparedGraph) -> None:
        """Go down one rung: weights change first, then lanes are drawn anew, then states change."""
        self.log_weight += gain * log_weights(self.soft, self.values).reshape(POPULATIONS, SIZE)
        share = np.exp(self.log_weight - self.log_weight.max(axis=1, keepdims=True))
        few = share.sum(axis=1) ** 2 < FEWEST * SIZE * (share**2).sum(axis=1)
        if few.any():
            self._draw_lanes(np.flatnonzero(few), share)
        pack = empty_pack(to, self.kernel, lanes=POPULATIONS * SIZE)
        walk(to, self.kernel, replace(pack, values=self.values, rng=self.rng), self.soft.variables)

    def _draw_lanes(self, chosen: NDArray[np.int64], share: Floats) -> None:
        """Draw lanes in proportion to their weights, by one random number for each population."""
        lanes = np.arange(POPULATIONS * SIZE).reshape(POPULATIONS, SIZE)
        self.gained[chosen] += log_mean(self.log_weight[chosen])
        for one in chosen:
            ticks = (np.arange(SIZE) + self.choices.random()) / SIZE
            drawn = np.searchsorted(np.cumsum(share[one] / share[one].sum()), ticks)
            lanes[one] = one * SIZE + np.minimum(drawn, SIZE - 1)
        self.values = np.ascontiguousarray(self.values[:, lanes.reshape(-1)])
        self.log_weight[chosen] = 0.0

    def log_z(self, graph: FactorGraph) -> Floats:
        """What all gains come to once forbidden states weigh nothing."""
        lost = _hardening(graph, self.soft, self.values).reshape(POPULATIONS, SIZE)
        return self.gained + log_mean(self.log_weight + lost)


def log_mean(log_weight: Floats) -> Floats:
    """The logarithm of the mean weight, along the last axis."""
    found: Floats = np.logaddexp.reduce(log_weight, axis=-1) - math.log(log_weight.shape[-1])
    return found


def log_weights(graph: FactorGraph, values: Bytes) -> Floats:
    """What all factors add up to in each lane's state."""
    return partial_log_weight(graph, np.arange(graph.factors, dtype=np.uint32), values)


def _random_states(graph: FactorGraph, seed: int, number: int, lanes: int) -> Bytes:
    """Uniformly random states."""
    source = np.random.SeedSequence(seed, spawn_key=(PURPOSE + number,))
    rng = np.random.default_rng(source)
    shape = (graph.variables, lanes)
    return rng.integers(0, graph.cardinality[:, None], size=shape, dtype=np.uint8)


def _hardening(graph: FactorGraph, soft: FactorGraph, values: Bytes) -> Floats:
    """What states lose when what is light becomes forbidden."""
    if soft is graph:
        return np.zeros(values.shape[1])
    return log_weights(graph, values) - log_weights(soft, values)
