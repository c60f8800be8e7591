"""Lanes that trade on cold rungs keep the product of all distributions."""

import numpy as np
import pytest

from orbitmc.graph.copies import copies
from orbitmc.graph.prepared import prepare, prepare_unrounded
from orbitmc.kernels.combine import trading_tempering as module
from orbitmc.kernels.combine.tempering import PARITY, STARTED, TURN, tempering
from orbitmc.kernels.combine.trading_tempering import trading_tempering
from orbitmc.kernels.jumps.replica import ReplicaExchange
from orbitmc.kernels.kernel import steps
from orbitmc.models.ising_models import ising_grid
from tests.kernels.test_transition_matrices import EXACT, residuals
from tests.oracle.random_models import random_graph, random_ising
from tests.oracle.slow_generator import SlowGenerator

LADDER = [1.0, 0.4]


def trade(prepared, kernel, rung):
    """Trades of two lanes on one rung, as a run on all four copies side by side."""
    kernel = kernel._replace(trades=ReplicaExchange(columns=1))

    def run(values, rng):
        both = values.reshape(2, 2, -1)  # rung, lane, variable
        memory = kernel.memory(prepared, 2)
        memory.rung[0] = rung
        memory.tempering.hot[...] = both[1].T
        cold = np.ascontiguousarray(both[0].T)
        module._trade(prepared, kernel, memory, cold, np.zeros(4, dtype=np.int64), rng)
        values[:, 0] = np.stack([cold.T, memory.tempering.hot.T]).ravel()

    return run


@pytest.mark.parametrize("rung", [0, 1])
@pytest.mark.parametrize("zeros", [0.0, 0.3])
def test_trades_keep_the_distributions_of_two_lanes_on_two_rungs(rung, zeros):
    for seed in range(2):
        graph = random_graph([seed, 70], variables=(2, 3), cardinalities=(2, 3), zeros=zeros)
        prepared = prepare_unrounded(graph)
        kernel = trading_tempering(tempering(prepared, LADDER))
        joint = copies(graph, np.repeat(LADDER, 2))
        assert max(residuals(joint, trade(prepared, kernel, rung))) <= EXACT


def test_trades_between_rungs_would_be_wrong():
    graph = random_ising(2, variables=2, degree=1, equal=False)
    prepared = prepare_unrounded(graph)
    kernel = trading_tempering(tempering(prepared, LADDER))
    wrong = copies(graph, [1.0, 0.4, 1.0, 0.4])  # as if lanes on one rung had two temperatures
    assert residuals(wrong, trade(prepared, kernel, 0))[0] > 1e-3


@pytest.mark.parametrize("turn", [0, 1])
def test_a_lane_alone_is_tempered(turn):
    graph = random_ising(2, variables=2, degree=1, equal=False)
    prepared = prepare_unrounded(graph)
    kernel = trading_tempering(tempering(prepared, LADDER))
    kernel = kernel._replace(trades=ReplicaExchange(columns=1))

    def run(values, rng):
        memory = kernel.memory(prepared, 1)
        memory.tempering.turn[[TURN, PARITY, STARTED]] = turn, 0, 1
        memory.tempering.hot[...] = values[2:]
        counts = np.zeros(len(kernel.outcomes), dtype=np.int64)
        steps(prepared, kernel, memory, values[:2], counts, rng, 1)
        values[2:] = memory.tempering.hot

    assert residuals(copies(graph, LADDER), run)[0] <= EXACT


def test_lanes_trade_after_every_sweep_on_the_cold_rungs_in_turn():
    graph = ising_grid(3, 3, 0.4, 0.1).graph
    prepared = prepare(graph)
    kernel = trading_tempering(tempering(prepared, [1.0, 0.7, 0.4]))
    assert (kernel.cold, kernel.trades.columns) == (2, 8)
    memory = kernel.memory(prepared, 32)
    values = np.random.default_rng(1).integers(0, 2, (9, 32), dtype=np.uint8)
    counts = np.zeros(len(kernel.outcomes), dtype=np.int64)
    rng = SlowGenerator(1, 0, 32)
    for count in (5, 9 * 3, 4):
        steps(prepared, kernel, memory, values, counts, rng, count)
    counted = dict(zip(kernel.outcomes, counts.tolist(), strict=True))
    assert counted["updates"] == 36 * 3
    assert counted["pairs of lanes"] == 4 * 16
    assert counted["traded variables"] > 0
    assert memory.rung[0] == 0
