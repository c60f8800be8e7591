"""Every kernel keeps its distribution: exact matrices from the production code."""

from itertools import pairwise

import numpy as np
import pytest

from orbitmc.conditionals.classify import FACTORS
from orbitmc.conditionals.draws import draw, draw_sequentially, scratch
from orbitmc.conditionals.prepared import prepare_unrounded
from orbitmc.graph.builder import Builder
from orbitmc.groups._exchange_blocks import exchange_blocks
from orbitmc.kernels._gibbs import RandomScan, SystematicScan
from orbitmc.kernels.exchange import shuffle
from orbitmc.kernels.protocol import steps
from orbitmc.kernels.testing.exact import (
    change_given_shared,
    one_step,
    outcomes,
    transition_matrix,
)
from tests.kernels.catalogue import (
    kernels_on,
    moves_on,
    on_path,
    orbital_kernels_on,
    prepared_on,
)
from tests.oracle import brute_force
from tests.oracle.random_models import random_graph, random_ising

EXACT = 1e-12
FLAVOURS = {
    "binary": {"cardinalities": (2,)},
    "ternary": {"cardinalities": (3,), "variables": (2, 4)},
    "mixed": {"cardinalities": (2, 3)},
    "zeros": {"cardinalities": (2, 3), "zeros": 0.3},
    "binary zeros": {"cardinalities": (2,), "zeros": 0.4},
}


def residuals(graph, run):
    """How far a kernel is from keeping the distribution, and from detailed balance."""
    chances = brute_force.distribution(graph)
    matrix = transition_matrix(graph, run)
    assert np.abs(matrix.sum(axis=1) - 1).max() <= EXACT
    flow = chances[:, None] * matrix
    return np.abs(chances @ matrix - chances).max(), np.abs(flow - flow.T).max()


@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize("block", range(6))
def test_every_kernel_keeps_the_distribution_in_detailed_balance(flavour, block):
    for seed in range(10 * block, 10 * block + 10):
        graph = random_graph([seed, list(FLAVOURS).index(flavour)], **FLAVOURS[flavour])
        for name, run in kernels_on(graph).items():
            stationary, balance = residuals(graph, run)
            assert stationary <= EXACT, (flavour, seed, name)
            assert balance <= EXACT, (flavour, seed, name)


@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize("block", range(3))
def test_orbital_kernels_along_wrong_groups_keep_the_distribution(flavour, block):
    seen = set()
    for seed in range(2 * block, 2 * block + 2):
        graph = random_graph([seed, 50, list(FLAVOURS).index(flavour)], **FLAVOURS[flavour])
        for name, run in orbital_kernels_on(graph).items():
            stationary, balance = residuals(graph, run)
            assert stationary <= EXACT, (flavour, seed, name)
            assert balance <= EXACT, (flavour, seed, name)
            seen.add(name)
    assert seen


def test_jumps_that_change_variables_one_by_one_keep_the_distribution():
    rng = np.random.default_rng(11)
    sizes = [3, 2, 3, 3]
    builder = Builder(sizes)
    for variable, size in enumerate(sizes):
        builder.add_factor([variable], rng.normal(size=size))
    for one, other in [(0, 1), (2, 0), (0, 3), (3, 2), (1, 3)]:
        builder.add_factor([one, other], rng.normal(size=sizes[one] * sizes[other]))
    graph = builder.build()
    prepared = prepare_unrounded(graph)
    assert prepared.conditionals.pairwise.all()
    assert not prepared.conditionals.affine.any()
    for name, run in orbital_kernels_on(graph).items():
        stationary, balance = residuals(graph, run)
        assert stationary <= EXACT, name
        assert balance <= EXACT, name


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_moves_of_many_variables_keep_the_distribution(flavour):
    seen = set()
    for seed in range(12):
        graph = random_graph([seed, 80, list(FLAVOURS).index(flavour)], **FLAVOURS[flavour])
        for name, run in moves_on(graph).items():
            stationary, balance = residuals(graph, run)
            assert max(stationary, balance) <= EXACT, (flavour, seed, name)
            seen.add(name)
    assert seen


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_kernels_keep_the_distribution_given_whatever_all_lanes_share(flavour):
    """So lanes are uncorrelated, and their spread is the error of an answer."""
    for seed in range(3):
        graph = random_graph([seed, 90, list(FLAVOURS).index(flavour)], **FLAVOURS[flavour])
        for kernels in (kernels_on, orbital_kernels_on, moves_on):
            for name, run in kernels(graph).items():
                assert change_given_shared(graph, run).max() <= EXACT, (flavour, seed, name)


@pytest.mark.parametrize("equal", [True, False])
def test_moves_on_ising_models_keep_the_distribution(equal):
    for seed in range(4):
        graph = random_ising(seed, variables=4, degree=2, equal=equal)
        for name, run in moves_on(graph).items():
            stationary, balance = residuals(graph, run)
            assert max(stationary, balance) <= EXACT, (seed, name)


@pytest.mark.parametrize("equal", [True, False])
def test_orbital_kernels_on_ising_models_keep_the_distribution(equal):
    for seed in range(2):
        graph = random_ising(seed, variables=4, degree=2, equal=equal)
        for name, run in orbital_kernels_on(graph).items():
            stationary, balance = residuals(graph, run)
            assert max(stationary, balance) <= EXACT, (seed, name)


@pytest.mark.parametrize("equal", [True, False])
def test_ising_kernels_keep_the_distribution(equal):
    for seed in range(10):
        graph = random_ising(seed, variables=5, degree=2, equal=equal)
        for name, run in kernels_on(graph).items():
            stationary, balance = residuals(graph, run)
            assert max(stationary, balance) <= EXACT, (seed, name)


def test_a_shuffle_keeps_the_distribution_at_every_turn_and_comes_to_every_member():
    graph = random_graph(8, variables=(7, 8), cardinalities=(2,), zeros=0.2)
    prepared = prepare_unrounded(graph)
    kernel = shuffle(prepared, exchange_blocks([[0, 1], [2, 3, 4], [5, 6]]), rows=2)
    memory, seen = kernel.memory(prepared, 1), []
    for _ in range(graph.variables):
        turn = int(memory.turn[0])

        def run(values, rng, turn=turn):
            memory.turn[0] = turn
            steps(
                prepared,
                kernel,
                memory,
                values,
                np.zeros(len(kernel.outcomes), dtype=np.int64),
                rng,
                1,
            )

        stationary, balance = residuals(graph, run)
        assert max(stationary, balance) <= EXACT, turn
        assert memory.turn[0] != turn
        seen.append(int(kernel.blocks.block_of[turn]))
    assert np.bincount(seen).tolist() == [2, 3, 2]
    assert all(one != other for one, other in pairwise(seen))  # turns of a block are spread


def test_a_systematic_scan_keeps_the_distribution_at_every_turn():
    graph = random_graph(5, variables=(4, 5), zeros=0.2)
    prepared, kernel = prepare_unrounded(graph), SystematicScan()
    for turn in range(graph.variables):

        def run(values, rng, turn=turn):
            memory = kernel.memory(prepared, 1)
            memory.turn[0] = turn
            draw(prepared, memory.scratch, values, turn, rng)

        assert residuals(graph, run)[0] <= EXACT


def test_a_synchronous_update_fails_the_same_test():
    graph = random_ising(1, variables=3, degree=2, equal=True)
    prepared = prepare_unrounded(graph)
    scratch = RandomScan().memory(prepared, 1).scratch

    def run(values, rng):
        old, new = values.copy(), values.copy()
        for variable in range(graph.variables):
            values[...] = old
            draw(prepared, scratch, values, variable, rng)
            new[variable] = values[variable]
        values[...] = new

    assert residuals(graph, run)[0] > 1e-3


def test_the_oracle_meets_every_outcome():
    graph = random_graph(3, variables=(3, 4), cardinalities=(3,))
    kernel = RandomScan()
    found = outcomes(one_step(prepare_unrounded(graph), kernel), (0, 1, 2))
    assert sum(found.values()) == pytest.approx(1.0, abs=EXACT)
    assert set(found) == {
        state
        for state in brute_force.states(graph)
        if sum(a != b for a, b in zip(state, (0, 1, 2), strict=True)) <= 1
    }


def sweep(prepared, kernel, forget=True):
    """A run of as many steps as there are variables, in one call or, to be sure, in many."""

    def run(values, rng):
        counts = np.zeros(1, dtype=np.int64)
        memory = kernel.memory(prepared, 1)
        calls = 1 if forget else len(values)
        for _ in range(calls):
            steps(prepared, kernel, memory, values, counts, rng, len(values) // calls)

    return run


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_counts_of_clauses_are_right_while_variables_change_in_turn(flavour):
    """A sweep that keeps counts is the sweep that counts anew before every draw, to rounding."""
    counted = 0
    for seed in range(6):
        graph = random_graph([seed, 9, list(FLAVOURS).index(flavour)], **FLAVOURS[flavour])
        if graph.first_clause == graph.factors:
            continue
        prepared = prepared_on(graph)["counted clauses"]
        counted += len(prepared.conditionals.groups.long_factor)
        kept, fresh = (
            transition_matrix(graph, sweep(prepared, SystematicScan(), forget=one))
            for one in (True, False)
        )
        assert np.abs(kept - fresh).max() <= EXACT
        usual = transition_matrix(graph, sweep(prepare_unrounded(graph), SystematicScan()))
        assert np.abs(kept - usual).max() <= EXACT
    assert counted


def test_counts_that_are_believed_after_values_have_changed_are_wrong():
    """The negative of the test above: who changes values must have counts forgotten."""
    builder = Builder([2, 2, 2])
    builder.add_clause([0, 1, 2], [1, 1, 1], 2.0)
    graph = builder.build()
    prepared = on_path(prepare_unrounded(graph), np.ones(3, dtype=bool), FACTORS, long=2)

    def careless(values, rng):
        memory = scratch(prepared, 1)
        draw_sequentially(prepared, memory, values, 0, rng)
        values[1, 0] ^= 1
        draw_sequentially(prepared, memory, values, 0, rng)
        values[1, 0] ^= 1

    def careful(values, rng):
        memory = scratch(prepared, 1)
        draw(prepared, memory, values, 0, rng)
        values[1, 0] ^= 1
        draw(prepared, memory, values, 0, rng)
        values[1, 0] ^= 1

    wrong, right = (transition_matrix(graph, run) for run in (careless, careful))
    assert np.abs(wrong - right).max() > 0.1
