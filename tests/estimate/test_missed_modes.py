"""A state that must be probable, and where no chain is, proves that marginals are wrong."""

import numpy as np
import pytest

from orbitmc._simd.random import COLUMNS
from orbitmc.estimate.statistics import largest_entropies, missed_modes, statistics
from orbitmc.estimate.tally import PARTS, RaoBlackwellTally
from orbitmc.graph.builder import Builder
from orbitmc.graph.log_weights import log_weight, log_weights_of_parts
from orbitmc.graph.relevance import components
from tests.oracle import brute_force
from tests.oracle.random_models import random_graph

LANES = 256


def run_with(probability, packs=4, recorded=100, lanes=64):
    """Statistics of a run whose columns all agree on the given rows."""
    rows = np.asarray(probability, dtype=float)
    sums = np.repeat(np.repeat(rows[None, :, None], PARTS, axis=0), COLUMNS, axis=2)
    sums = sums * 32 * lanes / COLUMNS
    sums[-1] *= 4 / 32
    start = np.arange(len(rows) + 1, dtype=np.uint32)
    one = RaoBlackwellTally(sums, start, np.zeros((0, lanes), np.uint8))
    return statistics([one] * packs, recorded, lanes)


def conjunction(atoms, weight, more=0):
    builder = Builder([2] * (atoms + more))
    builder.add_clause(list(range(atoms)), [0] * atoms, -weight)
    return builder.build()


def states(atoms, seed=1):
    return np.random.default_rng(seed).integers(0, 2, (atoms, LANES)).astype(np.uint8)


@pytest.mark.parametrize("more", [0, 500])
def test_forty_atoms_that_look_independent_have_missed_their_conjunction(more):
    """The state of all ones has a probability of 0.78; atoms that are elsewhere change nothing."""
    graph = conjunction(40, 29.0, more)
    best = np.ones(40 + more, dtype=np.uint8)
    found = missed_modes(
        graph, best, states(40 + more), run_with([0.5] * (40 + more)), components(graph)
    )
    assert found.tolist() == [True] * 40 + [False] * more


def test_a_state_that_weighs_too_little_is_not_missed():
    graph, best = conjunction(40, 20.0), np.ones(40, dtype=np.uint8)
    assert not missed_modes(graph, best, states(40), run_with([0.5] * 40), components(graph)).any()


def test_a_chain_that_is_there_has_not_missed_it():
    graph, best = conjunction(40, 29.0), np.ones(40, dtype=np.uint8)
    values = states(40)
    values[:, 17] = 1
    assert not missed_modes(graph, best, values, run_with([0.5] * 40), components(graph)).any()


def test_right_marginals_are_never_accused():
    """Chains drawn from the model itself, its true marginals, and its heaviest state."""
    for seed in range(60):
        graph = random_graph([seed, 5], variables=(2, 9), cardinalities=(2,), clauses=True)
        shape = tuple(graph.cardinality.astype(int))
        every = np.stack(np.unravel_index(np.arange(np.prod(shape)), shape)).astype(np.uint8)
        weights = np.exp(logs := log_weight(graph, every))
        rng = np.random.default_rng(seed)
        drawn = every[:, rng.choice(len(weights), LANES, p=weights / weights.sum())]
        known = run_with([marginal[1] for marginal in brute_force.marginals(graph)])
        assert not missed_modes(
            graph, every[:, logs.argmax()], drawn, known, components(graph)
        ).any()


def test_log_weights_of_parts_add_up_to_those_of_states():
    for seed in range(20):
        graph = random_graph([seed, 6], variables=(1, 8), cardinalities=(2, 3, 4), clauses=True)
        rng = np.random.default_rng(seed)
        values = (rng.random((graph.variables, 32)) * graph.cardinality[:, None]).astype(np.uint8)
        parts = log_weights_of_parts(graph, values, components(graph))
        expected = log_weight(graph, values) - graph.constant
        np.testing.assert_allclose(parts.sum(axis=0), expected, atol=1e-12)


def test_entropies_are_those_of_the_marginals():
    graph = Builder([2, 2, 2]).build()
    found = largest_entropies(graph, run_with([0.5, 0.1, 1e-9], packs=40))
    assert found[0] == pytest.approx(np.log(2))
    assert found[1] == pytest.approx(-0.1 * np.log(0.1) - 0.9 * np.log(0.9), rel=1e-2)
    assert found[2] < 0.1
