"""Is a kernel right? Its exact transition matrix, over all states of small graphs, says so."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from orbitmc.errors import InputError
from orbitmc.graph.builder import Builder
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.model import Model
from orbitmc.graph.prepared import PreparedGraph, prepare_unrounded
from orbitmc.graph.weights.potentials import log_weight
from orbitmc.kernels.kernel import Kernel, steps
from orbitmc.kernels.testing.choices import outcomes
from orbitmc.machine.arrays import Bytes, Floats

EXACT = 1e-9  # 32-bit limits that a kernel holds are off by 2^-32; a mistake by much more
SIZES = ((2, 2, 2), (2, 2, 2, 2), (3, 3), (2, 3, 2))

Run = Callable[[Bytes, Any], Any]


@dataclass(frozen=True)
class KernelReport:
    """How far a kernel is from keeping the distribution, and from detailed balance, at worst."""

    models: int
    stationary: float
    balance: float


def check_kernel(
    kernel: Kernel | Callable[[PreparedGraph], Kernel], models: Sequence[Model] | None = None
) -> KernelReport:
    """Build exact transition matrices, and raise an `AssertionError` that says what is wrong.

    The kernel's own step runs in the interpreter, once for every outcome of its draws. Kernels that
    hold something of a graph are given as a function of the prepared graph. Models must be small;
    unless they are given, some random ones are made.

    >>> import orbitmc as om
    >>> om.testing.check_kernel(om.kernels.gibbs()).stationary < 1e-12
    True
    """
    chosen = example_models() if models is None else list(models)
    if not chosen:
        raise InputError("a kernel is checked on at least one model")
    found = [_checked(kernel, model) for model in chosen]
    return KernelReport(len(chosen), max(one for one, _ in found), max(two for _, two in found))


def _checked(
    kernel: Kernel | Callable[[PreparedGraph], Kernel], model: Model
) -> tuple[float, float]:
    graph, prepared = model.graph, prepare_unrounded(model.graph)
    made = kernel if isinstance(kernel, tuple) else kernel(prepared)  # type: ignore[operator]
    before = distribution(graph)
    matrix = transition_matrix(graph, one_step(prepared, made))
    name = type(made).__name__
    rows = np.abs(matrix.sum(axis=1) - 1.0).max()
    assert rows <= EXACT, (
        f"{name}: the outcomes of a step have a total probability off by {rows:.2g}"
    )
    change = before @ matrix - before
    worst = int(np.abs(change).argmax())
    state = dict(zip(model.names, states(graph)[worst], strict=True))
    assert abs(change[worst]) <= EXACT, (
        f"{name} does not keep the distribution of a model with {graph.variables} variables: the "
        f"state {state} has probability {before[worst]:.6g}, and after one step "
        f"{before[worst] + change[worst]:.6g}"
    )
    flow = before[:, None] * matrix
    return float(np.abs(change).max()), float(np.abs(flow - flow.T).max())


def example_models() -> list[Model]:
    """Small random models: binary, ternary and mixed, with fields, pairs and one wide factor."""
    rng = np.random.default_rng(1)
    return [_random_model(sizes, rng) for sizes in SIZES for _ in range(2)]


def _random_model(sizes: tuple[int, ...], rng: np.random.Generator) -> Model:
    builder = Builder(sizes)
    for variable, size in enumerate(sizes):
        builder.add_factor([variable], rng.normal(size=size))
        other = (variable + 1) % len(sizes)
        builder.add_factor([variable, other], rng.normal(size=(size, sizes[other])))
    builder.add_factor(range(len(sizes)), rng.normal(size=sizes))
    names = tuple(f"v{number}" for number in range(len(sizes)))
    return Model(builder.build(), names, tuple(tuple(map(str, range(size))) for size in sizes))


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
                matrix[place, number[end]] += chance
    return matrix


def one_step(prepared: PreparedGraph, kernel: Kernel) -> Run:
    """A run of one step of a kernel, with fresh memory each time."""

    def run(values: Bytes, rng: Any) -> None:
        counts = np.zeros(len(kernel.outcomes), dtype=np.int64)
        steps(prepared, kernel, kernel.memory(prepared, 1), values, counts, rng, 1)

    return run


def states(graph: FactorGraph) -> list[tuple[int, ...]]:
    """All states, the last variable fastest."""
    return list(product(*(range(int(size)) for size in graph.cardinality)))


def distribution(graph: FactorGraph) -> Floats:
    """The probability of every state."""
    logs = log_weight(graph, np.array(states(graph), dtype=np.uint8).T.copy())
    weights = np.exp(logs - logs.max())
    found: Floats = weights / weights.sum()
    return found
