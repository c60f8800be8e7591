"""Marginals of discrete graphical models by Lifted Metropolis-Hastings, with error bars.

Names are loaded when they are first used, so importing the package costs nothing.
"""

import importlib
from typing import TYPE_CHECKING, Any

from orbitmc._util.loading import renderer
from orbitmc.version import __version__

if TYPE_CHECKING:
    from orbitmc import (
        compare,
        estimate,
        exact,
        formats,
        graph,
        groups,
        inference,
        interop,
        kernels,
        mln,
        models,
        sampling,
        symmetry,
        tuning,
    )
    from orbitmc.errors import ContradictionError, InputError, LimitError, OrbitError
    from orbitmc.estimate.answers import BestState, BestStates, Draws, Estimate, Estimates, Joint
    from orbitmc.estimate.marginals import Marginal, Marginals
    from orbitmc.formats.registry import write
    from orbitmc.graph.model import Model, model
    from orbitmc.inference._best import best
    from orbitmc.inference._draws import draws
    from orbitmc.inference._information import information
    from orbitmc.inference._joint import joint
    from orbitmc.inference._log_z import log_z
    from orbitmc.inference._marginals import marginals
    from orbitmc.inference._predict import predict
    from orbitmc.inference._probability import probability
    from orbitmc.inference._resume import resume
    from orbitmc.inference._sweep import sweep
    from orbitmc.inference.expectation import expect
    from orbitmc.inference.overview import Overview, overview
    from orbitmc.inference.program import MarkovLogic, read_logic
    from orbitmc.inference.reading import read
    from orbitmc.inference.settings import Settings
    from orbitmc.interop.dimod import from_dimod, to_dimod
    from orbitmc.interop.networkx import from_networkx
    from orbitmc.interop.pgmpy import from_pgmpy
    from orbitmc.interop.pyagrum import from_pyagrum
    from orbitmc.models._chimera import chimera, random_chimera, read_chimera
    from orbitmc.models._ising import ising, ising_grid, potts_grid
    from orbitmc.sampling.run import Run
    from orbitmc.sampling.sampler import sample
    from orbitmc.sampling.schedule import Schedule

_ROOMS = (
    "inference",
    "compare",
    "estimate",
    "exact",
    "formats",
    "graph",
    "groups",
    "interop",
    "kernels",
    "mln",
    "models",
    "sampling",
    "symmetry",
    "tuning",
)

_HOMES = {
    "BestState": "estimate.answers",
    "BestStates": "estimate.answers",
    "ContradictionError": "errors",
    "Draws": "estimate.answers",
    "Estimate": "estimate.answers",
    "Estimates": "estimate.answers",
    "InputError": "errors",
    "Joint": "estimate.answers",
    "LimitError": "errors",
    "Marginal": "estimate.marginals",
    "Marginals": "estimate.marginals",
    "MarkovLogic": "inference.program",
    "Model": "graph.model",
    "OrbitError": "errors",
    "Overview": "inference.overview",
    "Run": "sampling.run",
    "Schedule": "sampling.schedule",
    "Settings": "inference.settings",
    "best": "inference._best",
    "chimera": "models._chimera",
    "draws": "inference._draws",
    "expect": "inference.expectation",
    "from_dimod": "interop.dimod",
    "from_networkx": "interop.networkx",
    "from_pgmpy": "interop.pgmpy",
    "from_pyagrum": "interop.pyagrum",
    "information": "inference._information",
    "ising": "models._ising",
    "ising_grid": "models._ising",
    "joint": "inference._joint",
    "log_z": "inference._log_z",
    "sweep": "inference._sweep",
    "marginals": "inference._marginals",
    "model": "graph.model",
    "overview": "inference.overview",
    "potts_grid": "models._ising",
    "predict": "inference._predict",
    "probability": "inference._probability",
    "random_chimera": "models._chimera",
    "read": "inference.reading",
    "read_chimera": "models._chimera",
    "read_logic": "inference.program",
    "resume": "inference._resume",
    "sample": "sampling.sampler",
    "to_dimod": "interop.dimod",
    "write": "formats.registry",
}

__all__ = [
    "BestState",
    "BestStates",
    "ContradictionError",
    "Draws",
    "Estimate",
    "Estimates",
    "InputError",
    "Joint",
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
    "best",
    "chimera",
    "compare",
    "draws",
    "estimate",
    "exact",
    "expect",
    "formats",
    "from_dimod",
    "from_networkx",
    "from_pgmpy",
    "from_pyagrum",
    "graph",
    "groups",
    "inference",
    "information",
    "interop",
    "ising",
    "ising_grid",
    "joint",
    "kernels",
    "log_z",
    "marginals",
    "mln",
    "model",
    "models",
    "overview",
    "potts_grid",
    "predict",
    "probability",
    "random_chimera",
    "read",
    "read_chimera",
    "read_logic",
    "resume",
    "sample",
    "sampling",
    "sweep",
    "symmetry",
    "testing",
    "to_dimod",
    "tuning",
    "write",
]


renderer.load = lambda: importlib.import_module("orbitmc.report")


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
