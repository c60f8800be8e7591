"""Product replacement stays in the group, and its exact law is the textbook's."""

import itertools

import numpy as np
import pytest

from orbitmc._numba.jit import compiled
from orbitmc._simd.random import generator
from orbitmc.errors import InputError
from orbitmc.groups.permutation_groups import element_of, pairs_of, permutation_group, rows_of
from orbitmc.groups.random_elements import (
    ProductReplacement,
    product_replacement,
    product_replacement_step,
)
from tests.groups.every_outcome import every_outcome
from tests.groups.familiar import chimera, cyclic, grid, mathieu_24, signed, symmetric
from tests.groups.slow_groups import after
from tests.oracle.schreier_sims import StabilizerChain
from tests.oracle.slow_generator import SlowGenerator

GROUPS = {
    "square": grid(4),
    "symmetric": symmetric(8),
    "signed": signed(4),
    "chimera": chimera(2),
    "mathieu": mathieu_24(),
}


@compiled
def many_steps(state, rng, steps, found):
    for step in range(steps):
        product_replacement_step(state, rng)
        found[step] = state.forward[0]


def replaced(group, **settings):
    return product_replacement(rows_of(pairs_of(group), group), **settings)


def copied(state):
    return ProductReplacement(state.forward.copy(), state.backward.copy())


def undone(row):
    return tuple(int(k) for k in np.argsort(row))


@pytest.mark.parametrize("name", GROUPS)
def test_elements_are_always_in_the_group_and_differ(name):
    group, chain = GROUPS[name], StabilizerChain(GROUPS[name])
    pairs = pairs_of(group)
    state = replaced(group, burn=0)
    found = np.empty((200, len(pairs.owner)), dtype=np.uint32)
    many_steps(state, generator(4, 0, 32), len(found), found)
    made = [element_of(pairs, row) for row in found]
    assert all(chain.contains(element) for element in made)
    assert len(set(made)) > min(100, chain.order // 2)


@pytest.mark.parametrize("name", GROUPS)
def test_inverses_are_kept_at_no_cost(name):
    state = replaced(GROUPS[name])
    for forward, backward in zip(state.forward, state.backward, strict=True):
        assert np.array_equal(forward[backward], np.arange(len(forward)))


@pytest.mark.parametrize("name", GROUPS)
def test_compiled_steps_equal_interpreted_ones(name):
    fast = replaced(GROUPS[name], burn=3)
    slow = copied(fast)
    many_steps(fast, generator(6, 1, 32), 20, np.empty((20, fast.forward.shape[1]), np.uint32))
    rng = SlowGenerator(6, 1, 32)
    for _ in range(20):
        product_replacement_step(slow, rng)
    assert np.array_equal(fast.forward, slow.forward)
    assert np.array_equal(fast.backward, slow.backward)


def step_from(rows):
    """Every state that one step leads to, with its chance."""
    start = np.array(rows, dtype=np.uint32)

    def draw(rng):
        state = ProductReplacement(start.copy(), np.argsort(start, axis=1).astype(np.uint32))
        product_replacement_step(state, rng)
        return tuple(tuple(int(image) for image in row) for row in state.forward)

    return every_outcome(draw)


def textbook_step(rows):
    """Multiply a slot by another or its inverse on a side, then the accumulator by the slot."""
    found = {}
    slots = range(1, len(rows))
    forks = list(itertools.product(itertools.permutations(slots, 2), *[(False, True)] * 3))
    for (one, other), inverted, left, accumulated_left in forks:
        by = undone(rows[other]) if inverted else rows[other]
        changed = after(by, rows[one]) if left else after(rows[one], by)
        total = after(changed, rows[0]) if accumulated_left else after(rows[0], changed)
        state = (total, *(changed if k == one else rows[k] for k in slots))
        found[state] = found.get(state, 0.0) + 1 / len(forks)
    return found


@pytest.mark.parametrize("slots", [2, 3])
def test_one_step_has_the_law_of_the_textbook(slots):
    every = list(itertools.permutations(range(3)))
    rng = np.random.default_rng(slots)
    for _ in range(20):
        rows = tuple(every[k] for k in rng.integers(0, 6, slots + 1))
        found, expected = step_from(rows), textbook_step(rows)
        assert found.keys() == expected.keys()
        assert all(abs(found[state] - expected[state]) < 1e-12 for state in found)


def test_uniform_bags_stay_uniform():
    """Each choice is a bijection of bags, so the matrix over all of them has columns of sum 1."""
    every = list(itertools.product(itertools.permutations(range(3)), repeat=3))
    reached = dict.fromkeys(every, 0.0)
    for rows in every:
        for state, chance in step_from(rows).items():
            reached[state] += chance
    assert max(abs(chance - 1) for chance in reached.values()) < 1e-12


def test_a_bag_starts_with_all_generators_and_the_identity():
    group = symmetric(4)
    state = replaced(group, burn=0, slots=6)
    assert state.forward.shape == (7, 4)
    assert state.forward[0].tolist() == [0, 1, 2, 3]
    given = {tuple(row) for row in state.forward[1:4].tolist()}
    assert given == {(1, 0, 2, 3), (0, 2, 1, 3), (0, 1, 3, 2)}
    assert {tuple(row) for row in state.forward[4:].tolist()} <= given


def test_burning_in_depends_on_the_seed_only():
    group = mathieu_24()
    one, two, other = (replaced(group, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(one.forward, two.forward)
    assert not np.array_equal(one.forward, other.forward)


def test_a_state_kept_in_arrays_goes_on_as_if_never_stopped():
    whole = replaced(cyclic(9))
    parts, found = copied(whole), np.empty((30, 9), dtype=np.uint32)
    again = found.copy()
    many_steps(whole, generator(2, 0, 32), 30, found)
    rng = generator(2, 0, 32)
    many_steps(parts, rng, 10, again[:10])
    many_steps(copied(parts), rng, 20, again[10:])
    assert np.array_equal(found, again)


def test_the_trivial_group_gives_the_identity():
    group = permutation_group(3, [])
    state = replaced(group)
    assert state.forward.shape == (11, 0)
    assert product_replacement(np.empty((0, 3), dtype=np.uint32)).forward[0].tolist() == [
        0,
        1,
        2,
    ]


def test_too_few_slots_are_refused():
    with pytest.raises(InputError, match="7 generators need at least 7 slots, got 6"):
        replaced(symmetric(8), slots=6)
    with pytest.raises(InputError, match="at least 2 slots"):
        replaced(cyclic(3), slots=1)
