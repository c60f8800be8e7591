"""Samplers that are compared, and what it costs to get them ready.

They are charged for all they do: finding symmetries, approximating, racing. Only compiling is free.
"""

from collections.abc import Callable
from dataclasses import dataclass

from orbitmc._numba.jit import Stopwatch
from orbitmc._util.arrays import brief
from orbitmc._util.text import MEMORY
from orbitmc.conditionals.prepared import PreparedGraph, prepare
from orbitmc.errors import InputError
from orbitmc.graph.hardening import hardened
from orbitmc.graph.model import Model
from orbitmc.inference.plan import PlannedKernel, decide, kernel_for
from orbitmc.inference.settings import METHODS, Settings
from orbitmc.kernels.protocol import Kernel


@dataclass(frozen=True)
class Sampler:
    """A sampler: its name, and how its kernel is made, which is timed.

    `model` is what it samples: the one in question, or an approximation of it.
    """

    name: str
    model: Model
    make: Callable[[Model, PreparedGraph], PlannedKernel]

    def __repr__(self) -> str:
        return brief(self)


@dataclass(frozen=True)
class PreparedSampler:
    """A sampler that may start: its kernel, and the seconds that went into it."""

    name: str
    model: Model
    prepared: PreparedGraph
    kernel: Kernel
    seconds: float
    about: str

    def __repr__(self) -> str:
        return brief(self)


def by_method(model: Model, method: str, *, seconds: float, memory: int = MEMORY) -> Sampler:
    """What a method of `orbitmc infer` would do in so many seconds.

    >>> import orbitmc as om
    >>> by_method(om.ising_grid(3, 3, 0.3), "gibbs", seconds=1.0).name
    'gibbs'
    """
    sampling = [name for name in METHODS if name not in ("auto", "exact")]
    if method not in sampling:
        raise InputError(f"unknown method {method!r}; there are {', '.join(sampling)}")
    settings = Settings(method=method, seconds=seconds, memory=memory)  # type: ignore[arg-type]

    def make(model: Model, prepared: PreparedGraph) -> PlannedKernel:
        decision = decide(model, settings)
        found = kernel_for(model, prepared, decision.settings)
        about = decision.choice.about if decision.choice else found.about
        return PlannedKernel(found.kernel, about, found.pools)

    return Sampler(method, hardened(model).model, make)


def prepared_sampler(sampler: Sampler) -> PreparedSampler:
    """Make the kernel of a sampler, and note how long that takes.

    It is made twice, because the first time also loads machine code; only the second is timed.

    >>> import orbitmc as om
    >>> ready = prepared_sampler(by_method(om.ising_grid(3, 3, 0.3), "gibbs", seconds=1.0))
    >>> type(ready.kernel).__name__, ready.seconds < 1.0
    ('SystematicScan', True)
    """
    sampler.make(sampler.model, prepare(sampler.model.graph))
    with Stopwatch() as watch:
        prepared = prepare(sampler.model.graph)
        found = sampler.make(sampler.model, prepared)
    return PreparedSampler(
        sampler.name, sampler.model, prepared, found.kernel, watch.seconds, found.about
    )
