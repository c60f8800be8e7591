"""How many best states of UAI 2014 models are proven in some seconds, and by which way?

- elimination: whatever it predicts to cost, stopped after the seconds.
- search: chains and exact steps; its bound moves weight between tables, then maximises buckets.
- buckets: the best state that any way has found, beside the bound of buckets alone.
- toulbar2: branch and bound, where it is installed.

A gap is by how many nats the bound is above the best state that the same way has found.
"""

import math
import time
from pathlib import Path
from typing import Any

import measuring
from questions_uai import problem
from workloads import DATA

import orbitmc as om
from orbitmc.errors import LimitError
from orbitmc.exact import toulbar2
from orbitmc.exact.map import upper_bound
from orbitmc.exact.problem import prepare
from orbitmc.graph.hardening import harden

FOLDERS = ("uai2014-mar", "uai2014-relational")
WAYS = ("elimination", "search", "buckets", "toulbar2")
SURE = 1e-9


def main() -> None:
    parser = measuring.argument_parser(__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=DATA, help="the folder of the folders")
    parser.add_argument("--seconds", type=float, default=20.0, help="for each way and model")
    options = parser.parse_args()
    if options.quick:
        options.seconds = 1.0
    results = dict(_measure_all(options))
    columns = ["model", "variables", "log weight", *WAYS, *(f"gap, {way}" for way in WAYS)]
    rows = [[name, *(one.get(column) for column in columns[1:])] for name, one in results.items()]
    measuring.print_table(f"Proven in {options.seconds:g} s", columns, rows)
    counts = {way: sum(one.get(way) == "yes" for one in results.values()) for way in WAYS}
    print(f"proven of {len(results)}: {counts}")
    about = {"quick": options.quick, "only": options.only, "repetitions": 1}
    measuring.write_results(options.results, "map_proofs", {**results, "proven": counts}, **about)


def _measure_all(options: Any) -> Any:
    for folder in FOLDERS:
        place = options.data / folder
        names = sorted({path.name.split(".")[0] for path in place.glob("*.uai*")})
        chosen = [name for name in names if not options.only or name in options.only]
        for name in chosen[:1] if options.quick else chosen:
            yield name, measure(problem(place, name), options.seconds)
            print(name, flush=True)


def measure(model: om.Model, seconds: float) -> dict[str, Any]:
    """What each way says of a model."""
    answers = {
        "elimination": _ask(model, "exact", seconds),
        "search": _ask(model, "gibbs", seconds),
    }
    if toulbar2.is_installed():
        answers["toulbar2"] = _ask(model, "toulbar2", seconds)
    record: dict[str, Any] = {"variables": len(model.names)}
    best = max(
        (one[0].log_weight for one in answers.values() if one is not None), default=-math.inf
    )
    record["log weight"] = best
    for way, answer in answers.items():
        record[way] = "yes" if answer is not None and answer.proven else "no"
        record[f"gap, {way}"] = None if answer is None else answer.bound - answer[0].log_weight
    bound = _bound_by_buckets(model, seconds)
    record["buckets"] = "yes" if best >= bound - SURE * max(1.0, abs(bound)) else "no"
    record["gap, buckets"] = bound - best
    return record


def _ask(model: om.Model, method: Any, seconds: float) -> om.BestStates | None:
    try:
        return om.best(model, method=method, seconds=seconds)
    except LimitError:
        return None


def _bound_by_buckets(model: om.Model, seconds: float) -> float:
    end = time.perf_counter() + seconds / 2
    return upper_bound(
        prepare(harden(model).model.graph), is_over=lambda: time.perf_counter() > end
    )


if __name__ == "__main__":
    main()
