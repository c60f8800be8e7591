"""Whether a run fits into the memory that it may take."""

from orbitmc._simd.random import LANE_UNIT
from orbitmc._util.text import in_words
from orbitmc.ask.settings import Settings
from orbitmc.conditionals.prepared import PreparedGraph
from orbitmc.errors import LimitError
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.kernels.protocol import Kernel
from orbitmc.sampling.budget import Shape, held_bytes, run_bytes


def require_memory(needed: int, settings: Settings) -> None:
    """Refuse a run that would not fit, with the figure, before any of it is allocated."""
    if needed > settings.memory:
        packs = "1 pack" if settings.pack_count == 1 else f"{settings.pack_count} packs"
        least = settings.pack_count == 1 and settings.lane_count == LANE_UNIT
        raise LimitError(
            f"{packs} of {settings.lane_count} chains need {in_words(needed)}, the limit "
            f"is {in_words(settings.memory)}; "
            + ("give it more memory" if least else "fewer packs or lanes need less")
        )


def sampling_bytes(graph: FactorGraph, settings: Settings) -> int:
    """How much memory a run takes, its model and its answer included, before there is a kernel."""
    shape = _shape(settings)
    if "mcsat" in (settings.method, settings.base):
        from orbitmc.kernels.mcsat.slices import slice_bytes

        shape = shape._replace(extra=slice_bytes(graph))
    if settings.base == "low-width":
        from orbitmc.kernels.block_gibbs.kernel import block_bytes

        shape = shape._replace(extra=block_bytes(graph, settings.lane_count))
    return run_bytes(graph, shape)


def sampling_bytes_of(prepared: PreparedGraph, kernel: Kernel, settings: Settings) -> int:
    """How much memory a run of a kernel takes; what it holds of the graph counts once."""
    known: set[int] = set()
    held_bytes(prepared, known)
    beside = held_bytes(kernel, known)
    memory = held_bytes(kernel.memory(prepared, settings.lane_count))
    return run_bytes(prepared.graph, _shape(settings)._replace(shared=beside, extra=memory))


def _shape(settings: Settings) -> Shape:
    return Shape(settings.pack_count, settings.lane_count)
