"""A fixed panel of statistics, and how many independent samples a chain gives of each.

Chains from dispersed starts that stay apart show it here: autocorrelations are taken about the mean
of all lanes, so if lanes do not agree on it they hardly fall, and each lane is worth one sample.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from orbitmc._util.arrays import Bytes, Floats
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.log_weights import partial_log_weight

STATES = 64  # that a trial looks at, if there is time
SINGLE, COMBINED = 32, 8  # statistics of single variables, and random combinations of many
TOGETHER, FACTORS = 1024, 128  # of combinations, of the log-weight: more would take too much time
MOST_FACTORS = 2048  # of the log-weight, in a panel that looks at more
LOST = 0.3  # what lanes may keep of their difference
STUCK = 0.98  # more cannot be told apart
SHORTEST = 0.1  # memory: less cannot be told from noise


@dataclass(frozen=True)
class AskedFeatures:
    """So many numbers that a question asks for, `evaluated` for values `[variable, lane]`."""

    count: int
    evaluate: Callable[[Bytes], Floats]


KINDS = (
    "single variables",
    "combinations of variables",
    "agreements of pairs",
    "the log-weight",
    "squares of combinations of variables",
    "the square of the sum of all variables",
    "a feature that was asked for",
)
FIRST_FEATURE = len(KINDS) - 1


@dataclass(frozen=True)
class Panel:
    """Which variables are watched, and signs of combinations of the last values of `together`.

    Whether two watched variables in a row of `pairs` agree is watched too, and the log-weight, as
    far as it comes from `factors`. `kind` has a number for each statistic: that of a variable, of a
    combination, or of what does not change when all variables are flipped.
    A trial looks at no more than so many `states`.

    A `wide` panel is judged by the slowest of all `KINDS`, not by the mean: flips make combinations
    better than independent, but leave their squares about the mean as they are. It also watches
    the features that a question asks for.
    """

    watched: NDArray[np.int64]
    together: NDArray[np.int64]
    signs: NDArray[np.float32]
    pairs: NDArray[np.int64]
    factors: NDArray[np.uint32]
    states: int = STATES
    wide: bool = False
    features: AskedFeatures | None = None

    @property
    def kind(self) -> NDArray[np.int64]:
        usual = np.repeat([0, 1, 2], [len(self.watched), COMBINED, len(self.pairs)])
        if not self.wide:
            return np.append(usual, 2)
        asked = 0 if self.features is None else self.features.count
        features = np.arange(asked) + FIRST_FEATURE  # each is a kind of its own
        squares = np.repeat([5, 4], [1, COMBINED - 1])
        return np.concatenate([usual, [3], features, squares])

    def series(self, seen: Sequence[Floats]) -> Floats:
        """What was seen at some times; in a wide panel with squares of combinations."""
        series = np.array(seen, dtype=np.float64)
        if not self.wide:
            return series
        combined = series[:, len(self.watched) :][:, :COMBINED]
        about_mean = combined - combined.mean(axis=(0, 2), keepdims=True)
        return np.concatenate([series, about_mean**2], axis=1)

    def ess(self, series: Floats, effective: Floats) -> float:
        """One number for effective samples of the statistics that move."""
        return self.slowest(series, effective)[0] if self.wide else harmonic_ess(effective)

    def slowest(self, series: Floats, effective: Floats) -> tuple[float, str]:
        """The harmonic mean of the kind where it is least, and that kind in words."""
        kind = self.kind[_moving(series)]
        each = [
            (harmonic_ess(effective[kind == one]), KINDS[min(one, FIRST_FEATURE)])
            for one in np.unique(kind).tolist()
        ]
        return min(each, default=(np.inf, ""))


def panel(graph: FactorGraph, seed: int) -> Panel:
    """Choose what to watch, before anything is sampled."""
    rng = np.random.default_rng(seed)
    count = min(SINGLE, graph.variables)
    watched = np.sort(rng.choice(graph.variables, count, replace=False))
    together = rng.choice(graph.variables, min(TOGETHER, graph.variables), replace=False)
    signs = rng.choice(np.array([-1, 1], dtype=np.float32), (COMBINED, len(together)))
    signs[0] = 1  # the sum of all
    factors = rng.choice(graph.factors, min(FACTORS, graph.factors), replace=False)
    pairs = rng.permutation(watched)[: count // 2 * 2].reshape(-1, 2)
    return Panel(watched, np.sort(together), signs, pairs, np.sort(factors).astype(np.uint32))


def widen(
    panel: Panel, graph: FactorGraph, seed: int, features: AskedFeatures | None = None
) -> Panel:
    """A panel that is judged by its slowest kind, and that watches more of the log-weight."""
    rng = np.random.default_rng(seed)
    factors = rng.choice(graph.factors, min(MOST_FACTORS, graph.factors), replace=False)
    return replace(panel, factors=np.sort(factors).astype(np.uint32), wide=True, features=features)


def statistics_of(panel: Panel, graph: FactorGraph, values: Bytes) -> Floats:
    """The statistics of the present states: a row each, a column for each lane."""
    last_values = (graph.cardinality - 1)[panel.together]
    last = (values[panel.together] == last_values[:, None]).astype(np.float32)
    weight = partial_log_weight(graph, panel.factors, values)
    agree = values[panel.pairs[:, 0]] == values[panel.pairs[:, 1]]
    asked = [] if panel.features is None else [panel.features.evaluate(values)]
    rows = [values[panel.watched], panel.signs @ last, agree, weight[None, :], *asked]
    return np.concatenate(rows)


def effective_samples(seen: Sequence[Floats] | Floats) -> Floats:
    """Effective samples of each statistic in all lanes together; constant ones are left out.

    `seen` holds the statistics at equidistant times. A lane gives at least one sample; states that
    follow their opposites may be worth more than independent ones.
    """
    series = np.array(seen)
    times, _, lanes = series.shape
    from_mean = (series - series.mean(axis=(0, 2), keepdims=True))[:, _moving(series)]
    return np.asarray(np.maximum(times * lanes / _memory(from_mean), lanes))


def _moving(series: Floats) -> NDArray[np.bool_]:
    """Which statistics are not constant."""
    large = np.abs(series).max(axis=(0, 2), initial=0.0) ** 2
    return np.asarray(series.var(axis=(0, 2)) > 1e-12 * (1.0 + large))


def _memory(from_mean: Floats) -> Floats:
    """Integrated autocorrelation time of each statistic, lanes pooled.

    Autocorrelations are summed in pairs of neighbours, as long as these are positive, and a pair
    counts no more than the one before it (for a reversible chain both hold without noise).
    """
    times = len(from_mean)
    waves = fft.rfft(from_mean.astype(np.float32), 2 * times, axis=0)
    power = (waves.real**2 + waves.imag**2).sum(axis=2, dtype=np.float64)
    products = fft.irfft(power, 2 * times, axis=0)[:times]
    even = times // 2 * 2
    pairs = (products / products[0])[:even].reshape(even // 2, 2, -1).sum(axis=1)
    positive = np.logical_and.accumulate(pairs > 0.0, axis=0)
    falling = np.minimum.accumulate(np.where(positive, pairs, 0.0), axis=0)
    return np.asarray(np.maximum(2.0 * falling.sum(axis=0) - 1.0, SHORTEST))


def persistence(seen: Sequence[Floats] | Floats, kind: NDArray[np.int64]) -> Floats:
    """How much of what tells lanes apart in the first third of a time still does in the last.

    It is the correlation of lane means between the two thirds, averaged over the statistics of a
    kind, for each statistic that is not constant: about 0 for chains that forget within a third, 1
    for chains that stay where they are.
    """
    series = np.array(seen, dtype=np.float64)
    moving, third = _moving(series), max(1, len(series) // 3)
    early, late = series[:third].mean(axis=0)[moving], series[-third:].mean(axis=0)[moving]
    early -= early.mean(axis=1, keepdims=True)
    late -= late.mean(axis=1, keepdims=True)
    scale = np.sqrt((early**2).mean(axis=1) * (late**2).mean(axis=1))
    correlation = (early * late).mean(axis=1) / np.maximum(scale, np.finfo(float).tiny)
    kinds = kind[moving]
    return np.asarray((np.bincount(kinds, correlation) / np.maximum(np.bincount(kinds), 1))[kinds])


def penalise_stuck(effective: Floats, correlation: Floats, lanes: int) -> Floats:
    """Effective samples where lanes may be lost, so that one from each is too much.

    The correlation of early and late states says how many times they have forgotten where they
    came from, maybe not once.
    """
    forgotten = -np.log(np.clip(correlation, LOST, STUCK))
    return np.asarray(
        np.where(correlation > LOST, np.minimum(effective, lanes * forgotten), effective)
    )


def harmonic_ess(effective: Floats) -> float:
    """One number for a panel: squared errors add up, so this is the harmonic mean."""
    return float(1.0 / np.mean(1.0 / effective)) if len(effective) else np.inf
