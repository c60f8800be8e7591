"""Small groups are listed, each element once, and the slow chain of tests counts all groups."""

import math

import numpy as np
import pytest

from orbitmc._simd.random import integer
from orbitmc.errors import InputError
from orbitmc.groups.decomposition import closure, element_table, elements
from orbitmc.groups.permutation_groups import (
    element_of,
    pairs_of,
    permutation_group,
    rows_of,
    value_of,
)
from orbitmc.groups.permutations import act
from tests.groups.builders import from_row, identity, permutation
from tests.groups.every_outcome import every_outcome
from tests.groups.familiar import (
    chimera,
    cyclic,
    global_flip,
    grid,
    mathieu_24,
    renaming,
    signed,
    symmetric,
)
from tests.groups.group_questions import compose
from tests.groups.random_groups import random_group, random_permutation
from tests.groups.slow_groups import VALUES, as_pairs, closure_of
from tests.oracle.schreier_sims import StabilizerChain

SMALL = {
    "cyclic": cyclic(7),
    "square": grid(3),
    "symmetric": symmetric(5),
    "signed": signed(3),
    "flip": global_flip(4),
    "chance": random_group(np.random.default_rng(8), 4, values=VALUES, generators=1),
}


@pytest.mark.parametrize("values", [None, 2, 3])
@pytest.mark.parametrize("seed", range(20))
def test_the_order_equals_brute_force(seed, values):
    rng = np.random.default_rng(seed)
    degree = int(rng.integers(1, 7 if values is None else 4))
    moved = int(rng.integers(1, degree + 1))
    group = random_group(rng, degree, moved=moved, values=values, generators=1 + seed % 3)
    assert StabilizerChain(group).order == len(closure_of(group, values or 1))
    assert len(element_table(group).row) == len(closure_of(group, values or 1))


@pytest.mark.parametrize("values", [None, 2])
@pytest.mark.parametrize("seed", range(15))
def test_membership_equals_brute_force(seed, values):
    rng = np.random.default_rng(seed)
    group = random_group(rng, 5, moved=3, values=values)
    chain, every = StabilizerChain(group), closure_of(group, 2)
    found = [random_permutation(rng, 5, values=values) for _ in range(40)]
    made = [identity(5), *group.generators()]
    found += [compose(*(made[k] for k in rng.integers(0, len(made), 4))) for _ in range(40)]
    for element in found:
        assert chain.contains(element) == (as_pairs(element, 2) in every)


@pytest.mark.parametrize("name", SMALL)
def test_generators_and_their_products_are_members(name):
    group, chain = SMALL[name], StabilizerChain(SMALL[name])
    assert chain.contains(identity(group.degree))
    for one in group.generators():
        assert chain.contains(one)
        assert all(chain.contains(compose(one, other)) for other in group.generators())


def test_what_the_group_keeps_is_not_a_member():
    chain = StabilizerChain(permutation_group(4, [from_row([1, 0, 2, 3])]))
    assert not chain.contains(from_row([0, 1, 3, 2]))
    assert not chain.contains(permutation(4, {}, {0: [1, 0]}))
    assert not StabilizerChain(global_flip(4)).contains(permutation(4, {}, {0: [1, 0]}))
    with pytest.raises(InputError, match="4 points"):
        chain.contains(identity(5))


def test_orders_known_from_books():
    assert StabilizerChain(mathieu_24()).order == 244_823_040
    assert StabilizerChain(signed(6)).order == 2**6 * math.factorial(6)
    assert StabilizerChain(symmetric(20)).order == math.factorial(20)
    assert StabilizerChain(renaming(12, friends=True)).order == math.factorial(12)
    assert [StabilizerChain(grid(side)).order for side in (2, 3, 10)] == [8, 8, 8]
    assert StabilizerChain(chimera(4)).order == 24**8 * 8
    assert StabilizerChain(chimera(8)).order == 24**16 * 8


@pytest.mark.parametrize("name", SMALL)
def test_a_table_lists_every_element_once(name):
    group = SMALL[name]
    values = 1 if not group.maps_values else int(np.diff(group.map_start)[0])
    table = element_table(group)
    assert {as_pairs(g, values) for g in elements(table)} == closure_of(group, values)
    assert len(table.row) == len(closure_of(group, values))
    assert elements(table)[0].is_identity
    for row, inverse in zip(table.row, table.row[table.inverse], strict=True):
        assert np.array_equal(row[inverse], np.arange(len(row)))


@pytest.mark.parametrize("name", SMALL)
def test_every_element_has_exactly_the_same_chance(name):
    table = element_table(SMALL[name])

    def draw(rng):
        return element_of(table.pairs, table.row[integer(rng, len(table.row))])

    found = every_outcome(draw)
    assert set(found) == set(elements(table))
    assert np.allclose(list(found.values()), 1 / len(table.row), rtol=1e-12)


@pytest.mark.parametrize("name", SMALL)
def test_rows_say_where_points_go_and_what_values_become(name):
    table = element_table(SMALL[name])
    pairs, rng = table.pairs, np.random.default_rng(1)
    for row in table.row:
        element = element_of(pairs, row)
        state = rng.integers(0, 2, element.degree)
        moved = state.copy()
        for k, point in enumerate(pairs.point):
            there = pairs.point[pairs.owner[row[pairs.start[k]]]]
            assert there == element(int(point))
            moved[there] = value_of(pairs, row, k, int(state[point]))
        assert tuple(moved) == tuple(act(element, state))


def test_a_list_ends_where_it_is_too_long():
    assert len(element_table(symmetric(5), max_order=120).row) == 120
    assert element_table(symmetric(5), max_order=119) is None
    assert element_table(symmetric(5), max_entries=5 * 119) is None


def test_large_groups_are_known_as_large_after_few_generators():
    group = symmetric(40)
    rows, seen = rows_of(pairs_of(group), group), []

    def given():
        for row in rows:
            seen.append(row)
            yield row

    assert closure(given(), 40, most=5000) is None
    assert len(seen) == 6  # 7! = 5040


def test_generators_that_are_products_of_others_add_nothing():
    group = grid(3)
    rows = rows_of(pairs_of(group), group)
    every = closure(rows, rows.shape[1], most=8)
    assert len(every) == 8
    assert np.array_equal(closure([*rows, *every], rows.shape[1], most=8), every)
