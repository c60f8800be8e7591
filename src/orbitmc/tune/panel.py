"""A fixed panel of statistics, and how many independent samples a chain gives of each.

Chains from dispersed starts that stay apart show it here: if lanes do not agree on a mean, the
spread of their means is as large as that of single states, and each lane is worth one sample.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orbitmc.arrays import Bytes, Floats
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.potentials import log_weight

SINGLE, COMBINED = 32, 8  # statistics of single variables, and random combinations of all


@dataclass(frozen=True)
class Panel:
    """Which variables are watched, and signs of combinations of all variables' last values."""

    watched: NDArray[np.int64]
    signs: NDArray[np.float32]


def panel(graph: FactorGraph, seed: int) -> Panel:
    """Choose what to watch, before anything is sampled."""
    rng = np.random.default_rng(seed)
    count = min(SINGLE, graph.variables)
    watched = np.sort(rng.choice(graph.variables, count, replace=False))
    signs = rng.choice(np.array([-1, 1], dtype=np.float32), (COMBINED, graph.variables))
    signs[0] = 1
    return Panel(watched, signs)


def statistics_of(panel: Panel, graph: FactorGraph, values: Bytes) -> Floats:
    """The statistics of the present states: a row each, a column for each lane."""
    last = (values == (graph.cardinality - 1)[:, None]).astype(np.float32)
    return np.concatenate(
        [
            values[panel.watched].astype(np.float64),
            (panel.signs @ last).astype(np.float64),
            log_weight(graph, values)[None, :],
        ]
    )


def effective_samples(seen: Sequence[Floats]) -> Floats:
    """Effective samples of each statistic in all lanes together; constant ones are left out.

    `seen` holds the statistics at equidistant times. The spread of the lanes' means, beside that
    of single states, says how many independent states a lane has seen.
    """
    series = np.array(seen)
    times, _, lanes = series.shape
    spread = series.var(axis=(0, 2))
    moving = spread > 1e-12 * (1.0 + np.abs(series).max(axis=(0, 2)) ** 2)
    of_means = series.mean(axis=0).var(axis=1, ddof=1)[moving]
    per_lane = spread[moving] / np.maximum(of_means, spread[moving] / times)
    return np.asarray(lanes * np.maximum(per_lane, 1.0))


def worth(effective: Floats) -> float:
    """One number for a panel: squared errors add up, so this is the harmonic mean."""
    return float(1.0 / np.mean(1.0 / effective)) if len(effective) else np.inf
