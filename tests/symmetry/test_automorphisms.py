import itertools
import math

import numpy as np
import pytest

from orbitmc.errors import InputError
from orbitmc.graph.builder import Builder
from orbitmc.groups.permutation_groups import permutation_group
from orbitmc.models._chimera import chimera
from orbitmc.models._ising import ising, ising_grid, potts_grid
from orbitmc.symmetry._automorphisms import (
    automorphisms,
    changes_energy,
    group_of_generators,
    orbit_cells,
)
from tests.groups.builders import group_from_rows, permutation
from tests.oracle.symmetries import (
    as_image_and_maps,
    count_symmetries,
    is_symmetry,
    log_weights,
)
from tests.symmetry.models import complete_edges, patterned, regular_edges, renamed, smokers


def assert_all_are_symmetries(graph, report):
    logs = log_weights(graph)
    for element in report.group.generators():
        assert is_symmetry(logs, *as_image_and_maps(element, graph.cardinality))


@pytest.mark.parametrize("seed", range(40))
def test_the_order_is_the_number_of_permutations_that_preserve_a_positive_model(seed):
    graph = patterned(seed)
    report = automorphisms(graph)
    assert report.complete
    assert report.order == count_symmetries(graph)
    assert_all_are_symmetries(graph, report)


# How many graphs with so many vertices there are, up to renaming (OEIS A000088).
GRAPHS = {1: 1, 2: 2, 3: 4, 4: 11, 5: 34}


@pytest.mark.parametrize("vertices", GRAPHS)
def test_orders_of_all_small_graphs_add_up_as_burnside_says(vertices):
    edges = np.array(list(itertools.combinations(range(vertices), 2))).reshape(-1, 2)
    total = 0
    for chosen in itertools.product([False, True], repeat=len(edges)):
        graph = ising(np.zeros(vertices), edges[list(chosen)], 0.3).graph
        total += automorphisms(graph).order
    assert total == GRAPHS[vertices] * math.factorial(vertices)


@pytest.mark.parametrize("seed", range(20))
def test_orders_of_graphs_with_seven_vertices_equal_brute_force(seed):
    rng = np.random.default_rng(seed)
    joined = np.triu(rng.random((7, 7)) < rng.choice([0.2, 0.5]), 1)
    graph = ising(np.zeros(7), np.argwhere(joined), 0.3).graph
    both = joined | joined.T
    images = np.array(list(itertools.permutations(range(7))))
    moved = both[images[:, :, None], images[:, None, :]]
    wanted = int((moved == both).all(axis=(1, 2)).sum())
    assert automorphisms(graph).order == wanted


@pytest.mark.parametrize("seed", range(20))
def test_the_order_counts_value_symmetries_too(seed):
    graph = patterned(seed, most=4 if seed % 2 else 3, sizes=(2,) if seed % 2 else (2, 3))
    report = automorphisms(graph, values=True)
    assert report.order == count_symmetries(graph, values=True)
    assert_all_are_symmetries(graph, report)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("values", [False, True])
def test_zeros_and_clauses_may_hide_symmetries_but_never_feign_them(seed, values):
    graph = patterned(seed, zeros=seed % 2 == 0, clauses=True, most=4, sizes=(2,))
    report = automorphisms(graph, values=values)
    assert_all_are_symmetries(graph, report)
    assert count_symmetries(graph, values=values) % report.order == 0


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("values", [False, True])
def test_renaming_variables_changes_nothing_but_names(seed, values):
    graph = patterned(seed, clauses=seed % 2 == 0, zeros=seed % 3 == 0)
    image = np.random.default_rng(seed).permutation(graph.variables)
    one = automorphisms(graph, values=values)
    other = automorphisms(renamed(graph, image), values=values)
    assert one.order == other.order
    orbits = sorted(sorted(int(image[v]) for v in orbit) for orbit in one.orbits)
    assert orbits == sorted(orbit.tolist() for orbit in other.orbits)


def test_a_square_grid_has_eight_symmetries():
    assert automorphisms(ising_grid(12, 12, 0.4).graph).order == 8
    assert automorphisms(ising_grid(12, 13, 0.4).graph).order == 4
    assert automorphisms(ising_grid(12, 12, 0.4).graph, values=True).order == 16


def test_chimera_permutes_the_members_of_shores_and_reflects():
    report = automorphisms(chimera(8, 8, 0.3).graph)
    assert report.order == 8 * math.factorial(4) ** 16
    assert np.log(float(report.order)) == pytest.approx(np.log(9.693e22), abs=1e-3)


def test_complete_graphs_have_every_permutation():
    for count in (3, 7, 40):
        graph = ising(np.zeros(count), complete_edges(count), 0.2).graph
        assert automorphisms(graph).order == math.factorial(count)
        assert automorphisms(graph, values=True).order == 2 * math.factorial(count)


def test_smokers_are_interchangeable():
    report = automorphisms(smokers(12))
    assert report.order == math.factorial(12) ** 2  # people, and their unused self-friendships
    assert len(report.group.start) - 1 == 22
    assert len(report.group.point) == 11 * (4 + 4 * 10 + 2) + 11 * 2
    assert sorted(len(orbit) for orbit in report.orbits) == [12, 12, 12, 132]


def test_random_regular_graphs_are_settled_by_looking_at_cycles():
    graph = ising(np.zeros(4000), regular_edges(4000, 4, 1), 0.3).graph
    report = automorphisms(graph)
    assert report.complete
    assert report.order == 1
    assert report.group.is_trivial


def test_fields_of_their_own_leave_no_symmetry_and_no_search():
    fields = np.linspace(-1.0, 1.0, 100).reshape(10, 10)
    report = automorphisms(ising_grid(10, 10, 0.3, fields).graph)
    assert (report.order, report.how, report.orbits) == (1, "refinement", ())


def test_labels_of_a_potts_model_may_be_permuted():
    assert automorphisms(potts_grid(3, 3, 3, 0.5).graph, values=True).order == 8 * 6
    favoured = potts_grid(3, 3, 3, 0.5, [0.2, 0.0, 0.0]).graph
    assert automorphisms(favoured, values=True).order == 8 * 2


def test_a_gauge_turns_some_spins_and_permutes_the_rest():
    ring = np.array([[0, 1], [1, 2], [2, 3], [3, 0]])
    graph = ising(np.zeros(4), ring, [0.5, -0.5, -0.5, 0.5]).graph
    assert automorphisms(graph).order == count_symmetries(graph)
    assert automorphisms(graph, values=True).order == 16
    frustrated = ising(np.zeros(4), ring, [0.5, -0.5, 0.5, 0.5]).graph
    assert automorphisms(frustrated, values=True).order == count_symmetries(frustrated, values=True)


def test_the_order_of_arguments_matters():
    table = np.random.default_rng(0).normal(size=(3, 3))
    builder = Builder([3] * 5)
    for k in range(5):
        builder.add_factor([k, (k + 1) % 5], table)
    assert automorphisms(builder.build()).order == 5  # rotations, no reflections


def test_two_binary_variables_never_care_about_the_order_of_arguments():
    table = np.array([[0.0, 1.0], [-1.0, 0.5]])
    builder = Builder([2] * 5)
    for k in range(5):
        builder.add_factor([k, (k + 1) % 5], table)
    # all but the fields of a binary table is symmetric, and fields add up alike on a ring
    assert automorphisms(builder.build()).order == 10


def test_rotations_of_one_table_are_found():
    rng = np.random.default_rng(0)
    table = rng.normal(size=(3, 3, 3))
    table = table + table.transpose(1, 2, 0) + table.transpose(2, 0, 1)
    builder = Builder([3, 3, 3])
    builder.add_factor([0, 1, 2], table)
    assert automorphisms(builder.build()).order == 3


def test_factors_in_disguise_are_seen_through():
    builder = Builder([2, 2, 2])
    one, two = np.array([0.3, -0.1]), np.array([[0.5, 0.0], [0.0, 0.5]])
    builder.add_factor([0, 1], two + one[:, None])
    builder.add_factor([1, 2], two + one[None, :] + one[:, None])
    builder.add_factor([2, 0], 0.5 * two)
    builder.add_factor([0, 2], 0.5 * two)
    assert automorphisms(builder.build()).order == 6


def test_equal_sums_that_round_differently_are_equal():
    builder = Builder([2, 2])
    for weight in (0.1, 0.2, 0.3):
        builder.add_factor([0], [0.0, weight])
    builder.add_factor([1], [0.0, 0.6])
    assert 0.1 + 0.2 + 0.3 != 0.6
    assert automorphisms(builder.build()).order == 2


def test_the_energy_check_rejects_what_is_no_symmetry():
    graph = ising_grid(3, 3, 0.4, np.arange(9.0).reshape(3, 3)).graph
    wrong = group_from_rows([[1, 0, 2, 3, 4, 5, 6, 7, 8], [0, 3, 6, 1, 4, 7, 2, 5, 8]])
    assert changes_energy(graph, wrong).tolist() == [True, True]
    assert changes_energy(ising_grid(3, 3, 0.4).graph, wrong).tolist() == [True, False]


def test_small_weights_count_beside_huge_ones():
    builder = Builder(np.full(41, 2))
    for variable in range(40):
        builder.add_factor([variable], [0.0, 0.02 * variable])
    builder.add_factor([40], [0.0, 1e9])
    report = automorphisms(builder.build())
    assert report.order == 1
    assert report.complete


def test_the_energy_check_sees_every_wrong_swap():
    graph = ising_grid(1, 100, 0.0, np.arange(100.0)[None]).graph
    swaps = [permutation(100, {k: k + 1, k + 1: k}) for k in range(99)]
    assert changes_energy(graph, permutation_group(100, swaps)).all()


def test_the_energy_check_sees_impossible_states():
    builder = Builder([2, 2])
    builder.add_factor([0, 1], [[0.0, -np.inf], [0.0, 0.0]])
    assert changes_energy(builder.build(), group_from_rows([[1, 0]])).tolist() == [True]


def test_given_generators_must_be_bijections_between_equal_domains():
    graph = Builder([2, 2, 3]).build()
    assert group_of_generators(graph, [permutation(3, {0: 1, 1: 0})]).degree == 3
    with pytest.raises(InputError):
        group_of_generators(graph, [permutation(3, {0: 2, 2: 0})])
    with pytest.raises(InputError):
        group_of_generators(graph, [permutation(4, {0: 1, 1: 0})])
    with pytest.raises(InputError):
        group_of_generators(graph, [permutation(3, {0: 1, 1: 0}, {0: [1, 0, 2], 1: [0, 1, 2]})])


def test_orbits_become_cells():
    group = group_from_rows([[1, 0, 2, 4, 3]])
    assert orbit_cells(group).tolist() == [0, 0, -1, 1, 1]


def test_no_time_means_an_honest_partial_answer():
    graph = ising_grid(40, 40, 0.3).graph
    report = automorphisms(graph, seconds=0.0)
    assert not changes_energy(graph, report.group).any()
    assert report.complete == (report.order is not None)


def test_a_model_without_variables_or_factors_is_no_problem():
    assert automorphisms(Builder([]).build()).order == 1
    assert automorphisms(Builder([2, 2, 3]).build()).order == 2
    assert automorphisms(Builder([2, 2, 3]).build(), values=True).order == 48
