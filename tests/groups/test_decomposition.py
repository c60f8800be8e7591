"""Groups fall into factors, and symmetric ones are recognised however they are generated."""

import math

import numpy as np
import pytest

from orbitmc.errors import LimitError
from orbitmc.groups import decomposition as recognition
from orbitmc.groups._exchange_blocks import exchange_blocks
from orbitmc.groups.cycles import from_cycles, read_cycles
from orbitmc.groups.decomposition import (
    Exchangeable,
    GeneratedFactor,
    ListedFactor,
    blocks_of,
    decompose,
    disjoint_factors,
    group_order,
    order_of_factors,
)
from orbitmc.groups.permutation_groups import moved_points, permutation_group
from tests.groups.builders import group_from_rows, identity, permutation
from tests.groups.familiar import (
    chimera,
    cyclic,
    global_flip,
    grid,
    mathieu_24,
    projective_line,
    renaming,
    signed,
    symmetric,
)
from tests.groups.group_questions import (
    compose,
    factors_contain,
    group_contains,
    group_of,
    order_of,
    same_group,
)
from tests.groups.random_groups import random_group, random_permutation
from tests.groups.slow_groups import as_pairs, closure_of
from tests.oracle.schreier_sims import StabilizerChain


def generated_by(degree, *words):
    return permutation_group(degree, [read_cycles(word, degree) for word in words])


def only_factor(group):
    (factor,) = decompose(group)
    return factor


@pytest.mark.parametrize("values", [None, 2])
@pytest.mark.parametrize("seed", range(25))
def test_factors_multiply_to_the_order_and_know_their_members(seed, values):
    rng = np.random.default_rng(seed)
    group = random_group(rng, 6, moved=2 + seed % 2, values=values, generators=3)
    every = closure_of(group, 2)
    factors = decompose(group)
    assert order_of_factors(factors) == len(every)
    moved = np.concatenate([np.empty(0), *(moved_points(factor.group) for factor in factors)])
    assert sorted(moved) == moved_points(group).tolist()
    made = [identity(6), *group.generators()]
    tried = [compose(*(made[k] for k in rng.integers(0, len(made), 4))) for _ in range(20)]
    tried += [random_permutation(rng, 6, moved=3, values=values) for _ in range(20)]
    for element in tried:
        assert factors_contain(factors, element) == (as_pairs(element, 2) in every)


def test_generators_meet_through_common_points_only():
    group = generated_by(9, "(0 1)", "(4 5)(7 8)", "(1 2)", "(5 6)")
    parts = disjoint_factors(group)
    assert [moved_points(part).tolist() for part in parts] == [[0, 1, 2], [4, 5, 6, 7, 8]]
    assert [len(part.generators()) for part in parts] == [2, 2]
    assert disjoint_factors(permutation_group(3, [])) == ()


SYMMETRIC = {
    "swaps": symmetric(6),
    "star": permutation_group(6, [from_cycles(6, [[0, k]]) for k in range(1, 6)]),
    "cycle and swap": generated_by(6, "(0 1 2 3 4 5)", "(0 1)"),
    "two cycles of four": generated_by(5, "(0 1 2 3)", "(1 2 3 4)"),
    "cycle and far swap": generated_by(7, "(0 1 2 3 4 5 6)", "(0 3)"),
    "large, without swaps": permutation_group(
        60, [from_cycles(60, [range(60)]), from_cycles(60, [range(59)])]
    ),
    "large cycle and swap": permutation_group(
        200, [from_cycles(200, [range(200)]), from_cycles(200, [[0, 1]])]
    ),
}


@pytest.mark.parametrize("name", SYMMETRIC)
def test_symmetric_groups_are_recognised(name):
    group = SYMMETRIC[name]
    factor = only_factor(group)
    assert isinstance(factor, Exchangeable)
    assert factor.rows.tolist() == [[point] for point in range(group.degree)]
    assert group_order(group) == math.factorial(group.degree)
    assert same_group(group, symmetric(group.degree))


@pytest.mark.parametrize(
    ("points", "found"), [(7, Exchangeable), (8, Exchangeable), (9, GeneratedFactor)]
)
def test_counting_elements_recognises_what_chance_missed(points, found, monkeypatch):
    monkeypatch.setattr(recognition, "JORDAN_TRIES", 0)
    cycles = [from_cycles(points, [range(points - less)]) for less in (0, 1)]
    assert isinstance(only_factor(permutation_group(points, cycles)), found)


NOT_SYMMETRIC = {
    "dihedral": (generated_by(4, "(0 1 2 3)", "(0 2)"), 8),
    "cycle and swap of opposite points": (generated_by(6, "(0 1 2 3 4 5)", "(0 3)"), 24),
    "alternating": (generated_by(6, "(0 1 2)", "(1 2 3)", "(2 3 4)", "(3 4 5)"), 360),
    "alternating of eleven": (
        permutation_group(11, [from_cycles(11, [range(11)]), from_cycles(11, [range(3)])]),
        math.factorial(11) // 2,
    ),
    "projective": (generated_by(6, "(0 1 2 3 4)", "(0 5)(1 4)"), 60),
    "projective with odd elements": (
        generated_by(6, "(0 1 2 3 4)", "(0 5)(1 4)", "(1 2 4 3)"),
        120,
    ),
    "fractional linear": (projective_line(13, 2), 14 * 13 * 12),
    "turns and reflections": (generated_by(9, "(0 1 2 3 4 5 6 7 8)", "(0 1)(2 8)(3 7)(4 6)"), 18),
    "mathieu": (mathieu_24(), 244_823_040),
    "cyclic": (cyclic(9), 9),
}


@pytest.mark.parametrize("name", NOT_SYMMETRIC)
def test_other_groups_are_not_mistaken_for_symmetric_ones(name):
    group, order = NOT_SYMMETRIC[name]
    factor = only_factor(group)
    assert isinstance(factor, ListedFactor if order <= 5000 else GeneratedFactor)
    assert order == (factor.order if order <= 5000 else StabilizerChain(group).order)


def test_renaming_people_exchanges_rows_of_their_unary_facts():
    factor = only_factor(renaming(30, friends=False))
    assert isinstance(factor, Exchangeable)
    assert factor.rows.tolist() == [[person, 30 + person] for person in range(30)]
    blocks = blocks_of([factor])
    assert same_group(group_of(blocks, 60), renaming(30, friends=False))
    assert order_of(blocks) == math.factorial(30)


def test_renaming_people_with_friends_is_no_block_but_has_the_same_order():
    listed, generated = (only_factor(renaming(people, friends=True)) for people in (6, 7))
    assert isinstance(listed, ListedFactor)
    assert listed.order == math.factorial(6)
    assert isinstance(generated, GeneratedFactor)
    assert StabilizerChain(generated.group).order == math.factorial(7)


def test_rows_are_aligned_by_what_generators_do_not_by_number():
    scrambled = np.array([[9, 2, 5], [0, 7, 11], [4, 1, 6], [8, 10, 3]])
    group = group_of(exchange_blocks([scrambled]), 12)
    factor = only_factor(group)
    assert isinstance(factor, Exchangeable)
    assert {frozenset(row) for row in factor.rows.tolist()} == set(
        map(frozenset, scrambled.tolist())
    )
    assert same_group(group_of(blocks_of([factor]), 12), group)


def test_columns_that_move_differently_are_not_aligned():
    # The third generator turns the second column alone.
    turned = generated_by(6, "(0 1 2)(3 4 5)", "(0 1)(3 4)")
    assert isinstance(only_factor(turned), Exchangeable)
    apart = generated_by(6, "(0 1 2)(3 4 5)", "(0 1)(3 4)", "(3 4 5)")
    assert isinstance(only_factor(apart), ListedFactor)
    assert group_order(apart) == len(closure_of(apart, 1)) == 18


def test_one_reflection_exchanges_two_rows():
    factor = only_factor(generated_by(9, "(0 2)(3 5)(6 8)"))
    assert isinstance(factor, Exchangeable)
    assert factor.rows.shape == (2, 3)


def test_products_of_many_factors_are_taken_apart():
    blocks = exchange_blocks([[0, 1, 2], [[3, 4], [5, 6], [7, 8]], [9, 10]])
    square = grid(3)
    rows = np.tile(np.arange(20), (2, 1))
    rows[:, 11:] = 11 + np.array([[g(k) for k in range(9)] for g in square.generators()])
    both = [*group_of(blocks, 20).generators(), *group_from_rows(rows).generators()]
    factors = decompose(permutation_group(20, both))
    assert [type(factor) for factor in factors] == [Exchangeable] * 3 + [ListedFactor]
    assert order_of_factors(factors) == 6 * 6 * 2 * 8
    found = blocks_of(factors)
    assert [found.rows(b).tolist() for b in range(3)] == [blocks.rows(b).tolist() for b in range(3)]


def test_familiar_models_have_familiar_orders():
    assert [group_order(grid(side)) for side in (2, 5, 20)] == [8, 8, 8]
    assert [group_order(symmetric(n)) for n in (2, 10, 1000)] == [
        math.factorial(n) for n in (2, 10, 1000)
    ]
    assert group_order(signed(5)) == 2**5 * math.factorial(5)
    assert group_order(global_flip(9)) == 2
    assert group_order(permutation_group(5, [])) == 1


def test_swaps_that_change_values_are_not_exchangeable():
    swap = permutation(2, {0: 1, 1: 0}, {0: [1, 0], 1: [1, 0]})
    factor = only_factor(permutation_group(2, [swap]))
    assert isinstance(factor, ListedFactor)
    assert factor.order == 2


def test_factors_without_value_changes_are_recognised_beside_others():
    flip = permutation(4, {}, {3: [1, 0]})
    group = permutation_group(
        4, [from_cycles(4, [[0, 1]]), from_cycles(4, [[1, 2]]), flip], cardinality=2
    )
    first, second = decompose(group)
    assert isinstance(first, Exchangeable)
    assert isinstance(second, ListedFactor)


def test_a_group_too_large_to_list_keeps_its_generators_and_has_no_order():
    (factor,) = decompose(chimera(3))
    assert isinstance(factor, GeneratedFactor)
    assert factor.group.generators() == chimera(3).generators()
    with pytest.raises(LimitError, match="order of the group is unknown: it has too many elements"):
        group_order(chimera(3))


def test_groups_are_equal_when_their_elements_are():
    assert same_group(generated_by(4, "(0 1 2 3)", "(0 1)"), symmetric(4))
    assert not same_group(generated_by(4, "(0 1 2 3)", "(0 2)"), symmetric(4))
    assert not same_group(symmetric(4), symmetric(5))
    assert not same_group(symmetric(4), signed(4))
    assert same_group(signed(3), permutation_group(3, signed(3).generators()[::-1]))


def test_membership_across_factors():
    group = generated_by(6, "(0 1)", "(1 2)", "(3 4 5)")
    assert group_contains(group, read_cycles("(0 2)(3 5 4)", 6))
    assert not group_contains(group, read_cycles("(0 2)(3 5)", 6))
    assert not group_contains(group, read_cycles("(2 3)", 6))
    assert not group_contains(group, permutation(6, {}, {0: [1, 0]}))
