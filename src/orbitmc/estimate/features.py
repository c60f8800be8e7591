"""Means of features of states: sums over columns and parts of time become numbers with errors.

A feature is a number between 0 and 1 that each state has. The variables that it depends on belong
to the same run, so what is known of their marginals tells how often states have been seen.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc._simd.random import COLUMNS
from orbitmc._util.arrays import Bytes, Floats, Numbers
from orbitmc._util.loading import LateModule
from orbitmc.estimate.statistics import (
    LEVEL,
    UNSEEN,
    RowSummaries,
    Statistics,
    effective_size,
    interval,
    is_rare,
    of_draws,
    part_lengths,
    row_summaries,
    states_seen,
)
from orbitmc.estimate.tally import PARTS, capacity
from orbitmc.estimate.verdicts import BELIEVED, SEVEREST, VERDICTS, Quality, variable_verdicts
from orbitmc.graph.factor_graph import FactorGraph

special = LateModule("scipy.special")


class FeatureTally(NamedTuple):
    """Sums of features: `sums[part, row, column]`, as those of marginals."""

    sums: Floats


@dataclass(frozen=True)
class Features:
    """One number per row, each with what is known of its error; as in `Statistics`."""

    probability: Floats
    standard_error: Floats
    low: Floats
    high: Floats
    ess: Floats
    r_hat: Floats
    rare: NDArray[np.bool_]
    unmixed: NDArray[np.bool_]
    states: Floats
    recorded: int
    independent: bool = False

    def row(self, place: int) -> "Features":
        """One row alone."""
        columns = {
            column.name: getattr(self, column.name)[place : place + 1]
            for column in fields(self)
            if column.name not in ("recorded", "independent")
        }
        return Features(**columns, recorded=self.recorded, independent=self.independent)

    def verdict(self) -> str:
        """One verdict for all rows, from the worst of them."""
        quality = Quality(
            self.r_hat, self.ess, self.rare, self.unmixed, self.recorded, self.independent
        )
        return VERDICTS[variable_verdicts(quality, np.zeros(1, dtype=np.int64))[0]]


def part_of_time(recorded: int) -> tuple[int, bool, bool]:
    """Where the next sample belongs: its part, whether parts merge before it, and if it ends it."""
    size = capacity(recorded + 1)
    merges = recorded == PARTS * size // 2 and recorded > PARTS // 2
    return recorded // size, merges, (recorded + 1) % size == 0


def empty_sums(rows: int) -> Floats:
    """Sums of no samples."""
    return np.zeros((PARTS, rows, COLUMNS))


def sums_by_column(weights: Floats) -> Floats:
    """Add up numbers of states `[..., state]`, lanes fastest, in eight columns."""
    total: Floats = weights.reshape(*weights.shape[:-1], -1, COLUMNS).sum(axis=-2)
    return total


def column_means(every: Sequence[Floats], recorded: int, lanes: int) -> Floats:
    """Means of rows in the columns of all packs, `[row, column]`."""
    whole = np.concatenate([sums.sum(axis=0) for sums in every], axis=1)
    means: Floats = whole / (recorded * lanes / COLUMNS)
    return means


def features(
    every: Sequence[Floats], recorded: int, lanes: int, beside: Statistics, rows: NDArray[np.bool_]
) -> Features:
    """Combine the sums of packs; `rows` of the marginals `beside` depend on the same states."""
    summaries = _summaries(every, recorded, lanes)
    p, columns = summaries.probability, COLUMNS * len(every)
    states = _states(p, summaries.spread, beside, rows)
    summaries = of_draws(summaries, states) if beside.independent else summaries
    unmixed = summaries.persists | summaries.drifts
    return _fill_missing(p, summaries.spread, states, summaries.r_hat, unmixed, beside, columns)


def ratio(
    every: Sequence[Floats], recorded: int, lanes: int, beside: Statistics, rows: NDArray[np.bool_]
) -> Features:
    """The first of two features over the second, which it implies, with the error of a ratio.

    In each column the first should be the ratio of all times the second; what is left of it, over
    the mean of the second, is the error of that column.
    """
    both, given_mean = column_means(every, recorded, lanes).mean(axis=1)
    share = both / given_mean
    left = [(sums[:, :1] - share * sums[:, 1:]) / given_mean for sums in every]
    parts = part_lengths(recorded) * (lanes // COLUMNS)
    for residual in left:
        residual[: len(parts)] += share * parts[:, None, None]
    summaries = _summaries(every, recorded, lanes)
    rest = _summaries(left, recorded, lanes)
    states = _states(summaries.probability, summaries.spread, beside, rows)
    p, met = np.array([share]), np.maximum(states[1:] * given_mean, 1.0)
    if beside.independent:
        summaries, rest = of_draws(summaries, states), of_draws(rest._replace(probability=p), met)
    unmixed = (summaries.persists | summaries.drifts).any() | rest.persists | rest.drifts
    columns, r_hat = COLUMNS * len(every), summaries.r_hat.max(keepdims=True)
    return _fill_missing(p, rest.spread, met, r_hat, unmixed, beside, columns)


def expectations(
    every: Sequence[Floats],
    recorded: int,
    lanes: int,
    beside: Statistics,
    rows: NDArray[np.bool_],
    ends: tuple[Floats, Floats],
) -> Features:
    """Means of numbers and of their squares, in turns, whose least and largest are `ends`.

    They are seen as numbers between 0 and 1. What is said of a probability is said of an event
    with the same variance; what was not seen may be at either end.
    """
    lowest, widest = ends[0], ends[1] - ends[0]
    scale = np.where(widest > 0, widest, 1.0)
    lengths = np.zeros(PARTS)
    lengths[: len(part_lengths(recorded))] = part_lengths(recorded) * (lanes // COLUMNS)
    scaled = [
        (sums[:, 0::2] - lowest[:, None] * lengths[:, None, None]) / scale[:, None]
        for sums in every
    ]
    squares = column_means(every, recorded, lanes)[1::2].mean(axis=1)
    summaries = _summaries(scaled, recorded, lanes)
    p, mean = summaries.probability, lowest + scale * summaries.probability
    variance = np.clip((squares - mean**2) / scale**2, 0.0, 0.25)
    alike = (1.0 - np.sqrt(1.0 - 4.0 * variance)) / 2.0
    states = _states(alike, summaries.spread, beside, rows)
    if beside.independent:
        summaries = of_draws(summaries, states)._replace(spread=np.sqrt(variance / states))
    unmixed, degrees = summaries.persists | summaries.drifts, COLUMNS * len(every) - 1
    error = np.maximum(summaries.spread, np.maximum(p, 1.0 - p) / states)
    half = float(special.stdtrit(degrees, 0.5 + LEVEL / 2)) * error
    rare = is_rare(alike, states)
    unseen = np.where(rare, UNSEEN / states, 0.0)
    low = np.minimum(p - half, p * (1.0 - unseen))
    high = np.maximum(p + half, p + (1.0 - p) * unseen)
    return Features(
        probability=mean,
        standard_error=np.where(widest > 0, error * scale, 0.0),
        low=np.where(widest > 0, lowest + scale * low, mean),
        high=np.where(widest > 0, lowest + scale * high, mean),
        ess=np.where(rare, states, variance / error**2),
        r_hat=_r_hat_of(summaries.r_hat, p * (1.0 - p), variance),
        rare=rare,
        unmixed=unmixed,
        states=states,
        recorded=recorded,
        independent=beside.independent,
    )


def _r_hat_of(r_hat: Floats, assumed: Floats, variance: Floats) -> Floats:
    """R-hat if values vary so much within chains and not as `assumed`."""
    between = assumed * (1.0 - 1.0 / r_hat**2)
    within = np.maximum(variance - between, 1e-300)
    return np.where(between <= 0.0, 1.0, np.sqrt(1.0 + np.minimum(between / within, 1e6)))


def _summaries(every: Sequence[Floats], recorded: int, lanes: int) -> RowSummaries:
    tallies: list[Any] = [FeatureTally(sums) for sums in every]
    return row_summaries(tallies, recorded, lanes)


def _states(p: Floats, spread: Floats, beside: Statistics, rows: NDArray[np.bool_]) -> Floats:
    """How many independent states each row was seen in, as far as marginals can tell."""
    if beside.independent:
        return np.full(len(p), float(beside.lanes * beside.recorded))
    every_p = np.concatenate([p, beside.probability[rows]])
    every_spread = np.concatenate([spread, beside.spread[rows]])
    together = np.zeros(len(every_p), dtype=np.int64)
    states = states_seen(every_p, every_spread, beside.lanes, beside.recorded, together)
    return states[: len(p)]


def _fill_missing(
    p: Floats,
    spread: Floats,
    states: Floats,
    r_hat: Floats,
    unmixed: NDArray[np.bool_],
    beside: Statistics,
    columns: int,
) -> Features:
    error = np.maximum(spread, np.maximum(p, 1.0 - p) / states)
    ess = effective_size(p, error, states)
    low, high = interval(p, ess, states, degrees=columns - 1)
    rare = is_rare(p, states)
    return Features(
        p, error, low, high, ess, r_hat, rare, unmixed, states, beside.recorded, beside.independent
    )


def jackknife(function: Callable[[Floats], float], means: Floats) -> tuple[float, float]:
    """A function of means `[row, column]`: its value, and its standard error.

    Columns are independent of each other. Leaving out one after the other takes off what noise
    alone adds to a function that is not linear, and gives its error.

    >>> import numpy as np
    >>> columns = np.array([[1.0, 2.0, 3.0, 4.0]])
    >>> value, error = jackknife(lambda means: float(means[0]) ** 2, columns)
    >>> round(value, 6), round(error, 6)
    (5.833333, 3.233219)
    """
    columns = means.shape[1]
    whole = means.sum(axis=1)
    plain = function(whole / columns)
    without = np.array([function((whole - means[:, c]) / (columns - 1)) for c in range(columns)])
    value = columns * plain - (columns - 1) * float(without.mean())
    error = float(np.sqrt((columns - 1) * without.var()))
    return value, error


def half_width(error: float, columns: int) -> float:
    """Half of an interval, if so many columns have given an error."""
    return float(special.stdtrit(columns - 1, 0.5 + LEVEL / 2)) * error


def worst_verdict(verdict_of_number: str, others: Sequence[str]) -> str:
    """The verdict of a number, unless something that it depends on is not to be believed."""
    doubted = [verdict for verdict in (verdict_of_number, *others) if verdict not in BELIEVED]
    return min(doubted, key=SEVEREST.index) if doubted else verdict_of_number


# How probable the values of one variable are, given all others, in many states at once.


class Conditional:
    """The factors that read a variable, and the other variables that they read."""

    def __init__(self, graph: FactorGraph, variable: int) -> None:
        self.graph, self.variable = graph, variable
        self.size = int(graph.cardinality[variable])
        self.factors: list[int] = graph.factors_of(variable).tolist()
        scopes = [graph.scope_of(factor).tolist() for factor in self.factors]
        self.neighbours = sorted({near for scope in scopes for near in scope} - {variable})

    def chances(self, states: Mapping[int, Bytes], count: int) -> Floats:
        """The probability of each value in each of so many states, `[value, state]`.

        `states` has the values of every neighbour.

        >>> import numpy as np
        >>> import orbitmc as om
        >>> graph = om.ising_grid(1, 2, 0.5).graph
        >>> Conditional(graph, 0).chances({1: np.array([1])}, 1)[:, 0].round(4).tolist()
        [0.2689, 0.7311]
        """
        weights = np.zeros((self.size, count))
        for factor in self.factors:
            self._add(factor, states, weights)
        weights -= weights.max(axis=0)
        np.exp(weights, out=weights)
        weights /= weights.sum(axis=0)
        return weights

    def _add(self, factor: int, states: Mapping[int, Bytes], weights: Floats) -> None:
        """Add a factor's log-potentials to those of each value."""
        graph, entries = self.graph, self.graph.table_values(factor).reshape(-1)
        places = range(int(graph.scope_start[factor]), int(graph.scope_start[factor + 1]))
        if factor < graph.first_clause:
            step = {int(graph.scope[place]): int(graph.stride[place]) for place in places}
            offset: Numbers = np.zeros(weights.shape[1], dtype=np.int64)
            for near in step.keys() - {self.variable}:
                offset += step[near] * states[near].astype(np.int64)
            for value in range(self.size):
                weights[value] += entries[offset + value * step[self.variable]]
            return
        wanted = {int(graph.scope[place]): int(graph.satisfying[place]) for place in places}
        satisfied = np.zeros(weights.shape[1], dtype=np.bool_)
        for near in wanted.keys() - {self.variable}:
            satisfied |= states[near] == wanted[near]
        for value in range(self.size):
            by_itself = value == wanted[self.variable]
            weights[value] += entries[1] if by_itself else entries[satisfied.astype(np.int64)]
