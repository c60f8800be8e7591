"""What a question keeps of the samples of a run, beside the tallies of marginals."""

from collections.abc import Iterator
from typing import Protocol

from orbitmc._util.arrays import Bytes, Floats, Numbers
from orbitmc.conditionals.prepared import PreparedGraph
from orbitmc.kernels.protocol import Kernel
from orbitmc.run.pack import Pack, advance

Needed = Numbers | slice
"""The variables that notes look at, as places in the graph."""


class Notes(Protocol):
    """Takes a note of every sample of every pack; packs advance in threads of their own."""

    @property
    def needed(self) -> Needed:
        """What it looks at."""

    @property
    def waiting(self) -> float:
        """About how many seconds it takes to sum up what was noted and waits for that."""

    def note(self, number: int, states: Bytes, recorded: int) -> None:
        """Look at a sample of a pack, before which so many were recorded.

        `states[variable, lane]` are those of the variables that are needed.
        """

    def spread(self, recorded: int, lanes: int) -> Floats:
        """The error that columns show in each number that was asked for."""


def noted_states(
    prepared: PreparedGraph,
    kernel: Kernel,
    pack: Pack,
    needed: Needed,
    recorded: int,
    samples: int,
    spacing: int,
) -> Iterator[Bytes]:
    """Record samples as `advance` does; gives of each what notes need."""
    for place in range(recorded, recorded + samples):
        advance(prepared, kernel, pack, recorded=place, samples=1, spacing=spacing)
        yield pack.values[needed].copy()


def advance_noting(
    prepared: PreparedGraph,
    kernel: Kernel,
    pack: Pack,
    *,
    notes: Notes,
    number: int,
    recorded: int,
    samples: int,
    spacing: int,
) -> None:
    """Record samples as `advance` does, and take a note of each."""
    todo = (prepared, kernel, pack, notes.needed, recorded, samples, spacing)
    for place, states in enumerate(noted_states(*todo), recorded):
        notes.note(number, states, place)
