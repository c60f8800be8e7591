"""How far from the truth are Gibbs and LMH after some CPU seconds, where Gibbs gets stuck?

One pack of 64 chains on one core. The error is the mean KL divergence of all marginals from the
exact ones, at the snapshot nearest to so many CPU seconds; those of LMH include the race that
chooses its jumps, for a run of a minute. CPU seconds, because then it does not matter what else the
machine does. Compiling is not counted.
"""

import time
from collections.abc import Callable
from typing import Any

import measuring
import numpy as np
from workloads import DATA

import orbitmc as om
from orbitmc.cli.getting_started import demo_model
from orbitmc.estimate.divergences import divergence
from orbitmc.estimate.statistics import values_of
from orbitmc.inference.plan import choose_kernel, plan_model
from orbitmc.kernels._gibbs import SystematicScan

SEEDS, WARM_UP = (1, 2, 3), 8
SECONDS = (2.0, 5.0)
RACED_FOR = 60.0
CELLS, COUPLING, FIELD, INSTANCE = 4, 1.5, 0.1, 1
DROPLETS = DATA / "chimera" / "droplets-128-001.txt"

Curve = list[tuple[float, float]]
"""Pairs of CPU seconds and error."""


def glass() -> om.Model:
    """Chimera with couplings from a normal distribution, fields from a uniform one."""
    rng = np.random.default_rng(INSTANCE)
    edges = om.models.chimera_edges(CELLS, CELLS)
    couplings = COUPLING * rng.normal(size=len(edges))
    return om.chimera(CELLS, CELLS, couplings, rng.uniform(-FIELD, FIELD, size=8 * CELLS**2))


def droplets() -> om.Model | None:
    """Instance 001 of 128 spins from SpinGlassDynamics.jl, where the data are at hand."""
    return om.read_chimera(DROPLETS, beta=1.0) if DROPLETS.exists() else None


MODELS: dict[str, Callable[[], om.Model | None]] = {
    "lattice": demo_model,
    "Chimera, couplings ±1, fields within ±0.5": lambda: om.random_chimera(
        CELLS, CELLS, beta=1.0, field=0.5, seed=1
    ),
    "Chimera, droplet instance": droplets,
    "Chimera, normal couplings": glass,
}


def main() -> None:
    options = measuring.arguments(__doc__)
    measuring.use_one_core()
    results: dict[str, Any] = {}
    for name in options.only or (["lattice"] if options.quick else MODELS):
        model = MODELS[name]()
        if model is not None:
            results[name] = measured(model, quick=options.quick)
    columns = ["model", "CPU s", *(f"{who} {end}" for who in ("Gibbs", "LMH") for end in ENDS)]
    rows = [
        [name, seconds, *(one["errors"][who][f"{seconds:g}"][end] for who, end in _ends())]
        for name, one in results.items()
        for seconds in SECONDS
    ]
    measuring.print_table("Mean KL divergence from the exact marginals", columns, rows)
    about = {"quick": options.quick, "only": options.only, "repetitions": len(SEEDS)}
    measuring.write_results(options.results, "stuck", results, **about)


ENDS = ("best", "worst")


def _ends() -> list[tuple[str, str]]:
    return [(who, end) for who in ("Gibbs", "LMH") for end in ENDS]


def measured(model: om.Model, *, quick: bool = False) -> dict[str, Any]:
    """The best and the worst seed of both samplers after so many CPU seconds, and the jumps."""
    most = 0.2 if quick else max(SECONDS)
    jumps, raced, found = curves(model, most=most, raced_for=1.0 if quick else RACED_FOR)
    errors = {
        who: {f"{seconds:g}": _spread(every, seconds) for seconds in SECONDS}
        for who, every in found.items()
    }
    return {"jumps": jumps, "seconds of the race": raced, "errors": errors}


def _spread(every: list[Curve], seconds: float) -> dict[str, float]:
    errors = [min(curve, key=lambda point: abs(point[0] - seconds))[1] for curve in every]
    return {"best": min(errors), "worst": max(errors)}


def curves(
    model: om.Model, *, most: float, raced_for: float
) -> tuple[str, float, dict[str, list[Curve]]]:
    """Why LMH jumps as it does, what its race took, and errors by CPU seconds for each seed."""
    truth = om.marginals(model, method="exact").columns.probability
    prepared = om.kernels.prepare(model.graph)
    settings = om.Settings(method="lmh", seconds=raced_for)
    plan_model(model, settings)  # compiles
    begun = time.process_time()
    chosen = plan_model(model, settings)
    raced = time.process_time() - begun
    kernels = {
        "Gibbs": (SystematicScan(), 0.0),
        "LMH": (choose_kernel(model, prepared, chosen.settings).kernel, raced),
    }
    found = {
        name: [_curve(prepared, kernel, truth, seed, before, most) for seed in SEEDS]
        for name, (kernel, before) in kernels.items()
    }
    return chosen.reason, raced, found


def _curve(prepared: Any, kernel: Any, truth: Any, seed: int, before: float, most: float) -> Curve:
    """One run, until it has taken a little more than `most` seconds of CPU time."""
    places, seconds = values_of(prepared.graph.cardinality), []

    def watch(run: om.Run) -> None:
        spent = time.process_time() - begun
        seconds.extend([before + spent] * (len(run.snapshots) - len(seconds)))
        if run.snapshots and before + spent > 1.5 * most:
            run.stop()

    schedule = om.Schedule(samples=10**7, warm_up=WARM_UP, snapshots=True)
    om.sample(prepared, kernel, om.Schedule(samples=1, warm_up=0), packs=1)  # compiles
    begun = time.process_time()
    run = om.sample(prepared, kernel, schedule, seed=seed, packs=1, threads=1, watchers=[watch])
    return [
        (spent, divergence(truth, places.probabilities(one.probability), places.start).of_estimate)
        for spent, one in zip(seconds, run.snapshots, strict=True)
    ]


if __name__ == "__main__":
    main()
