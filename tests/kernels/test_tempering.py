"""Parallel tempering keeps the product of the rungs' distributions."""

import numpy as np
import pytest

from orbitmc.conditionals.layout import LONG_CLAUSE
from orbitmc.conditionals.prepared import prepare, prepare_unrounded
from orbitmc.errors import InputError
from orbitmc.graph.builder import Builder
from orbitmc.graph.transforms import replicate
from orbitmc.kernels import _tempering as module
from orbitmc.kernels._tempering import PARITY, STARTED, TURN, tempering
from orbitmc.kernels.protocol import steps
from orbitmc.kernels.testing.exact import restorer
from orbitmc.sampling.pack import start_pack, walk
from tests.kernels.catalogue import prepared_on
from tests.kernels.test_transition_matrices import EXACT, residuals
from tests.oracle import brute_force
from tests.oracle.random_models import random_graph, random_ising


def one_turn(prepared, kernel, turn, parity):
    """One step at a given turn, as a run on all rungs side by side."""
    variables = prepared.graph.variables
    memory = kernel.memory(prepared, 1)
    restore = restorer(memory)

    def run(values, rng):
        restore()
        memory.turn[[TURN, PARITY, STARTED]] = turn, parity, 1
        memory.hot[...] = values[variables:]
        counts = np.zeros(len(kernel.outcomes), dtype=np.int64)
        steps(prepared, kernel, memory, values[:variables], counts, rng, 1)
        values[variables:] = memory.hot

    return run


@pytest.mark.parametrize("zeros", [0.0, 0.3])
@pytest.mark.parametrize(("cardinalities", "most"), [((2,), 3), ((2, 3), 2)])
def test_two_rungs_keep_their_distributions_at_every_turn(zeros, cardinalities, most):
    sizes = (2, most + 1)
    for seed in range(4):
        graph = random_graph([seed, 60], variables=sizes, cardinalities=cardinalities, zeros=zeros)
        joint = replicate(graph, [1.0, 0.4])
        for way, prepared in prepared_on(graph).items():
            kernel = tempering(prepared, [1.0, 0.4])
            for turn in range(graph.variables):
                stationary, _ = residuals(joint, one_turn(prepared, kernel, turn, 0))
                assert stationary <= EXACT, (seed, way, turn)


@pytest.mark.parametrize("parity", [0, 1])
def test_three_rungs_of_spins_keep_their_distributions(parity):
    graph = random_ising(2, variables=2, degree=1, equal=False)
    prepared, ladder = prepare_unrounded(graph), [1.0, 0.6, 0.2]
    kernel = tempering(prepared, ladder)
    assert kernel.affine
    assert residuals(replicate(graph, ladder), one_turn(prepared, kernel, 1, parity))[0] <= EXACT


def test_scaled_copies_have_scaled_log_weights():
    graph = random_graph(3, variables=(3, 4), zeros=0.2)
    scaled = replicate(graph, [0.3])
    for state in brute_force.states(graph):
        usual = brute_force.log_weight(graph, state)
        assert brute_force.log_weight(scaled, state) == pytest.approx(0.3 * usual, abs=EXACT)


def test_exchanging_whatever_the_weights_is_wrong(monkeypatch):
    graph = random_ising(2, variables=2, degree=1, equal=False)
    prepared = prepare_unrounded(graph)
    kernel = tempering(prepared, [1.0, 0.3])
    joint = replicate(graph, [1.0, 0.3])
    assert residuals(joint, one_turn(prepared, kernel, 1, 0))[0] <= EXACT
    monkeypatch.setattr(module, "_weigh", lambda *arguments: None)
    assert residuals(joint, one_turn(prepared, kernel, 1, 0))[0] > 1e-3


def test_hot_copies_start_where_their_lanes_do():
    graph = random_graph(5, variables=(3, 4), zeros=0.3)
    prepared = prepare_unrounded(graph)
    kernel = tempering(prepared, [1.0, 0.7, 0.3])
    memory = kernel.memory(prepared, 1)
    values = np.arange(graph.variables, dtype=np.uint8)[:, None] % 2
    counts = np.zeros(len(kernel.outcomes), dtype=np.int64)
    steps(prepared, kernel, memory, values, counts, None, 0)
    assert np.array_equal(memory.hot, np.concatenate([values, values]))


def test_hot_copies_count_literals_of_all_their_clauses():
    builder = Builder(np.full(LONG_CLAUSE, 2))
    builder.add_clause(range(LONG_CLAUSE), [1] * LONG_CLAUSE, 0.5)
    prepared = prepare(builder.build())
    memory = tempering(prepared, [1.0, 0.5, 0.2]).memory(prepared, 32)
    assert memory.scratch.counts.shape == (1, 32)
    assert memory.hot_scratch.counts.shape == (2, 32)


def test_hot_copies_move_when_a_sweep_ends_and_not_before():
    graph = random_ising(2, variables=3, degree=1, equal=False)
    prepared = prepare(graph)
    kernel = tempering(prepared, [1.0, 0.2])
    pack = start_pack(prepared, kernel, seed=1, number=0, lanes=32)
    begun = pack.values.copy()
    walk(prepared, kernel, pack, 2)
    assert np.array_equal(pack.memory.hot, begun)
    walk(prepared, kernel, pack, 1)
    assert not np.array_equal(pack.memory.hot, begun)
    assert pack.outcomes[0] == 2 * graph.variables


def test_wrong_ladders_are_refused():
    graph = random_ising(2, variables=2, degree=1, equal=False)
    prepared = prepare_unrounded(graph)
    for betas in ([], [1.0], [0.9, 0.5], [1.0, 1.0], [1.0, 0.5, 0.6], [1.0, 0.0]):
        with pytest.raises(InputError):
            tempering(prepared, betas)
