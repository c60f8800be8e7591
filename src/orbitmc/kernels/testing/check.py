"""Is a kernel right? Its exact transition matrix says so."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from orbitmc.errors import InputError
from orbitmc.graph.builder import Builder
from orbitmc.graph.model import Model
from orbitmc.graph.prepared import PreparedGraph, prepare_unrounded
from orbitmc.kernels.kernel import Kernel
from orbitmc.kernels.testing.matrices import distribution, one_step, states, transition_matrix

EXACT = 1e-9  # 32-bit limits that a kernel holds are off by 2^-32; a mistake by much more
SIZES = ((2, 2, 2), (2, 2, 2, 2), (3, 3), (2, 3, 2))


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
