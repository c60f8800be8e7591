"""Is a kernel right? Its exact transition matrix says so."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from orbitmc._util.arrays import Floats
from orbitmc.conditionals.prepared import PreparedGraph, prepare_unrounded
from orbitmc.errors import InputError
from orbitmc.graph.builder import Builder
from orbitmc.graph.model import Model
from orbitmc.kernels.kernel import Kernel
from orbitmc.kernels.testing.choices import LaneByLane, outcomes_beside
from orbitmc.kernels.testing.matrices import distribution, one_step, states, transition_matrix
from orbitmc.kernels.testing.reach import moves_within, reached

EXACT = 1e-9  # 32-bit limits that a kernel holds are off by 2^-32; a mistake by much more
SIZES = ((2, 2, 2), (2, 2, 2, 2), (3, 3), (2, 3, 2))


LANES = 4  # that are run together
ROUNDS = 2  # in which every state is run beside other ones
STEPS = 4  # for each variable, in which a kernel may show that it reaches every state


@dataclass(frozen=True)
class KernelReport:
    """How far a kernel is from keeping the distribution, and from detailed balance, at worst.

    So many `lanes` were run together. A kernel that is `ergodic` reaches every state from every
    other one; a `remark` says which it does not, and then it needs to be mixed with another kernel.
    """

    models: int
    stationary: float
    balance: float
    lanes: int = 1
    ergodic: bool = True
    remark: str = ""


def check_kernel(
    kernel: Kernel | Callable[[PreparedGraph], Kernel], models: Sequence[Model] | None = None
) -> KernelReport:
    """Build exact transition matrices, and raise an `AssertionError` that says what is wrong.

    The kernel's own step runs in the interpreter, once for every outcome of its draws. Kernels that
    hold something of a graph are given as a function of the prepared graph. Models must be small;
    unless they are given, some random ones are made.

    Then several lanes in different states step together: each must move as if it were alone. (A
    kernel that draws for one lane after another, as MC-SAT does, is run in one lane only.) A kernel
    that does not reach every state is right as a part of others; the report says that it is not
    ergodic on its own.

    >>> import orbitmc as om
    >>> report = om.testing.check_kernel(om.kernels.gibbs())
    >>> report.stationary < 1e-12, report.lanes, report.ergodic
    (True, 4, True)
    """
    chosen = example_models() if models is None else list(models)
    if not chosen:
        raise InputError("a kernel is checked on at least one model")
    found = [_checked(kernel, model) for model in chosen]
    remark = next((one.remark for one in found if one.remark), "")
    return KernelReport(
        models=len(chosen),
        stationary=max(one.stationary for one in found),
        balance=max(one.balance for one in found),
        lanes=min(one.lanes for one in found),
        ergodic=not remark,
        remark=remark,
    )


def _checked(kernel: Kernel | Callable[[PreparedGraph], Kernel], model: Model) -> KernelReport:
    graph, prepared = model.graph, prepare_unrounded(model.graph)
    made = kernel if isinstance(kernel, tuple) else kernel(prepared)  # type: ignore[operator]
    before = distribution(graph)
    name = type(made).__name__
    try:
        matrix = transition_matrix(graph, one_step(prepared, made))
    except AssertionError as error:
        raise AssertionError(f"{name}: {error}") from None
    rows = np.abs(matrix.sum(axis=1) - 1.0).max()
    assert rows <= EXACT, (
        f"{name}: the outcomes of a step have a total probability off by {rows:.2g}"
    )
    change = before @ matrix - before
    worst = int(np.abs(change).argmax())
    state = _named(model, states(graph)[worst])
    assert abs(change[worst]) <= EXACT, (
        f"{name} does not keep the distribution of a model with {graph.variables} variables: the "
        f"state {state} has probability {before[worst]:.6g}, and after one step "
        f"{before[worst] + change[worst]:.6g}"
    )
    flow = before[:, None] * matrix
    remark = _unreached(prepared, made, model, matrix)
    return KernelReport(
        models=1,
        stationary=float(np.abs(change).max()),
        balance=float(np.abs(flow - flow.T).max()),
        lanes=_checked_lanes(prepared, made, model, matrix),
        ergodic=not remark,
        remark=remark,
    )


def _checked_lanes(prepared: PreparedGraph, kernel: Kernel, model: Model, matrix: Floats) -> int:
    """Refuse a kernel in which a lane moves otherwise than alone; gives how many were run.

    Every possible state is run beside others that are drawn, in another lane each time.
    """
    graph, run = prepared.graph, one_step(prepared, kernel, LANES)
    every = np.array(states(graph), dtype=np.uint8)
    possible = np.flatnonzero(distribution(graph) > 0)
    rng = np.random.default_rng(1)
    for number in range(ROUNDS):
        for place in possible.tolist():
            lane = (place + number) % LANES
            beside = every[rng.choice(possible, LANES)].T.copy()
            beside[:, lane] = every[place]
            try:
                ends = outcomes_beside(run, beside, lane, (number, place))
            except LaneByLane:
                return 1
            _require_same(kernel, model, matrix[place], ends, place)
    return LANES


def _require_same(
    kernel: Kernel, model: Model, alone: Floats, ends: dict[Any, float], start: int
) -> None:
    """Refuse a kernel if a lane ends elsewhere beside others than it does alone."""
    every = states(model.graph)
    for place, end in enumerate(every):
        chance = ends.pop(end, 0.0)
        assert abs(chance - alone[place]) <= EXACT, (
            f"{type(kernel).__name__}: where a lane goes depends on other lanes: it goes from "
            f"{_named(model, every[start])} to {_named(model, end)} with probability "
            f"{alone[place]:.6g} alone, and with {chance:.6g} beside others"
        )
    assert not ends, f"{type(kernel).__name__}: beside others, a lane goes to {next(iter(ends))}"


def _unreached(prepared: PreparedGraph, kernel: Kernel, model: Model, matrix: Floats) -> str:
    """Say which state a kernel does not reach from which other one, if there is any."""
    possible = np.flatnonzero(distribution(prepared.graph) > 0)
    among, most = np.ix_(possible, possible), STEPS * prepared.graph.variables
    if reached((matrix > 0)[among]).all():
        return ""
    moves = moves_within(prepared, kernel, most)[among]
    missing = np.argwhere(~reached(moves))
    if not len(missing):
        return ""
    name, every = type(kernel).__name__, [states(prepared.graph)[place] for place in possible]
    stuck = np.flatnonzero(moves.sum(axis=1) == 1)
    if len(stuck) == len(possible):
        says = "never changes anything"
    elif len(stuck):
        says = f"cannot leave the state {_named(model, every[stuck[0]])}"
    else:
        start, end = missing[0]
        says = f"does not lead from {_named(model, every[start])} to {_named(model, every[end])}"
    return (
        f"{name} {says}: it is not ergodic on its own, so mix it with a base chain "
        f"(this follows from its first {most} steps)"
    )


def _named(model: Model, state: Sequence[int]) -> dict[str, int]:
    return dict(zip(model.names, state, strict=True))


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
