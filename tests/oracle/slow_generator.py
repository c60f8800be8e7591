"""The package's random stream, in plain Python integers and float32 by the book."""

import numpy as np

from orbitmc._numba.jit import implementation
from orbitmc._simd.random import (
    accept_by_log_ratio,
    bernoulli,
    choose_by_log_weights,
    choose_by_table,
    fair_coin,
    flip_by_eight_limits,
    flip_by_field,
    flip_by_table,
    generator,
    integer,
    lane_bernoulli,
    lane_integer,
    pick_below,
    pick_by_weights,
    two_integers,
)

MASK32, MASK64 = 2**32 - 1, 2**64 - 1


class SlowGenerator:
    def __init__(self, seed, pack, lanes):
        start = generator(seed, pack, lanes)
        self.lanes = lanes
        self.common = [int(word) for word in start.common]
        self.streams = [[int(word) for word in start.streams[:, k]] for k in range(8)]

    def __getitem__(self, place):
        return range(self.lanes)

    def next(self):
        """xoshiro256++."""
        s = self.common
        total = (s[0] + s[3]) & MASK64
        result = (((total << 23) | (total >> 41)) + s[0]) & MASK64
        shifted = (s[1] << 17) & MASK64
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= shifted
        s[3] = ((s[3] << 45) | (s[3] >> 19)) & MASK64
        return result

    def draw(self):
        """One even 32-bit number per lane, from eight xoshiro128+ streams in turn."""
        return np.array([self._next32(self.streams[lane % 8]) for lane in range(self.lanes)])

    def coins(self):
        """The bits of a number, highest first, are the next 31 coins of its stream."""
        tosses = np.zeros(self.lanes, dtype=np.uint8)
        for lane in range(self.lanes):
            bit = lane // 8 % 31
            if bit == 0 and lane % 8 == 0:
                numbers = [self._next32(stream) for stream in self.streams]
            tosses[lane] = numbers[lane % 8] >> (31 - bit) & 1
        return tosses

    @staticmethod
    def _next32(s):
        result = (s[0] + s[3]) & MASK32
        shifted = (s[1] << 9) & MASK32
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= shifted
        s[3] = ((s[3] << 11) | (s[3] >> 21)) & MASK32
        return result & ~1


@implementation(integer, SlowGenerator)
@implementation(lane_integer, SlowGenerator)
def _integer(rng, bound):
    return ((rng.next() >> 32) * int(bound)) >> 32


@implementation(two_integers, SlowGenerator)
def _two_integers(rng, bound, other):
    drawn = rng.next()
    return ((drawn >> 32) * int(bound)) >> 32, ((drawn & MASK32) * int(other)) >> 32


@implementation(bernoulli, SlowGenerator)
@implementation(lane_bernoulli, SlowGenerator)
def _bernoulli(rng, chance):
    return (rng.next() >> 11) * 2.0**-53 < chance


@implementation(flip_by_table, SlowGenerator)
@implementation(flip_by_eight_limits, SlowGenerator)
def _flip_by_table(rng, limit, start, index, values, variable):
    values[variable] = rng.draw() < limit[int(start) + index.astype(int)]


@implementation(flip_by_field, SlowGenerator)
def _flip_by_field(rng, field, values, variable):
    chance = 1.0 / (1.0 + np.exp(-field.astype(np.float64)))
    values[variable] = (rng.draw() >> 1) < chance * 2147483520.0


@implementation(choose_by_table, SlowGenerator)
def _choose_by_table(rng, limit, place, size, values, variable):
    drawn = rng.draw()
    values[variable] = sum((drawn >= limit[place + value]).astype(int) for value in range(size - 1))


@implementation(choose_by_log_weights, SlowGenerator)
def _choose_by_log_weights(rng, log_weights, size, values, variable):
    weights = np.exp(log_weights[:size] - log_weights[:size].max(axis=0))
    upto = np.cumsum(weights, axis=0)
    target = rng.draw() * 2.0**-32 * upto[-1]
    values[variable] = (upto[:-1] <= target).sum(axis=0)


@implementation(fair_coin, SlowGenerator)
def _toss(rng, coins):
    coins[:] = rng.coins()


@implementation(pick_below, SlowGenerator)
def _pick_below(rng, bound, picked):
    picked[:] = (rng.draw() * bound.astype(np.int64)) >> 32


@implementation(pick_by_weights, SlowGenerator)
def _pick_by_weights(rng, weights, size, picked):
    weights[:size] = np.cumsum(weights[:size], axis=0)
    target = rng.draw() * 2.0**-32 * weights[size - 1]
    beyond = (weights[: size - 1] <= target) & (weights[size - 1] > 0.0)
    picked[:] = beyond.sum(axis=0)


@implementation(accept_by_log_ratio, SlowGenerator)
def _accept_by_log_ratio(rng, log_ratio, accepted):
    chance = np.exp(np.minimum(log_ratio, 0.0))
    accepted[:] = ((rng.draw() >> 1) < chance * 2147483520.0) | (log_ratio >= -(2.0**-20))
