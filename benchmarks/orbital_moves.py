"""What does a jump cost beside the Gibbs updates that touch the same factors, and what does it buy?

The first table divides the time of a jump by the time of as many Gibbs updates as it has
variables; 1 means that proposing new places for values costs as much as drawing values. The
second compares Lifted Metropolis-Hastings with Gibbs on a model of 45 neighbours and different
fields, in mean KL divergence from a long run: at equal iterations, and at equal time.
"""

from collections.abc import Callable
from typing import Any

import measuring
import numpy as np
import workloads

from orbitmc.estimate.tallies import ValueTally
from orbitmc.graph.conditionals import Conditionals, conditionals
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.groups.exchange_blocks import ExchangeBlocks
from orbitmc.kernels.exchange import shuffle
from orbitmc.kernels.gibbs import RandomScan, SystematicScan
from orbitmc.kernels.kernel import Kernel
from orbitmc.kernels.mixture import lifted
from orbitmc.kernels.proposal import ACCEPTED, NULL, PROPOSALS
from orbitmc.run.pack import Pack, start_pack, warm_up
from orbitmc.run.sampler import sample
from orbitmc.run.schedule import Schedule
from orbitmc.symmetry.blocks import blocks

LANES = 64
MEMBERS = 20
SAMPLES = 500  # of each run whose error is measured, as plain counting


def blocks_of(graph: FactorGraph) -> ExchangeBlocks:
    """Blocks of about twenty variables, as if the whole model were one orbit."""
    degree = np.diff(graph.incident_start.astype(np.int64)).mean()
    orbit = np.zeros(graph.variables, dtype=np.int64)
    return blocks(graph, orbit, max_moved=int(MEMBERS * degree))


def started(graph: FactorGraph, kernel: Kernel, prepared: Conditionals) -> Pack:
    """A pack near its distribution, its counts at zero."""
    pack = start_pack(graph, kernel, seed=1, number=0, lanes=LANES)
    calm = SystematicScan(prepared)
    memory = start_pack(graph, calm, seed=1, number=0, lanes=LANES)
    warm_up(graph, calm, prepared, memory, samples=20, spacing=graph.variables)
    np.copyto(pack.values, memory.values)
    return pack


def seconds_per_step(
    graph: FactorGraph, kernel: Kernel, prepared: Conditionals, steps: int, turns: int
) -> tuple[float, Pack]:
    pack = started(graph, kernel, prepared)

    def work() -> float:
        warm_up(graph, kernel, prepared, pack, samples=1, spacing=steps)
        return float(steps)

    _, best = measuring.first_and_best(work, turns)
    return 1.0 / best, pack


def cost_rows(name: str, graph: FactorGraph, steps: int, turns: int) -> list[list[Any]]:
    prepared = conditionals(graph)
    update, _ = seconds_per_step(graph, RandomScan(prepared), prepared, steps, turns)
    exchanged = blocks_of(graph)
    members = len(exchanged.member) / exchanged.blocks
    rows = []
    for title, size in (("whole block", members), ("four members", 4), ("two members", 2)):
        chosen = 0 if title == "whole block" else int(size)
        kernel = shuffle(graph, prepared, exchanged, rows=chosen)
        jump, pack = seconds_per_step(graph, kernel, prepared, steps // 10 + 1, turns)
        tried = pack.outcomes[PROPOSALS] - pack.outcomes[NULL]
        accepted = pack.outcomes[ACCEPTED] / max(tried, 1)
        moved = LANES * size / jump / measuring.MILLION
        rows.append(
            [
                f"{name}, {title}",
                size,
                update * 1e9,
                jump * 1e9,
                moved,
                jump / (size * update),
                float(accepted),
            ]
        )
    return rows


def divergence(exact: np.ndarray, found: np.ndarray) -> float:
    """Mean KL divergence of binary marginals, estimates kept off 0 and 1."""
    p, q = exact, np.clip(found, 1e-9, 1 - 1e-9)
    with np.errstate(divide="ignore", invalid="ignore"):
        ones = np.where(p > 0, p * np.log(p / q), 0.0)
        zeros = np.where(p < 1, (1 - p) * np.log((1 - p) / (1 - q)), 0.0)
    return float((ones + zeros).mean())


def gains(graph: FactorGraph, iterations: int, seeds: int) -> list[list[Any]]:
    """Median error of Gibbs and LMH, and the time that their steps take, recording aside."""
    prepared = conditionals(graph)
    schedule = Schedule(samples=iterations // 10)
    calm = SystematicScan(prepared)
    long = sample(graph, calm, schedule, prepared=prepared, seed=99, threads=1)
    gold = long.statistics().probability
    base = RandomScan(prepared)
    jumps = shuffle(graph, prepared, blocks_of(graph))
    kernels: dict[str, Kernel] = {"Gibbs": base, "LMH": lifted(base, [jumps])}
    rows = []
    for name, kernel in kernels.items():
        step, pack = seconds_per_step(graph, kernel, prepared, iterations // 10, 3)
        errors = [error_of(graph, kernel, prepared, gold, iterations, k) for k in range(seeds)]
        error, spent = float(np.median(errors)), step * iterations
        tried = pack.outcomes[-4:][PROPOSALS] - pack.outcomes[-4:][NULL] if name == "LMH" else 0
        accepted = pack.outcomes[-4:][ACCEPTED] / tried if tried else None
        rows.append([name, error, spent, error * spent, accepted])
    return rows


def error_of(
    graph: FactorGraph,
    kernel: Kernel,
    prepared: Conditionals,
    gold: np.ndarray,
    iterations: int,
    seed: int,
) -> float:
    """Error of one run of 64 chains that counts values, as the paper does."""
    schedule = Schedule(samples=SAMPLES, spacing=iterations // SAMPLES, warm_up=SAMPLES // 4)
    run = sample(
        graph,
        kernel,
        schedule,
        prepared=prepared,
        seed=seed,
        packs=1,
        lanes=LANES,
        threads=1,
        kind=ValueTally,
    )
    return divergence(gold, run.statistics().probability)


def models(quick: bool) -> dict[str, Callable[[], Any]]:
    chosen = workloads.speed_workloads(quick=quick)
    return {name: chosen[name] for name in ("Ising grid", "45 neighbours", "ternary grid")}


def main() -> None:
    asked = measuring.arguments(__doc__ or "")
    measuring.use_one_core()
    steps, turns, iterations, seeds = (200, 1, 1000, 2) if asked.quick else (5000, 5, 100_000, 5)
    costs = [
        row
        for name, make in models(asked.quick).items()
        if not asked.only or name in asked.only
        for row in cost_rows(name, make().model.graph, steps, turns)
    ]
    columns = ["jump", "variables", "update ns", "jump ns", "M variables/s", "cost", "accepted"]
    measuring.print_table("Jumps beside Gibbs updates of as many variables", columns, costs)
    graph = workloads.many_neighbours("", 100 if asked.quick else 2000, 45).model.graph
    bought = gains(graph, iterations, seeds)
    columns = ["chain", "KL", "seconds", "KL x seconds", "accepted"]
    measuring.print_table(
        f"After {iterations} iterations in each of {LANES} chains", columns, bought
    )
    gibbs, lmh = bought
    print(
        f"KL of Gibbs over LMH: {gibbs[1] / lmh[1]:.2f} at equal iterations, "
        f"{gibbs[3] / lmh[3]:.2f} at equal time"
    )
    measuring.write_results(
        asked.results,
        "orbital_moves",
        {"costs": costs, "gains": bought},
        quick=asked.quick,
        repetitions=turns,
    )


if __name__ == "__main__":
    main()
