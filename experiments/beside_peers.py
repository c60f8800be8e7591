"""Peers on the same axes: KL against wall time on Ising, Chimera, BIF and UAI models.

D-Wave's sampler and THRML on spins, aGrUM on Bayesian networks (and on Markov networks, told as
Bayesian ones), each from its own environment (`python benchmarks/peers.py` makes it); missing ones
are said to be so. Everybody has one core and warm code. A peer starts anew for each point,
uses a fifth of the time to warm up, and gets half a count added to each value. The column of
iterations numbers the points of peers. Where exact inference is affordable, the title says in how
many seconds: there, `auto` does that and nothing else.
"""

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from figure import Asked, arguments, figure_files, finish, measure, note
from ising import field_grid
from ising import truth_for as ising_truth
from samplers import tuned_lmh

import orbitmc as om
from orbitmc.compare import (
    ErrorCurve,
    FigureFiles,
    Point,
    Reference,
    Sampler,
    by_method,
    divergence,
    read_evidence,
    reference_of,
)

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))

import peers
from measuring import use_one_core

POINTS = 6  # of each peer, at most; the time doubles from one to the next
BRIEFLY = 1e-3  # seconds
MOST_FACTORS = 400  # told to aGrUM: its turns take seconds even then
INSURANCE = {"Accident": "Moderate", "Age": "Adult", "GoodStudent": "False"}
KINDS, QUICK = ("ising", "chimera", "bif", "uai"), ("ising", "bif")
ON_SPINS = (peers.DWAVE, peers.THRML)
ON_NETWORKS = (peers.PYAGRUM_GIBBS, peers.PYAGRUM_IMPORTANCE, peers.PYAGRUM_WEIGHTED)
ON_FACTORS = (peers.PYAGRUM_FACTORS,)


@dataclass(frozen=True)
class Panel:
    """A model, its truth, and the same model in words that peers understand."""

    name: str
    model: om.Model
    truth: Reference
    told: tuple[tuple[tuple[peers.Peer, ...], Mapping[str, Any]], ...]


@dataclass(frozen=True)
class Outsider:
    """A peer in a figure: what is prepared is not charged for, as compiling is not."""

    name: str
    about: str
    seconds: float = 0.0


def panels(asked: Asked) -> Iterator[Callable[[], Panel]]:
    """All panels that are asked for and whose data are there; each is made when it is called."""
    wanted = asked.only or (QUICK if asked.quick else KINDS)
    if "ising" in wanted:
        side = 12 if asked.quick else 100
        for coupling, field in ((0.2, 0.2), (0.4407, 0.05))[: 1 if asked.quick else None]:
            yield lambda coupling=coupling, field=field: ising_panel(side, coupling, field, asked)
    if "chimera" in wanted:
        cells = 2 if asked.quick else 4
        for beta in (0.5,) if asked.quick else (0.5, 1.0):
            yield lambda beta=beta: chimera_panel(cells, beta, asked)
    if "bif" in wanted:
        known = {"alarm": {}, "insurance": INSURANCE, "win95pts": {}}
        for name in ("alarm",) if asked.quick else known:
            path = asked.data / "bn-bif" / f"{name}.bif"
            if path.exists():
                yield lambda path=path, name=name: network_panel(path, known[name], asked)
    if "uai" in wanted:
        for name in ("Grids_12",) if asked.quick else ("Grids_12", "Segmentation_11"):
            path = asked.data / "uai2014-mar" / f"{name}.uai"
            if path.exists():
                yield lambda path=path: factors_panel(path, asked)


def ising_panel(side: int, coupling: float, field: float, asked: Asked) -> Panel:
    model = field_grid(side, coupling, field)
    truth = ising_truth(model, coupling, asked)
    name = f"Ising {side}x{side}, J = {coupling:g}, h = {field:g}"
    return Panel(name, model, truth, ((ON_SPINS, spins_of(model)),))


def chimera_panel(cells: int, beta: float, asked: Asked) -> Panel:
    model = om.random_chimera(cells, cells, beta=beta, field=0.5, seed=1)
    truth = reference_of(model, seconds=asked.truth_seconds)
    name = f"Chimera {cells}x{cells}x8, β = {beta:g}, fields"
    return Panel(name, model, truth, ((ON_SPINS, spins_of(model)),))


def network_panel(path: Path, evidence: dict[str, str], asked: Asked) -> Panel:
    model = om.read(path).given(evidence)
    told = {"kind": "network", "path": str(path), "evidence": evidence}
    truth = reference_of(model, seconds=asked.truth_seconds)
    seen = f", {len(evidence)} observed" if evidence else ""
    return Panel(f"{path.stem}{seen}", model, truth, ((ON_NETWORKS, told),))


def factors_panel(path: Path, asked: Asked) -> Panel:
    whole = om.read(path)
    model = whole.given(read_evidence(path.with_name(f"{path.name}.evid"), whole))
    truth = reference_of(model, seconds=asked.truth_seconds)
    told = [(ON_SPINS, spins_of(model))]
    if model.graph.factors <= MOST_FACTORS:
        told.append((ON_FACTORS, factors_of(model)))
    else:
        note(f"{path.stem}: not told to aGrUM, for which {model.graph.factors} factors are many")
    return Panel(path.stem, model, truth, tuple(told))


def spins_of(model: om.Model) -> dict[str, Any]:
    """A binary pairwise model as fields and couplings of spins."""
    graph = model.graph
    fields = np.zeros(graph.variables)
    couplings: dict[tuple[int, int], float] = {}
    for factor in range(graph.factors):
        scope = [int(variable) for variable in graph.scope_of(factor)]
        table = np.asarray(graph.table_values(factor)).reshape((2,) * len(scope))
        for axis, variable in enumerate(scope):
            down, up = np.moveaxis(table, axis, 0)
            fields[variable] += float(np.mean(up - down)) / 2
        if len(scope) == 2:
            edge = min(scope), max(scope)
            pull = (table[0, 0] + table[1, 1] - table[0, 1] - table[1, 0]) / 4
            couplings[edge] = couplings.get(edge, 0.0) + float(pull)
    return {
        "kind": "spins",
        "fields": fields.tolist(),
        "edges": [list(edge) for edge in couplings],
        "couplings": list(couplings.values()),
    }


def factors_of(model: om.Model) -> dict[str, Any]:
    graph = model.graph
    scopes = [graph.scope_of(factor).tolist() for factor in range(graph.factors)]
    tables = [
        np.asarray(graph.table_values(factor)).ravel().tolist() for factor in range(graph.factors)
    ]
    cardinality = graph.cardinality.tolist()
    return {"kind": "factors", "cardinality": cardinality, "scopes": scopes, "tables": tables}


def measure_peers(kept: FigureFiles, panel: Panel, title: str, asked: Asked) -> None:
    """Let every peer that is there run for several times, with all seeds."""
    for wanted, told in panel.told:
        for name, worker in peers.start(wanted, dict(told)).items():
            about = f"{worker.about['package']} {worker.about['version']}"
            worker.turn(BRIEFLY, seed=0)  # compiles
            least = worker.turn(BRIEFLY, seed=0)["seconds"]
            for seed in asked.seeds:
                points = tuple(peer_points(worker, panel, name, seed, times(asked.seconds, least)))
                kept.add(title, Outsider(name, about), ErrorCurve(points, {}), panel.truth)
            worker.close()
            note(f"{panel.name}: {name} measured ({about})")
        missing = [peer.name for peer in wanted if peer.name not in kept.panels[title]["methods"]]
        if missing:
            note(f"{panel.name}: missing: {', '.join(missing)}")


def times(seconds: float, least: float) -> list[float]:
    """Times to ask for, the last being `seconds`; none is shorter than a turn must be, but it."""
    asked = [seconds / 2**halved for halved in range(POINTS)]
    return [time for time in reversed(asked) if time >= min(least, seconds)]


def peer_points(
    worker: peers.Worker, panel: Panel, name: str, seed: int, asked: Sequence[float]
) -> Iterator[Point]:
    start = np.concatenate([[0], np.cumsum(panel.model.graph.cardinality)])
    for number, seconds in enumerate(asked, start=1):
        found = worker.turn(seconds, seed=seed, marginals=True)
        estimate = np.concatenate(in_our_order(found["marginals"], panel.model))
        error = divergence(panel.truth.probability, estimate, start)
        yield Point(name, "values", seed, number, found["updates"], found["seconds"], error)


def in_our_order(found: Any, model: om.Model) -> list[list[float]]:
    """Marginals by name and label, in the order of the model's own."""
    if isinstance(found, list):
        return found
    names, labels, marginals = model.names, found["labels"], found["marginals"]
    if "v0" in marginals and "v0" not in names:
        return [marginals[f"v{number}"] for number in range(len(names))]
    return [
        [marginals[name][labels[name].index(value)] for value in values]
        for name, values in zip(names, model.values, strict=True)
    ]


def title_of(panel: Panel) -> str:
    """The name, and how long exact inference takes where it is affordable."""
    if panel.truth.how != "exact":
        return panel.name
    om.marginals(panel.model, method="exact")
    begun = time.perf_counter()
    om.marginals(panel.model, method="exact")
    return f"{panel.name} (exact in {time.perf_counter() - begun:.1g} s)"


def main() -> None:
    asked = arguments(__doc__, seconds=1.6, quick_seconds=0.1, data="")
    use_one_core()
    kept = figure_files(asked, "peers")
    for make in panels(asked):
        try:
            panel = make()
        except om.LimitError as error:
            note(f"left out; {error}")
            continue
        title = title_of(panel)
        gibbs = by_method(panel.model, "gibbs", seconds=asked.seconds)
        samplers = [
            Sampler("Gibbs", panel.model, gibbs.make),
            tuned_lmh(panel.model, asked.seconds),
        ]
        measure(kept, title, samplers, panel.truth, asked)
        measure_peers(kept, panel, title, asked)
        finish(kept, "Error against wall time, one core", asked, more={}, axes=("seconds",))


if __name__ == "__main__":
    main()
