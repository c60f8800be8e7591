"""Error against time as a picture."""

from typing import Any

from orbitmc.compare.error_against_time import ErrorCurve
from orbitmc.report.plots.canvas import COLOURS, given_or_new, label_logarithms


def plot_curve(found: ErrorCurve, ax: Any) -> Any:
    """The divergence of one run from the truth, both axes logarithmic."""
    place = given_or_new(ax)
    seconds = [point.seconds for point in found.points]
    errors = [point.error.of_estimate for point in found.points]
    name = found.points[0].method if found.points else "no points"
    colour = COLOURS[len(place.get_lines()) % len(COLOURS)]
    place.plot(seconds, errors, "o-", markersize=3, color=colour, label=name)
    place.set(xscale="log", yscale="log", xlabel="seconds", ylabel="mean KL to the truth")
    label_logarithms(place)
    place.grid(alpha=0.25)
    place.legend(fontsize=8)
    return place
