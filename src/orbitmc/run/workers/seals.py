"""Read-only seals of arrays, which do not survive being sent.

Compiled code for sealed arrays is other code than for writable ones, so what arrives is sealed as
it was: else a worker would compile everything anew.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orbitmc.graph.factor_graph import FactorGraph


def seals_of(holder: Any) -> tuple[bool, ...]:
    """Which arrays in a tuple, and in the tuples within it, are sealed."""
    return tuple(not array.flags.writeable for array in _arrays(holder))


def seal_again(holder: Any, seals: tuple[bool, ...]) -> None:
    """Seal the arrays that were sealed."""
    for array, sealed in zip(_arrays(holder), seals, strict=True):
        array.flags.writeable = not sealed


@dataclass(frozen=True)
class SharedGraph:
    """A graph that is sent to workers; all arrays of a graph are sealed."""

    graph: FactorGraph

    def opened(self) -> FactorGraph:
        """The graph as it was."""
        return sealed_graph(self.graph)


def sealed_graph(graph: FactorGraph) -> FactorGraph:
    """A graph that was sent, with all its arrays sealed."""
    seal_again(graph, (True,) * len(seals_of(graph)))
    return graph


def _arrays(holder: Any) -> Iterator[NDArray[Any]]:
    if isinstance(holder, np.ndarray):
        yield holder
    elif isinstance(holder, tuple):
        for part in holder:
            yield from _arrays(part)
