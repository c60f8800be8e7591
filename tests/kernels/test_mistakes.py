"""The mistakes that the transition matrices are there to catch are caught."""

import numpy as np
import pytest

from orbitmc._simd.random import integer
from orbitmc.conditionals.prepared import prepare_unrounded
from orbitmc.groups._exchange_blocks import exchange_blocks
from orbitmc.groups.permutation_groups import permutation_group
from orbitmc.kernels._orbital import _propose, orbital
from orbitmc.kernels.exchange import shuffle
from orbitmc.kernels.metropolis import ACCEPTED, NULL, accept_reject, proposal_memory
from orbitmc.kernels.protocol import steps
from orbitmc.kernels.testing.exact import one_step
from tests.groups.builders import from_row
from tests.kernels.test_transition_matrices import EXACT, residuals
from tests.oracle.random_models import random_graph, random_ising

WRONG = 1e-5  # ten million times what exact kernels are allowed


@pytest.fixture(scope="module")
def model():
    graph = random_ising(5, variables=4, degree=2, equal=False)
    return graph, prepare_unrounded(graph)


def counts():
    return np.zeros(4, dtype=np.int64)


def test_a_cycle_of_three_needs_the_coin(model):
    graph, prepared = model
    kernel = orbital(graph, permutation_group(4, [from_row([1, 2, 0, 3])]))
    assert max(residuals(graph, one_step(prepared, kernel))) <= EXACT

    def without_coin(values, rng):
        memory = kernel.memory(prepared, 1)
        _propose(kernel, memory, values, 0, 3)
        accept_reject(prepared, memory.proposal, values, counts(), rng, 3)

    assert residuals(graph, without_coin)[0] > WRONG


def test_differing_pairs_of_a_list_need_the_ratio_of_their_numbers(model):
    graph, prepared = model
    pairs = [(0, 1), (1, 2), (2, 3)]

    def differing(values):
        return [pair for pair in pairs if values[pair[0], 0] != values[pair[1], 0]]

    def run(values, rng, corrected):
        found = differing(values)
        if not found:
            return
        first, second = found[integer(rng, len(found))]
        memory = proposal_memory(prepared, 1, 2)
        memory.target[:] = first, second
        memory.proposed[:, 0] = values[second, 0], values[first, 0]
        after = values.copy()
        after[[first, second]] = values[[second, first]]
        if corrected:
            memory.change[0] = np.log(len(found) / len(differing(after)))
        accept_reject(prepared, memory, values, counts(), rng, 2)

    assert residuals(graph, lambda v, r: run(v, r, True))[0] <= EXACT
    assert residuals(graph, lambda v, r: run(v, r, False))[0] > WRONG


def test_trying_again_after_a_rejection_is_wrong(model):
    graph, prepared = model
    kernel = shuffle(prepared, exchange_blocks([[0, 1, 2, 3]]), rows=2)

    def persistent(values, rng):
        for _ in range(2):
            found = counts()
            steps(prepared, kernel, kernel.memory(prepared, 1), values, found, rng, 1)
            if found[ACCEPTED] or found[NULL]:
                return

    assert residuals(graph, persistent)[0] > WRONG


def test_choosing_the_block_by_the_state_is_wrong():
    graph = random_graph(9, variables=(4, 5), cardinalities=(2,), clauses=False)
    prepared = prepare_unrounded(graph)
    blocks = [exchange_blocks([[0, 1]]), exchange_blocks([[1, 2, 3]])]
    kernels = [shuffle(prepared, block) for block in blocks]

    def run(values, rng):
        kernel = kernels[int(values[1, 0])]
        steps(prepared, kernel, kernel.memory(prepared, 1), values, counts(), rng, 1)

    assert residuals(graph, run)[0] > WRONG
