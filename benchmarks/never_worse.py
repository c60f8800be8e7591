"""Does Lifted Metropolis-Hastings that tunes itself ever lose against Gibbs, and where does it win?

Every model of `varied_models`, or of `held_out_models`, is measured as `versus_gibbs` says: a gain
above 1 means that LMH reaches a fixed error sooner. With `-o` each model's row is written as soon
as it is measured, and what a file holds already is not measured again: a run that was stopped
goes on, and parts of a run may share a file.
"""

import argparse
import csv
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import measuring
import numpy as np
from held_out_models import held_out_models
from varied_models import MODES, Builds, varied_models
from versus_gibbs import Measured, measured

LOSS = 1.1  # times later: more is called a loss
SURE = 2.0  # standard errors
WON = 10.0  # times sooner: wanted where modes are nearly alike


@dataclass(frozen=True)
class Row(Measured):
    """One model of the table, and how it was measured."""

    kind: str
    name: str
    seeds: int
    seconds: float

    @property
    def low(self) -> float:
        return float(self.gain * np.exp(-SURE * self.doubt))

    @property
    def high(self) -> float:
        return float(self.gain * np.exp(SURE * self.doubt))


def main() -> None:
    asked = arguments()
    models = chosen(held_out_models() if asked.held_out else varied_models(), asked.only)
    known = read(asked.output, asked) if asked.output else {}
    for number, (kind, name) in enumerate(models):
        if (kind, name) in known or number % asked.part[1] != asked.part[0]:
            continue
        model = models[kind, name]()
        if model is None:
            print(f"{kind}: {name}: not at hand", flush=True)
            continue
        found = asdict(measured(model, seeds=asked.seeds, seconds=asked.seconds))
        row = Row(kind=kind, name=name, seeds=asked.seeds, seconds=asked.seconds, **found)
        known[kind, name] = row
        if asked.output:
            append(asked.output, row)
        print(f"{kind}: {name}: gain {interval(row)} by {row.moves}", flush=True)
    table = [known[one] for one in models if one in known]
    if table:
        report(table)
    if asked.part[1] == 1 and table:
        name = "never_worse_held_out" if asked.held_out else "never_worse"
        results = {"rows": [plain(row) for row in table], **summary(table)}
        measuring.write_results(
            asked.results, name, results, quick=asked.quick, repetitions=asked.seeds
        )


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="3 seeds, runs of 0.3 seconds")
    parser.add_argument("--seeds", type=int, help="runs of each model")
    parser.add_argument("--seconds", type=float, help="CPU seconds of each run")
    parser.add_argument("--held-out", action="store_true", help="models that no setting has seen")
    parser.add_argument("--only", nargs="*", help="classes or parts of models' names")
    parser.add_argument(
        "--part", type=part, default=(0, 1), metavar="I/N", help="every Nth model, from the Ith"
    )
    parser.add_argument("-o", "--output", type=Path, metavar="CSV", help="go on with this table")
    parser.add_argument(
        "--results", type=Path, default=measuring.FOLDER / "results", metavar="FOLDER"
    )
    asked = parser.parse_args()
    asked.seeds = asked.seeds or (3 if asked.quick else 20)
    asked.seconds = asked.seconds or (0.3 if asked.quick else 1.0)
    return asked


def part(text: str) -> tuple[int, int]:
    number, parts = (int(word) for word in text.split("/"))
    if not 1 <= number <= parts:
        raise ValueError(f"there is no part {text}")
    return number - 1, parts


def chosen(models: Builds, only: list[str] | None) -> Builds:
    """Models whose class or name holds one of the given words; all without words."""
    return {
        (kind, name): build
        for (kind, name), build in models.items()
        if not only or any(word in f"{kind}: {name}" for word in only)
    }


def read(path: Path, asked: argparse.Namespace) -> dict[tuple[str, str], Row]:
    """Rows of an earlier run, if it was one of the same length."""
    if not path.exists():
        return {}
    with path.open(newline="") as file:
        found = [row_from(cells) for cells in csv.DictReader(file)]
    if any((row.seeds, row.seconds) != (asked.seeds, asked.seconds) for row in found):
        raise SystemExit(f"{path} was measured with other seeds or seconds; choose another file")
    return {(row.kind, row.name): row for row in found}


def row_from(cells: dict[str, str]) -> Row:
    kinds = {one.name: one.type for one in fields(Row)}
    return Row(**{name: kinds[name](text) for name, text in cells.items()})  # type: ignore[operator]


def append(path: Path, row: Row) -> None:
    """Add a row to a table; the first one brings the names of the columns."""
    new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, [one.name for one in fields(Row)])
        if new:
            writer.writeheader()
        writer.writerow(asdict(row))


def report(table: list[Row]) -> None:
    measuring.print_table(
        "Error times seconds, Gibbs over LMH; an interval of two standard errors",
        ["model", "variables", "gain", "low", "high", "sweeps", "race", "moves"],
        [
            [f"{r.kind}: {r.name}", r.variables, r.gain, r.low, r.high, r.sweeps, r.race, r.moves]
            for r in table
        ],
    )
    print("sweeps: how many of them Gibbs needs for what one independent draw would tell")
    found = summary(table)
    print(f"{len(table)} models: median gain {found['median']:.3g}, ", end="")
    print(f"worst ratio {found['worst ratio']:.3g}, largest race {found['largest race']:.2g}")
    for words in ("lose more than a tenth", "surely do"):
        print(f"{words}: {', '.join(found[words]) or 'none'}")
    for line in by_class(table):
        print(line)


def summary(table: list[Row]) -> dict[str, object]:
    gains = np.array([row.gain for row in table])
    return {
        "median": float(np.median(gains)),
        "worst ratio": float(1.0 / gains.min()),
        "largest race": max(row.race for row in table),
        "lose more than a tenth": [called(row) for row in table if row.gain < 1 / LOSS],
        "surely do": [called(row) for row in table if row.high < 1 / LOSS],
    }


def plain(row: Row) -> dict[str, object]:
    """A row in terms that JSON has: one seed leaves its doubt open."""
    return {**asdict(row), "doubt": row.doubt if np.isfinite(row.doubt) else None}


def by_class(table: list[Row]) -> Iterator[str]:
    """Median and least gain of each class, and which models of it leave little to win."""
    for kind in dict.fromkeys(row.kind for row in table):
        own = [row for row in table if row.kind == kind]
        gains = [row.gain for row in own]
        mark = " (modes nearly alike)" if kind in MODES else ""
        line = f"  {kind}{mark}: median gain {measuring.text(np.median(gains))}, "
        line += f"least {measuring.text(min(gains))}"
        below = [row for row in own if kind in MODES and row.gain < WON]
        words = (f"{row.name} ({measuring.text(row.sweeps)} sweeps)" for row in below)
        yield line + (f"; below {WON:.0f}: {', '.join(words)}" if below else "")


def called(row: Row) -> str:
    return f"{row.kind}: {row.name}"


def interval(row: Row) -> str:
    low, gain, high = (measuring.text(number) for number in (row.low, row.gain, row.high))
    return f"{gain} ({low} to {high})"


if __name__ == "__main__":
    main()
