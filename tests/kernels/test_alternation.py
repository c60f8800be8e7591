"""A base chain that jumps once in a while keeps its distribution."""

import numpy as np
import pytest

from orbitmc.conditionals.prepared import prepare_unrounded
from orbitmc.errors import InputError
from orbitmc.kernels._alternation import alternation
from orbitmc.kernels.protocol import steps
from orbitmc.kernels.testing.exact import restorer, transition_matrix
from tests.kernels.catalogue import alternation_on
from tests.kernels.test_transition_matrices import EXACT, FLAVOURS, residuals
from tests.oracle import brute_force
from tests.oracle.random_models import random_graph


def small(seed, flavour):
    options = {**FLAVOURS[flavour], "variables": (2, 4)}
    return random_graph([seed, 90, list(FLAVOURS).index(flavour)], **options)


def taking(graph, kernel, count, calls=1):
    """So many steps, in one call or in several that share their memory."""
    prepared = prepare_unrounded(graph)
    memory = kernel.memory(prepared, 1)
    restore = restorer(memory)

    def run(values, rng):
        restore()
        counts = np.zeros(len(kernel.outcomes), dtype=np.int64)
        for _ in range(calls):
            steps(prepared, kernel, memory, values, counts, rng, count)

    return run


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_turns_are_the_product_of_base_steps_and_jumps(flavour):
    for seed in range(2):
        graph = small(seed, flavour)
        base, jump, both = alternation_on(graph, period=2)
        one, other = (transition_matrix(graph, taking(graph, part, 1)) for part in (base, jump))
        found = transition_matrix(graph, taking(graph, both, 3))
        assert np.abs(found - one @ one @ other @ one).max() <= EXACT
        chances = brute_force.distribution(graph)
        assert np.abs(chances @ found - chances).max() <= EXACT


def test_how_steps_are_cut_into_calls_changes_nothing():
    graph = small(1, "mixed")
    _, _, both = alternation_on(graph, period=2)
    whole = transition_matrix(graph, taking(graph, both, 3))
    assert np.abs(whole - transition_matrix(graph, taking(graph, both, 1, calls=3))).max() <= EXACT


def test_jumping_when_the_state_suggests_it_is_wrong():
    graph = random_graph(9, variables=(3, 4), cardinalities=(2,), clauses=False)
    base, jump, _ = alternation_on(graph, period=1)

    def run(values, rng):
        taking(graph, base, 1)(values, rng)
        if values[0, 0]:
            taking(graph, jump, 1)(values, rng)

    assert residuals(graph, run)[0] > 1e-3


def test_a_period_below_one_is_refused():
    base, jump, _ = alternation_on(small(0, "binary"), period=1)
    with pytest.raises(InputError, match="at least one step, not after 0"):
        alternation(base, jump, period=0)
