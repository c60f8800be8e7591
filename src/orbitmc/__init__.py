"""Marginals of discrete graphical models by Lifted Metropolis-Hastings, with error bars.

Names are loaded when they are first used, so importing the package costs nothing.
"""

import importlib
from typing import TYPE_CHECKING, Any

from orbitmc.version import __version__

if TYPE_CHECKING:
    from orbitmc import (
        ask,
        compare,
        estimate,
        exact,
        formats,
        graph,
        groups,
        kernels,
        logic,
        models,
        run,
        symmetry,
        tuning,
    )
    from orbitmc.ask.marginals import marginals
    from orbitmc.ask.programs import MarkovLogic, read_logic
    from orbitmc.ask.reading import read
    from orbitmc.ask.resuming import resume
    from orbitmc.ask.settings import Settings
    from orbitmc.errors import ContradictionError, InputError, LimitError, OrbitError
    from orbitmc.estimate.columns import Marginal
    from orbitmc.estimate.marginals import Marginals
    from orbitmc.formats.registry import write
    from orbitmc.graph.model import Model, model
    from orbitmc.models.chimera_models import chimera, random_chimera, read_chimera
    from orbitmc.models.ising_models import ising, ising_grid
    from orbitmc.models.potts import potts_grid
    from orbitmc.report.inspection import Overview, overview
    from orbitmc.run.run import Run
    from orbitmc.run.sampler import sample
    from orbitmc.run.schedule import Schedule

_ROOMS = (
    "ask",
    "compare",
    "estimate",
    "exact",
    "formats",
    "graph",
    "groups",
    "kernels",
    "logic",
    "models",
    "run",
    "symmetry",
    "tuning",
)

_HOMES = {
    "ContradictionError": "errors",
    "InputError": "errors",
    "LimitError": "errors",
    "Marginal": "estimate.columns",
    "Marginals": "estimate.marginals",
    "MarkovLogic": "ask.programs",
    "Model": "graph.model",
    "OrbitError": "errors",
    "Overview": "report.inspection",
    "Run": "run.run",
    "Schedule": "run.schedule",
    "Settings": "ask.settings",
    "chimera": "models.chimera_models",
    "ising": "models.ising_models",
    "ising_grid": "models.ising_models",
    "marginals": "ask.marginals",
    "model": "graph.model",
    "overview": "report.inspection",
    "potts_grid": "models.potts",
    "random_chimera": "models.chimera_models",
    "read": "ask.reading",
    "read_chimera": "models.chimera_models",
    "read_logic": "ask.programs",
    "resume": "ask.resuming",
    "sample": "run.sampler",
    "write": "formats.registry",
}

__all__ = [
    "ContradictionError",
    "InputError",
    "LimitError",
    "Marginal",
    "Marginals",
    "MarkovLogic",
    "Model",
    "OrbitError",
    "Overview",
    "Run",
    "Schedule",
    "Settings",
    "__version__",
    "ask",
    "chimera",
    "compare",
    "estimate",
    "exact",
    "formats",
    "graph",
    "groups",
    "ising",
    "ising_grid",
    "kernels",
    "logic",
    "marginals",
    "model",
    "models",
    "overview",
    "potts_grid",
    "random_chimera",
    "read",
    "read_chimera",
    "read_logic",
    "resume",
    "run",
    "sample",
    "symmetry",
    "testing",
    "tuning",
    "write",
]


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return importlib.import_module(f"orbitmc.{name}")
    if name == "testing":
        return importlib.import_module("orbitmc.kernels.testing")
    if name not in _HOMES:
        raise AttributeError(f"module 'orbitmc' has no attribute {name!r}")
    found = getattr(importlib.import_module(f"orbitmc.{_HOMES[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
