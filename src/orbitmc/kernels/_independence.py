"""Independence Metropolis: draw all variables anew from a directed network, accept by the rest.

Exact because the model is the network times the factors that are left over: drawn from the
network, whatever the present state is, a state is accepted with the ratio of what is left over.
Without evidence nothing is left over, and states are independent. Variables from which no evidence
descends can be drawn from the network given all others, and need no acceptance.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc._numba.jit import implementation, shared
from orbitmc._simd.random import accept_by_log_ratio, lanes_of
from orbitmc._util.arrays import Bytes, Floats, Indices, Numbers
from orbitmc.conditionals.draws import draw, scratch
from orbitmc.conditionals.layout import Scratch
from orbitmc.conditionals.prepared import PreparedGraph, prepare_alike
from orbitmc.errors import InputError
from orbitmc.graph.ancestral import AncestralNetwork, network_of, variables_below
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.kernels.metropolis import ACCEPTED, JUMP_OUTCOMES, MOVED, PROPOSALS, add_potentials
from orbitmc.kernels.protocol import flag_variables, steps


class IndependenceMemory(NamedTuple):
    """A proposed state for each lane, its gain, and whether it is accepted."""

    proposed: Bytes
    change: Floats
    accepted: Bytes
    scratch: Scratch


class Independence(NamedTuple):
    """Draw variables in `order` by the conditionals of a `network`; the `rest` decides."""

    network: PreparedGraph
    order: Indices
    rest: Indices

    @property
    def outcomes(self) -> tuple[str, ...]:
        return JUMP_OUTCOMES

    @property
    def draws_anew(self) -> bool:
        return True

    @property
    def independent_after(self) -> int | None:
        """Where nothing is left to decide, every proposal is accepted."""
        return None if len(self.rest) else 1

    def memory(self, prepared: PreparedGraph, lanes: int) -> IndependenceMemory:
        return IndependenceMemory(
            np.zeros((prepared.graph.variables, lanes), dtype=np.uint8),
            np.zeros(lanes),
            np.zeros(lanes, dtype=np.uint8),
            scratch(prepared, lanes),
        )


@implementation(steps, Independence)
def independence_steps(
    prepared: PreparedGraph,
    kernel: Independence,
    memory: IndependenceMemory,
    values: Bytes,
    outcomes: Numbers,
    rng: Any,
    count: int,
) -> None:
    network = kernel.network
    for _ in range(count):
        for lane in range(lanes_of(memory.scratch)):
            memory.change[lane] = 0.0
        for place in range(len(kernel.order)):
            draw(network, memory.scratch, memory.proposed, kernel.order[place], rng)
        for place in range(len(kernel.rest)):
            add_potentials(network.graph, memory, memory.proposed, kernel.rest[place], 1.0)
            add_potentials(network.graph, memory, values, kernel.rest[place], -1.0)
        accept_by_log_ratio(rng, memory.change, memory.accepted)
        _accept_reject(memory, values, outcomes)


@shared
def _accept_reject(memory: IndependenceMemory, values: Bytes, outcomes: Numbers) -> None:
    """Take the proposed states where they are accepted, and count."""
    moved = np.int64(0)
    for variable in range(len(values)):
        for lane in range(lanes_of(memory.scratch)):
            change = values[variable, lane] ^ memory.proposed[variable, lane]
            change *= memory.accepted[lane]
            values[variable, lane] ^= change
            moved += np.int64(change != 0)
    accepted = np.int64(0)
    for lane in range(lanes_of(memory.scratch)):
        accepted += np.int64(memory.accepted[lane])
    outcomes[PROPOSALS] += lanes_of(memory.scratch)
    outcomes[ACCEPTED] += accepted
    outcomes[MOVED] += moved


class Descent(NamedTuple):
    """Draw variables in `order`, from which no others descend, by conditionals of a `network`.

    It is a draw from their distribution given all others.
    """

    network: PreparedGraph
    order: Indices

    @property
    def outcomes(self) -> tuple[str, ...]:
        return ("descents",)

    def frees(self, graph: FactorGraph) -> NDArray[np.bool_]:
        return flag_variables(graph, self.order)

    def draws_well(self, graph: FactorGraph) -> NDArray[np.bool_]:
        return flag_variables(graph, self.order)

    def memory(self, prepared: PreparedGraph, lanes: int) -> Scratch:
        return scratch(prepared, lanes)


@implementation(steps, Descent)
def descent_steps(
    prepared: PreparedGraph,
    kernel: Descent,
    memory: Scratch,
    values: Bytes,
    outcomes: Numbers,
    rng: Any,
    count: int,
) -> None:
    for _ in range(count):
        for place in range(len(kernel.order)):
            draw(kernel.network, memory, values, kernel.order[place], rng)
        outcomes[0] += lanes_of(memory)


class Pause(NamedTuple):
    """Stay in the present state: what lies between independent draws, which need no steps."""

    @property
    def outcomes(self) -> tuple[str, ...]:
        return ()

    def memory(self, prepared: PreparedGraph, lanes: int) -> tuple[()]:
        return ()


@implementation(steps, Pause)
def pause_steps(
    prepared: PreparedGraph,
    kernel: Pause,
    memory: tuple[()],
    values: Bytes,
    outcomes: Numbers,
    rng: Any,
    count: int,
) -> None:
    pass


def independence(prepared: PreparedGraph, network: AncestralNetwork | None = None) -> Independence:
    """Draw all variables anew from the network that a model is; any such network is safe.

    >>> import orbitmc as om
    >>> model = om.read("examples/sprinkler.bif").given({"grass": "wet"})
    >>> om.testing.check_kernel(om.kernels.independence, models=[model]).stationary < 1e-9
    True
    """
    directed = network_of(prepared.graph) if network is None else network
    if directed is None:
        raise InputError("the model is no directed network: no order draws all its variables")
    return Independence(prepare_alike(prepared, directed.graph), directed.order, directed.rest)


def descent(prepared: PreparedGraph, network: AncestralNetwork) -> Descent:
    """Draw what no evidence descends from, given all other variables of a network."""
    return Descent(prepare_alike(prepared, network.graph), variables_below(network))
