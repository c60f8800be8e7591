"""How far are marginals from the truth after one second and after ten?

The number is the mean over variables of KL(exact || estimate), the median over seeds. Compiled
code is warm, everybody has one core, and contestants take turns. Peers run with the settings
that were best for them in a small search; ours are the defaults. Peers that count get half a
count added to each value, since a rare value they never saw would outweigh all else. Truth is
exact elimination, or the gold of `gold.py` where that cannot go.
"""

import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import measuring
import numpy as np
import peers
from workloads import Workload, accuracy_workloads
from yardstick import Yardstick, compiled_yardstick

import orbitmc
from orbitmc.sampling.schedule import PACKS, SWEEPS_PER_SAMPLE, WARM_UP_SHARE

PEERS = (
    peers.DWAVE,
    peers.THRML,
    peers.OPENJIJ,
    peers.PYAGRUM_GIBBS,
    peers.PYAGRUM_IMPORTANCE,
    peers.PYAGRUM_WEIGHTED,
)
GOLD = Path(__file__).parent / "gold"
RAREST = 1e-12  # an estimate of zero counts as this
YARDSTICK = "C yardstick"
OURS = "orbitmc"
TUNED = "orbitmc, tuned"

Marginals = list[list[float]]
NamedSampler = Callable[[float, int], Marginals]


def main() -> None:
    settings = measuring.arguments(__doc__.splitlines()[0])
    measuring.use_one_core()
    load = os.getloadavg()[0]
    turns = {0.05: 1} if settings.quick else {1.0: 5, 10.0: 3}
    results: dict[str, Any] = {}
    for name, make in accuracy_workloads(quick=settings.quick).items():
        if settings.only and name not in settings.only:
            continue
        workload = make()
        truth = workload and exact(name, workload)
        if workload is None or truth is None:
            print(f"{name}: data or gold is not at hand, skipped", file=sys.stderr)
            continue
        results[name] = measure(workload, truth, turns, with_peers=not settings.no_peers)
        print(f"{name}: measured", file=sys.stderr)
    show(results)
    measuring.write_results(
        settings.results,
        "accuracy",
        results,
        quick=settings.quick,
        unit="mean KL(exact || estimate), median over seeds",
        repetitions=turns,
        load_before_and_after=[load, os.getloadavg()[0]],
    )


def exact(name: str, workload: Workload) -> Marginals | None:
    """The truth, in the order of the model's variables."""
    gold = GOLD / f"{name.replace(' ', '-')}.json"
    if gold.exists():
        return [[1.0 - up, up] for up in json.loads(gold.read_text())["probability"]]
    try:
        found = orbitmc.marginals(workload.model, method="exact")
    except orbitmc.LimitError:
        return None
    return [found[name].probability.tolist() for name in workload.model.names]


def measure(
    workload: Workload, truth: Marginals, turns: dict[float, int], *, with_peers: bool
) -> dict[str, Any]:
    """Errors of every contestant, by time: the median over seeds, and all of them.

    `turns` says how many seeds each number of seconds gets.
    """
    workers = peers.start(PEERS, workload.for_peers()) if with_peers else {}
    contestants: dict[str, NamedSampler] = {
        OURS: _ours(workload, "gibbs"),
        TUNED: _ours(workload, "lmh"),
        **_in_c(workload),
    }
    contestants |= {name: _peer(worker, workload) for name, worker in workers.items()}
    for contestant in contestants.values():
        contestant(min(turns) / 10, 0)  # compiles
    found: dict[str, Any] = {name: {} for name in contestants}
    for seconds, seeds in turns.items():
        for seed in range(1, seeds + 1):
            for name, contestant in contestants.items():
                error = divergence(truth, contestant(seconds, seed))
                found[name].setdefault(f"{seconds:g} s", []).append(error)
    for worker in workers.values():
        worker.close()
    return {
        name: {at: {"median": statistics.median(all_), "all": all_} for at, all_ in by_time.items()}
        for name, by_time in found.items()
    }


def divergence(truth: Marginals, estimate: Marginals) -> float:
    """Mean over variables of KL(truth || estimate)."""
    total = 0.0
    for right, guess in zip(truth, estimate, strict=True):
        p, q = np.array(right), np.maximum(np.array(guess), RAREST)
        some = p > 0
        total += float((p[some] * np.log(p[some] / (q / q.sum())[some])).sum())
    return max(total, 0.0) / len(truth)


def _ours(workload: Workload, method: Any) -> NamedSampler:
    def run(seconds: float, seed: int) -> Marginals:
        found = orbitmc.marginals(
            workload.model, method=method, seconds=seconds, seed=seed, threads=1
        )
        return [found[name].probability.tolist() for name in workload.model.names]

    return run


def _in_c(workload: Workload) -> dict[str, NamedSampler]:
    """The yardstick, used as ours is: as many packs, the same scan and spacing."""
    library, graph = compiled_yardstick(), workload.model.graph
    if library is None or "sample_count" not in Yardstick(library, graph).loops():
        return {}

    def run(seconds: float, seed: int) -> Marginals:
        begun = time.perf_counter()
        packs = [Yardstick(library, graph, seed=PACKS * seed + k) for k in range(PACKS)]
        loop, samples, warm = packs[0].loops()[-1], max(1, 10**6 // packs[0].values.size), False
        while (spent := time.perf_counter() - begun) < seconds:
            if not warm and spent > seconds * WARM_UP_SHARE:
                warm = True
                for pack in packs:
                    pack.forget()
            for pack in packs:
                pack.run(loop, samples, SWEEPS_PER_SAMPLE, systematic=True)
        return np.mean([pack.probabilities() for pack in packs], axis=0).tolist()  # type: ignore[no-any-return]

    return {YARDSTICK: run}


def _peer(worker: peers.Worker, workload: Workload) -> NamedSampler:
    def run(seconds: float, seed: int) -> Marginals:
        found = worker.turn(seconds, seed=seed, marginals=True)["marginals"]
        return found if isinstance(found, list) else _in_our_order(found, workload)

    return run


def _in_our_order(found: dict[str, Any], workload: Workload) -> Marginals:
    ordered = []
    for name, values in zip(workload.model.names, workload.model.values, strict=True):
        by_label = dict(zip(found["labels"][name], found["marginals"][name], strict=True))
        ordered.append([by_label[value] for value in values])
    return ordered


def show(results: dict[str, Any]) -> None:
    """Print a row for every model and time; above 1, the last columns say that we are best."""
    names = [OURS, TUNED, YARDSTICK, *(peer.name for peer in PEERS)]
    rows = []
    for model, found in results.items():
        for at in found[OURS]:
            errors = {name: found[name][at]["median"] for name in names if name in found}
            best_peer = min(
                (errors[peer.name] for peer in PEERS if peer.name in errors), default=None
            )
            ours = errors[OURS]
            row = [model, at, *(errors.get(name) for name in names)]
            beside = [measuring.ratio(best_peer, one) for one in (ours, errors[TUNED])]
            rows.append([*row, measuring.ratio(errors.get(YARDSTICK), ours), *beside])
    columns = ["model", "after", *names, "C ÷ ours", "best peer ÷ ours", "best peer ÷ tuned"]
    measuring.print_table("Mean KL(exact || estimate)", columns, rows)


if __name__ == "__main__":
    main()
