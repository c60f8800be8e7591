"""MC-SAT keeps the distribution whichever way it draws a slice, but for SampleSAT."""

import numpy as np
import pytest
from scipy.stats import chi2

from orbitmc._numba.jit import compiled
from orbitmc._simd.random import accept_by_log_ratio, generator
from orbitmc.conditionals.prepared import prepare, prepare_unrounded
from orbitmc.errors import InputError
from orbitmc.graph.builder import Builder
from orbitmc.kernels.mcsat.kernel import (
    BY_SAMPLE_SAT,
    COUNTED,
    FORCED,
    MCSAT_OUTCOMES,
    SLICES,
    UPDATES,
    describe_slices,
    mc_sat,
    reachable_variables,
)
from orbitmc.kernels.mcsat.propagation import prune
from orbitmc.kernels.mcsat.slices import draw_level, is_satisfied
from orbitmc.kernels.mcsat.walks import SampleSAT, WithinSlice
from orbitmc.kernels.protocol import steps
from orbitmc.kernels.testing.exact import one_step
from orbitmc.sampling.pack import start_values
from tests.kernels.catalogue import slice_kernels_on
from tests.kernels.test_mistakes import WRONG
from tests.kernels.test_transition_matrices import EXACT, residuals
from tests.oracle import brute_force
from tests.oracle.random_models import random_clauses, random_graph
from tests.oracle.slow_generator import SlowGenerator

FALSE_ALARM = 1e-7
FLAVOURS = {
    "binary": {"cardinalities": (2,), "variables": 4},
    "mixed": {"cardinalities": (2, 2, 3)},
    "zeros": {"cardinalities": (2, 3), "zeros": 0.3},
    "binary zeros": {"cardinalities": (2,), "variables": 4, "zeros": 0.3},
}


@compiled
def compiled_steps(prepared, kernel, memory, values, outcomes, rng, count):
    steps(prepared, kernel, memory, values, outcomes, rng, count)


@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize("seed", range(5))
def test_every_exact_way_keeps_the_distribution_in_detailed_balance(flavour, seed):
    graph = random_clauses([seed, list(FLAVOURS).index(flavour)], **FLAVOURS[flavour])
    for name, kernel in slice_kernels_on(graph).items():
        stationary, balance = residuals(graph, one_step(prepare_unrounded(graph), kernel))
        assert stationary <= EXACT, name
        assert balance <= EXACT, name


def test_the_walk_may_take_any_number_of_steps():
    graph = random_clauses(4, cardinalities=(2,))
    for sweeps in (0, 2):
        kernel = mc_sat(graph, most_nodes=0, large=WithinSlice(sweeps))
        assert max(residuals(graph, one_step(prepare_unrounded(graph), kernel))) <= EXACT


def either_or(weight):
    builder = Builder([2, 2])
    builder.add_factor([0], [0.0, 0.4])
    builder.add_clause([0, 1], [1, 1], weight)
    return builder.build()


def test_a_metropolis_ratio_on_top_of_a_slice_is_wrong():
    graph = either_or(1.5)
    step = one_step(prepare_unrounded(graph), mc_sat(graph))

    def corrected(values, rng):
        before = values.copy()
        step(values, rng)
        logs = [brute_force.log_weight(graph, state[:, 0]) for state in (before, values)]
        accepted = np.zeros(1, dtype=np.uint8)
        accept_by_log_ratio(rng, np.array([logs[1] - logs[0]]), accepted)
        if not accepted[0]:
            values[...] = before

    assert residuals(graph, step)[0] <= EXACT
    assert residuals(graph, corrected)[0] > WRONG


def test_choosing_by_the_state_how_to_draw_a_slice_is_wrong():
    graph = either_or(1.5)
    ways = [
        one_step(prepare_unrounded(graph), kernel)
        for kernel in (mc_sat(graph), mc_sat(graph, most_nodes=0, large=WithinSlice(1)))
    ]

    def by_state(values, rng):
        ways[int(values[0, 0])](values, rng)

    assert residuals(graph, by_state)[0] > WRONG


@pytest.mark.parametrize("weight", [1.5, np.inf])
def test_sample_sat_is_not_uniform(weight):
    graph = either_or(weight)
    kernel = mc_sat(graph, most_nodes=0, large=SampleSAT(moves=2))
    assert residuals(graph, one_step(prepare_unrounded(graph), kernel))[0] > WRONG


def slow_and_fast(graph, kernel, samples, lanes=32):
    """The same chains by the interpreter and by the compiler: states and outcomes of both."""
    prepared, found = prepare(graph), []
    for run, rng in (
        (steps, SlowGenerator(5, 1, lanes)),
        (compiled_steps, generator(5, 1, lanes)),
    ):
        values = start_values(graph, lanes, np.random.SeedSequence(7))
        outcomes = np.zeros(len(kernel.outcomes), dtype=np.int64)
        memory = kernel.memory(prepared, lanes)
        run(prepared, kernel, memory, values, outcomes, rng, samples * graph.variables)
        found.append((values, outcomes))
    return found


@pytest.mark.parametrize("zeros", [0.0, 0.2])
def test_the_same_stream_gives_the_same_trajectory(zeros):
    graph = random_graph(4, variables=(6, 7), zeros=zeros)
    start = start_values(graph, 32, np.random.SeedSequence(7))
    used = np.zeros(7, dtype=np.int64)
    for nodes, large in ((4096, WithinSlice(1)), (0, WithinSlice(2)), (0, SampleSAT(moves=5))):
        slow, fast = slow_and_fast(graph, mc_sat(graph, most_nodes=nodes, large=large), 4)
        assert np.array_equal(slow[0], fast[0])
        assert np.array_equal(slow[1], fast[1])
        assert not np.array_equal(fast[0], start)
        used += fast[1]
    assert used.all()


@pytest.mark.parametrize("nodes", [4096, 0])
def test_one_compiled_step_from_the_distribution_stays_in_it(nodes):
    graph = random_graph(12, variables=(4, 5), zeros=0.2)
    chances = brute_force.distribution(graph)
    every = np.array(brute_force.states(graph), dtype=np.uint8)
    lanes, packs = 64, 2000
    rng = np.random.default_rng(3)
    place = np.cumprod([1, *graph.cardinality[:0:-1].astype(int)])[::-1]
    kernel = mc_sat(graph, most_nodes=nodes)
    prepared = prepare(graph)
    memory, generated = kernel.memory(prepared, lanes), generator(3, 0, lanes)
    outcomes, counts = np.zeros(7, dtype=np.int64), np.zeros(len(every))
    for _ in range(packs):
        values = np.ascontiguousarray(every[rng.choice(len(every), lanes, p=chances)].T)
        compiled_steps(prepared, kernel, memory, values, outcomes, generated, graph.variables)
        np.add.at(counts, place @ values.astype(int), 1)
    possible = chances > 0
    assert not counts[~possible].any()
    expected = counts.sum() * chances[possible]
    distance = ((counts[possible] - expected) ** 2 / expected).sum()
    assert distance < chi2.isf(FALSE_ALARM, possible.sum() - 1)


def test_pruning_loses_no_state_of_the_slice_and_adds_none():
    struck = decided = 0
    for seed in range(30):
        graph = random_graph([seed, 8], variables=(3, 5), zeros=0.2)
        kernel = mc_sat(graph)
        memory, ranks = kernel.memory(prepare(graph), 32), kernel.ranks
        every = brute_force.states(graph)
        rng = np.random.default_rng(seed)
        possible = np.flatnonzero(brute_force.distribution(graph) > 0)
        memory.state[:] = every[rng.choice(possible)]
        slow = SlowGenerator(seed, 0, 32)
        for factor in range(graph.factors):
            draw_level(graph, ranks, memory, factor, slow)
        before = [state for state in every if obeys(graph, ranks, memory, state)]
        constraints = np.count_nonzero(memory.level)
        prune(graph, ranks, memory)
        left = [
            state
            for state in every
            if all(memory.allowed[ranks.value_start[v] + k] for v, k in enumerate(state))
        ]
        assert [state for state in left if obeys(graph, ranks, memory, state)] == before
        struck += len(every) - len(left)
        decided += constraints - np.count_nonzero(memory.level)
    assert struck > 100
    assert decided > 30


def obeys(graph, ranks, memory, state):
    now = memory._replace(state=np.array(state, dtype=np.uint8))
    return all(is_satisfied(graph, ranks, now, factor) for factor in range(graph.factors))


def test_a_chain_of_implications_is_forced_from_its_end():
    builder = Builder([2] * 20)
    for variable in range(19):
        builder.add_clause([variable, variable + 1], [0, 1], np.inf)
    builder.add_clause([0], [1], np.inf)
    graph = builder.build()
    values, outcomes = slow_and_fast(graph, mc_sat(graph), 1)[1]
    assert values.all()
    assert outcomes[FORCED] == 20 * 32


def test_tight_clusters_of_any_size_are_counted():
    builder = Builder([2] * 60)
    for variable in range(59):
        builder.add_factor([variable, variable + 1], [[0.0, -np.inf], [-np.inf, 0.0]])
    graph = builder.build()
    kernel = mc_sat(graph)
    values, outcomes = slow_and_fast(graph, kernel, 3)[1]
    assert outcomes[COUNTED] == 3 * 32
    assert 0 < values[0].sum() < 32
    assert reachable_variables(graph, kernel).all()
    assert not reachable_variables(graph, kernel._replace(most_nodes=59)).any()


def test_a_sample_is_worth_a_step_for_every_variable():
    graph = random_graph(4, variables=(6, 7))
    kernel = mc_sat(graph)
    prepared = prepare(graph)
    memory, rng = kernel.memory(prepared, 32), generator(1, 0, 32)
    values = start_values(graph, 32, np.random.SeedSequence(7))
    outcomes = np.zeros(7, dtype=np.int64)
    for count in (1, 2, 3, 0, 1, 4, 1, 6):
        compiled_steps(prepared, kernel, memory, values, outcomes, rng, count)
    assert outcomes[UPDATES] == 18
    assert outcomes[SLICES] == 3 * 32


def test_words_say_whether_slices_were_drawn_exactly():
    counts = dict.fromkeys(MCSAT_OUTCOMES, 1000)
    counts |= {"components walked": 0, BY_SAMPLE_SAT: 0}
    assert describe_slices(counts) == "every slice was drawn exactly, by counting"
    counts["components walked"] = 9
    assert describe_slices(counts).startswith("9 of 1,009 components were too large")
    assert "approximate" in describe_slices(counts | {BY_SAMPLE_SAT: 2})


def test_a_negative_limit_is_refused():
    with pytest.raises(InputError):
        mc_sat(either_or(1.0), most_nodes=-1)
