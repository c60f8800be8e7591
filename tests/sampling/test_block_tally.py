"""What is recorded of blocks: probabilities given their outside, and who had a choice."""

import numpy as np
import pytest

from orbitmc._simd.random import COLUMNS
from orbitmc.conditionals.draws import scratch
from orbitmc.conditionals.prepared import prepare
from orbitmc.estimate.tally import RaoBlackwellTally, ValueTally, record
from orbitmc.graph.builder import Builder
from orbitmc.kernels._gibbs import RandomScan
from orbitmc.kernels._mixture import mixture
from orbitmc.kernels._relabelling import relabelling
from orbitmc.kernels.block_gibbs.kernel import low_width
from orbitmc.kernels.protocol import block_plans
from orbitmc.sampling.checkpoint import load, save
from orbitmc.sampling.pack import empty_pack, start_values
from orbitmc.sampling.sampler import continue_sampling, sample
from orbitmc.sampling.schedule import Schedule
from tests.oracle import brute_force
from tests.oracle.random_models import random_graph

LANES = 32


def ring(size):
    """Equal coins in a ring, the first weighed 3 to 1."""
    builder = Builder([2] * size)
    equal = builder.add_table([0.0, -np.inf, -np.inf, 0.0])
    builder.add_factors([[k, (k + 1) % size] for k in range(size)], equal)
    builder.add_factor([0], np.log([3.0, 1.0]))
    return builder.build()


def recorded_once(graph, kernel, kind):
    """Record start states once, in the interpreter."""
    prepared = prepare(graph)
    pack = empty_pack(prepared, kernel, lanes=LANES, kind=kind)
    pack.values[...] = start_values(graph, LANES, np.random.SeedSequence(3))
    record(pack.tally, prepared, scratch(prepared, LANES), pack.values, 0)
    return pack


def rows_given_outside(graph, kernel, values):
    """The rows of a tally by brute force, lane by lane."""
    joint = brute_force.distribution(graph).reshape(graph.cardinality)
    plans, found = kernel.plans, np.zeros((int(graph.cardinality.sum()), COLUMNS))
    first = np.cumsum(graph.cardinality) - graph.cardinality
    for lane in range(LANES):
        for block in range(plans.total):
            begin, end = plans.step_start[block : block + 2]
            members = sorted(plans.variable[begin:end].tolist())
            state = values[:, lane]
            at = tuple(slice(None) if v in members else state[v] for v in range(len(state)))
            for step in np.flatnonzero(plans.recorded[begin:end]) + begin:
                v = int(plans.variable[step])
                others = tuple(k for k, u in enumerate(members) if u != v)
                inside = joint[at].sum(axis=others) / joint[at].sum()
                found[first[v] : first[v] + len(inside), lane % COLUMNS] += inside
    return found


@pytest.mark.parametrize("seed", range(4))
def test_probabilities_given_the_outside_are_recorded(seed):
    graph = random_graph([seed, 95], variables=(4, 6), cardinalities=(3,), zeros=0.1 * (seed % 2))
    kernel = low_width(graph, most_entries=(9, 27)[seed // 2])
    pack = recorded_once(graph, kernel, RaoBlackwellTally)
    known = rows_given_outside(graph, kernel, pack.values)
    forced = np.flatnonzero(np.diff(kernel.plans.value_start) == 1)
    for v in forced:
        known[3 * v + int(kernel.plans.value[kernel.plans.value_start[v]])] = LANES / COLUMNS
    assert np.allclose(pack.tally.sums[0], known, atol=1e-12)
    assert np.allclose(known.sum(), LANES * graph.variables)


def test_values_are_counted_where_that_is_asked_for():
    graph = random_graph(7, variables=(5, 6), cardinalities=(3,), zeros=0.1)
    pack = recorded_once(graph, low_width(graph, most_entries=9), ValueTally)
    for v in range(graph.variables):
        for value in range(3):
            seen = (pack.values[v] == value).reshape(-1, COLUMNS).sum(axis=0)
            assert np.array_equal(pack.tally.sums[0, 3 * v + value], seen)


@pytest.mark.parametrize("kind", [RaoBlackwellTally, ValueTally])
def test_lanes_are_open_only_where_blocks_have_a_choice(kind):
    graph = ring(5)
    whole = recorded_once(graph, low_width(graph), kind)
    assert whole.tally.open.all()
    single = recorded_once(graph, low_width(graph, most_entries=2), kind)
    assert not single.tally.open.any()


def test_a_variable_that_has_changed_is_open():
    graph = ring(5)
    kernel, prepared = low_width(graph, most_entries=2), prepare(graph)
    pack = recorded_once(graph, kernel, RaoBlackwellTally)
    pack.values[:, 3] ^= 1
    record(pack.tally, prepared, scratch(prepared, LANES), pack.values, 0)
    assert pack.tally.open.sum(axis=0).tolist() == [0, 0, 0, 5] + [0] * (LANES - 4)


def test_the_blocks_of_a_base_chain_are_recorded():
    graph = ring(4)
    blocks, other = low_width(graph), RandomScan()
    prepared = prepare(graph)
    for kernel in (blocks, mixture(blocks, other, weight=0.5)):
        plans, memory = block_plans(kernel, kernel.memory(prepared, LANES))
        assert plans is blocks.plans
        assert memory.tables.shape[1] == LANES
    assert block_plans(other, other.memory(prepared, LANES)) is None


def test_compiled_recording_is_exact_where_a_block_is_everything():
    graph = ring(6)
    run = sample(prepare(graph), low_width(graph), Schedule(samples=8), seed=2, packs=1)
    known = run.statistics()
    assert np.allclose(known.probability, 0.25, atol=1e-12)
    assert (known.open_lanes == known.lanes).all()


def test_a_stopped_run_continues_as_if_it_never_stopped(tmp_path):
    graph = random_graph(4, variables=(6, 7), zeros=0.1)
    prepared, kernel = prepare(graph), low_width(graph, most_entries=8)
    assert kernel.plans.total > 1

    def stop(run):
        if run.recorded > 5:
            run.stop()

    def run(*watchers):
        return sample(prepared, kernel, Schedule(samples=30, spacing=7), packs=1, watchers=watchers)

    partial = run(stop)
    assert partial.recorded < 30
    save(partial, tmp_path / "half.run", {})
    resumed = continue_sampling(load(tmp_path / "half.run").restore(prepared, kernel))
    whole = run()
    assert np.array_equal(resumed.packs[0].values, whole.packs[0].values)
    assert np.array_equal(resumed.packs[0].tally.sums, whole.packs[0].tally.sums)


def test_jumps_that_name_their_labels_first_and_second_have_no_blocks():
    graph = ring(3)
    prepared = prepare(graph)
    jump = relabelling(graph, [[0, 1]], [(0, 1)])
    for kernel in (jump, mixture(jump, RandomScan(), weight=0.5)):
        assert block_plans(kernel, kernel.memory(prepared, LANES)) is None
