"""Does Lifted Metropolis-Hastings that tunes itself ever lose against Gibbs, and where does it win?

Every model of `varied_models` is sampled by Gibbs (systematic scan) and by the kernel that the
race of the warm-up has chosen, in runs that take equally long. A column of eight chains is a
repetition; its error is the mean squared distance of its marginals from the exact ones. Errors
fall as one over time, so error times time, Gibbs over LMH, says how many times sooner LMH reaches
a fixed error: above 1 it wins. LMH also pays for its race, as a share of a run of ten seconds.
Seconds are CPU seconds of one thread, the best of a few turns, compiling aside. Where
the race chooses Gibbs alone, both run the same chains, and only the race is paid for.
"""

import argparse
import csv
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import measuring
import numpy as np
from varied_models import MODES, varied_models

from orbitmc.arrays import Floats
from orbitmc.estimate.tallies import rows_of
from orbitmc.exact.elimination import marginals
from orbitmc.graph.conditionals import Conditionals, conditionals
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.model import Model
from orbitmc.inference import RACE_SHARE
from orbitmc.kernels.gibbs import SystematicScan
from orbitmc.kernels.kernel import Kernel
from orbitmc.run.pack import Pack, advance, start_pack, warm_up
from orbitmc.settings import DEFAULT_SECONDS
from orbitmc.tune.race import Choice, race
from orbitmc.tune.recipe import Recipe

LANES = 64
SWEEPS = 4  # between recorded states
WARM_UP = 0.25  # times as many samples as are recorded
TURNS = 3  # in which contestants show how fast they are


@dataclass(frozen=True)
class Row:
    """One model: error times time of both methods, per seed; `moves` is what the races chose."""

    kind: str
    name: str
    variables: int
    moves: str
    gibbs: float
    lmh: float
    race: float
    gain: float


class Contestant:
    """A kernel on a graph, and the fewest CPU seconds that one of its samples has taken."""

    def __init__(self, graph: FactorGraph, kernel: Kernel, prepared: Conditionals) -> None:
        self.graph, self.kernel, self.prepared = graph, kernel, prepared
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

    def cost(self, truth: Floats, seed: int, seconds: float) -> float:
        """Error times time of a run of so many seconds."""
        samples = max(8, int(seconds / self.seconds))
        sums = self._sampled(seed, samples).tally.sums.sum(axis=0)
        columns = sums / (samples * LANES / sums.shape[1])
        return float(((columns - truth[:, None]) ** 2).mean()) * samples * self.seconds

    def _sampled(self, seed: int, samples: int) -> Pack:
        pack = start_pack(self.graph, self.kernel, seed=seed, number=0, lanes=LANES)
        spacing = SWEEPS * self.graph.variables
        todo = (self.graph, self.kernel, self.prepared, pack)
        warm_up(*todo, samples=int(WARM_UP * samples), spacing=spacing)
        advance(*todo, recorded=0, samples=samples, spacing=spacing)
        return pack


def raced(model: Model, prepared: Conditionals) -> tuple[Choice, float]:
    """What a race chooses, and its CPU seconds as a share of a run of usual length."""
    begun = time.thread_time()
    choice = race(model, prepared, seconds=RACE_SHARE * DEFAULT_SECONDS)
    return choice, (time.thread_time() - begun) / DEFAULT_SECONDS


def measured(kind: str, name: str, model: Model, seeds: int, seconds: float) -> Row:
    graph, prepared = model.graph, conditionals(model.graph)
    truth = rows(graph, marginals(graph).marginals)
    race(model, prepared, seconds=RACE_SHARE * DEFAULT_SECONDS)  # compiles
    gibbs, lmh, shares, moves = [], [], [], []
    for seed in range(seeds):
        choice, share = raced(model, prepared)
        both = [Contestant(graph, SystematicScan(prepared), prepared)]
        if choice.recipe != Recipe():
            both.append(Contestant(graph, choice.recipe.kernel(model, prepared), prepared))
        for _ in range(TURNS):
            for one in both:
                one.turn(0.1 * seconds)
        costs = [one.cost(truth, seed, seconds) for one in both]
        gibbs.append(costs[0])
        lmh.append(costs[-1])
        shares.append(share)
        moves.append(choice.recipe.words)
    spent = float(np.median(shares))
    lost, paid = float(np.mean(gibbs)), float(np.mean(lmh)) / (1.0 - spent)
    counted = ", ".join(f"{move} {moves.count(move)}" for move in dict.fromkeys(moves))
    return Row(kind, name, graph.variables, counted, lost, paid, spent, lost / paid)


def rows(graph: FactorGraph, found: Sequence[Floats]) -> Floats:
    """Exact marginals in the order in which tallies keep them."""
    counts = rows_of(graph.cardinality)
    return np.concatenate([one[len(one) - k :] for one, k in zip(found, counts, strict=True)])


def report(table: list[Row]) -> None:
    columns = ["model", "variables", "gain", "race", "Gibbs", "LMH", "moves"]
    measuring.print_table(
        "Error times seconds, Gibbs over LMH",
        columns,
        [
            [f"{r.kind}: {r.name}", r.variables, r.gain, r.race, r.gibbs, r.lmh, r.moves]
            for r in table
        ],
    )
    gains = np.array([row.gain for row in table])
    print(f"{len(table)} models: median gain {np.median(gains):.3g}, ", end="")
    print(f"worst ratio {1.0 / gains.min():.3g}, ", end="")
    print(f"{(gains < 1 / 1.1).sum()} models lose more than a tenth")
    for kind in dict.fromkeys(row.kind for row in table):
        own = [row.gain for row in table if row.kind == kind]
        mark = " (modes nearly alike)" if kind in MODES else ""
        print(f"  {kind}{mark}: gains {', '.join(measuring.text(gain) for gain in own)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="3 seeds, runs of 0.3 seconds")
    parser.add_argument("--seeds", type=int, help="runs of each model")
    parser.add_argument("--seconds", type=float, help="CPU seconds of each run")
    parser.add_argument("--only", nargs="*", help="classes or parts of models' names")
    parser.add_argument("-o", "--output", type=Path, metavar="CSV", help="write the table here")
    asked = parser.parse_args()
    seeds = asked.seeds or (3 if asked.quick else 20)
    seconds = asked.seconds or (0.3 if asked.quick else 1.0)
    table = []
    for (kind, name), build in varied_models().items():
        wanted = not asked.only or any(part in f"{kind}: {name}" for part in asked.only)
        model = build() if wanted else None
        if model is None:
            continue
        table.append(measured(kind, name, model, seeds, seconds))
        row = table[-1]
        print(f"{kind}: {name}: gain {measuring.text(row.gain)} by {row.moves}", flush=True)
    report(table)
    if asked.output:
        write(asked.output, table)


def write(path: Path, table: list[Row]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(asdict(table[0])))
        writer.writeheader()
        writer.writerows(asdict(row) for row in table)


if __name__ == "__main__":
    main()
