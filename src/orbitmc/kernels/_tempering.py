"""Parallel tempering: Gibbs on a ladder of copies of the model, from the true one to hot ones.

Exact because each copy is drawn from its own conditionals, and two neighbours exchange their
states by the Metropolis rule for the product of their distributions; the rest of the ladder belongs
to the pack's memory, and only the true copy is recorded.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc._numba.jit import implementation, shared
from orbitmc._simd.random import accept_by_log_ratio, lanes_of
from orbitmc._util.arrays import Bytes, Floats, Index, Numbers, floats, short_repr, zeros
from orbitmc.conditionals.draws import scratch
from orbitmc.conditionals.fields import local_field
from orbitmc.conditionals.layout import Scratch
from orbitmc.conditionals.prepared import PreparedGraph, prepare_alike
from orbitmc.errors import InputError
from orbitmc.graph.transforms import replicate
from orbitmc.kernels._gibbs import GibbsMemory, SystematicScan
from orbitmc.kernels.metropolis import add_potentials
from orbitmc.kernels.protocol import Part, steps

TURN, PARITY, STARTED = range(3)


class TemperingMemory(NamedTuple):
    """Arrays of one pack.

    Hot copies have a scratch of their own: it counts the literals of all their clauses. `hot` holds
    the hotter copies below each other; `log_weights[rung, lane]` is taken from the true model.
    `turn` knows whose turn it is, which neighbours exchange next (those above the even or above the
    odd rungs), and whether the hot copies have been given the pack's start. `place` is the row of
    `hot` where a sweep begins.
    """

    scratch: Scratch
    hot_scratch: Scratch
    hot: Bytes
    log_weights: Floats
    change: Floats
    accepted: Bytes
    turn: NDArray[np.int64]
    place: NDArray[np.int64]


class Tempering(NamedTuple):
    """Update one variable; a step that ends a sweep also sweeps the hot copies and exchanges.

    Rung 0 is the model itself, with beta 1. `hotter` are the other copies side by side. `cold` and
    `hot` update them. Hot copies are only seen when rungs exchange, so each is swept as a whole
    before that: random numbers are drawn in the same order wherever a run is cut.
    """

    hotter: PreparedGraph
    betas: Floats
    affine: bool
    cold: Any = SystematicScan()
    hot: Any = SystematicScan()

    def __repr__(self) -> str:
        return short_repr(self)

    @property
    def outcomes(self) -> tuple[str, ...]:
        pairs = range(1, len(self.betas))
        tried = (f"exchanges with rung {rung}" for rung in pairs)
        return ("updates", *tried, *(f"accepted with rung {rung}" for rung in pairs))

    def memory(self, prepared: PreparedGraph, lanes: int) -> TemperingMemory:
        return TemperingMemory(
            scratch(prepared, lanes),
            scratch(self.hotter, lanes),
            zeros((self.hotter.graph.variables, lanes), np.uint8),
            np.zeros((len(self.betas), lanes)),
            np.zeros(lanes),
            np.zeros(lanes, dtype=np.uint8),
            np.zeros(3, dtype=np.int64),
            np.zeros(1, dtype=np.int64),
        )

    def parts(self, whole: Part) -> tuple[Part, dict[str, Part]]:
        """Updates are compiled apart: they are those of Gibbs."""
        memory = whole.memory
        cold = whole._replace(kernel=self.cold, memory=GibbsMemory(memory.scratch, memory.turn))
        hot = Part(
            self.hot,
            self.hotter,
            GibbsMemory(memory.hot_scratch, memory.place),
            memory.hot,
            whole.outcomes,
            whole.rng,
        )
        rungs: Any = ()  # the hot part has the graph
        return whole._replace(kernel=self._replace(hotter=rungs)), {"cold": cold, "hot": hot}


@implementation(steps, Tempering)
def tempering_steps(
    prepared: PreparedGraph,
    kernel: Tempering,
    memory: TemperingMemory,
    values: Bytes,
    outcomes: Numbers,
    rng: Any,
    count: int,
) -> None:
    variables = len(values)
    if memory.turn[STARTED] == 0:
        _start(memory, values)
    cold = GibbsMemory(memory.scratch, memory.turn)
    hot = GibbsMemory(memory.hot_scratch, memory.place)
    while count > 0 and variables > 0:
        now = min(count, variables - memory.turn[TURN])
        steps(prepared, kernel.cold, cold, values, outcomes, rng, now)
        count -= now
        if memory.turn[TURN] == 0:
            steps(kernel.hotter, kernel.hot, hot, memory.hot, outcomes, rng, len(memory.hot))
            _exchange_rungs(prepared, kernel, memory, values, outcomes, rng)


@shared
def _start(memory: TemperingMemory, values: Bytes) -> None:
    """Let every hot copy start where its lane does, which is possible in all of them."""
    for row in range(len(memory.hot)):
        for lane in range(lanes_of(memory.scratch)):
            memory.hot[row, lane] = values[row % len(values), lane]
    memory.turn[STARTED] = 1


@shared
def _exchange_rungs(
    prepared: PreparedGraph,
    kernel: Tempering,
    memory: TemperingMemory,
    values: Bytes,
    outcomes: Numbers,
    rng: Any,
) -> None:
    """Offer every second pair of neighbouring rungs to exchange their states."""
    variables, rungs = len(values), len(kernel.betas)
    _weigh(prepared, kernel, memory, values, 0)
    for copy in range(rungs - 1):
        states = memory.hot[copy * variables : (copy + 1) * variables]
        _weigh(prepared, kernel, memory, states, copy + 1)
    for rung in range(memory.turn[PARITY], rungs - 1, 2):
        difference = kernel.betas[rung] - kernel.betas[rung + 1]
        for lane in range(lanes_of(memory.scratch)):
            gain = memory.log_weights[rung + 1, lane] - memory.log_weights[rung, lane]
            memory.change[lane] = difference * gain
        accept_by_log_ratio(rng, memory.change, memory.accepted)
        above = memory.hot[rung * variables : (rung + 1) * variables]
        if rung == 0:
            _exchange(memory, values, above)
        else:
            _exchange(memory, memory.hot[(rung - 1) * variables : rung * variables], above)
        outcomes[1 + rung] += lanes_of(memory.scratch)
        for lane in range(lanes_of(memory.scratch)):
            outcomes[rungs + rung] += np.int64(memory.accepted[lane])
    memory.turn[PARITY] = 1 - memory.turn[PARITY]


@shared
def _exchange(memory: TemperingMemory, below: Bytes, above: Bytes) -> None:
    for variable in range(len(below)):
        for lane in range(lanes_of(memory.scratch)):
            differing = (below[variable, lane] ^ above[variable, lane]) * memory.accepted[lane]
            below[variable, lane] ^= differing
            above[variable, lane] ^= differing


@shared
def _weigh(
    prepared: PreparedGraph, kernel: Tempering, memory: TemperingMemory, states: Bytes, rung: Index
) -> None:
    """Log-weights of one copy's states in the true model, up to a constant."""
    graph, conditionals = prepared.graph, prepared.conditionals
    for lane in range(lanes_of(memory.scratch)):
        memory.change[lane] = 0.0
    if kernel.affine:
        for variable in range(len(states)):
            local_field(conditionals, memory.scratch, states, variable)
            bias = conditionals.bias[variable]
            for lane in range(lanes_of(memory.scratch)):
                both = np.float64(bias + memory.scratch.field[lane])
                memory.change[lane] += 0.5 * both * states[variable, lane]
    else:
        for factor in range(len(graph.table_of)):
            add_potentials(graph, memory, states, factor, 1.0)
    for lane in range(lanes_of(memory.scratch)):
        memory.log_weights[rung, lane] = memory.change[lane]


def tempering(prepared: PreparedGraph, betas: Sequence[float]) -> Tempering:
    """Temper a model at inverse temperatures that fall from 1 and stay above 0.

    >>> import orbitmc as om
    >>> prepared = om.kernels.prepare(om.ising_grid(3, 3, 0.8).graph)
    >>> om.kernels.tempering(prepared, [1.0, 0.5, 0.25]).betas.tolist()
    [1.0, 0.5, 0.25]
    """
    ladder = [float(beta) for beta in betas]
    falling = all(high > low for high, low in pairwise(ladder))
    if len(ladder) < 2 or ladder[0] != 1.0 or not falling or not ladder[-1] > 0.0:
        raise InputError(f"a ladder has two betas or more, falling from 1 to above 0, not {ladder}")
    hotter = prepare_alike(prepared, replicate(prepared.graph, ladder[1:]))
    return Tempering(hotter, floats(ladder), bool(prepared.conditionals.affine.all()))
