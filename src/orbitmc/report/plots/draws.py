"""Draws of chains as pictures: what chains remember, and where their means settle."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from orbitmc._util.arrays import Floats
from orbitmc.errors import InputError
from orbitmc.estimate.answers import Draws
from orbitmc.report.plots.canvas import COLOURS, figure

MOST_NAMES = 4
MOST_LAGS = 100
MOST_CHAINS = 8  # that are drawn beside their mean


def plot_draws(drawn: Draws, names: Sequence[str] | None) -> Any:
    """Autocorrelations beside running means of whether a variable has its usual value."""
    chosen = _chosen(drawn, names)
    picture, (left, right) = figure(2, width=8.6, height=3.3)
    for colour, place in zip(COLOURS * 9, chosen, strict=False):
        value, seen = _usual(drawn, place)
        label = f"{drawn.names[place]} = {value}"
        lags = autocorrelation(seen)
        left.plot(lags, color=colour, label=label)
        draws = np.arange(1, seen.shape[1] + 1)
        right.plot(draws, _running(seen[:MOST_CHAINS]).T, color=colour, alpha=0.3, linewidth=0.8)
        right.plot(draws, _running(seen).mean(axis=0), color=colour, linewidth=2, label=label)
    left.axhline(0.0, color="0.6", linewidth=0.8)
    left.set(xlabel="draws apart", ylabel="autocorrelation")
    right.set(xlabel="draws of each chain", ylabel="mean so far")
    chains = min(MOST_CHAINS, drawn.values.shape[0])
    right.set_title(f"thick: all chains; thin: {chains} of them", fontsize=9)
    for axes in (left, right):
        axes.grid(alpha=0.25)
    left.legend(fontsize=8)
    return picture


def _chosen(drawn: Draws, names: Sequence[str] | None) -> list[int]:
    if names is None:
        return list(range(min(MOST_NAMES, len(drawn.names))))
    unknown = [name for name in names if name not in drawn.names]
    if unknown:
        raise InputError(f"there are no draws of {unknown[0]!r}")
    return [drawn.names.index(name) for name in names]


def _usual(drawn: Draws, place: int) -> tuple[str, Floats]:
    """The most frequent value of a variable, and where `[chain, draw]` it was drawn."""
    values = drawn.values[:, :, place]
    usual = int(np.bincount(values.reshape(-1).astype(np.int64)).argmax())
    return drawn.domains[place][usual], (values == usual).astype(np.float64)


def autocorrelation(seen: Floats) -> Floats:
    """The mean over chains of how alike draws `[chain, draw]` are that lie apart, from 0 on.

    >>> autocorrelation(np.array([[0.0, 1.0, 0.0, 1.0]])).round(2).tolist()
    [1.0, -0.75, 0.5]
    """
    draws = seen.shape[1]
    centred = seen - seen.mean()
    spread = max(float((centred**2).mean()), 1e-300)
    most = min(MOST_LAGS, max(draws - 2, 0))
    found = [(centred[:, : draws - lag] * centred[:, lag:]).sum() for lag in range(most + 1)]
    together: Floats = np.array(found) / (seen.size * spread)
    return together


def _running(seen: Floats) -> Floats:
    """The mean of each chain so far."""
    running: Floats = np.cumsum(seen, axis=1) / np.arange(1, seen.shape[1] + 1)
    return running
