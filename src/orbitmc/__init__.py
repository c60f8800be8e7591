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
        interop,
        kernels,
        mln,
        models,
        sampling,
        symmetry,
        tuning,
    )
    from orbitmc.ask.marginals import marginals
    from orbitmc.ask.programs import MarkovLogic, read_logic
    from orbitmc.ask.questions.best import best
    from orbitmc.ask.questions.drawing import draws
    from orbitmc.ask.questions.event import probability
    from orbitmc.ask.questions.expectation import expect
    from orbitmc.ask.questions.information import information
    from orbitmc.ask.questions.joint import joint
    from orbitmc.ask.questions.log_z import log_z
    from orbitmc.ask.questions.predict import predict
    from orbitmc.ask.questions.sweep import sweep
    from orbitmc.ask.reading import read
    from orbitmc.ask.resuming import resume
    from orbitmc.ask.settings import Settings
    from orbitmc.errors import ContradictionError, InputError, LimitError, OrbitError
    from orbitmc.estimate.answers import BestState, BestStates, Draws, Estimate, Estimates, Joint
    from orbitmc.estimate.marginals import Marginal, Marginals
    from orbitmc.formats.registry import write
    from orbitmc.graph.model import Model, model
    from orbitmc.interop.dimod import from_dimod, to_dimod
    from orbitmc.interop.networkx import from_networkx
    from orbitmc.interop.pgmpy import from_pgmpy
    from orbitmc.interop.pyagrum import from_pyagrum
    from orbitmc.models._chimera import chimera, random_chimera, read_chimera
    from orbitmc.models._ising import ising, ising_grid, potts_grid
    from orbitmc.report.inspection import Overview, overview
    from orbitmc.sampling.run import Run
    from orbitmc.sampling.sampler import sample
    from orbitmc.sampling.schedule import Schedule

_ROOMS = (
    "ask",
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
    "MarkovLogic": "ask.programs",
    "Model": "graph.model",
    "OrbitError": "errors",
    "Overview": "report.inspection",
    "Run": "sampling.run",
    "Schedule": "sampling.schedule",
    "Settings": "ask.settings",
    "best": "ask.questions.best",
    "chimera": "models._chimera",
    "draws": "ask.questions.drawing",
    "expect": "ask.questions.expectation",
    "from_dimod": "interop.dimod",
    "from_networkx": "interop.networkx",
    "from_pgmpy": "interop.pgmpy",
    "from_pyagrum": "interop.pyagrum",
    "information": "ask.questions.information",
    "ising": "models._ising",
    "ising_grid": "models._ising",
    "joint": "ask.questions.joint",
    "log_z": "ask.questions.log_z",
    "sweep": "ask.questions.sweep",
    "marginals": "ask.marginals",
    "model": "graph.model",
    "overview": "report.inspection",
    "potts_grid": "models._ising",
    "predict": "ask.questions.predict",
    "probability": "ask.questions.event",
    "random_chimera": "models._chimera",
    "read": "ask.reading",
    "read_chimera": "models._chimera",
    "read_logic": "ask.programs",
    "resume": "ask.resuming",
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
    "ask",
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
