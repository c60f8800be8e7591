"""Keep what contests measured: curves and jumps as CSV, a manifest, and figures."""

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from orbitmc.compare.curve_files import Row, curves_text
from orbitmc.compare.error_against_time import ErrorCurve
from orbitmc.compare.manifest import manifest_text
from orbitmc.compare.plots import can_draw, draw
from orbitmc.compare.reference import Reference
from orbitmc.formats.writing import write_text

JUMPS = ("proposals", "null proposals", "accepted", "moved variables")
FORMATS = ("svg", "png")


class NamedSampler(Protocol):
    """Who has run: one of our own, or a program of others."""

    @property
    def name(self) -> str: ...

    @property
    def seconds(self) -> float: ...

    @property
    def about(self) -> str: ...


class FigureFiles:
    """Collects the courses of several panels under one name, in one folder."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.name = folder, name
        self.rows: list[Row] = []
        self.jumps: list[list[Any]] = []
        self.panels: dict[str, dict[str, Any]] = {}
        folder.mkdir(parents=True, exist_ok=True)

    def path(self, ending: str) -> Path:
        return self.folder / f"{self.name}{ending}"

    def add(self, panel: str, one: NamedSampler, found: ErrorCurve, truth: Reference) -> None:
        """Add one run."""
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

    def keep(self, title: str, *, settings: Mapping[str, Any], **drawing: Any) -> list[Path]:
        """Write all files; gives those that were written. Figures need matplotlib."""
        write_text(self.path(".csv"), curves_text(self.rows))
        write_text(self.path("-jumps.csv"), _jumps_text(self.jumps))
        about = {"title": title, "settings": dict(settings), "panels": self.panels}
        write_text(self.path(".json"), manifest_text(**about))
        written = [self.path(ending) for ending in (".csv", "-jumps.csv", ".json")]
        if can_draw() and self.rows:
            pictures = [self.path(f".{suffix}") for suffix in FORMATS]
            draw(self.path(".csv"), pictures, title=title, **drawing)
            written += pictures
        return written


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


def _jumps_text(jumps: Sequence[Sequence[Any]]) -> str:
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(["panel", "method", "estimator", "seed", *JUMPS])
    writer.writerows(jumps)
    return written.getvalue()
