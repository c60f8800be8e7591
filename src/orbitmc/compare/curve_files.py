"""Curves of error: written as CSV, read back, and summed up over seeds."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from orbitmc._util.arrays import Floats

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


COLUMNS: dict[str, Any] = {field.name: field.type for field in fields(Row)}


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
    return csv_text(COLUMNS, lines)


def csv_text(titles: Iterable[str], lines: Iterable[Iterable[Any]]) -> str:
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerows([titles, *lines])
    return written.getvalue()


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
            Row(**{name: kind(line[name]) for name, kind in COLUMNS.items()})
            for line in csv.DictReader(lines)
        ]


def panels(rows: Sequence[Row]) -> Mapping[str, list[Row]]:
    """Rows by their panel, in the order they first appear.

    >>> point = Row("grid", "gibbs", "values", 1, 400, 400, 0.1, 2e-3, 2e-3, 1e-2, 1e-5, 1e-3)
    >>> list(panels([point, point]))
    ['grid']
    """
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row.panel, []).append(row)
    return found


def curves(rows: Iterable[Row], axis: str, error: str) -> dict[tuple[str, str], Curve]:
    """A curve for each method and estimator, over the points that all of its seeds have.

    Errors below that of the truth itself are not read: they are drawn at its floor.

    `axis` names a column, as `iterations` or `seconds`; `error` is `kl`, `kl_of_truth` or
    `hellinger`.

    >>> point = Row("grid", "gibbs", "values", 1, 400, 400, 0.1, 2e-3, 2e-3, 1e-2, 1e-5, 1e-3)
    >>> curves([point], "iterations", "kl")["gibbs", "values"].middle.tolist()
    [0.002]
    """
    seen: dict[tuple[str, str], dict[int, list[Row]]] = {}
    for row in rows:
        by_length = seen.setdefault((row.method, row.estimator), {})
        by_length.setdefault(row.iterations, []).append(row)
    return {key: _curve(by_length, axis, error) for key, by_length in seen.items()}


def endings(rows: Iterable[Row]) -> list[Ending]:
    """The last point of every run, summed up by method; never below the floor of the truth.

    >>> point = Row("grid", "gibbs", "values", 1, 400, 400, 0.1, 2e-3, 2e-3, 1e-2, 1e-5, 1e-3)
    >>> [f"{end.method}: {end.kl:g}" for end in endings([point])]
    ['gibbs: 0.002']
    """
    last: dict[str, dict[int, Row]] = {}
    for row in rows:
        last.setdefault(row.method, {})[row.seed] = row
    found = []
    for method, by_seed in last.items():
        ends = list(by_seed.values())
        low, middle, high = np.percentile([read_error(row, "kl") for row in ends], BAND)
        seconds = float(np.median([row.seconds for row in ends]))
        hellinger = float(np.median([read_error(row, "hellinger") for row in ends]))
        found.append(Ending(method, seconds, middle, low, high, hellinger, ends[0].kl_floor))
    return found


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
