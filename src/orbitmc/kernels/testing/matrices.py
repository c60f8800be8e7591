"""Exact transition matrices of small graphs."""

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np

from orbitmc._util.arrays import Bytes, Floats, arrays_in
from orbitmc.conditionals.prepared import PreparedGraph
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.log_weights import log_weight
from orbitmc.kernels.kernel import Kernel, steps
from orbitmc.kernels.testing.choices import outcomes

Run = Callable[[Bytes, Any], Any]


def transition_matrix(graph: FactorGraph, run: Run) -> Floats:
    """The matrix of a kernel over all states; impossible states stay where they are.

    `run` takes a state, as an array of one lane, and a generator; it moves the state by one step.

    >>> import orbitmc as om
    >>> model = om.model({"coin": ["heads", "tails"]}, [(["coin"], [3, 1])])
    >>> gibbs = one_step(om.kernels.prepare(model.graph), om.kernels.gibbs())
    >>> transition_matrix(model.graph, gibbs).round(6).tolist()
    [[0.75, 0.25], [0.75, 0.25]]
    """
    every = states(graph)
    number = {state: place for place, state in enumerate(every)}
    possible = distribution(graph) > 0
    matrix = np.eye(len(every))
    for place, state in enumerate(every):
        if possible[place]:
            matrix[place, place] = 0.0
            for end, chance in outcomes(run, state).items():
                assert end in number, f"a step leads from {state} to {end}, which is no state"
                matrix[place, number[end]] += chance
    return matrix


def one_step(prepared: PreparedGraph, kernel: Kernel, lanes: int = 1) -> Run:
    """A run of one step of a kernel, with its memory as in the beginning each time."""
    memory = kernel.memory(prepared, lanes)
    restore = restoring(memory)

    def run(values: Bytes, rng: Any) -> None:
        restore()
        counts = np.zeros(len(kernel.outcomes), dtype=np.int64)
        steps(prepared, kernel, memory, values, counts, rng, 1)

    return run


def restoring(memory: Any) -> Callable[[], None]:
    """Give a function that brings memory back to what it holds now: sooner than making it anew."""
    written = [array for array in arrays_in(memory) if array.flags.writeable]
    begun = [array.copy() for array in written]

    def restore() -> None:
        for array, first in zip(written, begun, strict=True):
            array[...] = first

    return restore


def states(graph: FactorGraph) -> list[tuple[int, ...]]:
    """All states, the last variable fastest."""
    return list(product(*(range(int(size)) for size in graph.cardinality)))


def distribution(graph: FactorGraph) -> Floats:
    """The probability of every state."""
    logs = log_weight(graph, np.array(states(graph), dtype=np.uint8).T.copy())
    weights = np.exp(logs - logs.max())
    found: Floats = weights / weights.sum()
    return found
