"""Keep what comparisons measured: curves and jumps as CSV, a manifest, and figures."""

import csv
import json
import platform
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numba
import numpy as np
import scipy

from orbitmc._util.files import write_text
from orbitmc.compare.curve_files import Row, csv_text, curves_text, read_curves
from orbitmc.compare.error_against_time import ErrorCurve
from orbitmc.compare.plots import can_draw, draw, picture
from orbitmc.compare.reference import Reference
from orbitmc.version import __version__

JUMPS = ("proposals", "null proposals", "accepted", "moved variables")
JUMP_COLUMNS = ("panel", "method", "estimator", "seed", *JUMPS)
FORMATS = ("svg", "png")
FREE = ("command", "seeds")  # settings in which a session may differ from the one it goes on with
PACKAGE = Path(__file__).resolve().parents[1]


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

    def add(self, panel: str, one: Any, found: ErrorCurve, truth: Reference) -> None:
        """Add one run of whoever has a name, seconds, and words about it."""
        self.rows += rows_of(panel, found, truth)
        counts = [found.outcomes.get(name, 0) for name in JUMPS]
        if found.points:
            first = found.points[0]
            self.jumps.append([panel, one.name, first.estimator, first.seed, *counts])
        about = self.panels.setdefault(panel, {"truth": truth.how, "methods": {}})
        about["methods"][one.name] = {"about": one.about, "prepared in seconds": one.seconds}

    def acceptance(self, panel: str, method: str) -> float | None:
        """Accepted among the jumps that would change something; None without such jumps."""
        seen = [row[4:] for row in self.jumps if row[:2] == [panel, method]]
        proposals, null, accepted, _ = (sum(column) for column in zip(*seen, strict=True))
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
        told = {**about["settings"], **{name: like[name] for name in FREE if name in like}}
        if any(told.get(name) != value for name, value in json.loads(json.dumps(like)).items()):
            return False
        self.rows, self.panels = read_curves(self.path(".csv")), about["panels"]
        with self.path("-jumps.csv").open(newline="") as lines:
            _, *jumps = csv.reader(lines)
        self.jumps = [[*words[:3], *map(int, words[3:])] for words in jumps]
        return bool(self.jumps)

    def keep(self, title: str, *, settings: Mapping[str, Any], **drawing: Any) -> list[Path]:
        """Write all files; gives those that were written. Figures need matplotlib."""
        written = self.keep_numbers(title, settings=settings)
        if can_draw() and self.rows:
            pictures = [self.path(f".{suffix}") for suffix in FORMATS]
            draw(self.path(".csv"), pictures, title=title, **drawing)
            written += pictures
        return written

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


def rows_of(panel: str, found: ErrorCurve, truth: Reference) -> list[Row]:
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
        for point in found.points
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
    if not (PACKAGE.parents[1] / "pyproject.toml").exists():
        return None
    command = ["git", "-C", str(PACKAGE), "describe", "--always", "--dirty"]
    try:
        found = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return found.stdout.strip() or None


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else str(value)
