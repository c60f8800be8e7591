"""Which state is most probable, and what is log Z? Problems of UAI 2014, as asked without settings.

- best: proven where that is affordable. Beside it a search of `--seconds` that proves nothing, and
  plain annealing that cools chains ever more slowly for as long, without any elimination.
- log_z: exact where that is affordable, and sampled for ten seconds, beside the published value.
"""

import math
import time
from pathlib import Path
from typing import Any

import measuring

import orbitmc as om
from orbitmc.formats.evidence import read_evidence
from orbitmc.sampling.initialization import TopStates, cool_states

GRIDS = tuple(f"Grids_{number}" for number in (11, 12, 15, 17))
PROMEDUS = tuple(f"Promedus_{number}" for number in (11, 13, 17, 21, 27, 33))
LINKAGE = tuple(f"linkage_{number}" for number in (11, 13, 15, 17))
PROBLEMS = (*GRIDS, *PROMEDUS, *LINKAGE, "Pedigree_11", "Pedigree_13")
SECONDS = 10.0


def chosen(options: Any, names: tuple[str, ...]) -> list[str]:
    """Problems that are there; few of them if it should be quick."""
    found = [name for name in names if any(options.data.glob(f"{name}.uai*"))]
    return found[:2] if options.quick else found


def problem(folder: Path, name: str) -> om.Model:
    """A model with its evidence."""
    plain, packed = folder / f"{name}.uai", folder / f"{name}.uai.gz"
    model = om.read(plain if plain.exists() else packed)
    return model.given(read_evidence(folder / f"{name}.uai.evid", model))


def best(options: Any) -> dict[str, Any]:
    results: dict[str, Any] = {}
    for name in chosen(options, PROBLEMS):
        model = problem(options.data, name)
        begun = time.perf_counter()
        found = om.best(model)
        taken = time.perf_counter() - begun
        longer = om.best(model, method="gibbs", seconds=options.seconds, seed=1)
        results[name] = {
            "seconds": taken,
            "log_weight": found[0].log_weight,
            "proven": found.proven,
            "bound": found.bound,
            "search": longer[0].log_weight,
            "annealing": annealed(model, options.seconds),
        }
        print(name, results[name], flush=True)
    columns = ["problem", "seconds", "log weight", "proven", "bound", "search", "annealing"]
    shown = [
        [
            n,
            one["seconds"],
            f"{one['log_weight']:.4f}",
            str(one["proven"]),
            f"{one['bound']:.4f}",
            f"{one['search']:.4f}",
            f"{one['annealing']:.4f}",
        ]
        for n, one in results.items()
    ]
    measuring.print_table("Log-weight of the most probable state", columns, shown)
    return results


def annealed(model: om.Model, seconds: float) -> float:
    """The log-weight of the best state that cooled chains find."""
    champions, begun = TopStates(model.graph, 1), time.perf_counter()
    for states in cool_states(model.graph, seed=1, lanes=64):
        champions.consider(states)
        if time.perf_counter() - begun > seconds:
            break
    return champions.ranked()[0][0] if champions.weights else -math.inf


def log_z(options: Any) -> dict[str, Any]:
    results: dict[str, Any] = {}
    for name in chosen(options, (*GRIDS, *PROMEDUS)):
        model = problem(options.data, name)
        words = (options.data / f"{name}.uai.PR").read_text().split()
        truth = float(words[1]) * math.log(10.0)
        begun = time.perf_counter()
        found = om.log_z(model)
        taken = time.perf_counter() - begun
        sampled = om.log_z(model, method="gibbs", seconds=SECONDS, seed=1)
        results[name] = {
            "published": truth,
            "seconds": taken,
            "value": found.value,
            "verdict": found.verdict,
            "sampled": sampled.value,
            "error": sampled.standard_error,
            "low": sampled.low,
            "high": sampled.high,
            "sampled verdict": sampled.verdict,
        }
        print(name, results[name], flush=True)
    columns = ["problem", "seconds", "log Z", "published", "sampled in 10 s", "±", "verdict"]
    shown = [
        [
            name,
            one["seconds"],
            f"{one['value']:.4f}",
            f"{one['published']:.4f}",
            f"{one['sampled']:.4f}",
            one["error"],
            one["sampled verdict"],
        ]
        for name, one in results.items()
    ]
    measuring.print_table("Log Z", columns, shown)
    return results
