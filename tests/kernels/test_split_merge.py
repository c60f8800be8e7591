"""Splitting and merging blocks of equivalence relations."""

import numpy as np
import pytest

from orbitmc.conditionals.prepared import prepare, prepare_unrounded
from orbitmc.errors import InputError
from orbitmc.graph.builder import Builder
from orbitmc.graph.transforms import condition
from orbitmc.kernels import _split_merge as module
from orbitmc.kernels._alternation import alternation
from orbitmc.kernels._gibbs import RandomScan
from orbitmc.kernels._partition import partition
from orbitmc.kernels._split_merge import split_merge
from orbitmc.kernels.relations import partition_scan
from orbitmc.kernels.testing.exact import one_step, transition_matrix
from orbitmc.sampling.partition_tally import PartitionTally
from tests.kernels.test_partition import (
    fields_of_pairs,
    lane_means,
    pairs_of,
    random_relation,
    require_exact,
)
from tests.kernels.test_partition_scan import cut_anywhere, random_model, relation
from tests.kernels.test_transition_matrices import EXACT, residuals
from tests.oracle import brute_force


def split_merge_of(graph, items, known=()):
    left = [pair for pair in pairs_of(items) if pair not in dict(known)]
    pairs = {pair: place for place, pair in enumerate(left)}
    return split_merge(partition(prepare_unrounded(graph), pairs, dict(known)))


@pytest.mark.parametrize(
    ("items", "others", "zeros", "seeds"),
    [(3, 0, 0.0, 3), (3, 2, 0.7, 2), (4, 0, 0.0, 1), (4, 0, 0.7, 2), (4, 1, 0.7, 1)],
)
def test_a_step_keeps_the_distribution(items, others, zeros, seeds):
    for seed in range(seeds):
        graph = random_relation(seed, items, others=others, zeros=zeros)
        require_exact(graph, split_merge_of(graph, items))


def test_five_items_with_unequal_gains_keep_the_distribution():
    graph = fields_of_pairs(0, 5, -0.7)
    kernel = split_merge_of(graph, 5)
    assert 0 < len(kernel.first) < 10
    assert max(residuals(graph, one_step(prepare_unrounded(graph), kernel))) <= EXACT


def test_known_pairs_stay_together_and_apart():
    for seed in range(2):
        observed = {(0, 1): 1, (2, 3): 0, (0, 4): 0}
        every = pairs_of(5)
        graph = condition(
            random_relation(seed, 5), {every[pair]: same for pair, same in observed.items()}
        )
        kernel = split_merge_of(graph, 5, {pair: bool(same) for pair, same in observed.items()})
        assert len(kernel.partition.apart) == 4
        require_exact(graph, kernel)


def test_two_relations_keep_the_distribution():
    equivalences = [relation("R", 3), relation("S", 3, 3)]
    reduced, whole = random_model(3, equivalences, 1)
    prepared = prepare_unrounded(reduced)
    kernel = split_merge(partition_scan(prepared, equivalences).partition)
    assert len(kernel.first) == 6
    run = one_step(prepared, kernel)
    matrix = transition_matrix(whole, run)
    weights = brute_force.distribution(whole)
    flow = weights[:, None] * matrix
    assert np.abs(weights @ matrix - weights).max() <= EXACT
    assert np.abs(flow - flow.T).max() <= EXACT
    assert (weights > 0).sum() == 25 * 2


@pytest.mark.parametrize(("forgotten", "seed", "zeros"), [("log_q", 0, 0.0), ("lost", 2, 1.0)])
def test_without_chances_to_propose_or_without_zeros_it_is_wrong(
    forgotten, seed, zeros, monkeypatch
):
    """The first mistake is as large as in programs that were written to measure it: thousandths."""
    graph = random_relation(seed, 4, zeros=zeros)
    kernel = split_merge_of(graph, 4)
    usual = module._accept

    def forget(memory, outcomes, rng):
        getattr(memory, forgotten)[:] = 0
        usual(memory, outcomes, rng)

    monkeypatch.setattr(module, "_accept", forget)
    assert residuals(graph, one_step(prepare_unrounded(graph), kernel))[0] > 1e-3


def test_beside_a_scan_items_keep_their_tally_and_runs_may_be_cut_anywhere():
    equivalences = [relation("R", 5), relation("S", 3, 10)]
    reduced, _ = random_model(6, equivalences, 3)
    prepared = prepare(reduced)
    scan = partition_scan(prepared, equivalences)
    kernel = alternation(scan, split_merge(scan.partition), period=7)
    whole = cut_anywhere(prepared, kernel, 400)
    assert isinstance(whole.tally, PartitionTally)
    named = dict(zip(kernel.outcomes, whole.outcomes.tolist(), strict=True))
    assert 0 < named["accepted"] < named["proposals"] == 32 * (400 // 7)


def test_compiled_steps_find_the_marginals_of_every_partition():
    """Lanes are independent: in less than 1e-8 of all seeds a mean is off by 6.5 errors."""
    graph = random_relation(4, 5, others=1)
    prepared = prepare(graph)
    items = partition(prepared, pairs_of(5))
    kernel = alternation(alternation(items, RandomScan(), period=1), split_merge(items), period=2)
    expected = [chances[1] for chances in brute_force.marginals(graph)]
    means = np.concatenate([lane_means(prepared, kernel, pack) for pack in range(4)], axis=1)
    errors = means.std(axis=1, ddof=1) / np.sqrt(means.shape[1])
    assert errors.max() < 0.01
    assert (np.abs(means.mean(axis=1) - expected) <= 6.5 * errors).all()


def test_unsuitable_partitions_are_refused():
    equivalences = [relation("R", 3, partial=[0, 1])]
    reduced, _ = random_model(1, equivalences)
    scan = partition_scan(prepare_unrounded(reduced), equivalences)
    with pytest.raises(InputError, match="in one for sure"):
        split_merge(scan.partition)
    builder = Builder([2])
    kernel = partition(prepare_unrounded(builder.build()), {(0, 1): 0})
    with pytest.raises(InputError, match="keeps all items apart"):
        split_merge(kernel._replace(apart=np.ones_like(kernel.apart)))
