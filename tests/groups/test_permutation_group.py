"""Groups hold what they were given, and know their orbits."""

import numpy as np
import pytest

from orbitmc.errors import InputError
from orbitmc.groups.decomposition import element_table, elements, group_order
from orbitmc.groups.permutation_groups import (
    check_number_of_values,
    group_from_arrays,
    moved_points,
    orbit_labels,
    orbits,
    permutation_group,
)
from orbitmc.groups.permutations import act
from tests.groups.builders import from_row, group_from_rows, identity, permutation
from tests.groups.familiar import global_flip, signed
from tests.groups.random_groups import random_group, random_permutation
from tests.groups.slow_groups import VALUES, closure_of, orbit_of_state, slow_act


@pytest.mark.parametrize("values", [None, VALUES])
@pytest.mark.parametrize("seed", range(10))
def test_generators_come_out_as_they_went_in(seed, values):
    rng = np.random.default_rng(seed)
    given = [random_permutation(rng, 9, moved=4, values=values) for _ in range(4)]
    group = permutation_group(9, [identity(9), *given])
    assert group.generators() == tuple(g for g in given if not g.is_identity)


@pytest.mark.parametrize("seed", range(10))
def test_arrays_and_permutations_make_the_same_group(seed):
    rng = np.random.default_rng(seed)
    given = [random_permutation(rng, 30, moved=5) for _ in range(6)]
    orders = [rng.permutation(len(g.point)) for g in given]
    points = np.concatenate([g.point[order] for g, order in zip(given, orders, strict=True)])
    images = np.concatenate([g.image[order] for g, order in zip(given, orders, strict=True)])
    begins = np.cumsum([0, *(len(order) for order in orders)])
    group = group_from_arrays(30, begins, points, images)
    assert group.generators() == tuple(g for g in given if not g.is_identity)


@pytest.mark.parametrize("seed", range(20))
def test_orbits_are_what_all_elements_reach(seed):
    rng = np.random.default_rng(seed)
    group = random_group(rng, 7, moved=3)
    every = closure_of(group, 1)
    reached = {frozenset(element[point] for element in every) for point in range(7)}
    assert {frozenset(orbit.tolist()) for orbit in orbits(group)} == {
        orbit for orbit in reached if len(orbit) > 1
    }
    assert orbit_labels(group).tolist() == [min(e[point] for e in every) for point in range(7)]
    assert moved_points(group).tolist() == [p for p in range(7) if any(e[p] != p for e in every)]


@pytest.mark.parametrize("values", [None, 2])
@pytest.mark.parametrize("seed", range(10))
def test_an_orbit_of_states_times_its_stabilizer_is_the_group(seed, values):
    rng = np.random.default_rng(seed)
    group = random_group(rng, 5, moved=4, values=values)
    every = elements(element_table(group))
    assert len(every) == len(closure_of(group, 2))
    for _ in range(10):
        state = rng.integers(0, 2, 5)
        orbit = orbit_of_state(group.generators(), state, act)
        fixed = sum(np.array_equal(act(element, state), state) for element in every)
        assert len(orbit) * fixed == len(every)


def test_orbits_of_states_follow_the_slow_action():
    group = signed(3)
    slow = {slow_act(pairs, (0, 1, 1), 2) for pairs in closure_of(group, 2)}
    assert orbit_of_state(group.generators(), (0, 1, 1), act) == slow
    assert len(slow) == 8


def test_the_group_that_does_nothing():
    group = permutation_group(4, [identity(4)])
    assert group.is_trivial
    assert group.generators() == ()
    assert orbits(group) == ()
    assert orbit_labels(group).tolist() == [0, 1, 2, 3]
    assert moved_points(group).tolist() == []
    assert group_order(group) == 1


def test_maps_that_keep_all_values_are_dropped():
    group = permutation_group(3, [permutation(3, {0: 1, 1: 0}, {0: [0, 1], 1: [0, 1]})])
    assert not group.maps_values


def test_a_flipped_point_is_moved_but_its_orbit_is_itself():
    group = global_flip(3)
    assert moved_points(group).tolist() == [0, 1, 2]
    assert [orbit.tolist() for orbit in orbits(group)] == [[0], [1], [2]]
    assert check_number_of_values(group).tolist() == [2, 2, 2]


def test_everything_in_a_group_is_sealed():
    group = signed(3)
    for name in ("start", "point", "image", "map_start", "value_map"):
        assert not getattr(group, name).flags.writeable
        assert getattr(group, name).dtype == (np.uint8 if name == "value_map" else np.uint32)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: permutation_group(4, [identity(3), from_row([1, 0])]), "2 points instead of 4"),
        (lambda: group_from_rows([[1, 1]]), "not a bijection"),
        (lambda: group_from_arrays(3, [0, 2], [0, 0], [1, 0]), "point 0 has two images"),
        (lambda: group_from_arrays(3, [0, 2], [0, 1], [1, 2]), "not a bijection"),
        (lambda: group_from_arrays(3, [0, 1, 2], [0, 1], [1, 0]), "not a bijection"),
        (lambda: group_from_arrays(3, [0, 3], [0, 1], [1, 0]), "starts must rise"),
        (
            lambda: permutation_group(2, [from_row([1, 0]), permutation(2, {}, {0: [1, 0]})]),
            "give the cardinality",
        ),
        (
            lambda: permutation_group(
                2, [permutation(2, {}, {0: [1, 0]}), permutation(2, {}, {0: [0, 2, 1]})]
            ),
            "one has 2 values and the other 3",
        ),
        (
            lambda: check_number_of_values(group_from_rows([[1, 0]]), [2, 3]),
            "one has 2 values and the other 3",
        ),
    ],
)
def test_malformed_groups_are_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()
