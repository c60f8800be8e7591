"""Models on which estimators are compared: some that mix well, some that do not."""

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from workloads import DATA, INSURANCE_EVIDENCE

import orbitmc
from orbitmc import Model
from orbitmc.models._ising import grid_edges

FIELDS, SIDE = 0.2, 18
ALARM_EVIDENCE = {"HRBP": "HIGH", "PRESS": "HIGH"}
UAI = ("Alchemy_11", "DBN_13", "Grids_15", "Promedus_11", "Segmentation_15")
CACHE = Path(tempfile.gettempdir()) / "orbitmc-webkb-weights"


def variance_models(*, quick: bool) -> dict[str, Callable[[], Model]]:
    """All models by name; shared data only where they are at hand."""
    side = 5 if quick else SIDE
    made: dict[str, Callable[[], Model]] = {
        **{f"Ising J={j}": lambda j=j: with_fields(side, j) for j in (0.2, 0.3, 0.4)},
        "Ising critical": lambda: orbitmc.ising_grid(side, side, 0.4407, 0.005),
        "Potts": lambda: potts(min(side, 8)),
        **{f"glass {j}": lambda j=j: glass(side, j) for j in (0.5, 1.0)},
    }
    return made if quick or not DATA.exists() else {**made, **of_shared_data()}


def of_shared_data() -> dict[str, Callable[[], Model]]:
    bif, uai = DATA / "bn-bif", DATA / "uai2014-mar"
    return {
        "alarm": lambda: orbitmc.read(bif / "alarm.bif").given(ALARM_EVIDENCE),
        "insurance": lambda: orbitmc.read(bif / "insurance.bif").given(INSURANCE_EVIDENCE),
        **{name: lambda name=name: orbitmc.read(uai / f"{name}.uai") for name in UAI},
        **{
            f"WebKB {name}": lambda name=name: webkb(name)
            for name in ("Cornell", "Texas", "Washington", "Wisconsin")
        },
    }


def with_fields(side: int, coupling: float) -> Model:
    fields = np.random.default_rng(3).uniform(-FIELDS, FIELDS, (side, side))
    return orbitmc.ising_grid(side, side, coupling, fields)


def glass(side: int, coupling: float) -> Model:
    rng = np.random.default_rng(4)
    couplings = rng.choice([-coupling, coupling], len(grid_edges(side, side)))
    fields = rng.uniform(-FIELDS, FIELDS, (side, side))
    return orbitmc.ising_grid(side, side, couplings, fields)


def potts(side: int) -> Model:
    fields = np.random.default_rng(5).uniform(-0.5, 0.5, (side, side, 3))
    return orbitmc.potts_grid(side, side, 3, 0.4, fields)


def webkb(name: str) -> Model:
    """A university, with weights learned on the others."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "experiments"))
    from webkb_data import learned_model, universities

    folds, _ = universities(DATA / "webkb", quick=False)
    return learned_model(folds, name, CACHE)
