"""A generator that does not draw: it walks through every outcome of a kernel.

The production code runs in the interpreter with this object in place of its generator. Each draw
is a fork; running the kernel once for every sequence of forks gives its exact transition matrix.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from orbitmc._numba.jit import implementation
from orbitmc._simd.random import (
    accept_by_log_ratio,
    bernoulli,
    choose_by_log_weights,
    choose_by_table,
    flip_by_eight_limits,
    flip_by_field,
    flip_by_table,
    integer,
    lane_bernoulli,
    lane_integer,
    pick_below,
    pick_by_weights,
    toss,
    two_integers,
)
from orbitmc._util.arrays import Bytes, Floats


class LaneByLane(Exception):  # noqa: N818
    """A kernel draws for one lane after another, so nobody knows for which lane a draw is."""


class Choices:
    """Takes the forced branches first, then always the first possible one.

    Of several lanes one is `watched`: only its draws, and those that all lanes share, are forks.
    Others draw at random, always the same for a `seed`.
    """

    def __init__(
        self, forced: list[int], *, lanes: int = 1, watched: int = 0, seed: Sequence[int] = ()
    ) -> None:
        self.forced = forced
        self.taken: list[int] = []
        self.options: list[list[int]] = []
        self.probability = 1.0
        self.lanes, self.watched = lanes, watched
        self.others = np.random.default_rng(list(seed)) if lanes > 1 else None

    def __getitem__(self, place: int) -> tuple[None, ...]:
        return (None,) * self.lanes  # for lanes_of

    def choose(self, probabilities: Sequence[float] | Floats) -> int:
        """Take the next fork: its branches have these probabilities."""
        place = len(self.taken)
        possible = [k for k, p in enumerate(probabilities) if p > 0]
        branch = self.forced[place] if place < len(self.forced) else possible[0]
        self.taken.append(branch)
        self.options.append(possible)
        self.probability *= probabilities[branch]
        return branch

    def choose_in(self, lane: int, probabilities: Sequence[float] | Floats) -> int:
        """Take the next fork if the lane is watched; other lanes draw."""
        if lane == self.watched:
            return self.choose(probabilities)
        assert self.others is not None
        upto = np.cumsum(probabilities)
        return int(np.searchsorted(upto, self.others.random() * upto[-1], side="right"))


@implementation(integer, Choices)
def _integer(rng: Choices, bound: Any) -> int:
    return rng.choose([1.0 / bound] * bound)


@implementation(lane_integer, Choices)
def _lane_integer(rng: Choices, bound: Any) -> int:
    _require_one_lane(rng)
    return _integer(rng, bound)


@implementation(two_integers, Choices)
def _two_integers(rng: Choices, bound: Any, other: Any) -> tuple[int, int]:
    return _integer(rng, bound), _integer(rng, other)


@implementation(bernoulli, Choices)
def _bernoulli(rng: Choices, chance: Any) -> bool:
    return bool(rng.choose([1.0 - chance, chance]))


@implementation(lane_bernoulli, Choices)
def _lane_bernoulli(rng: Choices, chance: Any) -> bool:
    _require_one_lane(rng)
    return _bernoulli(rng, chance)


def _require_one_lane(rng: Choices) -> None:
    if rng.lanes > 1:
        raise LaneByLane


@implementation(flip_by_table, Choices)
@implementation(flip_by_eight_limits, Choices)
def _flip_by_table(
    rng: Choices, limit: Any, start: Any, index: Any, values: Any, variable: Any
) -> None:
    for lane in range(rng.lanes):
        chance = _probability(limit[start + index[lane]])
        values[variable, lane] = rng.choose_in(lane, [1.0 - chance, chance])


@implementation(flip_by_field, Choices)
def _flip_by_field(rng: Choices, field: Any, values: Any, variable: Any) -> None:
    for lane in range(rng.lanes):
        chance = 1.0 / (1.0 + np.exp(-field[lane]))
        values[variable, lane] = rng.choose_in(lane, [1.0 - chance, chance])


@implementation(choose_by_table, Choices)
def _choose_by_table(
    rng: Choices, limit: Any, place: Any, size: Any, values: Any, variable: Any
) -> None:
    for lane in range(rng.lanes):
        upto = [_probability(limit[place[lane] + value]) for value in range(size - 1)]
        values[variable, lane] = rng.choose_in(lane, np.diff([0.0, *upto, 1.0]))


@implementation(choose_by_log_weights, Choices)
def _choose_by_log_weights(
    rng: Choices, log_weights: Any, size: Any, values: Any, variable: Any
) -> None:
    for lane in range(rng.lanes):
        weights = np.exp(log_weights[:size, lane] - log_weights[:size, lane].max())
        values[variable, lane] = rng.choose_in(lane, weights / weights.sum())


@implementation(toss, Choices)
def _toss(rng: Choices, coins: Any) -> None:
    for lane in range(len(coins)):
        coins[lane] = rng.choose_in(lane, [0.5, 0.5])


@implementation(pick_by_weights, Choices)
def _pick_by_weights(rng: Choices, weights: Any, size: Any, picked: Any) -> None:
    for lane in range(rng.lanes):
        weighed = weights[:size, lane].copy()
        weights[:size, lane] = np.cumsum(weighed)
        picked[lane] = rng.choose_in(lane, weighed / weighed.sum()) if weighed.any() else 0


@implementation(pick_below, Choices)
def _pick_below(rng: Choices, bound: Any, picked: Any) -> None:
    for lane in range(rng.lanes):
        options = max(int(bound[lane]), 1)
        picked[lane] = rng.choose_in(lane, [1.0 / options] * options)


@implementation(accept_by_log_ratio, Choices)
def _accept_by_log_ratio(rng: Choices, log_ratio: Any, accepted: Any) -> None:
    for lane in range(rng.lanes):
        chance = np.exp(min(log_ratio[lane], 0.0))
        accepted[lane] = rng.choose_in(lane, [1.0 - chance, chance])


def _probability(limit: Any) -> float:
    """Limits of rounded conditionals are probabilities times 2^32."""
    return float(limit) / 2.0**32 if isinstance(limit, np.unsignedinteger) else float(limit)


def outcomes(run: Callable[[Bytes, Any], Any], state: Sequence[int]) -> dict[Any, float]:
    """Every state that `run(values, rng)` can end in, with its probability.

    What `run` returns, if anything, is part of where it ended.
    """

    def alone(rng: Choices) -> Any:
        values = np.array(state, dtype=np.uint8).reshape(-1, 1)
        more = run(values, rng)
        end = tuple(int(value) for value in values[:, 0])
        return end if more is None else (end, more)

    return every_end(alone, Choices)


def outcomes_beside(
    run: Callable[[Bytes, Any], Any], states: Bytes, watched: int, seed: Sequence[int]
) -> dict[Any, float]:
    """Every state that one lane of several can end in, with its probability.

    `states[variable, lane]` is where lanes begin; what the others draw depends on the seed.
    """

    def beside(rng: Choices) -> Any:
        values = states.copy()
        run(values, rng)
        return tuple(int(value) for value in values[:, watched])

    make = partial(Choices, lanes=states.shape[1], watched=watched, seed=seed)
    return every_end(beside, make)


def every_end(
    run: Callable[[Choices], Any], make: Callable[[list[int]], Choices]
) -> dict[Any, float]:
    """All that a run can give, with probabilities: it is run once for every sequence of forks."""
    found: dict[Any, float] = {}
    forks: list[list[int]] = [[]]
    while forks:
        forced = forks.pop()
        rng = make(forced)
        end = run(rng)
        found[end] = found.get(end, 0.0) + rng.probability
        for place in range(len(forced), len(rng.taken)):
            for branch in rng.options[place]:
                if branch != rng.taken[place]:
                    forks.append([*rng.taken[:place], branch])
    return found
