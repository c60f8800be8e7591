"""A generator that does not draw: it walks through every outcome of a kernel.

The production code runs in the interpreter with this object in place of its generator. Each draw
is a fork; running the kernel once for every sequence of forks gives its exact transition matrix.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from orbitmc.machine.arrays import Bytes, Floats
from orbitmc.machine.compiling import implementation
from orbitmc.machine.lanes.random import (
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


class Choices:
    """Takes the forced branches first, then always the first possible one."""

    def __init__(self, forced: list[int]) -> None:
        self.forced = forced
        self.taken: list[int] = []
        self.options: list[list[int]] = []
        self.probability = 1.0

    def __getitem__(self, place: int) -> tuple[None]:
        return (None,)  # lanes_of: one lane

    def choose(self, probabilities: Sequence[float] | Floats) -> int:
        """Take the next fork: its branches have these probabilities."""
        place = len(self.taken)
        possible = [k for k, p in enumerate(probabilities) if p > 0]
        branch = self.forced[place] if place < len(self.forced) else possible[0]
        self.taken.append(branch)
        self.options.append(possible)
        self.probability *= probabilities[branch]
        return branch


@implementation(integer, Choices)
@implementation(lane_integer, Choices)
def _integer(rng: Choices, bound: Any) -> int:
    return rng.choose([1.0 / bound] * bound)


@implementation(two_integers, Choices)
def _two_integers(rng: Choices, bound: Any, other: Any) -> tuple[int, int]:
    return _integer(rng, bound), _integer(rng, other)


@implementation(bernoulli, Choices)
@implementation(lane_bernoulli, Choices)
def _bernoulli(rng: Choices, chance: Any) -> bool:
    return bool(rng.choose([1.0 - chance, chance]))


@implementation(flip_by_table, Choices)
@implementation(flip_by_eight_limits, Choices)
def _flip_by_table(
    rng: Choices, limit: Any, start: Any, index: Any, values: Any, variable: Any
) -> None:
    chance = _probability(limit[start + index[0]])
    values[variable, 0] = rng.choose([1.0 - chance, chance])


@implementation(flip_by_field, Choices)
def _flip_by_field(rng: Choices, field: Any, values: Any, variable: Any) -> None:
    chance = 1.0 / (1.0 + np.exp(-field[0]))
    values[variable, 0] = rng.choose([1.0 - chance, chance])


@implementation(choose_by_table, Choices)
def _choose_by_table(
    rng: Choices, limit: Any, place: Any, size: Any, values: Any, variable: Any
) -> None:
    upto = [_probability(limit[place[0] + value]) for value in range(size - 1)]
    values[variable, 0] = rng.choose(np.diff([0.0, *upto, 1.0]))


@implementation(choose_by_log_weights, Choices)
def _choose_by_log_weights(
    rng: Choices, log_weights: Any, size: Any, values: Any, variable: Any
) -> None:
    weights = np.exp(log_weights[:size, 0] - log_weights[:size, 0].max())
    values[variable, 0] = rng.choose(weights / weights.sum())


@implementation(toss, Choices)
def _toss(rng: Choices, coins: Any) -> None:
    for lane in range(len(coins)):
        coins[lane] = rng.choose([0.5, 0.5])


@implementation(pick_by_weights, Choices)
def _pick_by_weights(rng: Choices, weights: Any, size: Any, picked: Any) -> None:
    weighed = weights[:size, 0].copy()
    weights[:size, 0] = np.cumsum(weighed)
    picked[0] = rng.choose(weighed / weighed.sum()) if weighed.any() else 0


@implementation(pick_below, Choices)
def _pick_below(rng: Choices, bound: Any, picked: Any) -> None:
    options = max(int(bound[0]), 1)
    picked[0] = rng.choose([1.0 / options] * options)


@implementation(accept_by_log_ratio, Choices)
def _accept_by_log_ratio(rng: Choices, log_ratio: Any, accepted: Any) -> None:
    chance = np.exp(min(log_ratio[0], 0.0))
    accepted[0] = rng.choose([1.0 - chance, chance])


def _probability(limit: Any) -> float:
    """Limits of rounded conditionals are probabilities times 2^32."""
    return float(limit) / 2.0**32 if isinstance(limit, np.unsignedinteger) else float(limit)


def outcomes(run: Callable[[Bytes, Any], Any], state: Sequence[int]) -> dict[Any, float]:
    """Every state that `run(values, rng)` can end in, with its probability.

    What `run` returns, if anything, is part of where it ended.
    """
    found: dict[Any, float] = {}
    forks: list[list[int]] = [[]]
    while forks:
        forced = forks.pop()
        rng = Choices(forced)
        values = np.array(state, dtype=np.uint8).reshape(-1, 1)
        more = run(values, rng)
        end: Any = tuple(int(value) for value in values[:, 0])
        if more is not None:
            end = (end, more)
        found[end] = found.get(end, 0.0) + rng.probability
        for place in range(len(forced), len(rng.taken)):
            for branch in rng.options[place]:
                if branch != rng.taken[place]:
                    forks.append([*rng.taken[:place], branch])
    return found
