"""Chains count groups, know their elements, and draw them uniformly."""

import math

import numpy as np
import pytest
from scipy.stats import chi2

from orbitmc.errors import InputError, LimitError
from orbitmc.groups.chains import chain_builder
from orbitmc.groups.chains.stabilizer_chain import (
    stabilizer_chain,
    uniform_element,
)
from orbitmc.groups.elements.decomposition import element_table, elements
from orbitmc.groups.pairs import element_of, value_of
from orbitmc.groups.permutation import act
from orbitmc.groups.permutation_groups import permutation_group
from orbitmc.machine.lanes.random import generator, integer
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
from tests.groups.group_questions import compose, contains, uniform
from tests.groups.random_groups import random_group, random_permutation
from tests.groups.slow_groups import VALUES, as_pairs, closure_of

SMALL = {
    "cyclic": cyclic(7),
    "square": grid(3),
    "symmetric": symmetric(5),
    "signed": signed(3),
    "flip": global_flip(4),
    "chance": random_group(np.random.default_rng(8), 4, values=VALUES, generators=1),
}
FALSE_ALARM = 1e-6


@pytest.mark.parametrize("values", [None, 2, 3])
@pytest.mark.parametrize("seed", range(20))
def test_the_order_equals_brute_force(seed, values):
    rng = np.random.default_rng(seed)
    degree = int(rng.integers(1, 7 if values is None else 4))
    moved = int(rng.integers(1, degree + 1))
    group = random_group(rng, degree, moved=moved, values=values, generators=1 + seed % 3)
    assert stabilizer_chain(group).order == len(closure_of(group, values or 1))


@pytest.mark.parametrize("values", [None, 2])
@pytest.mark.parametrize("seed", range(15))
def test_membership_equals_brute_force(seed, values):
    rng = np.random.default_rng(seed)
    group = random_group(rng, 5, moved=3, values=values)
    chain, every = stabilizer_chain(group), closure_of(group, 2)
    found = [random_permutation(rng, 5, values=values) for _ in range(40)]
    made = [identity(5), *group.generators()]
    found += [compose(*(made[k] for k in rng.integers(0, len(made), 4))) for _ in range(40)]
    for element in found:
        assert contains(chain, element) == (as_pairs(element, 2) in every)


@pytest.mark.parametrize("name", SMALL)
def test_generators_and_their_products_are_members(name):
    group, chain = SMALL[name], stabilizer_chain(SMALL[name])
    assert contains(chain, identity(group.degree))
    for one in group.generators():
        assert contains(chain, one)
        assert all(contains(chain, compose(one, other)) for other in group.generators())


def test_what_the_group_keeps_is_not_a_member():
    chain = stabilizer_chain(permutation_group(4, [from_row([1, 0, 2, 3])]))
    assert not contains(chain, from_row([0, 1, 3, 2]))
    assert not contains(chain, permutation(4, {}, {0: [1, 0]}))
    assert not contains(stabilizer_chain(global_flip(4)), permutation(4, {}, {0: [1, 0]}))
    with pytest.raises(InputError, match="4 points"):
        contains(chain, identity(5))


def test_orders_known_from_books():
    assert stabilizer_chain(mathieu_24()).order == 244_823_040
    assert stabilizer_chain(signed(6)).order == 2**6 * math.factorial(6)
    assert stabilizer_chain(symmetric(50)).order == math.factorial(50)
    assert stabilizer_chain(renaming(12, friends=True)).order == math.factorial(12)
    assert [stabilizer_chain(grid(side)).order for side in (2, 3, 10)] == [8, 8, 8]
    assert stabilizer_chain(chimera(4)).order == 24**8 * 8
    assert stabilizer_chain(chimera(8)).order == 24**16 * 8


@pytest.mark.parametrize("group", [mathieu_24(), signed(5), chimera(2), renaming(6, friends=True)])
def test_the_proof_completes_a_chain_that_chance_left_short(group, monkeypatch):
    order = stabilizer_chain(group).order
    monkeypatch.setattr(chain_builder, "QUIET_SIFTS", 0)
    chain = stabilizer_chain(group)
    assert chain.order == order
    assert all(contains(chain, element) for element in group.generators())


@pytest.mark.parametrize("name", SMALL)
def test_a_table_lists_every_element_once(name):
    group = SMALL[name]
    values = 1 if not group.maps_values else int(np.diff(group.map_start)[0])
    table = element_table(stabilizer_chain(group))
    assert {as_pairs(g, values) for g in elements(table)} == closure_of(group, values)
    assert len(table.row) == len(closure_of(group, values))
    assert elements(table)[0].is_identity
    for row, inverse in zip(table.row, table.row[table.inverse], strict=True):
        assert np.array_equal(row[inverse], np.arange(len(row)))


@pytest.mark.parametrize("name", SMALL)
def test_uniform_elements_pass_chi_square(name):
    chain = stabilizer_chain(SMALL[name])
    rng, expected = generator(11, 0, 32), 60
    assert chain.order <= 200
    counts = dict.fromkeys(elements(element_table(chain)), 0)
    for _ in range(expected * chain.order):
        counts[uniform(chain, rng)] += 1
    distance = sum((count - expected) ** 2 / expected for count in counts.values())
    assert len(counts) == chain.order
    assert distance < chi2.isf(FALSE_ALARM, chain.order - 1)


@pytest.mark.parametrize("name", SMALL)
def test_every_element_has_exactly_the_same_chance(name):
    chain = stabilizer_chain(SMALL[name])
    table = element_table(chain)

    def draw_from_chain(rng):
        forward, backward = np.empty((2, len(chain.pairs.owner)), dtype=np.uint32)
        uniform_element(chain, rng, forward, backward)
        assert np.array_equal(forward[backward], np.arange(len(forward)))
        return element_of(chain.pairs, forward)

    def draw_from_table(rng):
        return element_of(table.pairs, table.row[integer(rng, len(table.row))])

    for draw in (draw_from_chain, draw_from_table):
        found = every_outcome(draw)
        assert set(found) == set(elements(table))
        assert np.allclose(list(found.values()), 1 / chain.order, rtol=1e-12)


@pytest.mark.parametrize("name", SMALL)
def test_rows_say_where_points_go_and_what_values_become(name):
    chain = stabilizer_chain(SMALL[name])
    pairs, rng = chain.pairs, np.random.default_rng(1)
    for row in element_table(chain).row:
        element = element_of(pairs, row)
        state = rng.integers(0, 2, element.degree)
        moved = state.copy()
        for k, point in enumerate(pairs.point):
            there = pairs.point[pairs.owner[row[pairs.start[k]]]]
            assert there == element(int(point))
            moved[there] = value_of(pairs, row, k, int(state[point]))
        assert tuple(moved) == tuple(act(element, state))


def test_limits_are_told_before_memory_or_time_is_gone():
    with pytest.raises(LimitError, match="rows"):
        stabilizer_chain(symmetric(40), max_entries=10_000)
    with pytest.raises(LimitError, match="operations"):
        stabilizer_chain(chimera(4), max_work=1000)
    with pytest.raises(LimitError, match="120 is too large"):
        element_table(stabilizer_chain(symmetric(5)), max_order=100)
