"""Curves of error: written as CSV, read back, summed up over seeds, drawn."""

import csv
import importlib.util
import io
import json
import platform
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any

import numba
import numpy as np
import scipy

from orbitmc._util.arrays import Floats
from orbitmc._util.files import write_text
from orbitmc._util.loading import extra
from orbitmc.compare._error_curves import ErrorCurve, Reference
from orbitmc.report.plots import COLOURS, axes_or_new, label_logarithms
from orbitmc.version import __version__

# Curves of error: written as CSV, read back, and summed up over seeds.

BAND = (10.0, 50.0, 90.0)  # per cent: lower edge, middle, upper edge


@dataclass(frozen=True)
class Row:
    """One point of one run; `panel` says which picture it belongs to.

    `kl` is the mean KL(estimate || truth), `kl_of_truth` KL(truth || estimate), and the floors are
    what the truth itself may be off by.
    """

    panel: str
    method: str
    estimator: str
    seed: int
    iterations: int
    updates: int
    seconds: float
    kl: float
    kl_of_truth: float
    hellinger: float
    kl_floor: float
    hellinger_floor: float


ROW_COLUMNS: dict[str, Any] = {field.name: field.type for field in fields(Row)}


@dataclass(frozen=True)
class Curve:
    """A band over seeds; the axis is the middle one of the seeds."""

    axis: Floats
    low: Floats
    middle: Floats
    high: Floats


@dataclass(frozen=True)
class Ending:
    """How far off a method was in the end: KL with its band over seeds, and Hellinger."""

    method: str
    seconds: float
    kl: float
    kl_low: float
    kl_high: float
    hellinger: float
    kl_floor: float


def curves_text(rows: Iterable[Row]) -> str:
    """Rows as CSV with a line of titles."""
    lines = ([f"{x:.6g}" if isinstance(x, float) else x for x in astuple(row)] for row in rows)
    return csv_text(ROW_COLUMNS, lines)


def csv_text(titles: Iterable[str], lines: Iterable[Iterable[Any]]) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerows([titles, *lines])
    return buffer.getvalue()


def read_curves(path: Path) -> list[Row]:
    """Read what `curves_text` gave.

    >>> import tempfile
    >>> point = Row("grid", "gibbs", "values", 1, 400, 400, 0.1, 2e-3, 2e-3, 1e-2, 1e-5, 1e-3)
    >>> path = Path(tempfile.mkdtemp()) / "curves.csv"
    >>> _ = path.write_text(curves_text([point]))
    >>> read_curves(path) == [point]
    True
    """
    with path.open(newline="") as lines:
        return [
            Row(**{name: kind(line[name]) for name, kind in ROW_COLUMNS.items()})
            for line in csv.DictReader(lines)
        ]


def panels(rows: Sequence[Row]) -> Mapping[str, list[Row]]:
    """Rows by their panel, in the order they first appear.

    >>> point = Row("grid", "gibbs", "values", 1, 400, 400, 0.1, 2e-3, 2e-3, 1e-2, 1e-5, 1e-3)
    >>> list(panels([point, point]))
    ['grid']
    """
    by_panel: dict[str, list[Row]] = {}
    for row in rows:
        by_panel.setdefault(row.panel, []).append(row)
    return by_panel


def curves(rows: Iterable[Row], axis: str, error: str) -> dict[tuple[str, str], Curve]:
    """A curve for each method and estimator, over the points that all of its seeds have.

    Errors below that of the truth itself are not read: they are drawn at its floor.

    `axis` names a column, as `iterations` or `seconds`; `error` is `kl`, `kl_of_truth` or
    `hellinger`.

    >>> point = Row("grid", "gibbs", "values", 1, 400, 400, 0.1, 2e-3, 2e-3, 1e-2, 1e-5, 1e-3)
    >>> curves([point], "iterations", "kl")["gibbs", "values"].middle.tolist()
    [0.002]
    """
    by_method: dict[tuple[str, str], dict[int, list[Row]]] = {}
    for row in rows:
        by_length = by_method.setdefault((row.method, row.estimator), {})
        by_length.setdefault(row.iterations, []).append(row)
    return {key: _curve(by_length, axis, error) for key, by_length in by_method.items()}


def endings(rows: Iterable[Row]) -> list[Ending]:
    """The last point of every run, summed up by method; never below the floor of the truth.

    >>> point = Row("grid", "gibbs", "values", 1, 400, 400, 0.1, 2e-3, 2e-3, 1e-2, 1e-5, 1e-3)
    >>> [f"{end.method}: {end.kl:g}" for end in endings([point])]
    ['gibbs: 0.002']
    """
    last: dict[str, dict[int, Row]] = {}
    for row in rows:
        last.setdefault(row.method, {})[row.seed] = row
    last_points = []
    for method, by_seed in last.items():
        ends = list(by_seed.values())
        low, middle, high = np.percentile([read_error(row, "kl") for row in ends], BAND)
        seconds = float(np.median([row.seconds for row in ends]))
        hellinger = float(np.median([read_error(row, "hellinger") for row in ends]))
        last_points.append(Ending(method, seconds, middle, low, high, hellinger, ends[0].kl_floor))
    return last_points


def read_error(row: Row, error: str) -> float:
    """An error, or that of the truth if it is larger: below it nobody knows.

    >>> lucky = Row("grid", "gibbs", "values", 1, 400, 400, 0.1, 1e-7, 1e-7, 1e-4, 1e-5, 1e-3)
    >>> read_error(lucky, "kl"), read_error(lucky, "hellinger")
    (1e-05, 0.001)
    """
    floor = row.hellinger_floor if error == "hellinger" else row.kl_floor
    return max(float(getattr(row, error)), floor)


def _curve(by_length: Mapping[int, list[Row]], axis: str, error: str) -> Curve:
    seeds = max(len(rows) for rows in by_length.values())
    complete = [rows for _, rows in sorted(by_length.items()) if len(rows) == seeds]
    middle = np.array([np.median([getattr(row, axis) for row in rows]) for rows in complete])
    errors = np.array([[read_error(row, error) for row in rows] for rows in complete])
    low, half, high = np.percentile(errors, BAND, axis=1)
    return Curve(middle, low, half, high)


# Draw curves of error from their CSV alone (needs matplotlib).

AXES = {"iterations": "iterations of each chain", "seconds": "seconds"}
ERROR_TITLES = {
    "kl": "mean KL to the truth",
    "kl_of_truth": "mean KL from the truth",
    "hellinger": "mean Hellinger distance",
}
LINE_STYLES: dict[str, Any] = {"values": "-", "rao-blackwell": "--"}
INCHES = (4.2, 3.0)  # two side by side are as wide as a README
FLOOR_RANGE = (
    30.0  # times lower than all errors: a floor below that would only make the picture flat
)
SMALLEST_DRAWN = 1e-10  # of an error: what is below it is not drawn
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

    by_panel = panels(rows)
    columns = max(len(axes), 2)
    lines = -(-len(by_panel) * len(axes) // columns)
    figure = Figure(figsize=(INCHES[0] * columns, INCHES[1] * lines + 0.8), layout="constrained")
    places = list(figure.subplots(lines, columns, squeeze=False).flat)
    colour = dict(zip(dict.fromkeys(row.method for row in rows), COLOURS * 9, strict=False))
    wanted = [(name, axis) for name in by_panel for axis in axes]
    for (name, axis), place in zip(wanted, places, strict=False):
        _panel(place, by_panel[name], axis, error, colour)
        place.set_title(name, fontsize=10)
    for place in places[len(wanted) :]:
        place.remove()
    floors = any(visible_floor(panel_rows, error) > 0 for panel_rows in by_panel.values())
    _legend(figure, rows, colour, floors=floors)
    figure.suptitle(title, fontsize=11.5, weight="bold")
    return figure


def _panel(place: Any, rows: Sequence[Row], axis: str, error: str, colour: dict[str, str]) -> None:
    by_method = curves(rows, axis, error)
    several = len({estimator for _, estimator in by_method}) > 1
    for (method, estimator), curve in by_method.items():
        style = {"color": colour[method], "linestyle": LINE_STYLES[estimator] if several else "-"}
        style["marker"] = "o" if len(curve.axis) == 1 else ""
        width = WIDE if method == rows[0].method else NARROW
        place.plot(curve.axis, curve.middle, linewidth=width, **style)
        place.fill_between(curve.axis, curve.low, curve.high, color=colour[method], alpha=0.13)
    floor = visible_floor(rows, error)
    place.set_xscale("log")
    place.set_yscale("log")
    if floor > 0:
        bottom = min(floor / 2, place.get_ylim()[0])
        place.axhspan(bottom, floor, color="0.5", alpha=0.3, linewidth=0)
        place.set_ylim(bottom=bottom)
    if place.get_ylim()[0] < SMALLEST_DRAWN:
        place.set_ylim(bottom=SMALLEST_DRAWN)
    label_logarithms(place)
    place.set_xlabel(AXES[axis], fontsize=9.5)
    place.set_ylabel(ERROR_TITLES[error], fontsize=9.5)
    place.tick_params(labelsize=9)
    place.spines[["top", "right"]].set_visible(False)
    place.grid(alpha=0.25, which="major")


def visible_floor(rows: Sequence[Row], error: str) -> float:
    """The error of a panel's truth; 0 if it is far below all that is drawn."""
    floor = rows[0].hellinger_floor if error == "hellinger" else rows[0].kl_floor
    lowest = min(float(getattr(row, error)) for row in rows)
    return floor if FLOOR_RANGE * floor >= lowest else 0.0


def _legend(figure: Any, rows: Sequence[Row], colour: dict[str, str], *, floors: bool) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    entries: list[Any] = [
        Line2D([], [], color=shade, label=method) for method, shade in colour.items()
    ]
    words = {"values": "counted values", "rao-blackwell": "Rao-Blackwell"}
    ways = list(dict.fromkeys(row.estimator for row in rows))
    for estimator in ways if len(ways) > 1 else ():
        style = LINE_STYLES[estimator]
        entries.append(Line2D([], [], color="0.3", linestyle=style, label=words[estimator]))
    if floors:
        entries.append(Patch(color="0.5", alpha=0.3, label="below the error of the truth"))
    columns = min(len(entries), 3 if len(entries) in (5, 6) else 4)
    figure.legend(
        handles=entries, loc="outside lower center", ncols=columns, fontsize=9.5, frameon=False
    )


JUMP_OUTCOME_NAMES = ("proposals", "null proposals", "accepted", "moved variables")
JUMP_COLUMNS = ("panel", "method", "estimator", "seed", *JUMP_OUTCOME_NAMES)
PICTURE_FORMATS = ("svg", "png")
CHANGEABLE_SETTINGS = (
    "command",
    "seeds",
)  # settings in which a session may differ from the one it goes on with
PACKAGE_FOLDER = Path(__file__).resolve().parents[1]


class FigureFiles:
    """Collects the error curves of several panels under one name, in one folder."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.name = folder, name
        self.rows: list[Row] = []
        self.jumps: list[list[Any]] = []
        self.panels: dict[str, dict[str, Any]] = {}
        folder.mkdir(parents=True, exist_ok=True)

    def path(self, ending: str) -> Path:
        return self.folder / f"{self.name}{ending}"

    def add(self, panel: str, sampler: Any, curve: ErrorCurve, truth: Reference) -> None:
        """Add one run of whoever has a name, seconds, and words about it."""
        self.rows += rows_of(panel, curve, truth)
        counts = [curve.outcomes.get(name, 0) for name in JUMP_OUTCOME_NAMES]
        if curve.points:
            first = curve.points[0]
            self.jumps.append([panel, sampler.name, first.estimator, first.seed, *counts])
        about = self.panels.setdefault(panel, {"truth": truth.how, "methods": {}})
        about["methods"][sampler.name] = {
            "about": sampler.about,
            "prepared in seconds": sampler.seconds,
        }

    def acceptance(self, panel: str, method: str) -> float | None:
        """Accepted among the jumps that would change something; None without such jumps."""
        counts = [row[4:] for row in self.jumps if row[:2] == [panel, method]]
        proposals, null, accepted, _ = (sum(column) for column in zip(*counts, strict=True))
        return accepted / (proposals - null) if proposals > null else None

    def plot(self, title: str = "", **drawing: Any) -> Any:
        """Draw all curves; needs the extra `plots`. Gives matplotlib's figure."""
        return picture(self.rows, title=title, **drawing)

    def has(self, panel: str, method: str, estimator: str, seed: int) -> bool:
        """Whether a run was added before."""
        return any(row[:4] == [panel, method, estimator, seed] for row in self.jumps)

    def resume(self, *, like: Mapping[str, Any]) -> bool:
        """Go on with the runs of an earlier session, if there are any with such settings."""
        try:
            about = json.loads(self.path(".json").read_text())
        except FileNotFoundError:
            return False
        earlier = {
            **about["settings"],
            **{name: like[name] for name in CHANGEABLE_SETTINGS if name in like},
        }
        if any(earlier.get(name) != value for name, value in json.loads(json.dumps(like)).items()):
            return False
        self.rows, self.panels = read_curves(self.path(".csv")), about["panels"]
        with self.path("-jumps.csv").open(newline="") as lines:
            _, *jumps = csv.reader(lines)
        self.jumps = [[*words[:3], *map(int, words[3:])] for words in jumps]
        return bool(self.jumps)

    def keep(self, title: str, *, settings: Mapping[str, Any], **drawing: Any) -> list[Path]:
        """Write all files; gives those that were written. Figures need matplotlib."""
        paths = self.keep_numbers(title, settings=settings)
        if can_draw() and self.rows:
            pictures = [self.path(f".{suffix}") for suffix in PICTURE_FORMATS]
            draw(self.path(".csv"), pictures, title=title, **drawing)
            paths += pictures
        return paths

    def keep_numbers(self, title: str, *, settings: Mapping[str, Any]) -> list[Path]:
        """Write all files but figures."""
        about = {"title": title, "settings": dict(settings), "panels": self.panels}
        texts = {
            ".csv": curves_text(self.rows),
            "-jumps.csv": csv_text(JUMP_COLUMNS, self.jumps),
            ".json": manifest_text(**about),
        }
        for ending, text in texts.items():
            write_text(self.path(ending), text)
        return [self.path(ending) for ending in texts]


def rows_of(panel: str, curve: ErrorCurve, truth: Reference) -> list[Row]:
    """The points of a run as rows of a file."""
    return [
        Row(
            panel=panel,
            method=point.method,
            estimator=point.estimator,
            seed=point.seed,
            iterations=point.iterations,
            updates=point.updates,
            seconds=point.seconds,
            kl=point.error.of_estimate,
            kl_of_truth=point.error.of_truth,
            hellinger=point.error.hellinger,
            kl_floor=truth.floor.of_estimate,
            hellinger_floor=truth.floor.hellinger,
        )
        for point in curve.points
    ]


def manifest_text(**about: Any) -> str:
    """JSON with whatever is told, versions, and the commit if it is known.

    >>> json.loads(manifest_text(seed=1))["seed"]
    1
    """
    versions = {"orbitmc": __version__, "python": platform.python_version()}
    versions |= {library.__name__: library.__version__ for library in (numba, np, scipy)}
    record = {**about, "versions": versions, "commit": commit(), "machine": platform.machine()}
    return json.dumps(record, indent=2, ensure_ascii=False, default=_plain) + "\n"


def commit() -> str | None:
    """The commit of these sources, if they lie in their own repository."""
    if not (PACKAGE_FOLDER.parents[1] / "pyproject.toml").exists():
        return None
    command = ["git", "-C", str(PACKAGE_FOLDER), "describe", "--always", "--dirty"]
    try:
        result = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return result.stdout.strip() or None


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else str(value)


# Error against time as a picture.


def plot_curve(curve: ErrorCurve, ax: Any) -> Any:
    """The divergence of one run from the truth, both axes logarithmic."""
    place = axes_or_new(ax)
    seconds = [point.seconds for point in curve.points]
    errors = [point.error.of_estimate for point in curve.points]
    name = curve.points[0].method if curve.points else "no points"
    colour = COLOURS[len(place.get_lines()) % len(COLOURS)]
    place.plot(seconds, errors, "o-", markersize=3, color=colour, label=name)
    place.set(xscale="log", yscale="log", xlabel="seconds", ylabel="mean KL to the truth")
    label_logarithms(place)
    place.grid(alpha=0.25)
    place.legend(fontsize=8)
    return place
