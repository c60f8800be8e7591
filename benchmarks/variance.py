"""How much less variance do control variates leave, at equal CPU time, and are errors honest?

Both estimators run the same chains with the same seeds; variance is the spread of independent
seeds, in units of a Kullback-Leibler divergence, mean over values that are not rare. Where there is
an exact answer, the same is measured against it, and intervals are counted that contain it. Values
of one run vary together, so that share has an error of its own, from the spread of seeds.
"""

import sys
import time
from collections.abc import Mapping
from typing import Any

import measuring
import numpy as np
from scipy.special import stdtrit
from variance_models import variance_models

import orbitmc
from orbitmc.conditionals.prepared import PreparedGraph, prepare
from orbitmc.errors import LimitError
from orbitmc.estimate.statistics import Statistics, values_of
from orbitmc.kernels._gibbs import SystematicScan
from orbitmc.sampling.run import Run
from orbitmc.sampling.sampler import sample
from orbitmc.sampling.schedule import Schedule

SECONDS = 3.0  # CPU time of a plain run, about
ROUNDING = 1e-20  # variances below it are not of the chains
RARE = 1e-3  # values that are rarer, or leave less to all others, are left out
COLUMNS = (
    *("model", "variables", "looks", "equal samples", "equal CPU"),
    *("against truth", "worst value", "coverage", "±", "reported"),
)


def main() -> None:
    parser = measuring.argument_parser(__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="CPU time of a plain run")
    asked = parser.parse_args()
    measuring.use_one_core()
    seeds, seconds = (3, 0.05) if asked.quick else (asked.seeds, asked.seconds)
    results: dict[str, Any] = {}
    for name, make in variance_models(quick=asked.quick).items():
        if asked.only and name not in asked.only:
            continue
        results[name] = measure(make(), seeds, seconds)
        print(f"{name}: {results[name]}", file=sys.stderr, flush=True)
    rows = [[name, *(found[column] for column in COLUMNS[1:])] for name, found in results.items()]
    measuring.print_table("variance of plain averages over that of control variates", COLUMNS, rows)
    measuring.write_results(
        asked.results, "variance", results, quick=asked.quick, repetitions=seeds
    )


def measure(model: orbitmc.Model, seeds: int, seconds: float) -> Mapping[str, Any]:
    """Run both estimators with each seed."""
    prepared = prepare(model.graph)
    samples = affordable_samples(prepared, seconds)
    found: dict[bool, list[tuple[Run, Statistics]]] = {False: [], True: []}
    cpu = dict.fromkeys(found, 0.0)
    for seed in range(seeds):
        for controlled in found:
            begun = time.process_time()
            run = a_run(prepared, samples, seed, controlled=controlled)
            found[controlled].append((run, run.statistics()))
            cpu[controlled] += time.process_time() - begun
    return scores(truth_of(model), found, cpu)


def a_run(prepared: PreparedGraph, samples: int, seed: int, *, controlled: bool) -> Run:
    schedule = Schedule(samples=samples)
    return sample(prepared, SystematicScan(), schedule, seed=seed, threads=1, controlled=controlled)


def affordable_samples(prepared: PreparedGraph, seconds: float) -> int:
    """How many samples a plain run takes in so much CPU time."""
    a_run(prepared, 2, 0, controlled=False)
    begun = time.process_time()
    a_run(prepared, 80, 0, controlled=False)
    return max(80, int(100 * seconds / (time.process_time() - begun)))


def truth_of(model: orbitmc.Model) -> Any:
    """Exact probabilities of tallied rows; nothing if they cannot be computed."""
    try:
        answer = orbitmc.marginals(model, method="exact")
    except LimitError:
        return None
    places = values_of(model.graph.cardinality)
    every = np.concatenate([answer[name].probability for name in model.names])
    rows = np.zeros(int(places.rows.max()) + 1)
    chosen = (places.rows >= 0) & ~places.mirrored
    rows[places.rows[chosen]] = every[chosen]
    return rows


def scores(
    truth: Any, found: Mapping[bool, list[tuple[Run, Statistics]]], cpu: Mapping[bool, float]
) -> Mapping[str, Any]:
    plain, sharp = (np.array([known.probability for _, known in found[c]]) for c in (False, True))
    p = plain.mean(axis=0) if truth is None else truth
    common = np.minimum(p, 1.0 - p) > RARE
    weight = 1.0 / (2.0 * p * (1.0 - p))[common]
    spread = [(each.var(axis=0, ddof=1)[common]) * weight for each in (plain, sharp)]
    ratio = float(spread[0].mean() / spread[1].mean())
    price = cpu[True] / cpu[False]
    run = found[True][0][0]
    return {
        "variables": run.graph.variables,
        "looks": "-" if not run.choice.terms else run.looks,
        "equal samples": ratio,
        "equal CPU": ratio / price,
        "worst value": worst(*spread),
        **against_truth(truth, common, weight, (plain, sharp), price, found[True]),
        "about": [one.choice.about for one, _ in found[True]],
    }


def worst(plain: Any, sharp: Any) -> float:
    """The smallest gain of a value, at equal samples; values that never vary have none."""
    varying = plain > ROUNDING
    return float((plain[varying] / np.maximum(sharp[varying], ROUNDING)).min(initial=np.inf))


def against_truth(
    truth: Any, common: Any, weight: Any, estimates: Any, price: float, found: Any
) -> Mapping[str, Any]:
    """Gain in squared error at equal CPU time, and how many 95 % intervals contain the truth."""
    if truth is None:
        return dict.fromkeys(("against truth", "coverage", "±", "reported"))
    plain, sharp = (((each - truth)[:, common] ** 2).mean(axis=0) * weight for each in estimates)
    by_spread = [inside(run, known, truth)[common].mean() for run, known in found]
    reported = [((known.low <= truth) & (truth <= known.high))[common].mean() for _, known in found]
    return {
        "against truth": float(plain.mean() / sharp.mean()) / price,
        "coverage": float(np.mean(by_spread)),
        "±": float(np.std(by_spread, ddof=1) / np.sqrt(len(by_spread))),
        "reported": float(np.mean(reported)),
    }


def inside(run: Run, known: Statistics, truth: Any) -> Any:
    """Which intervals contain the truth, if only the spread of columns counts."""
    quantile = stdtrit(8 * len(run.packs) - 1, 0.975)
    return np.abs(known.probability - truth) <= quantile * known.spread


if __name__ == "__main__":
    main()
