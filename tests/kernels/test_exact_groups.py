"""Jumps along exact symmetries: nothing is looked at, nothing is rejected, orbits are uniform."""

import numpy as np
import pytest

from orbitmc.conditionals.prepared import prepare_unrounded
from orbitmc.groups._exchange_blocks import exchange_blocks
from orbitmc.groups.permutation_groups import permutation_group
from orbitmc.kernels._gibbs import RandomScan
from orbitmc.kernels._mixture import lifted
from orbitmc.kernels._orbital import orbital, orbital_by_product_replacement, orbital_kernels
from orbitmc.kernels.exchange import shuffle
from orbitmc.kernels.testing.exact import one_step, transition_matrix
from orbitmc.symmetry._automorphisms import automorphisms
from tests.groups.builders import from_row
from tests.kernels.test_mistakes import WRONG
from tests.kernels.test_transition_matrices import EXACT, residuals
from tests.oracle.brute_force import states
from tests.oracle.random_models import random_ising
from tests.symmetry.models import patterned

SEEDS = (2, 10, 15, 17, 22, 25, 36)  # of patterns with symmetries


def orbit_of(group, state):
    """All that generators make of a state, by hand."""
    found, new = {state}, [state]
    while new:
        values = np.array(new.pop())
        for element in group.generators():
            after = values.copy()
            carried = values[element.point]
            if element.maps_values:
                carried = element.value_map[element.map_start[:-1].astype(int) + carried]
            after[element.image] = carried
            if tuple(after) not in found:
                found.add(tuple(after))
                new.append(tuple(after))
    return found


@pytest.mark.parametrize("values", [False, True])
@pytest.mark.parametrize("zeros", [False, True])
def test_exact_groups_keep_the_distribution_without_looking(values, zeros):
    seen = 0
    for seed in SEEDS:
        graph = patterned(seed, most=4, zeros=zeros, clauses=seed % 2 == 0)
        group = automorphisms(graph, values=values).group
        prepared = prepare_unrounded(graph)
        for kernel in orbital_kernels(prepared, group, symmetric=True):
            assert max(residuals(graph, one_step(prepared, kernel))) <= EXACT, seed
            seen += 1
    assert seen


def uniform_on_orbits(graph, group):
    every = states(graph)
    orbits = [orbit_of(group, state) for state in every]
    return np.array([[(other in orbit) / len(orbit) for other in every] for orbit in orbits])


@pytest.mark.parametrize("seed", SEEDS)
def test_elements_from_a_bag_keep_the_distribution_and_stay_in_the_orbit(seed):
    graph = patterned(seed, most=4)
    group, prepared = automorphisms(graph).group, prepare_unrounded(graph)
    kernel = orbital_by_product_replacement(
        graph, group, slots=max(2, len(group.generators())), symmetric=True
    )
    assert max(residuals(graph, one_step(prepared, kernel))) <= EXACT
    matrix = transition_matrix(graph, one_step(prepared, kernel))
    assert (matrix[uniform_on_orbits(graph, group) == 0] == 0).all()
    assert (matrix.diagonal() < 1 - WRONG).any()


@pytest.mark.parametrize(("seed", "idle"), [(2, 0), (36, 0), (10, 1)])
def test_small_groups_waste_no_jump_on_the_identity(seed, idle):
    """Shuffles draw from the whole group, lists from all but the identity."""
    graph = patterned(seed, most=4)
    report, prepared = automorphisms(graph), prepare_unrounded(graph)
    [kernel] = orbital_kernels(prepared, report.group, symmetric=True)
    matrix = transition_matrix(graph, one_step(prepared, kernel))
    uniform = report.order * uniform_on_orbits(graph, report.group)
    expected = (uniform - idle * np.eye(len(uniform))) / (report.order - idle)
    np.testing.assert_allclose(matrix, expected, atol=EXACT)


def test_the_promise_of_symmetry_must_be_true():
    graph = random_ising(5, variables=4, degree=2, equal=False)
    prepared = prepare_unrounded(graph)
    group = permutation_group(4, [from_row([1, 2, 0, 3])])
    wrong = [
        orbital(graph, group, symmetric=True),
        orbital_by_product_replacement(graph, group, slots=2, burn=0, symmetric=True),
        shuffle(prepared, exchange_blocks([[0, 1, 2, 3]]), symmetric=True),
    ]
    for kernel in wrong:
        assert residuals(graph, one_step(prepared, kernel))[0] > WRONG


def test_a_lifted_chain_is_the_mixture_of_its_parts():
    graph = random_ising(5, variables=4, degree=2, equal=False)
    prepared = prepare_unrounded(graph)
    base = RandomScan()
    jumps = orbital(graph, permutation_group(4, [from_row([1, 2, 0, 3])]))
    swaps = shuffle(prepared, exchange_blocks([[0, 1, 2, 3]]), rows=2)
    parts = [transition_matrix(graph, one_step(prepared, k)) for k in (base, jumps, swaps)]
    whole = lifted(base, [jumps, swaps], alpha=0.7, weights=[1, 3])
    matrix = transition_matrix(graph, one_step(prepared, whole))
    expected = 0.7 * parts[0] + 0.3 * (0.25 * parts[1] + 0.75 * parts[2])
    np.testing.assert_allclose(matrix, expected, atol=EXACT)
