"""What is recorded is what the chains showed, however the parts were merged."""

import numpy as np
import pytest

from orbitmc._numba.jit import compiled
from orbitmc.conditionals.draws import scratch
from orbitmc.conditionals.prepared import prepare
from orbitmc.estimate.statistics import pool_rows
from orbitmc.estimate.tally import (
    COLUMNS,
    PARTS,
    RaoBlackwellTally,
    ValueTally,
    capacity,
    merge_parts,
    record,
    rows_of_orbits,
    tally,
)
from orbitmc.kernels._gibbs import RandomScan
from orbitmc.sampling.pack import advance, start_pack
from tests.oracle import brute_force
from tests.oracle.random_models import random_graph


@compiled
def record_once(tally, prepared, memory, values):
    record(tally, prepared, memory, values, 0)


def recorded(graph, kind, state):
    """What one sample adds when every lane is in the same state, per lane."""
    found = tally(graph, 64, kind=kind)
    values = np.repeat(np.array(state, dtype=np.uint8)[:, None], 64, axis=1)
    prepared = prepare(graph)
    record_once(found, prepared, scratch(prepared, 64), values)
    assert (found.sums[1:] == 0).all()
    return found.sums[0].sum(axis=1) / 64, found


@pytest.mark.parametrize("kind", [RaoBlackwellTally, ValueTally])
@pytest.mark.parametrize("zeros", [0.0, 0.3])
def test_the_expected_record_is_the_marginal(kind, zeros):
    for seed in range(8):
        graph = random_graph(seed, variables=(2, 5), cardinalities=(2, 3), zeros=zeros)
        expected = 0.0
        states, chances = brute_force.states(graph), brute_force.distribution(graph)
        for state, chance in zip(states, chances, strict=True):
            if chance > 0:
                expected = expected + chance * recorded(graph, kind, state)[0]
        rows = [m[1:] if len(m) == 2 else m for m in brute_force.marginals(graph)]
        np.testing.assert_allclose(expected, np.concatenate(rows), atol=1e-8)


def test_open_lanes_are_those_with_a_choice():
    graph = random_graph(3, variables=(3, 5), cardinalities=(2, 3), zeros=0.4)
    assert graph.has_zeros()
    for state, chance in zip(
        brute_force.states(graph), brute_force.distribution(graph), strict=True
    ):
        if chance > 0:
            choices = [
                (brute_force.conditional(graph, state, v) > 0).sum() > 1
                for v in range(graph.variables)
            ]
            for kind in (RaoBlackwellTally, ValueTally):
                found = recorded(graph, kind, state)[1].open
                assert np.array_equal(found.all(axis=1), choices)
                assert np.array_equal(found.any(axis=1), choices)


def test_parts_hold_consecutive_samples_of_equal_number():
    for samples in range(1, 300):
        size = capacity(samples)
        assert PARTS * size // 2 < samples <= PARTS * size or samples <= PARTS


def test_merging_keeps_sums_and_order():
    sums = np.arange(4.0)[:, None, None] * np.ones((4, 3, COLUMNS))
    merge_parts(sums)
    assert sums[:, 0, 0].tolist() == [1.0, 5.0, 0.0, 0.0]


@pytest.mark.parametrize("kind", [RaoBlackwellTally, ValueTally])
def test_the_way_a_run_is_cut_does_not_change_its_record(kind):
    graph = random_graph(8, variables=(4, 5))
    prepared, kernel = prepare(graph), RandomScan()

    def run(pieces):
        pack = start_pack(prepared, kernel, seed=1, number=0, lanes=32, kind=kind)
        done = 0
        for piece in pieces:
            advance(prepared, kernel, pack, recorded=done, samples=piece, spacing=3)
            done += piece
        return pack.tally.sums

    whole = run([77])
    np.testing.assert_array_equal(whole, run([1] * 77))
    np.testing.assert_array_equal(whole, run([5, 40, 1, 31]))
    # 77 samples in parts of 32: 32, 32, 13; every row's total is bounded by its lanes.
    lanes_per_column = 32 // COLUMNS
    assert whole[3].max() == 0
    assert whole[2].max() <= 13 * lanes_per_column
    assert whole[1].max() <= 32 * lanes_per_column


def test_pools_join_equal_values_of_one_orbit():
    sizes = np.array([2, 2, 3, 3, 1], dtype=np.uint32)
    pools = rows_of_orbits(sizes, np.array([0, 0, 2, 2, 4]))
    assert pools.tolist() == [0, 0, 1, 2, 3, 1, 2, 3]
    rows = np.arange(8.0)[:, None] * np.ones((3, 1, 2))
    means = pool_rows(rows, pools)
    assert means.shape == (3, 4, 2)
    assert means[2, :, 1].tolist() == [0.5, 3.5, 4.5, 5.5]
