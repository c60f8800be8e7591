"""Compiled chains do what the interpreted ones do, and keep the distribution."""

import numpy as np
import pytest
from scipy.stats import chi2

from orbitmc._numba.jit import compiled
from orbitmc._simd.random import generator
from orbitmc.conditionals.prepared import prepare
from orbitmc.kernels._gibbs import RandomScan, SystematicScan
from orbitmc.kernels.protocol import steps
from orbitmc.sampling.pack import start_values
from tests.kernels.catalogue import on_path, prepared_on
from tests.oracle import brute_force
from tests.oracle.random_models import random_graph, random_ising
from tests.oracle.slow_generator import SlowGenerator

FALSE_ALARM = 1e-7  # per test; there are fewer than ten


@compiled
def compiled_steps(prepared, kernel, memory, values, outcomes, rng, count):
    steps(prepared, kernel, memory, values, outcomes, rng, count)


MODELS = {
    "ising": random_ising(2, variables=9, degree=2, equal=True),
    "glass": random_ising(3, variables=12, degree=6, equal=False),
    "mixed": random_graph(4, variables=(6, 7), zeros=0.2),
    "ternary": random_graph(5, variables=(6, 7), cardinalities=(3, 4)),
}


def ways(graph):
    for name, unrounded in prepared_on(graph).items():
        rounded = prepare(graph)
        yield name, on_path(rounded, True, unrounded.conditionals.path)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("scan", [RandomScan, SystematicScan])
def test_the_same_stream_gives_the_same_trajectory(name, scan):
    graph, lanes, count = MODELS[name], 32, 60
    start = start_values(graph, lanes, np.random.SeedSequence(7))
    for way, prepared in ways(graph):
        kernel = scan()
        fast, slow = start.copy(), start.copy()
        outcomes = np.zeros(1, dtype=np.int64)
        memory = kernel.memory(prepared, lanes)
        compiled_steps(prepared, kernel, memory, fast, outcomes, generator(5, 1, lanes), count)
        memory = kernel.memory(prepared, lanes)
        steps(prepared, kernel, memory, slow, outcomes, SlowGenerator(5, 1, lanes), count)
        assert np.array_equal(fast, slow), (name, way)
        assert outcomes[0] == 2 * count
        assert not np.array_equal(fast, start)


@pytest.mark.parametrize("seed", [11, 12, 13])
def test_one_compiled_step_from_the_distribution_stays_in_it(seed):
    graph = random_graph(seed, variables=(4, 5), zeros=0.2)
    chances = brute_force.distribution(graph)
    every = np.array(brute_force.states(graph), dtype=np.uint8)
    lanes, packs = 64, 4000
    rng = np.random.default_rng(seed)
    counts = np.zeros(len(every))
    place = np.cumprod([1, *graph.cardinality[:0:-1].astype(int)])[::-1]
    prepared, kernel = prepare(graph), RandomScan()
    memory, generated = kernel.memory(prepared, lanes), generator(seed, 0, lanes)
    outcomes = np.zeros(1, dtype=np.int64)
    for _ in range(packs):
        values = np.ascontiguousarray(every[rng.choice(len(every), lanes, p=chances)].T)
        compiled_steps(prepared, kernel, memory, values, outcomes, generated, 1)
        np.add.at(counts, place @ values.astype(int), 1)
    assert not counts[chances == 0].any()
    assert chi_square(counts, chances) < chi2.isf(FALSE_ALARM, (chances > 0).sum() - 1)


def chi_square(counts, chances):
    expected = counts.sum() * chances[chances > 0]
    return ((counts[chances > 0] - expected) ** 2 / expected).sum()


def test_the_chi_square_sees_a_chain_that_always_prefers_the_last_value():
    graph = random_graph(11, variables=(4, 5), zeros=0.0)
    chances = brute_force.distribution(graph)
    rng = np.random.default_rng(0)
    drawn = rng.multinomial(250_000, 0.98 * chances + 0.02 * np.eye(len(chances))[-1])
    assert chi_square(drawn, chances) > chi2.isf(FALSE_ALARM, len(chances) - 1)
