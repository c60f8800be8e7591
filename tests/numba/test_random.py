"""Draws are what their limits say, to the last bit that matters."""

import numpy as np
import pytest

from orbitmc._numba.jit import compiled
from orbitmc._simd.random import (
    accept_by_log_ratio,
    bernoulli,
    choose_by_log_weights,
    fair_coin,
    fill_random,
    flip_by_eight_limits,
    flip_by_table,
    generator,
    integer,
)
from orbitmc.conditionals.prepared import conditionals
from orbitmc.graph.builder import Builder
from tests.oracle.slow_generator import SlowGenerator


@compiled
def fill(rng):
    fill_random(rng.streams, rng.drawn, rng.width)


@compiled
def integers(rng, bound, found):
    for place in range(len(found)):
        found[place] = integer(rng, bound)


@compiled
def coins(rng, chance, found):
    for place in range(len(found)):
        found[place] = bernoulli(rng, chance)


@compiled
def flips(rng, limit, index, values, count):
    for _ in range(count):
        flip_by_table(rng, limit, 0, index, values, 0)


@compiled
def flips_of_eight(rng, limit, index, values):
    flip_by_eight_limits(rng, limit, 0, index, values, 0)


@compiled
def choices(rng, log_weights, values, size):
    choose_by_log_weights(rng, log_weights, size, values, 0)


@compiled
def tosses(rng, found):
    fair_coin(rng, found)


@compiled
def acceptances(rng, log_ratio, accepted):
    accept_by_log_ratio(rng, log_ratio, accepted)


@pytest.mark.parametrize("lanes", [32, 64, 128])
def test_lanes_get_the_published_streams_in_turn(lanes):
    fast, slow = generator(3, 2, lanes), SlowGenerator(3, 2, lanes)
    for _ in range(5):
        fill(fast)
        assert np.array_equal(fast.drawn, slow.draw())


def test_coins_are_the_bits_of_the_stream():
    # A number has 31 good bits: 248 lanes need one of each stream, more lanes another.
    for lanes in (32, 64, 288):
        fast, slow = generator(4, 1, lanes), SlowGenerator(4, 1, lanes)
        found, wanted = np.zeros((2, lanes), dtype=np.uint8)
        for _ in range(3):
            tosses(fast, found)
            fair_coin(slow, wanted)
            assert np.array_equal(found, wanted)


def test_tossed_coins_are_fair_and_independent():
    rng, found = generator(8, 0, 64), np.zeros((20_000, 64), dtype=np.uint8)
    for row in found:
        tosses(rng, row)
    signs = 2.0 * found - 1.0
    deviation = 1.0 / np.sqrt(len(found))
    # Six standard deviations of about two thousand means: a false alarm in 2e5 seeds.
    assert np.abs(signs.mean(axis=0)).max() < 6 * deviation
    together = signs.T @ signs / len(found)
    assert np.abs(together - np.eye(64)).max() < 6 * deviation


def test_ratios_are_accepted_as_often_as_they_say():
    ratios = np.array([-np.inf, -1e4, -87.5, -20.0, -3.0, -1.0, -0.5, -1e-3, -9e-7, 0.0, 2.0, 1e3])
    log_ratio = np.resize(ratios, 96)
    rng, accepted = generator(6, 0, 96), np.zeros(96, dtype=np.uint8)
    total, count = np.zeros(96), 20_000
    for _ in range(count):
        acceptances(rng, log_ratio, accepted)
        total += accepted
    chance = np.exp(np.minimum(log_ratio, 0.0))
    deviation = np.sqrt(chance * (1 - chance) / count)
    assert np.all(np.abs(total / count - chance) <= 6 * deviation + 1e-6)
    assert np.all(total[log_ratio >= -(2.0**-20)] == count)
    assert not total[log_ratio < -80].any()


def test_shared_integers_follow_the_published_stream():
    fast, slow = generator(9, 0, 32), SlowGenerator(9, 0, 32)
    found = np.zeros(1000, dtype=np.int64)
    integers(fast, 12_345, found)
    assert found.tolist() == [integer(slow, 12_345) for _ in range(1000)]
    assert found.min() >= 0
    assert found.max() < 12_345


def test_packs_and_seeds_have_different_streams():
    firsts = set()
    for seed in range(20):
        for pack in range(20):
            rng = generator(seed, pack, 32)
            fill(rng)
            firsts.add(rng.drawn.tobytes())
    assert len(firsts) == 400


def test_shared_coins_are_fair_to_their_chance():
    found = np.zeros(1_000_000, dtype=np.bool_)
    coins(generator(1, 0, 32), 0.3, found)
    # Six standard deviations: a false alarm in 2e9 seeds.
    assert abs(found.mean() - 0.3) < 6 * np.sqrt(0.21 / len(found))


def limit_of(chance):
    """The 32-bit limit that a model stores for a chance."""
    with np.errstate(divide="ignore"):
        builder = Builder([2, 2])
        builder.add_factor([0], np.log([1 - chance, chance]))
        builder.add_factor([0, 1], np.zeros(4))
    return int(conditionals(builder.build()).limit[0])


def test_a_rounded_chance_is_off_by_at_most_two_to_the_minus_32():
    for chance in [*np.linspace(0, 1, 101), 1e-9, 1e-12, 1 - 1e-9]:
        even_numbers_below = -(-limit_of(chance) // 2)
        assert abs(even_numbers_below / 2**31 - chance) <= 2.0**-32 + 1e-16


def test_certain_draws_are_certain():
    rng = generator(5, 0, 64)
    values, index = np.zeros((1, 64), dtype=np.uint8), np.zeros(64, dtype=np.uint8)
    ones = np.full(8, limit_of(1.0), dtype=np.uint32)
    flips(rng, ones, index, values, 100_000)
    assert values.all()
    rng.streams[0, :] = 0xFFFFFFFF
    rng.streams[3, :] = 0
    flips_of_eight(rng, ones, index, values)
    assert values.all()
    flips(rng, np.zeros(8, dtype=np.uint32), index, values, 100_000)
    assert not values.any()


def test_both_ways_to_look_up_a_limit_agree():
    limits = np.linspace(0, 2**32 - 1, 8).astype(np.uint32)
    index = (np.arange(64) % 8).astype(np.uint8)
    first, second = np.zeros((1, 64), dtype=np.uint8), np.zeros((1, 64), dtype=np.uint8)
    a, b = generator(8, 0, 64), generator(8, 0, 64)
    for _ in range(100):
        flips(a, limits, index, first, 1)
        flips_of_eight(b, limits, index, second)
        assert np.array_equal(first, second)


def test_a_value_of_weight_zero_is_never_chosen():
    log_weights = np.full((4, 64), -np.inf)
    values = np.zeros((1, 64), dtype=np.uint8)
    rng = generator(6, 0, 64)
    for _ in range(2000):
        log_weights[:] = np.array([-np.inf, 0.0, -30.0, -np.inf])[:, None]
        choices(rng, log_weights, values, 4)
        assert np.isin(values, [1, 2]).all()
