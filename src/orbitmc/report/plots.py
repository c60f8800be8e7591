"""Marginals, joints, estimates and sweeps as pictures."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from orbitmc._util.arrays import Floats
from orbitmc._util.loading import extra
from orbitmc.errors import InputError
from orbitmc.estimate.answers import Draws, Estimates, Joint, Sensitivity, Sweep
from orbitmc.estimate.marginals import Marginal, Marginals
from orbitmc.report.html import tone
from orbitmc.report.svg import RAISED

# Figures and axes, and the colours that all pictures share.

BLUE, ORANGE, GREEN, PURPLE, GREY = "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#7b8190"
COLOURS = (BLUE, ORANGE, GREEN, PURPLE, "#e69f00", "#56b4e9", "#000000", GREY)
"""Told apart by people who see no red or no green (Okabe and Ito 2008)."""

TONE_COLOURS = {"good": BLUE, "fair": "#e69f00", "doubt": ORANGE, "known": GREY}


def figure(
    across: int = 1, *, width: float = 6.0, height: float = 3.6, down: int = 1
) -> tuple[Any, list[Any]]:
    """A figure with axes side by side, shown by notebooks and by `plt.show()`."""
    pyplot = extra("matplotlib.pyplot", "plots")
    canvas, axes = pyplot.subplots(
        down, across, figsize=(width, height), layout="constrained", squeeze=False
    )
    return canvas, list(axes.flat)


def axes_or_new(ax: Any, height: float = 3.6) -> Any:
    """The axes that were given, or those of a new figure."""
    return figure(height=height)[1][0] if ax is None else ax


def label_logarithms(place: Any) -> None:
    """Write round numbers beside logarithmic axes, also where these are shorter than a decade."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    for axis, (low, high) in ((place.xaxis, place.get_xlim()), (place.yaxis, place.get_ylim())):
        fine = (
            (1.0, 2.0, 5.0) if high < 20.0 * low else (1.0, 3.0) if high < 100.0 * low else (1.0,)
        )
        axis.set_major_locator(LogLocator(subs=fine))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(FuncFormatter(lambda number, _: round_number(number)))


def round_number(number: float) -> str:
    """A number with one digit that counts, as people write it.

    >>> [round_number(x) for x in (0.05, 200000.0, 2e-7, 1e7)]
    ['0.05', '200,000', '2·10⁻⁷', '10⁷']
    """
    if 1e-3 * (1 - 1e-9) <= abs(number) < 1e6 or number == 0:
        return f"{number:,g}"
    digit, power = f"{number:.0e}".split("e")
    whole = f"10{str(int(power)).translate(RAISED)}"
    return whole if digit == "1" else f"{digit}·{whole}"


MOST_BARS = 40
INCH_PER_BAR = 0.24


def plot_marginals(answer: Marginals, names: Sequence[str] | None, ax: Any) -> Any:
    """Bars with whiskers, one for each value, coloured by verdict."""
    bars = [
        (name, value, marginal, k)
        for name in (answer if names is None else names)
        for marginal in [answer[name]]
        for k, value in enumerate(marginal.values)
    ]
    bars_shown = bars if names is not None else bars[:MOST_BARS]
    place = axes_or_new(ax, 1.2 + INCH_PER_BAR * len(bars_shown))
    for row, (_, _, marginal, k) in enumerate(bars_shown):
        _bar(place, row, marginal, k)
    labels = [f"{name} = {value}" for name, value, _, _ in bars_shown]
    left_out = len(bars) - len(bars_shown)
    _rows(place, labels, "probability" + (f" ({left_out} more values)" if left_out else ""))
    place.set_xlim(0, 1)
    return place


def _bar(place: Any, row: int, marginal: Marginal, k: int) -> None:
    p, low, high = (
        float(column[k]) for column in (marginal.probability, marginal.low, marginal.high)
    )
    place.barh(row, p, height=0.65, color=TONE_COLOURS[tone(marginal.verdict)], alpha=0.8)
    if high > low:
        arms = [[p - low], [high - p]]
        place.errorbar(p, row, xerr=np.maximum(arms, 0.0), color="black", capsize=2, linewidth=1)


def _rows(place: Any, labels: Sequence[str], title: str) -> None:
    place.set_yticks(range(len(labels)), labels)
    place.invert_yaxis()
    place.set_xlabel(title)
    place.grid(axis="x", alpha=0.25)
    place.set_axisbelow(True)


def plot_joint(joint: Joint, ax: Any) -> Any:
    """A heat map of two names; bars of one."""
    if len(joint.names) > 2:
        raise InputError(f"a picture shows one or two names, not {len(joint.names)}")
    place = axes_or_new(ax)
    if len(joint.names) == 1:
        place.barh(range(len(joint.values[0])), joint.probability, color=BLUE, alpha=0.8)
        _rows(place, joint.values[0], "probability")
        return place
    image = place.imshow(joint.probability, cmap="cividis", aspect="auto", vmin=0.0)
    place.figure.colorbar(image, label="probability")
    place.set_yticks(range(len(joint.values[0])), joint.values[0])
    place.set_xticks(range(len(joint.values[1])), joint.values[1])
    place.set_ylabel(joint.names[0])
    place.set_xlabel(joint.names[1])
    return place


def plot_estimates(estimates: Estimates, ax: Any) -> Any:
    """Numbers as dots on their intervals."""
    names = list(estimates)[:MOST_BARS]
    place = axes_or_new(ax, 1.2 + INCH_PER_BAR * len(names))
    for row, name in enumerate(names):
        estimate = estimates[name]
        place.plot(
            [estimate.low, estimate.high],
            [row, row],
            color=TONE_COLOURS[tone(estimate.verdict)],
            linewidth=2,
        )
        place.plot(estimate.value, row, "o", color=TONE_COLOURS[tone(estimate.verdict)])
    _rows(place, names, "value")
    return place


MOST_TORNADO_BARS = 12


def plot_sensitivity(answer: Sensitivity, ax: Any) -> Any:
    """A tornado: what an answer becomes when entries of tables are a tenth smaller or larger."""
    entries = list(answer)[:MOST_TORNADO_BARS]
    height = 1.6 + 1.4 * INCH_PER_BAR * len(entries)
    place = figure(width=9.0, height=height)[1][0] if ax is None else ax
    for row, entry in enumerate(entries):
        for end, colour in ((entry.low, ORANGE), (entry.high, BLUE)):
            place.barh(row, end - answer.probability, left=answer.probability, color=colour)
    place.axvline(answer.probability, color=GREY, linewidth=1)
    if answer.threshold is not None:
        place.axvline(answer.threshold, color=GREY, linewidth=1, linestyle="--")
    handles = [place.barh([0], [0], color=colour) for colour in (ORANGE, BLUE)]
    place.legend(
        handles, ["entry 10 % smaller", "10 % larger"], loc="lower left", bbox_to_anchor=(0, 1),
        ncols=2, frameon=False,
    )  # fmt: skip
    _rows(place, [entry.name for entry in entries], f"P({answer.event})")
    place.set_xlim(auto=True)
    place.relim()
    place.autoscale_view(scaley=False)
    return place


SWEEP_COLUMNS = 3


def plot_sweep(sweep: Sweep) -> Any:
    """Energy, heat capacity and observables against beta, with bars for their intervals."""
    names = list(sweep[0].quantities)
    across = min(len(names), SWEEP_COLUMNS)
    down = -(-len(names) // across)
    canvas, places = figure(across, width=4.0 * across, height=3.2 * down, down=down)
    betas = [rung.beta for rung in sweep]
    for place, name in zip(places, names, strict=False):
        every = [rung.quantities[name] for rung in sweep]
        values = np.array([one.value for one in every])
        bars = np.abs([[one.value - one.low, one.high - one.value] for one in every]).T
        place.errorbar(
            betas, values, yerr=bars, fmt="o-", color=BLUE, markersize=3.5, capsize=3, linewidth=1
        )
        for beta, one in zip(betas, every, strict=True):
            if not one.converged:
                place.plot(beta, one.value, "s", color=ORANGE, label=one.verdict)
        doubts = dict(zip(*reversed(place.get_legend_handles_labels()), strict=True))
        if doubts:
            place.legend(doubts.values(), doubts.keys(), frameon=False, fontsize=8)
        place.set_xlabel("beta")
        place.set_ylabel(name.replace("_", " "))
        place.grid(alpha=0.25, color=GREY)
    for place in places[len(names) :]:
        place.set_visible(False)
    return canvas


# Draws of chains as pictures: what chains remember, and where their means settle.

MOST_NAMES = 4
MOST_LAGS = 100
MOST_CHAINS_DRAWN = 8  # that are drawn beside their mean


def plot_draws(draws_of: Draws, names: Sequence[str] | None) -> Any:
    """Autocorrelations beside running means of whether a variable has its usual value."""
    chosen = _choose_columns(draws_of, names)
    picture, (left, right) = figure(2, width=8.6, height=3.3)
    for colour, place in zip(COLOURS * 9, chosen, strict=False):
        value, indicator = _mode_indicator(draws_of, place)
        label = f"{draws_of.names[place]} = {value}"
        lags = autocorrelation(indicator)
        left.plot(lags, color=colour, label=label)
        draws = np.arange(1, indicator.shape[1] + 1)
        right.plot(
            draws, _running(indicator[:MOST_CHAINS_DRAWN]).T, color=colour, alpha=0.3, linewidth=0.8
        )
        right.plot(draws, _running(indicator).mean(axis=0), color=colour, linewidth=2, label=label)
    left.axhline(0.0, color="0.6", linewidth=0.8)
    left.set(xlabel="draws apart", ylabel="autocorrelation")
    right.set(xlabel="draws of each chain", ylabel="mean so far")
    chains = min(MOST_CHAINS_DRAWN, draws_of.values.shape[0])
    right.set_title(f"thick: all chains; thin: {chains} of them", fontsize=9)
    for axes in (left, right):
        axes.grid(alpha=0.25)
    left.legend(fontsize=8)
    return picture


def _choose_columns(draws: Draws, names: Sequence[str] | None) -> list[int]:
    if names is None:
        return list(range(min(MOST_NAMES, len(draws.names))))
    unknown = [name for name in names if name not in draws.names]
    if unknown:
        raise InputError(f"there are no draws of {unknown[0]!r}")
    return [draws.names.index(name) for name in names]


def _mode_indicator(draws: Draws, place: int) -> tuple[str, Floats]:
    """The most frequent value of a variable, and where `[chain, draw]` it was drawn."""
    values = draws.values[:, :, place]
    usual = int(np.bincount(values.reshape(-1).astype(np.int64)).argmax())
    return draws.value_names[place][usual], (values == usual).astype(np.float64)


def autocorrelation(indicator: Floats) -> Floats:
    """The mean over chains of how alike draws `[chain, draw]` are that lie apart, from 0 on.

    >>> autocorrelation(np.array([[0.0, 1.0, 0.0, 1.0]])).round(2).tolist()
    [1.0, -0.75, 0.5]
    """
    draws = indicator.shape[1]
    centred = indicator - indicator.mean()
    variance = max(float((centred**2).mean()), 1e-300)
    most = min(MOST_LAGS, max(draws - 2, 0))
    products = [(centred[:, : draws - lag] * centred[:, lag:]).sum() for lag in range(most + 1)]
    together: Floats = np.array(products) / (indicator.size * variance)
    return together


def _running(indicator: Floats) -> Floats:
    """The mean of each chain so far."""
    running: Floats = np.cumsum(indicator, axis=1) / np.arange(1, indicator.shape[1] + 1)
    return running
