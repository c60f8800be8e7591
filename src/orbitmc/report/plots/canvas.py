"""Figures and axes, and the colours that all pictures share."""

from typing import Any

from orbitmc._util.loading import extra
from orbitmc.report.display.scales import RAISED

BLUE, ORANGE, GREEN, PURPLE, GREY = "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#7b8190"
COLOURS = (BLUE, ORANGE, GREEN, PURPLE, "#e69f00", "#56b4e9", "#000000", GREY)
"""Told apart by people who see no red or no green (Okabe and Ito 2008)."""

TONES = {"good": BLUE, "fair": "#e69f00", "doubt": ORANGE, "known": GREY}


def figure(across: int = 1, *, width: float = 6.0, height: float = 3.6) -> tuple[Any, list[Any]]:
    """A figure with axes side by side, shown by notebooks and by `plt.show()`."""
    pyplot = extra("matplotlib.pyplot", "plots")
    drawn, axes = pyplot.subplots(
        1, across, figsize=(width, height), layout="constrained", squeeze=False
    )
    return drawn, list(axes.flat)


def given_or_new(ax: Any, height: float = 3.6) -> Any:
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
