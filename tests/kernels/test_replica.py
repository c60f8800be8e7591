"""Lanes that trade components: exact for two lanes together, and honest about errors."""

import numpy as np
import pytest
from scipy.stats import binom

from orbitmc.graph.copies import copies
from orbitmc.graph.prepared import prepare
from orbitmc.kernels.base.gibbs import RandomScan
from orbitmc.kernels.combine.mixture import mixture
from orbitmc.kernels.jumps import replica
from orbitmc.kernels.jumps.replica import ReplicaExchange, replica_exchange
from orbitmc.kernels.kernel import steps
from orbitmc.kernels.testing.choices import outcomes
from orbitmc.models.ising_models import ising
from orbitmc.run.sampler import sample
from orbitmc.run.schedule import Schedule
from tests.kernels.test_transition_matrices import EXACT, residuals
from tests.oracle import brute_force
from tests.oracle.random_models import random_graph

FALSE_ALARM = 1e-7


def trade(graph):
    """One step of two lanes, as a run on two copies of the graph side by side."""
    prepared, kernel = prepare(graph), ReplicaExchange(columns=1)

    def run(values, rng):
        both = np.ascontiguousarray(values.reshape(2, -1).T)
        counts = np.zeros(4, dtype=np.int64)
        steps(prepared, kernel, kernel.memory(prepared, 2), both, counts, rng, 1)
        values[:, 0] = both.T.ravel()

    return run


@pytest.mark.parametrize("zeros", [0.0, 0.3])
@pytest.mark.parametrize("cardinalities", [(2,), (2, 3)])
def test_two_lanes_keep_the_product_of_their_distributions(zeros, cardinalities):
    for seed in range(6):
        graph = random_graph([seed, 90], variables=(2, 4), cardinalities=cardinalities, zeros=zeros)
        assert max(residuals(copies(graph, [1.0, 1.0]), trade(graph))) <= EXACT


def test_each_component_is_traded_by_a_coin_of_its_own():
    graph = ising([0.3, -0.2, 0.5, 0.1], [[0, 1], [2, 3]], [0.7, -0.4]).graph
    found = outcomes(trade(graph), (0, 0, 0, 1, 1, 1, 1, 1))  # components {0, 1} and {2}
    assert found == {
        (*one, 1, *other, 1): pytest.approx(0.25, abs=EXACT)
        for one, other in (
            ((0, 0, 0), (1, 1, 1)),
            ((1, 1, 0), (0, 0, 1)),
            ((0, 0, 1), (1, 1, 0)),
            ((1, 1, 1), (0, 0, 0)),
        )
    }


def test_copies_are_independent():
    graph = random_graph(3, variables=(3, 4), zeros=0.2)
    alone = brute_force.distribution(graph)
    both = brute_force.distribution(copies(graph, [1.0, 1.0]))
    assert np.abs(both - np.outer(alone, alone).ravel()).max() <= EXACT


def test_exchanging_part_of_a_component_is_wrong(monkeypatch):
    graph = ising([0.3, -0.2, 0.5], [[0, 1], [1, 2]], [0.7, -0.4]).graph
    both = copies(graph, [1.0, 1.0])
    assert residuals(both, trade(graph))[0] <= EXACT
    usual = replica._walk
    monkeypatch.setattr(replica, "_walk", lambda *arguments: usual(*arguments) and 1)
    assert residuals(both, trade(graph))[0] > 1e-3


MODELS = 100
SCHEDULE = Schedule(samples=40, spacing=14, warm_up=1000)  # chains are slow, but start well


def covered(columns):
    """How many 95 % intervals hold the truth, on as many random slow trees."""
    found = 0
    for seed in range(MODELS):
        rng = np.random.default_rng([seed, 7])
        edges = [[int(rng.integers(0, k)), k] for k in range(1, 7)]
        model = ising(0.3 * rng.normal(size=7), edges, rng.choice([-1.2, 1.2], size=6))
        gibbs = RandomScan()
        kernel = mixture(gibbs, ReplicaExchange(columns), weight=0.9)
        run = sample(prepare(model.graph), kernel, SCHEDULE, seed=seed, packs=1, threads=1)
        found += _holds(run.statistics(), brute_force.marginals(model.graph)[0][1])
    return found


def _holds(numbers, truth):
    return numbers.low[0] <= truth <= numbers.high[0]


def test_intervals_stay_honest_when_lanes_trade_within_columns():
    assert replica_exchange().columns == 8
    assert covered(replica_exchange().columns) >= binom.ppf(FALSE_ALARM, MODELS, 0.95)


def test_intervals_are_too_short_when_columns_trade():
    assert covered(1) < binom.ppf(FALSE_ALARM, MODELS, 0.95)
