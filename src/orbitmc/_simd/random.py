"""Random numbers for chains in lock-step: a narrow door through which kernels draw.

Kernels call only the generic functions below. Draws that all lanes share (which variable, which
group element) come from one generator (xoshiro256++), and so do those of kernels that go through
the lanes one by one; draws for all lanes at once from eight interleaved ones
(xoshiro128+, Blackman & Vigna 2018), dealt out to the lanes in turn. All state is in arrays, so
a checkpoint is complete. Tests pass through the same door with an object that enumerates every
outcome, and so get a kernel's exact transition matrix.

Rounding: a chance is compared with a 32-bit number whose lowest bit is 0, so a draw is off by at
most 2^-32; chances 0 and 1 are exact. Draws from log-odds are off by at most 1e-6, and so are
acceptances: a log-ratio above -2^-20 counts as 0, so that rounding rejects no exact symmetry.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numpy.typing import NDArray

from orbitmc._numba.jit import F, generic, implementation, shared
from orbitmc._simd.neighbour_sums import POLYNOMIAL, exponential, logistic
from orbitmc._simd.vector_code import (
    EIGHT,
    HAS_AVX2,
    I32,
    I64,
    NUMBER_VECTOR,
    ROW,
    STREAMS,
    WORD_VECTOR,
    Call,
    concatenate,
    declare,
    look_up,
    multiply_add,
    splat,
    vector_code,
)
from orbitmc._util.arrays import LANE_UNIT, Bytes, Floats, Index, Indices, Width, Words, zeros


class Stream(IntEnum):
    """All streams of random numbers: what has a seed in common must not share its numbers.

    A stream begins at its number; packs, rounds or groups count on from there.

    >>> Stream.BEST_STATES + 3 < Stream.ANNEALED_IMPORTANCE
    True
    """

    PACKS = 0
    BEST_STATES = 2**29
    ANNEALED_IMPORTANCE = 2**30
    ANNEALED_STARTS = 2**31
    ESTIMATOR_TRIAL = 2**31 + 2**30
    FRINGE = 2**31 + 2**30 + 2**29
    COUNTED_DRAWS = 2**31 + 2**30 + 2**29 + 2**28


# Draws for all lanes at once, as whole vectors.
#
# Eight interleaved generators (xoshiro128+, Blackman & Vigna 2018) serve the lanes in turn.

EVEN = 0xFFFFFFFE  # the lowest bit of a number is weak
LARGEST_CHANCE = 2147483520.0  # the largest float32 below 2^31
NEAREST_INTEGER_SHIFT = (
    1.5 * 2.0**23
)  # added to a small float32, leaves the nearest integer in its low bits
NO_LOSS = 2.0**-20  # a log-ratio so near to 0 is 0 but for the rounding of float32 sums
BITS = 31  # of a number are good for coins: the lowest is always 0
FOUR = ir.VectorType(ir.FloatType(), 4)
DOUBLES = ir.VectorType(ir.DoubleType(), 4)
PAIRS = ir.VectorType(I64, STREAMS)


def _draw(streams: Indices) -> Indices:
    """One step of eight xoshiro128+ generators."""
    s0, s1, s2, s3 = streams.copy()
    drawn: Indices = (s0 + s3) & np.uint32(EVEN)
    s2, s3 = s2 ^ s0, s3 ^ s1
    streams[:] = s0 ^ s3, s1 ^ s2, s2 ^ (s1 << 9), (s3 << 11) | (s3 >> 21)
    return drawn


def _draw_vector(builder: Any, state: list[Any]) -> Any:
    """Do what `_draw` does."""

    def by(shift: int) -> Any:
        return splat(shift, WORD_VECTOR)

    drawn = builder.and_(builder.add(state[0], state[3]), by(EVEN))
    shifted = builder.shl(state[1], by(9))
    state[2] = builder.xor(state[2], state[0])
    state[3] = builder.xor(state[3], state[1])
    state[1] = builder.xor(state[1], state[2])
    state[0] = builder.xor(state[0], state[3])
    state[2] = builder.xor(state[2], shifted)
    state[3] = builder.or_(builder.shl(state[3], by(11)), builder.lshr(state[3], by(21)))
    return drawn


@contextmanager
def _state(call: Call) -> Iterator[list[Any]]:
    """The state of the generators, written back in the end."""
    streams = call.array("streams")
    state = [call.load(streams, STREAMS * word, WORD_VECTOR) for word in range(4)]
    yield state
    for word in range(4):
        call.store(state[word], streams, STREAMS * word)


def fill_random(streams: Indices, drawn: Indices, width: Width) -> None:
    """Fill `drawn` with even 32-bit numbers, one per lane."""
    for chunk in drawn.reshape(-1, STREAMS):
        chunk[:] = _draw(streams)


@vector_code(fill_random)
def _fill_random(call: Call) -> None:
    out = call.array("drawn")
    with _state(call) as state:
        for lane in range(0, call.lanes, STREAMS):
            call.store(_draw_vector(call.builder, state), out, lane)


def flip_by_eight(
    streams: Indices,
    limit: Indices,
    start: Index,
    index: Bytes,
    values: Bytes,
    variable: Index,
    width: Width,
) -> None:
    """Set `values[variable, lane]` to whether a draw is below `limit[start + index[lane]]`."""
    drawn = np.empty_like(index, dtype=np.uint32)
    fill_random(streams, drawn, width)
    values[variable] = drawn < limit[int(start) + index.astype(np.int64)]


@vector_code(flip_by_eight)
def _flip_by_eight(call: Call) -> None:
    builder, places = call.builder, call.array("index")
    table = call.load(call.array("limit"), call.number("start"), WORD_VECTOR)

    def below(state: list[Any], lane: int) -> Any:
        place = builder.zext(call.load(places, lane, EIGHT), WORD_VECTOR)
        limit = look_up(builder, table, place)
        return builder.icmp_unsigned("<", _draw_vector(builder, state), limit)

    _store_bits(call, below, call.row("values", "variable"))


def choose_of_three(
    streams: Indices,
    limit: Indices,
    place: Indices,
    values: Bytes,
    variable: Index,
    width: Width,
) -> None:
    """Set `values[variable, lane]` to how many of two limits from `place[lane]` a draw reaches."""
    drawn = np.empty_like(place)
    fill_random(streams, drawn, width)
    first = place.astype(np.int64)
    values[variable] = (drawn >= limit[first]).astype(np.uint8) + (drawn >= limit[first + 1])


@vector_code(choose_of_three)
def _choose_of_three(call: Call) -> None:
    """Load both limits of a lane at once."""
    builder, places, target = call.builder, call.array("place"), call.row("values", "variable")
    limits = call.array("limit")

    def count_reached(state: list[Any], lane: int) -> Any:
        pairs = ir.Constant(PAIRS, ir.Undefined)
        for k in range(STREAMS):
            place = builder.zext(builder.load(call.at(places, lane + k)), I64)
            pair = call.load(limits, place, I64)
            pairs = builder.insert_element(pairs, pair, I32(k))
        drawn = _draw_vector(builder, state)
        low = builder.trunc(pairs, WORD_VECTOR)
        high = builder.trunc(builder.lshr(pairs, splat(32, PAIRS)), WORD_VECTOR)
        steps = [builder.icmp_unsigned(">=", drawn, threshold) for threshold in (low, high)]
        return builder.add(*(builder.zext(step, EIGHT) for step in steps))

    with _state(call) as state:
        for row in range(0, call.lanes, 32):
            parts = [count_reached(state, lane) for lane in range(row, row + 32, STREAMS)]
            call.store(concatenate(builder, parts), target, row)


def toss_lanes(streams: Indices, coins: Bytes, width: Width) -> None:
    """Set every coin to 0 or 1; a number gives `BITS` coins of its stream, highest bit first."""
    for number, chunk in enumerate(coins.reshape(-1, STREAMS)):
        if number % BITS == 0:
            drawn = _draw(streams)
        chunk[:] = drawn >> (BITS - number % BITS) & 1


@vector_code(toss_lanes)
def _toss_lanes(call: Call) -> None:
    builder, drawn = call.builder, None

    def toss(state: list[Any], lane: int) -> Any:
        nonlocal drawn
        number = lane // STREAMS % BITS
        if number == 0:
            drawn = _draw_vector(builder, state)
        bit = builder.and_(drawn, splat(1 << BITS - number, WORD_VECTOR))
        return builder.icmp_unsigned("!=", bit, splat(0, WORD_VECTOR))

    _store_bits(call, toss, call.array("coins"))


def accept_lanes(streams: Indices, log_ratio: Floats, accepted: Bytes, width: Width) -> None:
    """Do what `accept_by_log_ratio` does for all lanes."""
    drawn = np.empty_like(accepted, dtype=np.uint32)
    fill_random(streams, drawn, width)
    chance = np.exp(np.minimum(log_ratio, 0.0)) * LARGEST_CHANCE
    accepted[:] = (log_ratio >= -NO_LOSS) | ((drawn >> 1) < np.floor(chance))


@vector_code(accept_lanes)
def _accept_lanes(call: Call) -> None:
    builder, ratios = call.builder, call.array("log_ratio")

    def accept(state: list[Any], lane: int) -> Any:
        halves = [call.load(ratios, lane + 4 * half, DOUBLES) for half in range(2)]
        rounded = concatenate(builder, [_round_to_float32(builder, half) for half in halves])
        sure = builder.fcmp_ordered(">=", rounded, splat(-NO_LOSS, NUMBER_VECTOR))
        power = builder.fmul(_exponential(builder, rounded), splat(LARGEST_CHANCE, NUMBER_VECTOR))
        drawn = builder.lshr(_draw_vector(builder, state), splat(1, WORD_VECTOR))
        chosen = builder.icmp_signed("<", drawn, builder.fptosi(power, WORD_VECTOR))
        return builder.or_(sure, chosen)

    _store_bits(call, accept, call.array("accepted"))


def _store_bits(call: Call, eight_bits: Any, target: Any) -> None:
    """Store a bit per lane; `eight_bits(state, lane)` makes those of eight lanes."""
    with _state(call) as state:
        for row in range(0, call.lanes, 32):
            parts = [eight_bits(state, lane) for lane in range(row, row + 32, STREAMS)]
            call.store(call.builder.zext(concatenate(call.builder, parts), ROW), target, row)


def _exponential(builder: Any, x: Any) -> Any:
    """Do what `exponential` does for eight numbers, of which positive ones count as 0."""
    zero, rounding = splat(0.0, NUMBER_VECTOR), splat(NEAREST_INTEGER_SHIFT, NUMBER_VECTOR)
    negative = builder.select(builder.fcmp_ordered("<", x, zero), x, zero)
    scaled = builder.fmul(negative, splat(1.44269504, NUMBER_VECTOR))
    shifted = builder.fadd(scaled, rounding)
    rest = builder.fsub(scaled, builder.fsub(shifted, rounding))
    power = splat(float(POLYNOMIAL[-1]), NUMBER_VECTOR)
    for coefficient in POLYNOMIAL[-2::-1]:
        power = multiply_add(builder, power, rest, splat(float(coefficient), NUMBER_VECTOR))
    exponent = builder.shl(builder.bitcast(shifted, WORD_VECTOR), splat(23, WORD_VECTOR))
    result = builder.bitcast(
        builder.add(builder.bitcast(power, WORD_VECTOR), exponent), NUMBER_VECTOR
    )
    above = builder.fcmp_ordered(">", x, splat(-87.0, NUMBER_VECTOR))
    return builder.select(above, result, zero)


def _round_to_float32(builder: Any, doubles: Any) -> Any:
    """Four float32; by its own name, so that LLVM does not make it eight in a slower register."""
    if not HAS_AVX2:
        return builder.fptrunc(doubles, FOUR)
    kind = ir.FunctionType(FOUR, [DOUBLES])
    name = "llvm.x86.avx.cvt.pd2.ps.256"
    return builder.call(declare(builder.module, kind, name), [doubles])


COLUMNS = 8  # of lanes (lane modulo eight) are independent: their spread is the error


class Generator(NamedTuple):
    """Generator state of one pack; `width` has one entry for each 32 lanes.

    The length of `width` is part of the type, so the compiler knows the number of lanes and
    unrolls the loops over them.
    """

    drawn: Indices
    common: Words
    streams: Indices
    width: Width


def generator(seed: int, pack: int, lanes: int) -> Generator:
    """Start the generator of a pack: it depends on the seed and the pack's number only."""
    source = np.random.SeedSequence(entropy=seed, spawn_key=(pack,))
    words = source.generate_state(4 + 4 * STREAMS // 2, np.uint64).astype(np.uint64)
    streams = zeros((4, STREAMS), np.uint32)
    streams[...] = words[4:].view(np.uint32).reshape(4, STREAMS)
    return Generator(
        drawn=zeros(lanes, np.uint32),
        common=words[:4].copy(),
        streams=streams,
        width=width_of(lanes),
    )


def lanes_of(holder: Any) -> int:
    """How many lanes the arrays of a tuple serve; a constant while compiling.

    The tuple has an array with one entry per lane in front and a field `width`.
    """
    return len(holder[0])


@vector_code(lanes_of)
def _lanes_of(call: Call) -> Any:
    holder = call.kind("holder")
    return I64(LANE_UNIT * len(holder.types[holder.fields.index("width")]))


def width_of(lanes: int) -> Width:
    """One entry for each 32 lanes."""
    return (0,) * (lanes // LANE_UNIT)


def draws(body: F) -> F:
    """Make a generic function; what is written there is what it does with a `Generator`."""
    function = generic("rng")(body)
    implementation(function, Generator)(body)
    return function


@draws
def integer(rng: Any, bound: Index) -> int:
    """Draw one of 0, …, bound - 1, the same for all lanes.

    `outcomes` runs a step once for every outcome of its draws, and gives exact probabilities:

    >>> from orbitmc.kernels.testing.exact import outcomes
    >>> def throw(values, rng):
    ...     values[0, 0] = integer(rng, 4)
    >>> sorted(outcomes(throw, (0,)).items())
    [((0,), 0.25), ((1,), 0.25), ((2,), 0.25), ((3,), 0.25)]
    """
    return _scale(_next(rng.common) >> np.uint64(32), bound)


@draws
def two_integers(rng: Any, bound: Index, other: Index) -> tuple[int, int]:
    """Draw one of 0, …, bound - 1 and one of 0, …, other - 1, the same for all lanes."""
    drawn = _next(rng.common)
    high, low = drawn >> np.uint64(32), drawn & np.uint64(0xFFFFFFFF)
    return _scale(high, bound), _scale(low, other)


@draws
def bernoulli(rng: Any, chance: float) -> bool:
    """Draw true with the given chance, the same for all lanes.

    >>> from orbitmc.kernels.testing.exact import outcomes
    >>> def fair_coin(values, rng):
    ...     values[0, 0] = bernoulli(rng, 0.75)
    >>> sorted(outcomes(fair_coin, (0,)).items())
    [((0,), 0.25), ((1,), 0.75)]
    """
    return bool(np.float64(_next(rng.common) >> np.uint64(11)) * 2.0**-53 < chance)


@draws
def lane_integer(rng: Any, bound: Index) -> int:
    """Draw one of 0, …, bound - 1 for one lane, in kernels that go through lanes one by one.

    >>> from orbitmc.kernels.testing.exact import outcomes
    >>> def fair_die(values, rng):
    ...     values[0, 0] = lane_integer(rng, 4)
    >>> sorted(outcomes(fair_die, (0,)).items())
    [((0,), 0.25), ((1,), 0.25), ((2,), 0.25), ((3,), 0.25)]
    """
    return integer(rng, bound)


@draws
def lane_bernoulli(rng: Any, chance: float) -> bool:
    """Draw true with the given chance for one lane."""
    return bernoulli(rng, chance)


@draws
def flip_by_table(
    rng: Any, limit: NDArray[Any], start: Index, index: Bytes, values: Bytes, variable: Index
) -> None:
    """Set a binary variable per lane to 1 with chance `limit[start + index[lane]]`."""
    fill_random(rng.streams, rng.drawn, rng.width)
    first = np.uint64(start)
    for lane in range(lanes_of(rng)):
        chance = limit[first + np.uint64(index[lane])]
        values[variable, lane] = np.uint8(rng.drawn[lane] < chance)


@draws
def flip_by_eight_limits(
    rng: Any, limit: NDArray[Any], start: Index, index: Bytes, values: Bytes, variable: Index
) -> None:
    """Do what `flip_by_table` does, knowing that every index is below eight."""
    flip_by_eight(rng.streams, limit, start, index, values, variable, rng.width)


@draws
def flip_by_field(rng: Any, field: NDArray[Any], values: Bytes, variable: Index) -> None:
    """Set a binary variable per lane to 1 with log-odds `field[lane]`."""
    fill_random(rng.streams, rng.drawn, rng.width)
    for lane in range(lanes_of(rng)):
        chance = np.int32(logistic(field[lane]) * np.float32(LARGEST_CHANCE))
        values[variable, lane] = np.uint8(np.int32(rng.drawn[lane] >> np.uint32(1)) < chance)


@draws
def choose_by_table(
    rng: Any, limit: NDArray[Any], place: Indices, size: Index, values: Bytes, variable: Index
) -> None:
    """Choose a value per lane; `limit[place[lane] + a]` is the chance of a value up to `a`."""
    if size == 3:
        choose_of_three(rng.streams, limit, place, values, variable, rng.width)
        return
    fill_random(rng.streams, rng.drawn, rng.width)
    for lane in range(lanes_of(rng)):
        values[variable, lane] = np.uint8(rng.drawn[lane] >= limit[place[lane]])
    for value in range(1, size - 1):
        for lane in range(lanes_of(rng)):
            above = rng.drawn[lane] >= limit[place[lane] + np.uint32(value)]
            values[variable, lane] += np.uint8(above)


@draws
def choose_by_log_weights(
    rng: Any, log_weights: Floats, size: Index, values: NDArray[Any], variable: Index
) -> None:
    """Choose a value per lane in proportion to the exponential of its log-weight.

    Overwrites `log_weights[value, lane]`.
    """
    fill_random(rng.streams, rng.drawn, rng.width)
    cumulate_weights(log_weights, size, lanes_of(rng))
    for lane in range(lanes_of(rng)):
        values[variable, lane] = 0
    for value in range(size - 1):
        for lane in range(lanes_of(rng)):
            target = np.float64(rng.drawn[lane]) * 2.0**-32 * log_weights[size - 1, lane]
            values[variable, lane] += np.uint8(log_weights[value, lane] <= target)


@draws
def fair_coin(rng: Any, coins: Bytes) -> None:
    """Set `coins[lane]` to 0 or 1 with equal chances."""
    toss_lanes(rng.streams, coins, rng.width)


@draws
def pick_by_weights(rng: Any, weights: Floats, size: Index, picked: NDArray[Any]) -> None:
    """Pick one of `size` per lane in proportion to `weights[place, lane]`; 0 if all weigh 0.

    Overwrites the weights by their sums up to each place.
    """
    fill_random(rng.streams, rng.drawn, rng.width)
    for place in range(1, size):
        for lane in range(lanes_of(rng)):
            weights[place, lane] += weights[place - 1, lane]
    for lane in range(lanes_of(rng)):
        picked[lane] = 0
    for place in range(size - 1):
        for lane in range(lanes_of(rng)):
            target = np.float64(rng.drawn[lane]) * 2.0**-32 * weights[size - 1, lane]
            beyond = (weights[place, lane] <= target) & (weights[size - 1, lane] > 0.0)
            picked[lane] += np.uint32(beyond)


@draws
def pick_by_limits(
    rng: Any, limit: NDArray[Any], start: Index, size: Index, picked: NDArray[Any]
) -> None:
    """Pick one of `size` per lane; `limit[start + k]` is the chance of one up to `k`."""
    fill_random(rng.streams, rng.drawn, rng.width)
    for lane in range(lanes_of(rng)):
        low, high = 0, size - 1
        while low < high:
            middle = (low + high) >> 1
            if rng.drawn[lane] < limit[start + middle]:
                high = middle
            else:
                low = middle + 1
        picked[lane] = low


@draws
def pick_below(rng: Any, bound: NDArray[Any], picked: NDArray[Any]) -> None:
    """Draw one of 0, …, `bound[lane]` - 1 per lane; 0 if the bound is 0."""
    fill_random(rng.streams, rng.drawn, rng.width)
    for lane in range(lanes_of(rng)):
        product = np.uint64(rng.drawn[lane]) * np.uint64(bound[lane])
        picked[lane] = product >> np.uint64(32)


@draws
def accept_by_log_ratio(rng: Any, log_ratio: Floats, accepted: Bytes) -> None:
    """Set `accepted[lane]` to 1 with chance `min(1, exp(log_ratio[lane]))`, otherwise to 0.

    >>> accepted = np.zeros(32, dtype=np.uint8)
    >>> accept_by_log_ratio(generator(1, 0, 32), np.repeat([0.0, -np.inf], 16), accepted)
    >>> int(accepted[:16].sum()), int(accepted[16:].sum())
    (16, 0)
    """
    accept_lanes(rng.streams, log_ratio, accepted, rng.width)


@shared
def _next(state: Words) -> np.uint64:
    """One step of xoshiro256++."""
    s0, s1, s2, s3 = state[0], state[1], state[2], state[3]
    sum_ = s0 + s3
    result: np.uint64 = ((sum_ << np.uint64(23)) | (sum_ >> np.uint64(41))) + s0
    shifted = s1 << np.uint64(17)
    s2 ^= s0
    s3 ^= s1
    s1 ^= s2
    s0 ^= s3
    s2 ^= shifted
    state[0], state[1], state[2] = s0, s1, s2
    state[3] = (s3 << np.uint64(45)) | (s3 >> np.uint64(19))
    return result


@shared
def _scale(drawn: np.uint64, bound: Index) -> int:
    """One of 0, …, bound - 1 from a number of 32 bits."""
    return int(np.int64((drawn * np.uint64(bound)) >> np.uint64(32)))


MANY_VALUES = 16  # so many rows of lanes do not fit into the nearest cache


@shared
def _subtract_best(log_weights: Floats, size: Index, lanes: int) -> None:
    """Subtract the largest log-weight of each lane, four lanes at a time as they lie in memory."""
    for lane in range(0, lanes, 4):
        best, best1 = log_weights[0, lane], log_weights[0, lane + 1]
        best2, best3 = log_weights[0, lane + 2], log_weights[0, lane + 3]
        for value in range(1, size):
            best = max(best, log_weights[value, lane])
            best1 = max(best1, log_weights[value, lane + 1])
            best2 = max(best2, log_weights[value, lane + 2])
            best3 = max(best3, log_weights[value, lane + 3])
        for value in range(size):
            log_weights[value, lane] -= best
            log_weights[value, lane + 1] -= best1
            log_weights[value, lane + 2] -= best2
            log_weights[value, lane + 3] -= best3


@shared
def cumulate_weights(log_weights: Floats, size: Index, lanes: int) -> None:
    """Turn log-weights per lane into weights of each value or a smaller one; largest is 1.

    A value of weight 0 has the same sum as the value before it and so is never chosen.
    """
    if size > MANY_VALUES and lanes % 4 == 0:
        _subtract_best(log_weights, size, lanes)
    else:
        for lane in range(lanes):
            best = log_weights[0, lane]
            for value in range(1, size):
                best = max(best, log_weights[value, lane])
            for value in range(size):
                log_weights[value, lane] -= best
    for value in range(size):
        for lane in range(lanes):
            weight = np.float64(exponential(np.float32(log_weights[value, lane])))
            log_weights[value, lane] = weight
    for value in range(1, size):
        for lane in range(lanes):
            log_weights[value, lane] += log_weights[value - 1, lane]
