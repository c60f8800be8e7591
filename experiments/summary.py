"""Sum up a measured figure as a table for the documentation, from its files alone.

For each panel, method and estimator: the median error after as many iterations as all methods have
made, how many times smaller it is than that of Gibbs, how much processor time an iteration takes
beside one of Gibbs, the gain at equal time that follows from both (errors fall as one over time),
the seconds of preparing, and the accepted share of jumps, null jumps aside.
"""

import argparse
import csv
import json
from pathlib import Path
from typing import Any

import numpy as np

from orbitmc.workshop import Row, panels, read_curves

BASE = "Gibbs"
TITLES = (
    "panel",
    "method",
    "estimator",
    "KL",
    "fewer iterations",
    "cost of an iteration",
    "gain at equal time",
    "prepared in s",
    "accepted",
    "null",
)


def lines_of(source: Path) -> list[list[str]]:
    rows = read_curves(source)
    about = json.loads(source.with_suffix(".json").read_text())["panels"]
    jumps = shares(source.with_name(f"{source.stem}-jumps.csv"))
    found = []
    for panel, some in panels(rows).items():
        for estimator in dict.fromkeys(row.estimator for row in some):
            own = [row for row in some if row.estimator == estimator]
            found += panel_lines(panel, estimator, own, about[panel]["methods"], jumps)
    return found


def panel_lines(
    panel: str, estimator: str, rows: list[Row], about: dict[str, Any], jumps: dict[Any, Any]
) -> list[list[str]]:
    methods = list(dict.fromkeys(row.method for row in rows))
    length = longest_of_all(rows, methods)
    error, cost = {}, {}
    for method in methods:
        last = [row.kl for row in rows if row.method == method and row.iterations == length]
        error[method] = float(np.median(last))
        cost[method] = about[method]["nanoseconds of a step of one chain"]
    lines = []
    for method in methods:
        fewer = error[BASE] / error[method]
        dearer = cost[method] / cost[BASE]
        accepted, null = jumps.get((panel, method), (None, None))
        lines.append(
            [
                panel,
                method,
                estimator,
                f"{error[method]:.2e}",
                f"{fewer:.2f}",
                f"{dearer:.2f}",
                f"{fewer / dearer:.2f}",
                f"{about[method]['prepared in seconds']:.2f}",
                "" if accepted is None else f"{accepted:.1%}",
                "" if null is None else f"{null:.1%}",
            ]
        )
    return lines


def longest_of_all(rows: list[Row], methods: list[str]) -> int:
    """The most iterations that every run of every method has made."""
    reached: dict[tuple[str, int], set[int]] = {}
    for row in rows:
        reached.setdefault((row.method, row.seed), set()).add(row.iterations)
    return max(set.intersection(*reached.values()))


def shares(path: Path) -> dict[tuple[str, str], tuple[float | None, float]]:
    """Accepted among real proposals, and null among all, by panel and method."""
    sums: dict[tuple[str, str], Any] = {}
    with path.open(newline="") as lines:
        for line in csv.DictReader(lines):
            numbers = [int(line[k]) for k in ("proposals", "null proposals", "accepted")]
            key = line["panel"], line["method"]
            sums[key] = sums.get(key, 0) + np.array(numbers)
    return {
        key: (a / (p - n) if p > n else None, n / p) for key, (p, n, a) in sums.items() if p > 0
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("curves", type=Path, nargs="+", help="CSV files of figures")
    for source in parser.parse_args().curves:
        lines = [list(TITLES), ["---"] * len(TITLES), *lines_of(source)]
        print("\n".join("| " + " | ".join(line) + " |" for line in lines), end="\n\n")


if __name__ == "__main__":
    main()
