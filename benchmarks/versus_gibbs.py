"""How much sooner a run that tunes itself reaches a fixed error than Gibbs, on one model.

Both run equally long. A column of eight chains is a repetition; its error is the mean squared
distance of its marginals from the exact ones. Errors fall as one over time, so error times time,
Gibbs over LMH, says how many times sooner LMH reaches a fixed error. LMH also pays for its race,
as a share of a run of usual length. Seconds are CPU seconds of one thread, the best of a few
turns, compiling aside. Where the race chooses Gibbs alone, both run the same chains, and only the
race is paid for.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from orbitmc._simd.random import COLUMNS
from orbitmc._util.arrays import Floats
from orbitmc.conditionals.prepared import PreparedGraph, prepare
from orbitmc.estimate.tally import rows_of
from orbitmc.exact.contraction import marginals
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.model import Model
from orbitmc.inference.plan import RACE_SHARE
from orbitmc.inference.settings import DEFAULT_SECONDS
from orbitmc.kernels._gibbs import SystematicScan
from orbitmc.kernels.protocol import Kernel
from orbitmc.sampling.pack import Pack, advance, start_pack
from orbitmc.sampling.warmup import warm_up
from orbitmc.tuning.race import RaceResult, run_race
from orbitmc.tuning.record import Tuning

LANES = 64
SWEEPS = 4  # between recorded states
WARM_UP = 0.25  # times as many samples as are recorded
TURNS = 3  # in which contestants show how fast they are


@dataclass(frozen=True)
class Measured:
    """One model.

    `gibbs` and `lmh` are error times time, the mean of all seeds; `gain` is their ratio and
    `doubt` the standard error of its logarithm, from the seeds. `sweeps` is how many sweeps Gibbs
    needs for what one independent draw would tell: where it is small, little can be won. `race` is
    the race's share of a run, `moves` what the races chose.
    """

    variables: int
    moves: str
    sweeps: float
    gibbs: float
    lmh: float
    race: float
    gain: float
    doubt: float


class NamedSampler:
    """A kernel on a graph, and the fewest CPU seconds that one of its samples has taken."""

    def __init__(self, prepared: PreparedGraph, kernel: Kernel) -> None:
        self.prepared, self.kernel = prepared, kernel
        self.seconds = np.inf
        self._sampled(0, 1)  # compiles

    def turn(self, seconds: float) -> None:
        """Learn how long a sample takes, in a run of about so many seconds."""
        spent, samples = 0.0, 1
        while spent < 0.5 * seconds:
            samples *= 2
            begun = time.thread_time()
            self._sampled(0, samples)
            spent = time.thread_time() - begun
        self.seconds = min(self.seconds, spent / samples)

    def error(self, truth: Floats, seed: int, seconds: float) -> float:
        """Mean squared error of one sample of a column, from a run of so many seconds."""
        samples = max(8, int(seconds / self.seconds))
        sums = self._sampled(seed, samples).tally.sums.sum(axis=0)
        columns = sums / (samples * LANES / COLUMNS)
        return float(((columns - truth[:, None]) ** 2).mean()) * samples

    def _sampled(self, seed: int, samples: int) -> Pack:
        pack = start_pack(self.prepared, self.kernel, seed=seed, number=0, lanes=LANES)
        spacing = SWEEPS * self.prepared.graph.variables
        todo = (self.prepared, self.kernel, pack)
        warm_up(*todo, steps=int(WARM_UP * samples) * spacing)
        advance(*todo, recorded=0, samples=samples, spacing=spacing)
        return pack


def measured(model: Model, *, seeds: int, seconds: float) -> Measured:
    """Let a model be raced for and sampled with several seeds, in runs of so many seconds."""
    graph, prepared = model.graph, prepare(model.graph)
    truth = rows(graph, marginals(graph).marginals)
    run_race(model, prepared, seconds=RACE_SHARE * DEFAULT_SECONDS)  # compiles
    gibbs, lmh, shares, moves, errors = [], [], [], [], []
    for seed in range(seeds):
        choice, share = raced(model, prepared)
        both = [NamedSampler(prepared, SystematicScan())]
        if choice.recipe != Tuning():
            both.append(NamedSampler(prepared, choice.recipe.kernel(model, prepared)))
        for _ in range(TURNS):
            for one in both:
                one.turn(0.1 * seconds)
        found = [one.error(truth, seed, seconds) for one in both]
        errors.append(found[0])
        gibbs.append(found[0] * both[0].seconds)
        lmh.append(found[-1] * both[-1].seconds)
        shares.append(share)
        moves.append(choice.recipe.words)
    spent = float(np.median(shares))
    lost, paid = float(np.mean(gibbs)), float(np.mean(lmh)) / (1.0 - spent)
    spread = float((truth * (1.0 - truth)).mean())
    return Measured(
        variables=graph.variables,
        moves=", ".join(f"{move} {moves.count(move)}" for move in dict.fromkeys(moves)),
        sweeps=float(np.mean(errors)) * SWEEPS * LANES / COLUMNS / spread,
        gibbs=lost,
        lmh=paid,
        race=spent,
        gain=lost / paid,
        doubt=doubt_of(gibbs, lmh),
    )


def raced(model: Model, prepared: PreparedGraph) -> tuple[RaceResult, float]:
    """What a race chooses, and its CPU seconds as a share of a run of usual length."""
    begun = time.thread_time()
    choice = run_race(model, prepared, seconds=RACE_SHARE * DEFAULT_SECONDS)
    return choice, (time.thread_time() - begun) / DEFAULT_SECONDS


def doubt_of(above: Sequence[float], below: Sequence[float]) -> float:
    """Standard error of the logarithm of the ratio of two means, leaving out one seed at a time."""
    first, second, count = np.array(above), np.array(below), len(above)
    if count < 2:
        return np.inf
    without = np.log((first.sum() - first) / (second.sum() - second))
    return float(np.sqrt((count - 1) / count * ((without - without.mean()) ** 2).sum()))


def rows(graph: FactorGraph, found: Sequence[Floats]) -> Floats:
    """Exact marginals in the order in which tallies keep them."""
    counts = rows_of(graph.cardinality)
    return np.concatenate([one[len(one) - k :] for one, k in zip(found, counts, strict=True)])
