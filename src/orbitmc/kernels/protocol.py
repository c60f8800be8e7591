"""What every kernel offers."""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from orbitmc._numba.jit import generic, implementation, shared, unit
from orbitmc._numba.units import Link, Linked, call_indirect, link, unpack_frame
from orbitmc._util.arrays import Bytes, Numbers
from orbitmc.conditionals.prepared import PreparedGraph

Body = TypeVar("Body", bound=Callable[..., None])


class Kernel(Protocol):
    """A NamedTuple of read-only data; its type selects the compiled `steps`.

    A kernel that lets others step may have `parts(...)`, as `alternation` has: these are compiled
    apart, and it calls them by address.
    """

    @property
    def outcomes(self) -> tuple[str, ...]:
        """What the counts that `steps` adds to mean."""

    def memory(self, prepared: PreparedGraph, lanes: int) -> Any:
        """Arrays that `steps` may overwrite; they belong to one pack."""


@generic("kernel")
def steps(
    prepared: PreparedGraph,
    kernel: Kernel,
    memory: Any,
    values: Bytes,
    outcomes: NDArray[np.int64],
    rng: Any,
    count: int,
) -> None:
    """Take `count` steps in every lane, in place."""
    raise NotImplementedError


class Part(NamedTuple):
    """What a kernel hands to the `steps` of another one, but for how many."""

    kernel: Any
    prepared: Any
    memory: Any
    values: Bytes
    outcomes: Numbers
    rng: Any


def link_kernel(part: Part) -> Link:
    """Make a unit of a kernel and of all that it works on; its parts become units before."""
    if not hasattr(part.kernel, "parts"):
        return link(_take_steps, tuple(part))
    whole, others = part.kernel.parts(part)
    links = {name: link_kernel(other) for name, other in others.items()}
    units = {name: part_link.unit for name, part_link in links.items()}
    kernel = whole.kernel._replace(**units)
    return link(_take_steps, tuple(whole._replace(kernel=kernel)), *links.values())


@unit
def _take_steps(frame: Any, count: int) -> None:
    kernel, prepared, memory, values, outcomes, rng = unpack_frame(frame)
    steps(prepared, kernel, memory, values, outcomes, rng, count)


@implementation(steps, Linked)
def _linked_steps(
    prepared: PreparedGraph,
    kernel: Linked,
    memory: Any,
    values: Bytes,
    outcomes: Numbers,
    rng: Any,
    count: int,
) -> None:
    call_indirect(kernel.address, kernel.frame, count)


def step(kernel: type) -> Callable[[Body], Body]:
    """Say what one step of a kernel of one's own does, in all lanes, in place.

    The kernel is a NamedTuple of read-only data with `outcomes` (the names of what the step counts)
    and `memory(prepared, lanes)` (arrays that the step may overwrite). The step takes
    `prepared, kernel, memory, values, outcomes, rng`: `prepared.graph` has the factors, and
    `om.kernels.draw` gives a variable a new value. It draws through `om.kernels.integer`,
    `bernoulli` and `accept_by_log_ratio`, allocates nothing, and may only choose what all lanes do
    together without looking at their values. What it writes into a lane depends on that lane only.

    >>> from typing import NamedTuple
    >>> import orbitmc as om
    >>> class Rest(NamedTuple):
    ...     outcomes = ("steps",)
    ...     def memory(self, graph, lanes):
    ...         return ()
    >>> @om.kernels.step(Rest)
    ... def rest(graph, kernel, memory, values, outcomes, rng):
    ...     outcomes[0] += 1
    >>> report = om.testing.check_kernel(Rest())
    >>> report.stationary, report.ergodic
    (0.0, False)
    """

    def register(body: Body) -> Body:
        single = shared(body)

        def repeat(
            prepared: PreparedGraph,
            kernel: Any,
            memory: Any,
            values: Bytes,
            outcomes: Numbers,
            rng: Any,
            count: int,
        ) -> None:
            for _ in range(count):
                single(prepared, kernel, memory, values, outcomes, rng)

        repeat.__module__ = body.__module__  # the file that the machine code depends on
        implementation(steps, kernel)(repeat)
        return body

    return register
