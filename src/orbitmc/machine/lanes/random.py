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

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc.machine.arrays import Bytes, Floats, Index, Indices, Width, Words, zeros
from orbitmc.machine.compiling import F, generic, implementation, shared
from orbitmc.machine.lanes.random_vectors import (
    LARGEST_CHANCE,
    accept_lanes,
    choose_of_three,
    fill_random,
    flip_by_eight,
    toss_lanes,
)
from orbitmc.machine.lanes.vector_code import I64, STREAMS, Call, vector_code
from orbitmc.machine.lanes.vectors import exponential, logistic

LANE_UNIT = 32  # lanes come in multiples of this
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

    >>> from orbitmc.kernels.testing.choices import outcomes
    >>> def throw(values, rng):
    ...     values[0, 0] = integer(rng, 4)
    >>> sorted(outcomes(throw, (0,)).items())
    [((0,), 0.25), ((1,), 0.25), ((2,), 0.25), ((3,), 0.25)]
    """
    return _scaled(_next(rng.common) >> np.uint64(32), bound)


@draws
def two_integers(rng: Any, bound: Index, other: Index) -> tuple[int, int]:
    """Draw one of 0, …, bound - 1 and one of 0, …, other - 1, the same for all lanes."""
    drawn = _next(rng.common)
    high, low = drawn >> np.uint64(32), drawn & np.uint64(0xFFFFFFFF)
    return _scaled(high, bound), _scaled(low, other)


@draws
def bernoulli(rng: Any, chance: float) -> bool:
    """Draw true with the given chance, the same for all lanes.

    >>> from orbitmc.kernels.testing.choices import outcomes
    >>> def toss(values, rng):
    ...     values[0, 0] = bernoulli(rng, 0.75)
    >>> sorted(outcomes(toss, (0,)).items())
    [((0,), 0.25), ((1,), 0.75)]
    """
    return bool(np.float64(_next(rng.common) >> np.uint64(11)) * 2.0**-53 < chance)


@draws
def lane_integer(rng: Any, bound: Index) -> int:
    """Draw one of 0, …, bound - 1 for one lane, in kernels that go through lanes one by one."""
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
    rng: Any, log_weights: Floats, size: Index, values: Bytes, variable: Index
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
def toss(rng: Any, coins: Bytes) -> None:
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
def _scaled(drawn: np.uint64, bound: Index) -> int:
    """One of 0, …, bound - 1 from a number of 32 bits."""
    return int(np.int64((drawn * np.uint64(bound)) >> np.uint64(32)))


@shared
def cumulate_weights(log_weights: Floats, size: Index, lanes: int) -> None:
    """Turn log-weights per lane into weights of each value or a smaller one; largest is 1.

    A value of weight 0 has the same sum as the value before it and so is never chosen.
    """
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
