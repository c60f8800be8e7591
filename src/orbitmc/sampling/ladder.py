"""Find the rungs of parallel tempering in a warm-up, then freeze them."""

import math
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from orbitmc import kernels
from orbitmc._util.arrays import Floats
from orbitmc.conditionals.prepared import PreparedGraph
from orbitmc.errors import InputError
from orbitmc.sampling.pack import start_pack, stepper
from orbitmc.sampling.schedule import LANES

if TYPE_CHECKING:
    from orbitmc.kernels._tempering import Tempering

HOTTEST = 0.1
ACCEPTANCE = 0.4  # of exchanges: below a half, but not rare
ROUNDS = 4
SWEEPS = 400
FIRST_RUNGS = 6
MOST_RUNGS = 64
PIECES = 16  # of a round: after each of them one may stop


def choose_ladder(
    prepared: PreparedGraph,
    *,
    hottest: float = HOTTEST,
    acceptance: float = ACCEPTANCE,
    rounds: int = ROUNDS,
    sweeps: int = SWEEPS,
    seed: int = 0,
    seconds: float = math.inf,
    clock: Callable[[], float] = time.thread_time,
) -> tuple[float, ...]:
    """Give betas from 1 down to `hottest` whose neighbours exchange about equally often.

    Each round runs a ladder and measures how often exchanges are rejected; the next one has rungs
    where equal shares of all rejections lie, and as many as the wanted acceptance asks for. The
    first round settles for so many `sweeps` and measures for as many; longer ladders are given
    fewer, so that all rounds take equally long. When the `clock` says that a round has taken its
    part of all `seconds`, it ends.

    >>> import orbitmc as om
    >>> prepared = om.kernels.prepare(om.ising_grid(3, 3, 0.8).graph)
    >>> ladder = choose_ladder(prepared, rounds=1, sweeps=20, seed=1)
    >>> ladder[0], ladder[-1]
    (1.0, 0.1)
    """
    if not (0.0 < hottest < 1.0 and 0.0 < acceptance < 1.0 and rounds > 0 and sweeps > 0):
        raise InputError("a ladder needs hottest and acceptance between 0 and 1, and some sweeps")
    betas: Sequence[float] = np.geomspace(1.0, hottest, FIRST_RUNGS).tolist()
    for number in range(rounds):
        kernel = kernels.tempering(prepared, betas)
        fewer = max(1, sweeps * FIRST_RUNGS // len(betas))
        rates = exchange_rates(
            prepared,
            kernel,
            seed=seed,
            number=number,
            sweeps=fewer,
            seconds=seconds / rounds,
            clock=clock,
        )
        betas = _respace(betas, 1.0 - rates, acceptance)
    return tuple(betas)


def exchange_rates(
    prepared: PreparedGraph,
    kernel: "Tempering",
    *,
    seed: int,
    number: int,
    sweeps: int,
    seconds: float = math.inf,
    clock: Callable[[], float] = time.thread_time,
) -> Floats:
    """How often neighbouring rungs exchange, after as many sweeps to settle.

    Both take half of so many seconds, if the sweeps do not end before.
    """
    pack = start_pack(prepared, kernel, seed=seed, number=number, lanes=LANES)
    take = stepper(prepared, kernel, pack)
    piece = -(-sweeps // PIECES)
    for _ in range(2):
        pack.outcomes[:] = 0
        end, left = clock() + seconds / 2, sweeps
        while left > 0 and (left == sweeps or clock() < end):
            take(2 * min(piece, left) * prepared.graph.variables)
            left -= piece
    pairs = len(kernel.betas) - 1
    tried, accepted = pack.outcomes[1 : 1 + pairs], pack.outcomes[1 + pairs :]
    rates: Floats = accepted / np.maximum(tried, 1)
    return rates


def _respace(betas: Sequence[float], rejected: Floats, acceptance: float) -> list[float]:
    """Put rungs at equal steps of the rejections summed up along the ladder."""
    barrier = np.concatenate([[0.0], np.cumsum(np.maximum(rejected, 1e-3))])
    steps = int(np.clip(np.ceil(barrier[-1] / (1.0 - acceptance)), 1, MOST_RUNGS - 1))
    wanted = np.linspace(0.0, barrier[-1], steps + 1)
    spaced = np.exp(np.interp(wanted, barrier, np.log(betas)))
    return [1.0, *spaced[1:-1].tolist(), float(betas[-1])]
