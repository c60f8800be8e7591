"""Is what can be known exactly known exactly, beside what is sampled?

Components of three variables stand beside a lattice that is too wide to be eliminated. `auto`
should give the components exactly and sample the lattice as well as if it stood alone; Gibbs on
everything is measured beside it. Then one variable of a random Bayesian network with five findings
is asked for: most other variables do not matter. The truth of a component is the sum over its
eight states.

Last, sparse random Markov networks that `auto` does not eliminate in the time there is: most of
their variables are summed out given a core. Squared errors times CPU seconds are compared with the
same chains on all variables; the truth is elimination that may take as long as it wants.
"""

import itertools
import time
from collections import Counter
from typing import Any
from unittest.mock import patch

import measuring
import numpy as np
from odd_models import beside_a_grid, model_of, network

import orbitmc as om
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.fringe import eliminate_fringe
from orbitmc.graph.model import Model
from orbitmc.inference import plan
from orbitmc.inference.plan import find_fringe
from orbitmc.inference.settings import Settings

SECONDS = 10.0
COMPONENTS = {"1,000 beside 60 x 60": (1_000, 60), "20,000 beside 60 x 60": (20_000, 60)}
QUICK = {"20 beside 30 x 30": (20, 30)}
NETWORKS = {"network of 3,000": 3_000, "network of 50,000": 50_000}
QUICK_NETWORKS = {"network of 300": 300}
FINDINGS, NETWORK_SECONDS = 5, 2.0
SPARSE = [(500, 0.5, 1), (500, 0.5, 3), (500, 1.0, 1), (500, 1.0, 3)]  # width 27 and more
QUICK_SPARSE = [(120, 0.5, 0)]
DEGREE, SPARSE_SECONDS, SEEDS = 2.2, 4.0, 5
ROUNDING = 1e-15  # the error of an exact answer: what is quick may be eliminated


def main() -> None:
    asked = measuring.argument_parser(__doc__.splitlines()[0]).parse_args()
    measuring.use_one_core()
    seconds = 0.5 if asked.quick else SECONDS
    results: dict[str, Any] = {}
    rows = []
    for name, (components, side) in (QUICK if asked.quick else COMPONENTS).items():
        model = beside_a_grid(np.random.default_rng(1), components, side)
        om.marginals(model, seconds=0.1, method="gibbs")  # loads machine code
        truth = component_truth(model, components)
        for method in ("auto", "gibbs"):
            results[f"{name}, {method}"] = found = measure(model, truth, method, seconds)
            rows.append([f"{name}, {method}", *found.values()])
    columns = ["model and method", "CPU s", "s", "exact", "good or fair", "others", "largest error"]
    measuring.print_table(f"Components beside a lattice, {seconds:g} s", columns, rows)
    for name, count in (QUICK_NETWORKS if asked.quick else NETWORKS).items():
        results[name] = found = ask_network(count)
        print(f"{name}, {NETWORK_SECONDS:g} s: {found}")
    rows = []
    for variables, strength, number in QUICK_SPARSE if asked.quick else SPARSE:
        name = f"{variables} variables, strength {strength}, number {number}"
        sparse = sparse_network(variables, strength, number)
        compared = compare_core(sparse, 0.3 if asked.quick else SPARSE_SECONDS)
        results[f"sparse, {name}"] = compared
        rows.append([name, *compared.values()])
    columns = ["network", "core", "error", "all sampled", "times less error² CPU", "scores"]
    measuring.print_table("Sparse networks of degree 2.2, medians of five runs", columns, rows)
    measuring.write_results(
        asked.results, "mixed", results, quick=asked.quick, seconds=seconds, repetitions=SEEDS
    )


def component_truth(model: Model, components: int) -> np.ndarray:
    """How probable value 1 is in each component's variables, by all of its states."""
    graph = model.graph
    states = np.array(list(itertools.product((0, 1), repeat=3)))
    tables = [np.exp(graph.table_values(factor)) for factor in range(2 * components)]
    first, second = np.array(tables[::2]), np.array(tables[1::2])
    weights = first[:, states[:, 0], states[:, 1]] * second[:, states[:, 1], states[:, 2]]
    return ((weights @ states) / weights.sum(axis=1, keepdims=True)).reshape(-1)


def measure(model: Model, truth: np.ndarray, method: str, seconds: float) -> dict[str, Any]:
    cpu, clock = time.process_time(), time.perf_counter()
    answer = om.marginals(model, method=method, seconds=seconds, seed=1)
    cpu, clock = time.process_time() - cpu, time.perf_counter() - clock
    verdicts = Counter(answer.verdicts())
    believed = verdicts["good"] + verdicts["fair"]
    names = model.names[: len(truth)]
    estimates = np.array([answer[name].probability[1] for name in names])
    return {
        "cpu": cpu,
        "seconds": clock,
        "exact": verdicts["exact"],
        "believed": believed,
        "others": sum(verdicts.values()) - believed - verdicts["exact"],
        "error": float(np.abs(estimates - truth).max()),
    }


def ask_network(count: int) -> dict[str, Any]:
    """Ask for one variable of a random network; the second time machine code is there."""
    model = model_of([2] * count, network(np.random.default_rng(count), count))
    rng = np.random.default_rng(5)
    seen = {model.names[k]: "1" for k in rng.choice(count, FINDINGS, replace=False)}
    asked = next(name for name in reversed(model.names) if name not in seen)
    for _ in range(2):
        cpu = time.process_time()
        answer = om.marginals(model, seen, query=[asked], seconds=NETWORK_SECONDS)
        cpu = time.process_time() - cpu
    return {"cpu": cpu, "verdict": answer[asked].verdict, "why": answer.about.reason}


def sparse_network(variables: int, strength: float, number: int) -> Model:
    """Couplings of random strength between random pairs, and weak fields."""
    rng = np.random.default_rng(number)
    pairs: set[tuple[int, int]] = set()
    while len(pairs) < int(variables * DEGREE / 2):
        first, second = sorted(rng.choice(variables, 2, replace=False).tolist())
        pairs.add((first, second))
    tables: list[Any] = []
    for pair in sorted(pairs):
        coupling = rng.normal(0.0, strength)
        tables.append((pair, np.exp([[coupling, -coupling], [-coupling, coupling]])))
    fields = rng.normal(0.0, 0.2, variables)
    tables += [((k,), np.exp([field, -field])) for k, field in enumerate(fields.tolist())]
    return model_of([2] * variables, tables)


def compare_core(model: Model, seconds: float) -> dict[str, Any]:
    """Squared errors times CPU seconds with a fringe that is summed out, and without one."""
    exact = om.marginals(model, method="exact")
    truth = np.array([marginal.probability[1] for marginal in exact.values()])
    fringe = eliminate_fringe(model.graph)
    runs: dict[str, list[tuple[float, float, float]]] = {"core": [], "all": []}
    for seed in range(-1, SEEDS):  # the first one loads machine code
        for way, found in runs.items():
            with patch.object(plan, "find_fringe", find_fringe if way == "core" else no_fringe):
                found.append(measure_sparse(model, truth, seconds, max(seed, 0)))
    core, whole = (np.array(found[1:]) for found in runs.values())
    return {
        "core": fringe.core.variables,
        "error": float(np.sqrt(np.median(core[:, 0]))),
        "error of all": float(np.sqrt(np.median(whole[:, 0]))),
        "gain": float(np.median(whole[:, 0] * whole[:, 1] / (core[:, 0] * core[:, 1]))),
        "scores": float(np.sqrt(np.median(core[:, 2]))),
    }


def no_fringe(graph: FactorGraph, settings: Settings) -> None:
    """Let chains sample all variables."""


def measure_sparse(
    model: Model, truth: np.ndarray, seconds: float, seed: int
) -> tuple[float, float, float]:
    """Mean squared error, CPU seconds, and the mean square of scores."""
    cpu = time.process_time()
    answer = om.marginals(model, seconds=seconds, seed=seed)
    cpu = time.process_time() - cpu
    estimates = np.array([marginal.probability[1] for marginal in answer.values()])
    errors = np.array([marginal.standard_error[1] for marginal in answer.values()])
    sampled = errors > 0
    scores = (estimates - truth)[sampled] / errors[sampled] if sampled.any() else np.zeros(1)
    error = max(float(((estimates - truth) ** 2).mean()), ROUNDING**2)
    return error, cpu, float((scores**2).mean())


if __name__ == "__main__":
    main()
