"""How many Gibbs updates a second does one core make, statistics included?

Ours run as `infer` runs them: 64 lanes, conditional probabilities added up every second sweep.
The yardstick in C does the same work on the same arrays. Peers run as one would use them for
marginals; "inner loop" is what is left of a peer when nothing is read out.
"""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import peers
from measuring import (
    MILLION,
    arguments,
    print_table,
    rate,
    ratio,
    use_one_core,
    write_results,
)
from workloads import Workload, speed_workloads
from yardstick import Yardstick, compiled_yardstick

from orbitmc.conditionals.prepared import prepare
from orbitmc.kernels._gibbs import RandomScan, SystematicScan
from orbitmc.sampling.pack import advance, start_pack
from orbitmc.sampling.schedule import LANES, SWEEPS_PER_SAMPLE

PEERS = (
    peers.DWAVE,
    peers.DWAVE_INNER,
    peers.THRML,
    peers.OPENJIJ,
    peers.PYMC,
    peers.PYAGRUM_GIBBS,
)
SCANS = {"random": RandomScan, "systematic": SystematicScan}


@dataclass
class NamedSampler:
    """Something that makes updates: a turn gives how many, and how many a CPU second."""

    turn: Callable[[], float]
    first_seconds: float = 0.0
    rates: list[float] = field(default_factory=list)

    @property
    def best(self) -> float:
        return max(self.rates, default=0.0)


def main() -> None:
    settings = arguments(__doc__.splitlines()[0])
    use_one_core()
    turns, seconds = (2, 0.01) if settings.quick else (9, 0.25)
    results: dict[str, Any] = {}
    for name, make in speed_workloads(quick=settings.quick).items():
        if settings.only and name not in settings.only:
            continue
        workload = make()
        if workload is None:
            print(f"{name}: the shared data is not at hand, skipped", file=sys.stderr)
            continue
        results[name] = measure(workload, turns, seconds, with_peers=not settings.no_peers)
        print(f"{name}: measured", file=sys.stderr)
    show(results)
    write_results(
        settings.results,
        "gibbs_updates",
        results,
        quick=settings.quick,
        only=settings.only,
        unit="updates per CPU second",
        lanes=LANES,
        sweeps_per_sample=SWEEPS_PER_SAMPLE,
        repetitions=turns,
    )


def measure(
    workload: Workload, turns: int, seconds: float, *, with_peers: bool
) -> dict[str, dict[str, float]]:
    """Let all contestants take turns on one model."""
    workers = peers.start(PEERS, workload.for_peers()) if with_peers else {}
    contestants = {**ours(workload, seconds), **in_c(workload, seconds)}
    for name, worker in workers.items():
        contestants[name] = NamedSampler(_peer_turn(worker, max(seconds, 0.5)))
    for contestant in contestants.values():
        begun = time.process_time()
        contestant.turn()
        contestant.first_seconds = time.process_time() - begun
    for _ in range(turns):
        for contestant in contestants.values():
            contestant.rates.append(contestant.turn())
    for worker in workers.values():
        worker.close()
    return {
        name: {"best": found.best, "first_call_seconds": found.first_seconds, "all": found.rates}
        for name, found in contestants.items()
    }


def ours(workload: Workload, seconds: float) -> dict[str, NamedSampler]:
    """Both scans, as a run advances them."""
    return {f"orbitmc {scan}": NamedSampler(_our_turn(workload, scan, seconds)) for scan in SCANS}


def _our_turn(workload: Workload, scan: str, seconds: float) -> Callable[[], float]:
    graph = workload.model.graph
    prepared = prepare(graph)
    kernel = SCANS[scan]()
    pack = start_pack(prepared, kernel, seed=1, number=0, lanes=LANES)
    spacing = SWEEPS_PER_SAMPLE * graph.variables
    recorded = 0

    def record(samples: int) -> float:
        nonlocal recorded
        advance(prepared, kernel, pack, recorded=recorded, samples=samples, spacing=spacing)
        recorded += samples
        return samples * spacing * LANES

    return _timed(record, seconds)


def in_c(workload: Workload, seconds: float) -> dict[str, NamedSampler]:
    """The yardstick, where there is a C compiler and a loop for this kind of model."""
    library = compiled_yardstick()
    if library is None:
        return {}
    stick = Yardstick(library, workload.model.graph)
    loops = {"C": stick.loops()[:1], "C by hand (AVX2)": stick.loops()[1:]}
    found = {}
    for scan in SCANS:
        for name, loop in loops.items():
            if loop:
                run = _c_run(stick, loop[0], systematic=scan == "systematic")
                found[f"{name} {scan}"] = NamedSampler(_timed(run, seconds))
    found["random numbers alone"] = NamedSampler(
        _timed(lambda samples: stick.random_numbers(100 * samples), seconds)
    )
    return found


def _c_run(stick: Yardstick, loop: str, *, systematic: bool) -> Callable[[int], float]:
    return lambda samples: stick.run(loop, samples, SWEEPS_PER_SAMPLE, systematic=systematic)


def _timed(run: Callable[[int], float], seconds: float) -> Callable[[], float]:
    """A turn of about that many seconds: the first one finds out how much fits into it."""
    samples = 0

    def turn() -> float:
        nonlocal samples
        if not samples:
            run(1)
            each = 1.0 / rate(lambda: run(1) and 1.0)
            samples = max(1, int(seconds / each))
        return rate(lambda: run(samples))

    return turn


def _peer_turn(worker: peers.Worker, seconds: float) -> Callable[[], float]:
    def turn() -> float:
        try:
            answer = worker.turn(seconds, seed=len(worker.peer.name))
        except peers.MissingPeerError:
            return 0.0
        return float(answer["updates"] / answer["cpu_seconds"])

    return turn


def show(results: dict[str, Any]) -> None:
    """Print million updates a second, and how we compare."""
    names = ["orbitmc random", "orbitmc systematic", "C random", "C by hand (AVX2) random"]
    names += ["random numbers alone", *(peer.name for peer in PEERS)]
    rows = [
        [name, *(_millions(found, column) for column in names)] for name, found in results.items()
    ]
    print_table(
        "Gibbs, million updates per CPU second, statistics included", ["model", *names], rows
    )
    against = ["C", "C by hand (AVX2)"]
    columns = [f"{scan} ÷ {rival}" for rival in against for scan in SCANS]
    rows = [
        [name, *_against_c(found, against), *_against_peers(found)]
        for name, found in results.items()
    ]
    print_table("Ours as a multiple", ["model", *columns, "÷ thrml", "÷ best peer"], rows)


def _against_c(found: dict[str, Any], against: list[str]) -> list[float | None]:
    return [
        ratio(_millions(found, f"orbitmc {scan}"), _millions(found, f"{rival} {scan}"))
        for rival in against
        for scan in SCANS
    ]


def _against_peers(found: dict[str, Any]) -> list[float | None]:
    best_peer = max((_millions(found, peer.name) or 0.0 for peer in PEERS), default=0.0)
    own = _millions(found, "orbitmc random")
    return [ratio(own, _millions(found, peers.THRML.name)), ratio(own, best_peer)]


def _millions(found: dict[str, Any], name: str) -> float | None:
    return found[name]["best"] / MILLION if name in found and found[name]["best"] else None


if __name__ == "__main__":
    main()
