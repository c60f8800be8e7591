"""Marginals, joints, estimates and sweeps as pictures."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from orbitmc.errors import InputError
from orbitmc.estimate.answers import Estimates, Joint, Sweep
from orbitmc.estimate.marginals import Marginal, Marginals
from orbitmc.report.display.words import tone
from orbitmc.report.plots.canvas import BLUE, GREY, ORANGE, TONES, figure, given_or_new

MOST_BARS = 40
INCH_PER_BAR = 0.24


def plot_marginals(answer: Marginals, names: Sequence[str] | None, ax: Any) -> Any:
    """Bars with whiskers, one for each value, coloured by verdict."""
    bars = [
        (name, value, found, k)
        for name in (answer if names is None else names)
        for found in [answer[name]]
        for k, value in enumerate(found.values)
    ]
    shown = bars if names is not None else bars[:MOST_BARS]
    place = given_or_new(ax, 1.2 + INCH_PER_BAR * len(shown))
    for row, (_, _, found, k) in enumerate(shown):
        _bar(place, row, found, k)
    labels = [f"{name} = {value}" for name, value, _, _ in shown]
    left_out = len(bars) - len(shown)
    _rows(place, labels, "probability" + (f" ({left_out} more values)" if left_out else ""))
    place.set_xlim(0, 1)
    return place


def _bar(place: Any, row: int, found: Marginal, k: int) -> None:
    p, low, high = (float(one[k]) for one in (found.probability, found.low, found.high))
    place.barh(row, p, height=0.65, color=TONES[tone(found.verdict)], alpha=0.8)
    if high > low:
        arms = [[p - low], [high - p]]
        place.errorbar(p, row, xerr=np.maximum(arms, 0.0), color="black", capsize=2, linewidth=1)


def _rows(place: Any, labels: Sequence[str], title: str) -> None:
    place.set_yticks(range(len(labels)), labels)
    place.invert_yaxis()
    place.set_xlabel(title)
    place.grid(axis="x", alpha=0.25)
    place.set_axisbelow(True)


def plot_joint(found: Joint, ax: Any) -> Any:
    """A heat map of two names; bars of one."""
    if len(found.names) > 2:
        raise InputError(f"a picture shows one or two names, not {len(found.names)}")
    place = given_or_new(ax)
    if len(found.names) == 1:
        place.barh(range(len(found.values[0])), found.probability, color=BLUE, alpha=0.8)
        _rows(place, found.values[0], "probability")
        return place
    image = place.imshow(found.probability, cmap="cividis", aspect="auto", vmin=0.0)
    place.figure.colorbar(image, label="probability")
    place.set_yticks(range(len(found.values[0])), found.values[0])
    place.set_xticks(range(len(found.values[1])), found.values[1])
    place.set_ylabel(found.names[0])
    place.set_xlabel(found.names[1])
    return place


def plot_estimates(found: Estimates, ax: Any) -> Any:
    """Numbers as dots on their intervals."""
    names = list(found)[:MOST_BARS]
    place = given_or_new(ax, 1.2 + INCH_PER_BAR * len(names))
    for row, name in enumerate(names):
        one = found[name]
        place.plot([one.low, one.high], [row, row], color=TONES[tone(one.verdict)], linewidth=2)
        place.plot(one.value, row, "o", color=TONES[tone(one.verdict)])
    _rows(place, names, "value")
    return place


def plot_sweep(found: Sweep) -> Any:
    """Energy and heat capacity against beta."""
    drawn, places = figure(2, width=8.0, height=3.2)
    betas = [rung.beta for rung in found]
    for place, title in zip(places, ("energy", "heat_capacity"), strict=True):
        every = [getattr(rung, title) for rung in found]
        doubted = [not one.converged for one in every]
        low, high = [one.low for one in every], [one.high for one in every]
        values = [one.value for one in every]
        place.fill_between(betas, low, high, color=BLUE, alpha=0.2, linewidth=0)
        place.plot(betas, values, "o-", color=BLUE, markersize=3.5)
        for beta, value, doubt in zip(betas, values, doubted, strict=True):
            if doubt:
                place.plot(beta, value, "s", color=ORANGE, label="not converged")
        place.set_xlabel("beta")
        place.set_ylabel(title.replace("_", " "))
        place.grid(alpha=0.25, color=GREY)
    return drawn
