"""The models that benchmarks measure on; every one is the same in every run."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import orbitmc
from orbitmc.models._chimera import chimera_edges
from orbitmc.models._ising import grid_edges

DATA = Path(__file__).parents[2] / "shared" / "data"
"""Shared data sets, where they are at hand."""


@dataclass(frozen=True)
class Workload:
    """A model, and the same model in words that peers understand (none if there are none)."""

    name: str
    model: orbitmc.Model
    spins: dict[str, Any] | None = None
    network: dict[str, Any] | None = None
    evidence: dict[str, str] = field(default_factory=dict)

    def for_peers(self) -> dict[str, Any] | None:
        return self.spins or self.network


def ising_grid(name: str, side: int, coupling: float) -> Workload:
    """A grid with a different field on every spin."""
    fields = np.random.default_rng(side).uniform(-0.5, 0.5, (side, side))
    model = orbitmc.ising_grid(side, side, coupling, fields)
    edges = grid_edges(side, side)
    return Workload(name, model, spins=_spins(fields, edges, np.full(len(edges), coupling)))


def chimera(name: str, cells: int) -> Workload:
    """Couplings of -1 and +1 and random fields, at inverse temperature 1."""
    edges = chimera_edges(cells, cells)
    rng = np.random.default_rng(cells)
    couplings = rng.choice([-1.0, 1.0], size=len(edges))
    fields = rng.uniform(-1.0, 1.0, size=cells * cells * 8)
    model = orbitmc.chimera(cells, cells, couplings, fields)
    return Workload(name, model, spins=_spins(fields, edges, couplings))


def many_neighbours(name: str, spins: int, degree: int) -> Workload:
    """A random graph with real couplings, weak enough to stay disordered."""
    rng = np.random.default_rng(spins)
    pairs = np.sort(rng.integers(0, spins, (spins * degree // 2, 2)), axis=1)
    edges = np.unique(pairs[pairs[:, 0] != pairs[:, 1]], axis=0)
    couplings = rng.normal(0.0, 0.5 / np.sqrt(degree), len(edges))
    fields = rng.uniform(-0.5, 0.5, spins)
    return Workload(
        name, orbitmc.ising(fields, edges, couplings), spins=_spins(fields, edges, couplings)
    )


def ternary_grid(name: str, side: int) -> Workload:
    fields = np.random.default_rng(side).uniform(-0.5, 0.5, (side, side, 3))
    return Workload(name, orbitmc.potts_grid(side, side, 3, 0.5, fields))


def network(
    name: str, path: Path, evidence: dict[str, str] | None = None, *, peers: bool = True
) -> Workload | None:
    """A model of the shared data; nothing when it is not at hand."""
    if not path.exists():
        return None
    seen = evidence or {}
    told = {"kind": "network", "path": str(path), "evidence": seen} if peers else None
    return Workload(name, orbitmc.read(path).given(seen), network=told, evidence=seen)


def speed_workloads(*, quick: bool) -> dict[str, Callable[[], Workload | None]]:
    """What `gibbs_updates` measures, by name."""
    side, cells, spins = (10, 2, 100) if quick else (100, 16, 2000)
    return {
        "Ising grid": lambda: ising_grid("Ising grid", side, 0.3),
        "Chimera C4": lambda: chimera("Chimera C4", 4),
        f"Chimera C{cells}": lambda: chimera(f"Chimera C{cells}", cells),
        "45 neighbours": lambda: many_neighbours("45 neighbours", spins, 45),
        "ternary grid": lambda: ternary_grid("ternary grid", side // 2),
        "alarm": lambda: network("alarm", DATA / "bn-bif" / "alarm.bif"),
        "Promedus": lambda: network(
            "Promedus", DATA / "uai2014-mar" / "Promedus_11.uai", peers=False
        ),
    }


INSURANCE_EVIDENCE = {"Accident": "Moderate", "Age": "Adult", "GoodStudent": "False"}


def accuracy_workloads(*, quick: bool) -> dict[str, Callable[[], Workload | None]]:
    """What `accuracy` measures, by name."""
    side, large, cells = (4, 5, 2) if quick else (12, 30, 4)
    bif = DATA / "bn-bif"
    return {
        f"Ising {side}x{side} J=0.3": lambda: ising_grid("warm", side, 0.3),
        f"Ising {side}x{side} J=0.44": lambda: ising_grid("critical", side, 0.44),
        f"Chimera C{cells}": lambda: chimera("Chimera", cells),
        "win95pts": lambda: network("win95pts", bif / "win95pts.bif"),
        "alarm": lambda: network("alarm", bif / "alarm.bif"),
        "insurance": lambda: network("insurance", bif / "insurance.bif", INSURANCE_EVIDENCE),
        f"Ising {large}x{large} J=0.44": lambda: ising_grid("large", large, 0.44),
    }


def _spins(fields: Any, edges: Any, couplings: Any) -> dict[str, Any]:
    return {
        "kind": "spins",
        "fields": np.asarray(fields).reshape(-1).tolist(),
        "edges": np.asarray(edges).tolist(),
        "couplings": np.asarray(couplings).tolist(),
    }
