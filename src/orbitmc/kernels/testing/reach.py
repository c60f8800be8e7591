"""Which states a kernel reaches from which others, whatever the probability."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from orbitmc._util.arrays import Bytes, arrays_in
from orbitmc.conditionals.prepared import PreparedGraph
from orbitmc.kernels.kernel import Kernel, steps
from orbitmc.kernels.testing.choices import outcomes
from orbitmc.kernels.testing.matrices import distribution, states

Moves = NDArray[np.bool_]
Contents = list[NDArray[Any]]


def moves_within(prepared: PreparedGraph, kernel: Kernel, most: int) -> Moves:
    """Between which states one of so many first steps can lead: `[from, to]`.

    A step may depend on what earlier ones left in memory, such as whose turn it is. So every state
    is left with the memory of some way that leads there in as many steps. Ends as soon as every
    state is reached from every other one.
    """
    possible = np.flatnonzero(distribution(prepared.graph) > 0)
    search = _Search(prepared, kernel)
    held = dict.fromkeys(possible.tolist(), search.contents())
    for _ in range(most):
        held = search.leave(held)
        if reached(search.moves)[np.ix_(possible, possible)].all():
            break
    return search.moves


class _Search:
    """Takes steps of a kernel from states with the memory that belongs to them."""

    def __init__(self, prepared: PreparedGraph, kernel: Kernel) -> None:
        self.prepared, self.kernel = prepared, kernel
        self.every = states(prepared.graph)
        self.number = {state: place for place, state in enumerate(self.every)}
        self.moves: Moves = np.eye(len(self.every), dtype=np.bool_)
        self.memory = kernel.memory(prepared, 1)
        self.written = [array for array in arrays_in(self.memory) if array.flags.writeable]

    def contents(self) -> Contents:
        return [array.copy() for array in self.written]

    def leave(self, held: dict[int, Contents]) -> dict[int, Contents]:
        """Take one step from each state, in every way; gives where that leads, with memories."""
        following: dict[int, Contents] = {}

        def step(values: Bytes, rng: Any) -> None:
            for array, content in zip(self.written, held[place], strict=True):
                array[...] = content
            counts = np.zeros(len(self.kernel.outcomes), dtype=np.int64)
            steps(self.prepared, self.kernel, self.memory, values, counts, rng, 1)
            end = self.number[tuple(int(value) for value in values[:, 0])]
            self.moves[place, end] = True
            if end not in following:
                following[end] = self.contents()

        for place in held:  # `step` begins there
            outcomes(step, self.every[place])
        return following


def reached(moves: Moves) -> Moves:
    """Whether a number of moves leads from one state to another: `[from, to]`."""
    found = moves | np.eye(len(moves), dtype=np.bool_)
    for _ in range(max(1, len(moves)).bit_length()):
        found = found.astype(np.float32) @ found.astype(np.float32) > 0
    return found
