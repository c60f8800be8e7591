"""A fixed panel of statistics, and how many independent samples a chain gives of each.

Chains from dispersed starts that stay apart show it here: autocorrelations are taken about the mean
of all lanes, so if lanes do not agree on it they hardly fall, and each lane is worth one sample.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.weights.potentials import partial_log_weight
from orbitmc.machine.arrays import Bytes, Floats

SINGLE, COMBINED = 32, 8  # statistics of single variables, and random combinations of many
TOGETHER, FACTORS = 1024, 128  # of combinations, of the log-weight: more would take too much time
SHORTEST = 0.1  # memory: less cannot be told from noise


@dataclass(frozen=True)
class Panel:
    """Which variables are watched, and signs of combinations of the last values of `together`.

    The log-weight is watched too, as far as it comes from `factors`.
    """

    watched: NDArray[np.int64]
    together: NDArray[np.int64]
    signs: NDArray[np.float32]
    factors: NDArray[np.uint32]


def panel(graph: FactorGraph, seed: int) -> Panel:
    """Choose what to watch, before anything is sampled."""
    rng = np.random.default_rng(seed)
    count = min(SINGLE, graph.variables)
    watched = np.sort(rng.choice(graph.variables, count, replace=False))
    together = rng.choice(graph.variables, min(TOGETHER, graph.variables), replace=False)
    signs = rng.choice(np.array([-1, 1], dtype=np.float32), (COMBINED, len(together)))
    signs[0] = 1
    factors = rng.choice(graph.factors, min(FACTORS, graph.factors), replace=False)
    return Panel(watched, np.sort(together), signs, np.sort(factors).astype(np.uint32))


def statistics_of(panel: Panel, graph: FactorGraph, values: Bytes) -> Floats:
    """The statistics of the present states: a row each, a column for each lane."""
    last_values = (graph.cardinality - 1)[panel.together]
    last = (values[panel.together] == last_values[:, None]).astype(np.float32)
    weight = partial_log_weight(graph, panel.factors, values)
    return np.concatenate([values[panel.watched], panel.signs @ last, weight[None, :]])


def effective_samples(seen: Sequence[Floats]) -> Floats:
    """Effective samples of each statistic in all lanes together; constant ones are left out.

    `seen` holds the statistics at equidistant times. A lane gives at least one sample; states that
    follow their opposites may be worth more than independent ones.
    """
    series = np.array(seen)
    times, _, lanes = series.shape
    from_mean = series - series.mean(axis=(0, 2), keepdims=True)
    spread = (from_mean**2).mean(axis=(0, 2))
    moving = spread > 1e-12 * (1.0 + np.abs(series).max(axis=(0, 2)) ** 2)
    return np.asarray(np.maximum(times * lanes / _memory(from_mean[:, moving]), lanes))


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
    kept = np.logical_and.accumulate(pairs > 0.0, axis=0)
    falling = np.minimum.accumulate(np.where(kept, pairs, 0.0), axis=0)
    return np.asarray(np.maximum(2.0 * falling.sum(axis=0) - 1.0, SHORTEST))


def worth(effective: Floats) -> float:
    """One number for a panel: squared errors add up, so this is the harmonic mean."""
    return float(1.0 / np.mean(1.0 / effective)) if len(effective) else np.inf
