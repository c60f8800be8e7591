"""Draw curves of error from their CSV alone (needs matplotlib)."""

import importlib.util
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from orbitmc._util.loading import extra
from orbitmc.compare.curve_files import Row, curves, panels, read_curves
from orbitmc.report.plots.canvas import COLOURS, label_logarithms

AXES = {"iterations": "iterations of each chain", "seconds": "seconds"}
ERRORS = {
    "kl": "mean KL to the truth",
    "kl_of_truth": "mean KL from the truth",
    "hellinger": "mean Hellinger distance",
}
LINES: dict[str, Any] = {"values": "-", "rao-blackwell": "--"}
INCHES = (4.2, 3.0)  # two side by side are as wide as a README
NEAR = 30.0  # times lower than all errors: a floor below that would only make the picture flat
ROUNDING = 1e-10  # of an error: what is below it is not drawn
WIDE, NARROW = 3.2, 1.4  # the first method is drawn wide, so that one that coincides is seen on it


def can_draw() -> bool:
    """Whether matplotlib is installed."""
    return importlib.util.find_spec("matplotlib") is not None


def draw(
    source: Path,
    targets: Sequence[Path],
    *,
    title: str = "",
    axes: Sequence[str] = ("iterations", "seconds"),
    error: str = "kl",
    estimators: Sequence[str] | None = None,
    shown: Callable[[str], bool] = lambda panel: True,
) -> None:
    """Draw medians, bands, and the floor of the truth, in one picture per panel and axis.

    Several axes of a panel stand in a row; with one axis, two panels do. Only panels that are
    `shown` are drawn, and only the `estimators` that are named.
    """
    rows = [row for row in read_curves(source) if shown(row.panel)]
    if estimators is not None:
        rows = [row for row in rows if row.estimator in estimators]
    figure = picture(rows, title=title, axes=axes, error=error)
    for target in targets:
        figure.savefig(target, metadata={"Date": None} if target.suffix == ".svg" else None)


def picture(
    rows: Sequence[Row],
    *,
    title: str = "",
    axes: Sequence[str] = ("iterations", "seconds"),
    error: str = "kl",
) -> Any:
    """The figure of curves that are read already."""
    extra("matplotlib", "plots")
    from matplotlib.figure import Figure

    shown = panels(rows)
    columns = max(len(axes), 2)
    lines = -(-len(shown) * len(axes) // columns)
    figure = Figure(figsize=(INCHES[0] * columns, INCHES[1] * lines + 0.8), layout="constrained")
    places = list(figure.subplots(lines, columns, squeeze=False).flat)
    colour = dict(zip(dict.fromkeys(row.method for row in rows), COLOURS * 9, strict=False))
    wanted = [(name, axis) for name in shown for axis in axes]
    for (name, axis), place in zip(wanted, places, strict=False):
        _panel(place, shown[name], axis, error, colour)
        place.set_title(name, fontsize=10)
    for place in places[len(wanted) :]:
        place.remove()
    floors = any(shown_floor(own, error) > 0 for own in shown.values())
    _legend(figure, rows, colour, floors=floors)
    figure.suptitle(title, fontsize=11.5, weight="bold")
    return figure


def _panel(place: Any, rows: Sequence[Row], axis: str, error: str, colour: dict[str, str]) -> None:
    found = curves(rows, axis, error)
    several = len({estimator for _, estimator in found}) > 1
    for (method, estimator), curve in found.items():
        style = {"color": colour[method], "linestyle": LINES[estimator] if several else "-"}
        style["marker"] = "o" if len(curve.axis) == 1 else ""
        width = WIDE if method == rows[0].method else NARROW
        place.plot(curve.axis, curve.middle, linewidth=width, **style)
        place.fill_between(curve.axis, curve.low, curve.high, color=colour[method], alpha=0.13)
    floor = shown_floor(rows, error)
    place.set_xscale("log")
    place.set_yscale("log")
    if floor > 0:
        bottom = min(floor / 2, place.get_ylim()[0])
        place.axhspan(bottom, floor, color="0.5", alpha=0.3, linewidth=0)
        place.set_ylim(bottom=bottom)
    if place.get_ylim()[0] < ROUNDING:
        place.set_ylim(bottom=ROUNDING)
    label_logarithms(place)
    place.set_xlabel(AXES[axis], fontsize=9.5)
    place.set_ylabel(ERRORS[error], fontsize=9.5)
    place.tick_params(labelsize=9)
    place.spines[["top", "right"]].set_visible(False)
    place.grid(alpha=0.25, which="major")


def shown_floor(rows: Sequence[Row], error: str) -> float:
    """The error of a panel's truth; 0 if it is far below all that is drawn."""
    floor = rows[0].hellinger_floor if error == "hellinger" else rows[0].kl_floor
    lowest = min(float(getattr(row, error)) for row in rows)
    return floor if NEAR * floor >= lowest else 0.0


def _legend(figure: Any, rows: Sequence[Row], colour: dict[str, str], *, floors: bool) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    entries: list[Any] = [
        Line2D([], [], color=shade, label=method) for method, shade in colour.items()
    ]
    words = {"values": "counted values", "rao-blackwell": "Rao-Blackwell"}
    ways = list(dict.fromkeys(row.estimator for row in rows))
    for estimator in ways if len(ways) > 1 else ():
        style = LINES[estimator]
        entries.append(Line2D([], [], color="0.3", linestyle=style, label=words[estimator]))
    if floors:
        entries.append(Patch(color="0.5", alpha=0.3, label="below the error of the truth"))
    columns = min(len(entries), 3 if len(entries) in (5, 6) else 4)
    figure.legend(
        handles=entries, loc="outside lower center", ncols=columns, fontsize=9.5, frameon=False
    )
