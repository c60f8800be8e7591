"""Permutations within blocks change what they change, however little of the model is looked at."""

import numpy as np
import pytest

from orbitmc.conditionals.prepared import prepare, prepare_unrounded
from orbitmc.conditionals.relative_fields import relative_fields
from orbitmc.graph.builder import Builder
from orbitmc.groups._exchange_blocks import exchange_blocks
from orbitmc.kernels.exchange import relative_to_blocks, shuffle
from orbitmc.kernels.testing.exact import one_step
from tests.kernels.test_transition_matrices import EXACT, residuals
from tests.oracle import brute_force


def coupled(variables, pairs, couplings, seed=1):
    """Binary variables with fields of their own."""
    builder = Builder([2] * variables)
    for variable, field in enumerate(np.random.default_rng(seed).normal(size=variables)):
        builder.add_factor([variable], [0.0, field])
    for pair, coupling in zip(pairs, couplings, strict=True):
        builder.add_factor(list(pair), [0.0, 0.0, 0.0, coupling])
    return builder.build()


def mostly_alike(seed, variables=8):
    """Couplings of which most are equal and a few missing, so that members share what they get."""
    rng = np.random.default_rng(seed)
    pairs = [(i, j) for i in range(variables) for j in range(i) if rng.random() < 0.9]
    return coupled(variables, pairs, rng.choice([0.5] * 5 + [-0.3], len(pairs)), seed)


def change_by_fields(known, before, after):
    """Change variables one after the other, adding each one's field to the log-weight."""
    values, total = np.array(before), 0.0
    for variable in np.flatnonzero(values != after):
        edges = slice(known.neighbour_start[variable], known.neighbour_start[variable + 1])
        field = known.bias[variable]
        field += known.coupling[edges] @ values[known.neighbour[edges]]
        total += (int(after[variable]) - int(values[variable])) * field
        values[variable] = after[variable]
    return total


def permuted(rows, state, rng):
    """A state whose values one block's rows have traded."""
    found = np.array(state)
    found[rows] = found[rows[rng.permutation(len(rows))]]
    return found


@pytest.mark.parametrize(
    "matrices", [[[0, 1, 2, 3], [4, 5, 6]], [[[0, 1], [2, 3], [4, 5]], [6, 7]]]
)
def test_permutations_change_the_weight_by_relative_fields(matrices):
    fewer = 0
    for seed in range(20):
        graph, rng = mostly_alike(seed), np.random.default_rng(seed)
        blocks = exchange_blocks(matrices)
        prepared = prepare_unrounded(graph)
        relative = relative_to_blocks(prepared, blocks)
        fewer += len(relative.neighbour) < len(prepared.conditionals.neighbour)
        for _ in range(10):
            before = rng.integers(0, 2, graph.variables)
            after = permuted(blocks.rows(int(rng.integers(2))).astype(np.int64), before, rng)
            gain = brute_force.log_weight(graph, after) - brute_force.log_weight(graph, before)
            assert change_by_fields(relative, before, after) == pytest.approx(gain, abs=1e-11)
    assert fewer > 10


def test_a_neighbour_that_changes_too_must_not_be_taken_for_an_outside_one():
    wrong = 0.0
    for seed in range(20):
        graph, rng = mostly_alike(seed), np.random.default_rng(seed)
        set_of = np.array([0, 1, 0, 1, 0, 1, -1, -1])
        mistaken = relative_fields(prepare_unrounded(graph), set_of, set_of)
        before = rng.integers(0, 2, graph.variables)
        after = permuted(np.arange(6).reshape(3, 2), before, rng)
        gain = brute_force.log_weight(graph, after) - brute_force.log_weight(graph, before)
        wrong = max(wrong, abs(change_by_fields(mistaken, before, after) - gain))
    assert wrong > 0.1


def test_what_all_members_share_is_not_looked_at():
    """Members 0-3 exclude each other and get the same from 4, all but one the same from 5."""
    pairs = [(i, j) for i in range(4) for j in range(i)] + [(4, i) for i in range(4)]
    graph = coupled(6, [*pairs, (5, 0), (5, 1), (5, 2)], [-2.0] * 6 + [0.7] * 4 + [0.4] * 3)
    relative = relative_to_blocks(prepare(graph), exchange_blocks([[0, 1, 2, 3]]))
    starts = relative.neighbour_start[:5].tolist()
    assert starts == [0, 0, 0, 0, 1]
    assert relative.neighbour[0] == 5
    assert relative.coupling[0] == np.float32(-0.4)


def test_a_model_without_common_couplings_is_left_alone():
    graph = coupled(5, [(0, 1), (1, 2), (2, 3), (3, 4)], [0.1, 0.2, 0.3, 0.4])
    prepared = prepare(graph)
    assert relative_to_blocks(prepared, exchange_blocks([[0, 2, 4]])) is prepared.conditionals


@pytest.mark.parametrize("seed", [0, 2, 3])
def test_kernels_that_look_at_less_keep_the_distribution(seed):
    graph = mostly_alike(seed, variables=5)
    prepared = prepare_unrounded(graph)
    blocks = exchange_blocks([[0, 1, 2, 3]])
    wide = exchange_blocks([[[0, 1], [2, 3]]])
    kernels = [shuffle(prepared, blocks), shuffle(prepared, blocks, rows=2)]
    assert all(
        len(one.conditionals.neighbour) < len(prepared.conditionals.neighbour) for one in kernels
    )
    for kernel in (*kernels, shuffle(prepared, wide)):
        stationary, balance = residuals(graph, one_step(prepared, kernel))
        assert stationary <= EXACT
        assert balance <= EXACT
