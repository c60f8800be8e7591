"""Permutations act by one convention, with and without values."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orbitmc.errors import InputError
from orbitmc.groups.permutations import (
    act,
    changes_values,
    from_images,
    inverse,
    order,
    row_of,
    with_values,
)
from tests.groups.builders import from_row, identity, permutation
from tests.groups.group_questions import compose
from tests.groups.random_groups import permutations, random_permutation, states_of
from tests.groups.slow_groups import VALUES, after, as_pairs, slow_act, states


@given(st.data())
def test_a_product_acts_like_its_factors_from_right_to_left(data):
    g, h = data.draw(permutations(2))
    values = data.draw(states_of(g.degree))
    assert np.array_equal(act(compose(g, h), values), act(g, act(h, values)))


@given(st.data())
def test_products_and_inverses_equal_their_slow_twins(data):
    g, h = data.draw(permutations(2))
    assert as_pairs(compose(g, h)) == after(as_pairs(g), as_pairs(h))
    assert after(as_pairs(inverse(g)), as_pairs(g)) == tuple(range(VALUES * g.degree))


@given(permutations(most=4))
def test_values_go_where_the_slow_twin_carries_them(made):
    (g,) = made
    for state in states(g.degree, VALUES):
        assert tuple(act(g, state)) == slow_act(as_pairs(g), state)


@given(permutations(3))
def test_permutations_obey_the_laws_of_groups(made):
    f, g, h = made
    assert compose(f, g, h) == compose(f, compose(g, h))
    assert compose(g, inverse(g)) == identity(g.degree) == compose(inverse(g), g)
    assert inverse(compose(g, h)) == compose(inverse(h), inverse(g))
    assert compose(g, identity(g.degree)) == g


@given(permutations())
def test_the_order_is_the_first_power_that_changes_nothing(made):
    (g,) = made
    repeated = list(itertools.accumulate([g] * order(g), compose))
    assert [element.is_identity for element in repeated] == [False] * (order(g) - 1) + [True]


@given(permutations(maps_values=False))
def test_images_of_all_points_round_trip(made):
    (g,) = made
    assert from_row(row_of(g)) == g
    assert [g(point) for point in range(g.degree)] == row_of(g).tolist()


def test_only_points_that_something_happens_to_are_stored():
    g = permutation(5, {3: 1, 1: 3, 4: 4})
    assert (g.point.tolist(), g.image.tolist()) == ([1, 3], [3, 1])
    flip = permutation(5, {}, {2: [1, 0], 3: [0, 1]})
    assert (flip.point.tolist(), flip.image.tolist()) == ([2], [2])
    assert act(flip, [0, 0, 0, 0, 1]).tolist() == [0, 0, 1, 0, 1]


def test_reading_instead_of_writing_places_is_the_inverse_action():
    """The wrong convention `values[g]` is no action, and only involutions hide it."""
    values = np.array([10, 20, 30, 40])
    swap, turn, h = from_row([1, 0, 3, 2]), from_row([1, 2, 0, 3]), from_row([0, 2, 3, 1])
    assert np.array_equal(values[row_of(swap)], act(swap, values))
    assert order(turn) == 3
    assert not np.array_equal(values[row_of(turn)], act(turn, values))
    assert np.array_equal(values[row_of(turn)], act(inverse(turn), values))
    mixed = values[row_of(h)][row_of(turn)]
    assert not np.array_equal(mixed, values[row_of(compose(turn, h))])
    assert np.array_equal(act(turn, act(h, values)), act(compose(turn, h), values))


def test_acting_gives_new_values_and_keeps_lanes_apart():
    rng = np.random.default_rng(5)
    g = random_permutation(rng, 6, values=2)
    pack = rng.integers(0, 2, (6, 32), dtype=np.uint8)
    before = pack.copy()
    moved = act(g, pack)
    assert np.array_equal(pack, before)
    assert moved.dtype == np.uint8
    for lane in range(32):
        assert np.array_equal(moved[:, lane], act(g, pack[:, lane]))


def test_explicit_maps_that_keep_values_are_the_same_permutation():
    plain = from_row([1, 0, 2])
    mapped = with_values(plain, 2)
    assert mapped.maps_values
    assert not changes_values(mapped)
    assert mapped == plain
    assert hash(mapped) == hash(plain)


def test_equal_tables_of_maps_with_other_points_are_different():
    one = permutation(3, {}, {0: [1, 0]})
    assert one != permutation(3, {}, {1: [1, 0]})
    assert one != identity(3)
    assert one != "not a permutation"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: from_row([0, 0, 1]), "not a bijection: no point goes to 2"),
        (lambda: from_images(4, [1, 1], [2, 1]), "point 1 has two images"),
        (lambda: from_images(4, [1], [2]), "no point goes to 1"),
        (lambda: from_images(4, [1, 2], [2]), "2 points have 1 images"),
        (lambda: from_images(4, [1, 4], [4, 1]), "no point 4 among 4"),
        (lambda: from_images(4, [-1, 1], [1, -1]), "no point -1"),
        (lambda: from_images(4, [0.5], [0.5]), "whole numbers"),
        (lambda: permutation(3, {}, {0: [1, 1]}), "lists each value from 0 on once"),
        (lambda: permutation(3, {}, {0: []}), "lists each value from 0 on once"),
        (lambda: from_images(3, [0], [0], []), "1 points have 0 value maps"),
        (
            lambda: permutation(2, {0: 1, 1: 0}, {0: [1, 0], 1: [0, 1, 2]}),
            "point 0 with 2 values cannot go to point 1 with 3",
        ),
        (lambda: with_values(from_row([1, 0]), [2, 3]), "cannot go to point 1 with 3 values"),
        (lambda: with_values(permutation(2, {}, {0: [1, 0]}), 3), "longer or shorter"),
        (lambda: act(identity(3), [0, 1]), "cannot act on values of shape"),
    ],
)
def test_malformed_permutations_are_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()
