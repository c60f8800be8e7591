"""Whether a run fits into the memory that it may take."""

from orbitmc.ask.settings import Settings
from orbitmc.errors import LimitError
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.kernels.kernel import Kernel
from orbitmc.machine.text import in_words
from orbitmc.run.footprint import Shape, conditionals_bytes, held_bytes, run_bytes


def require_memory(graph: FactorGraph, settings: Settings, kernel: Kernel | None = None) -> None:
    """Refuse a run that would not fit, with the figure, before any of it is allocated.

    What the kernel takes is known when there is one.
    """
    needed = sampling_bytes(graph, settings, kernel)
    if needed > settings.memory:
        raise LimitError(
            f"{settings.packs} packs of {settings.lanes} chains need {in_words(needed)}, the limit "
            f"is {in_words(settings.memory)}; fewer packs or lanes need less"
        )


def sampling_bytes(graph: FactorGraph, settings: Settings, kernel: Kernel | None = None) -> int:
    """How much memory a run takes, its model and its answer included."""
    shape = Shape(settings.packs, settings.lanes, settings.estimator == "orbits")
    if kernel is not None:
        memory = held_bytes(kernel.memory(graph, settings.lanes))
        beside = max(0, held_bytes(kernel) - conditionals_bytes(graph))
        shape = shape._replace(shared=beside, extra=memory)
    elif "mcsat" in (settings.method, settings.base):
        from orbitmc.kernels.base.mcsat.slices import slice_bytes

        shape = shape._replace(extra=slice_bytes(graph))
    return run_bytes(graph, shape)
